//! Spills that are cut, have flipped bits, are mixed up, or come from a faulty writer.

use proptest::prelude::*;
use trimill::testing::spill::block::{RowEndsMut, RowNumbers, decode, encode};
use trimill::testing::spill::codec::BlockDecoder;
use trimill::testing::spill::{Codec, CodedRows, SpillReader};
use trimill::{Control, Kind};
use trimill_counting::Resident;

use crate::spill_support::*;

#[test]
fn flipped_bits_are_found() {
    let dir = tempfile::tempdir().unwrap();
    for codec in [Codec::Plain, Codec::Zstd] {
        let path = tiny().write(dir.path(), "whole.spill", codec, 10).path;
        let whole = std::fs::read(&path).unwrap();
        let path = dir.path().join("flipped.spill");
        // A bit of each byte, of a compressed one two or three.
        let chosen = |bit: &usize| if codec == Codec::Plain { bit % 8 == bit / 8 % 8 } else { bit.is_multiple_of(3) };
        for bit in (0..8 * whole.len()).filter(chosen) {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &flipped).unwrap();
            let read = opened(&path).and_then(|spill| {
                let read = read_all(&spill);
                let verified = spill.verify(&Control::silent());
                assert_eq!(read.is_ok(), verified.is_ok(), "bit {bit}");
                read
            });
            let error = failure(read);
            assert_eq!(error.kind(), Kind::Data, "bit {bit}: {error}");
            let text = error.to_string();
            assert!(text.contains("flipped.spill") && text.contains("build"), "bit {bit}: {text}");
        }
    }
}

#[test]
fn every_cut_and_every_addition_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(tiny().write(dir.path(), "whole.spill", Codec::Zstd, 10).path).unwrap();
    let path = dir.path().join("cut.spill");
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = failure(opened(&path));
        assert_eq!(error.kind(), Kind::Data, "{length}: {error}");
        assert!(error.to_string().contains("build it again"), "{length}: {error}");
    }
    std::fs::write(&path, [&whole[..], &[0]].concat()).unwrap();
    assert!(failure(opened(&path)).to_string().contains("bytes"));
    assert_eq!(failure(opened(&dir.path().join("missing.spill"))).kind(), Kind::Data);
}

#[test]
fn another_version_and_another_job_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = tiny().write(dir.path(), "a.spill", Codec::Zstd, 10).path;
    let error = failure(SpillReader::open(&path, Some(1)));
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains("another job"), "{error}");
    assert!(SpillReader::open(&path, None).is_ok());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 1;
    seal(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = failure(opened(&path));
    assert!(error.to_string().contains("version 1; expected version 2"), "{error}");
}

#[test]
fn a_row_that_would_take_gigabytes_is_refused_before_anything_is_allocated() {
    let dir = tempfile::tempdir().unwrap();
    let partition = Partition { numbered: 4, locals: vec![(3, vec![])], row_blocks: vec![(0..4, vec![vec![]; 3])] };
    let path = partition.write(dir.path(), "a.spill", Codec::Zstd, 1).path;
    let mut bytes = std::fs::read(&path).unwrap();
    // Sets the arcs of the resident section's block, which is one row, and its number of bytes.
    let block = u64::from_le_bytes(bytes[104..112].try_into().unwrap()) as usize + 16 + 24 + 48;
    bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    for at in [block + 16, block + 24] {
        bytes[at..at + 8].copy_from_slice(&(1u64 << 31).to_le_bytes());
    }
    seal(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = failure(opened(&path));
    assert!(error.to_string().contains("block 1 of 1 rows has 2147483650 values"), "{error}");
}

#[test]
fn a_row_block_with_a_row_too_many_is_found_by_verify() {
    // The rows of proxies 0 and 1 of a row block, shifted by one local: well-formed, but proxy 1 would point at itself.
    let dir = tempfile::tempdir().unwrap();
    let partition = Partition {
        numbered: 4,
        locals: vec![(3, vec![])],
        row_blocks: vec![(0..4, vec![vec![], vec![0, 1], vec![]])],
    };
    let path = partition.write(dir.path(), "a.spill", Codec::Zstd, 1).path;
    let error = failure(opened(&path).unwrap().verify(&Control::silent()));
    assert!(error.to_string().contains("row block 0: the row of proxy 1"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_decoder_refuses_invalid_bytes(
        partition in partition(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index, noise: Vec<u8>,
    ) {
        let Resident { numbers, successors, .. } = partition.resident();
        let (mut coded, mut stored) = (CodedRows::default(), Vec::new());
        let mut coder = coded.coder();
        partition.locals.iter().for_each(|(number, row)| coder.push(*number, row, |_| true, |successor| successor));
        encode(coded.all(), true, &mut stored);
        let mut changed = stored.clone();
        if !changed.is_empty() {
            *at.get_mut(&mut changed) = byte;
        }
        let cut = cut.index(stored.len() + 1);
        for bytes in [&changed[..], &stored[..cut], &noise] {
            let (mut numbers, mut successors) = (vec![0; numbers.len()], vec![0; successors.len()]);
            let mut ends = vec![0u64; numbers.len()];
            let into = RowEndsMut { numbers: RowNumbers::Each(&mut numbers[..]), ends: &mut ends, base: 0 };
            if decode(bytes, into, &mut successors, &mut Vec::new()).is_ok() {
                prop_assert!(numbers.is_sorted_by(|a, b| a < b));
                let starts = std::iter::once(&0).chain(&ends);
                for ((&start, &end), &number) in starts.zip(&ends).zip(&numbers) {
                    let row = &successors[start as usize..end as usize];
                    prop_assert!(row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| last < number));
                }
            }
            // Not a zstd frame, or one with more or fewer bytes.
            prop_assert!(BlockDecoder::new().unwrap().decode(bytes, &mut vec![0; bytes.len() + 1]).is_err());
        }
    }

    #[test]
    fn a_change_under_valid_checksums_gives_an_error_or_valid_rows(
        partition in partition(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = partition.write(dir.path(), "a.spill", Codec::Zstd, 5).path;
        let mut bytes = std::fs::read(&path).unwrap();
        let index = u64::from_le_bytes(bytes[104..112].try_into().unwrap()) as usize;
        for (at, byte) in changes {
            let mut places: Vec<usize> = (12..152).chain(index..bytes.len()).collect();
            bytes[*at.get_mut(&mut places)] = byte;
        }
        seal(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(spill) = SpillReader::open(&path, None) {
            let verified = spill.verify(&Control::silent());
            let read = read_all(&spill);
            prop_assert!(verified.is_err() || read.is_ok());
            spill.report();
        }
    }
}
