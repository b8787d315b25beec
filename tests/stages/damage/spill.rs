//! Spills that are cut, have flipped bits, are mixed up, or come from a faulty writer; any bytes at all are in the fuzz targets `spill` and
//! `spill-block`.

use trimill::testing::spill::{Codec, SpillReader};
use trimill::{Control, Kind};

use crate::readers::support::refused;
use crate::spill_support::*;

#[test]
fn flipped_bits_are_found() {
    for codec in [Codec::Plain, Codec::Zstd] {
        let (_dir, path, whole) = written(&tiny(), codec);
        // One bit of each byte; in a compressed spill two or three.
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
            assert!(text.contains("a.spill") && text.contains("build"), "bit {bit}: {text}");
        }
    }
}

#[test]
fn every_cut_and_every_addition_is_found() {
    let (dir, path, whole) = written(&tiny(), Codec::Zstd);
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
    let (_dir, path, mut bytes) = written(&tiny(), Codec::Zstd);
    refused(SpillReader::open(&path, Some(1)), &["another job"]);
    assert!(SpillReader::open(&path, None).is_ok());
    bytes[8] = 1;
    std::fs::write(&path, &bytes).unwrap();
    refused(opened(&path), &["version 1; expected version 2"]);
}

#[test]
fn a_row_that_would_take_gigabytes_is_refused_before_anything_is_allocated() {
    let partition = Partition { numbered: 4, locals: vec![(3, vec![])], row_blocks: vec![(0..4, vec![vec![]; 3])] };
    let (_dir, path, mut bytes) = written(&partition, Codec::Zstd);
    // Sets the arcs of the resident section's block, which is one row, and its number of bytes.
    let block = u64::from_le_bytes(bytes[104..112].try_into().unwrap()) as usize + 16 + 24 + 48;
    bytes[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
    for at in [block + 16, block + 24] {
        bytes[at..at + 8].copy_from_slice(&(1u64 << 31).to_le_bytes());
    }
    refused(sealed(&path, &bytes), &["block 1 of 1 rows has 2147483650 values"]);
}

#[test]
fn other_numbers_of_kept_proxies_are_refused() {
    let (_dir, path, mut bytes) = written(&tiny(), Codec::Zstd);
    for kept in [0, 4, u64::MAX] {
        bytes[72..80].copy_from_slice(&kept.to_le_bytes());
        refused(sealed(&path, &bytes), &["the row blocks hold 3 rows and 4 arcs, the header says otherwise"]);
    }
}

#[test]
fn a_row_block_with_a_row_too_many_is_found_by_verify() {
    // The rows of proxies 0 and 1 of a row block, shifted by one local: well-formed, but proxy 1 would point at itself.
    let row_blocks = vec![(0..4, vec![vec![], vec![0, 1], vec![]])];
    let partition = Partition { numbered: 4, locals: vec![(3, vec![])], row_blocks };
    let (_dir, path, _) = written(&partition, Codec::Zstd);
    refused(opened(&path).unwrap().verify(&Control::silent()), &["row block 0: the row of proxy 1"]);
}

#[test]
fn blocks_of_a_section_are_read_in_whatever_order_they_lie() {
    // Two blocks of the same bytes, whose places are exchanged.
    let many = 1 << 18;
    let (locals, row_blocks) = (vec![(many, vec![])], vec![(0..many + 1, vec![vec![]; many as usize])]);
    let partition = Partition { numbered: many + 1, locals, row_blocks };
    let (_dir, path, mut bytes) = written(&partition, Codec::Plain);
    // In the index they follow three blocks of ranks and one of the local.
    let index = u64::from_le_bytes(bytes[104..112].try_into().unwrap()) as usize;
    let (one, other) = bytes[index + 16 + 24 + 4 * 48..].split_at_mut(48);
    one[..8].swap_with_slice(&mut other[..8]);
    partition.assert_is_in(&sealed(&path, &bytes).unwrap());
}
