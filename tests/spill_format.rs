//! Spills as files: round trips, the fixture of version 1, and damage of every kind.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::ops::Range;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use trimill::control::Control;
use trimill::error::{Error, Kind};
use trimill::partition::section::{Frame, Resident};
use trimill::spill::codec::{Decoder, Encoder, Numbers, Rows, RowsMut};
use trimill::spill::{
    Codec, Manifest, ManifestJob, ManifestPartition, PartitionHeader, SpillReader, SpillSummary, SpillWriter,
};
use xxhash_rust::xxh3::xxh3_64;

const FINGERPRINT: u128 = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;
const HEADER: usize = 160;

/// A partition as literal rows.
#[derive(Debug, Clone)]
struct Partition {
    numbered: u32,
    /// Number and row of each local.
    locals: Vec<(u32, Vec<u32>)>,
    /// Range and rows of each frame.
    frames: Vec<(Range<u32>, Vec<Vec<u32>>)>,
}

impl Partition {
    fn resident(&self) -> Resident {
        resident_of(&self.locals)
    }

    fn frame(&self, i: usize) -> Frame {
        let (range, rows) = &self.frames[i];
        let offsets = ends(rows.iter()).into_iter().map(|end| end as u32).collect();
        Frame { range: range.clone(), offsets, heads: rows.concat() }
    }

    fn header(&self) -> PartitionHeader {
        PartitionHeader {
            partition: 7,
            fingerprint: FINGERPRINT,
            locals: self.locals.len() as u32,
            numbered: self.numbered,
            proxies_induced: 1 << 40,
            proxies_kept: u64::from(self.numbered) - self.locals.len() as u64,
            arcs_induced: (1 << 50) + 1,
            arcs_kept: 3,
        }
    }

    /// Writes it with resident chunks of `chunk` rows.
    fn write(&self, dir: &Path, name: &str, codec: Codec, chunk: usize) -> SpillSummary {
        let mut writer = SpillWriter::create(dir, name, self.header(), codec).unwrap();
        for rows in self.locals.chunks(chunk) {
            writer.resident(&resident_of(rows)).unwrap();
        }
        for i in 0..self.frames.len() {
            writer.frame(&self.frame(i)).unwrap();
        }
        writer.finish().unwrap()
    }

    fn assert_is_in(&self, spill: &SpillReader) {
        assert_eq!(*spill.header(), self.header());
        assert_eq!(spill.frames(), self.frames.len());
        // Buffers that were used before, larger and smaller than needed.
        let mut resident = Resident { numbers: vec![9; 500], offsets: vec![9], heads: vec![9; 3] };
        spill.read_resident(&mut resident).unwrap();
        assert_eq!(resident, self.resident());
        assert_eq!(spill.resident_arcs(), resident.heads.len() as u64);
        let mut frame = Frame { range: 1..2, offsets: vec![9; 700], heads: vec![] };
        for i in (0..self.frames.len()).rev() {
            spill.read_frame(i, &mut frame).unwrap();
            assert_eq!(frame, self.frame(i));
            let info = spill.frame_info(i);
            assert_eq!((info.range.clone(), info.arcs), (frame.range.clone(), frame.heads.len() as u64));
            assert_eq!(info.decoded_bytes(), 4 * (frame.heads.len() + frame.offsets.len()) as u64);
        }
        spill.verify(&Control::silent()).unwrap();
    }
}

fn ends<'a>(rows: impl Iterator<Item = &'a Vec<u32>>) -> Vec<u64> {
    let mut offsets = vec![0];
    for row in rows {
        offsets.push(offsets.last().unwrap() + row.len() as u64);
    }
    offsets
}

fn resident_of(rows: &[(u32, Vec<u32>)]) -> Resident {
    Resident {
        numbers: rows.iter().map(|row| row.0).collect(),
        offsets: ends(rows.iter().map(|row| &row.1)),
        heads: rows.iter().flat_map(|row| row.1.clone()).collect(),
    }
}

/// What the fixture holds: 70,000 vertices, three of them local, most proxies without arcs.
fn fixture() -> Partition {
    let row = |number| match number {
        500 => vec![0, 1, 499],
        1000 => vec![],
        65_999 => vec![0, 255, 256, 65_535, 65_998],
        _ => vec![],
    };
    let locals = [2, 300, 69_999];
    let rows = |range: Range<u32>| range.filter(|number| !locals.contains(number)).map(row).collect();
    Partition {
        numbered: 70_000,
        locals: vec![(2, vec![0, 1]), (300, vec![]), (69_999, vec![0, 500, 65_999, 69_998])],
        frames: vec![(0..1000, rows(0..1000)), (1000..70_000, rows(1000..70_000))],
    }
}

/// A few rows, so that every bit of the file can be tried.
fn tiny() -> Partition {
    Partition {
        numbered: 6,
        locals: vec![(1, vec![0]), (4, vec![0, 1, 3]), (5, vec![4])],
        frames: vec![(0..3, vec![vec![], vec![0, 1]]), (3..6, vec![vec![0, 2]])],
    }
}

fn opened(path: &Path) -> Result<SpillReader, Error> {
    SpillReader::open(path, Some(FINGERPRINT))
}

fn failure<T>(result: Result<T, Error>) -> Error {
    match result {
        Ok(_) => panic!("damage was not found"),
        Err(error) => error,
    }
}

/// Reads everything; the buffers must be empty after an error.
fn read_all(spill: &SpillReader) -> Result<(), Error> {
    let mut resident = Resident::default();
    let mut frame = Frame::default();
    let mut result = spill.read_resident(&mut resident);
    assert!(result.is_ok() || resident == Resident::default());
    for i in 0..spill.frames() {
        let read = spill.read_frame(i, &mut frame);
        assert!(read.is_ok() || frame == Frame::default());
        result = result.and(read);
    }
    result
}

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/spill-v1")
}

#[test]
fn the_fixture_of_version_1_holds_these_rows() {
    let manifest = Manifest::read(&fixture_dir()).unwrap();
    assert_eq!(manifest.fingerprint, FINGERPRINT);
    assert_eq!((manifest.vertices, manifest.edges), (70_000, 14));
    assert_eq!(manifest.job.partitioner, "contiguous");
    let [planes, raw] = &manifest.partitions[..] else { panic!("two partitions") };
    let spill = manifest.open(&fixture_dir(), planes).unwrap();
    assert_eq!(spill.codec(), Codec::Planes);
    fixture().assert_is_in(&spill);
    let spill = manifest.open(&fixture_dir(), raw).unwrap();
    assert_eq!(spill.codec(), Codec::Raw);
    tiny().assert_is_in(&spill);
}

/// Run by hand, once for each version of the format: `cargo test --test spill_format -- --ignored`.
#[test]
#[ignore = "writes the fixture of the current version"]
fn write_the_fixture() {
    let dir = fixture_dir();
    let partitions = [("part-00000.spill", fixture(), Codec::Planes), ("part-00001.spill", tiny(), Codec::Raw)];
    let job = ManifestJob {
        input: "graph".into(),
        partitioner: "contiguous".into(),
        prune: "direct".into(),
        seed: "1".into(),
        parts: "2".into(),
    };
    let partitions = partitions.map(|(name, partition, codec)| (&partition.write(&dir, name, codec, 2)).into());
    let partitions: Vec<ManifestPartition> = partitions.into();
    let manifest = Manifest { version: 1, fingerprint: FINGERPRINT, job, vertices: 70_000, edges: 14, partitions };
    manifest.write(&dir).unwrap();
}

#[test]
fn the_header_is_as_specified() {
    let dir = tempfile::tempdir().unwrap();
    let summary = tiny().write(dir.path(), "part-00007.spill", Codec::Planes, 1);
    let bytes = std::fs::read(&summary.path).unwrap();
    assert_eq!(summary.bytes, bytes.len() as u64);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_eq!(&bytes[..8], b"TRIMSPIL");
    assert_eq!((word(8), &bytes[12..16]), (1, &[1, 0, 0, 0][..]));
    assert_eq!(bytes[16..32], FINGERPRINT.to_le_bytes());
    assert_eq!([word(32), word(36), word(40), word(44)], [7, 3, 6, 2]);
    assert_eq!([long(48), long(56)], [5, 4], "resident and frame arcs");
    assert_eq!([long(64), long(72), long(80), long(88)], [1 << 40, 3, (1 << 50) + 1, 3]);
    assert_eq!(long(96), 4 * (3 + 3 + 5) + 4 * (3 + 4), "raw bytes");
    assert_eq!(long(104) + long(112), bytes.len() as u64);
    assert_eq!(long(120), xxh3_64(&bytes[long(104) as usize..]));
    assert_eq!(bytes[128..152], [0; 24]);
    assert_eq!((long(152), summary.checksum), (xxh3_64(&bytes[..152]), xxh3_64(&bytes[..152])));
    assert_eq!((summary.resident_arcs, summary.frame_arcs, summary.frames), (5, 4, 2));
    assert_eq!((summary.raw_bytes, summary.largest_frame_bytes), (72, 4 * (2 + 2 + 1)));
}

#[test]
fn every_flipped_bit_is_found() {
    let dir = tempfile::tempdir().unwrap();
    for codec in [Codec::Raw, Codec::Planes] {
        let path = tiny().write(dir.path(), "whole.spill", codec, 10).path;
        let whole = std::fs::read(&path).unwrap();
        let path = dir.path().join("flipped.spill");
        for bit in 0..8 * whole.len() {
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
    let whole = std::fs::read(tiny().write(dir.path(), "whole.spill", Codec::Planes, 10).path).unwrap();
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
    let path = tiny().write(dir.path(), "a.spill", Codec::Planes, 10).path;
    let error = failure(SpillReader::open(&path, Some(1)));
    assert_eq!(error.kind(), Kind::Data);
    assert!(error.to_string().contains("another job"), "{error}");
    assert!(SpillReader::open(&path, None).is_ok());
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 2;
    seal(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = failure(opened(&path));
    assert!(error.to_string().contains("version 2; expected version 1"), "{error}");
}

#[test]
fn a_frame_with_a_row_too_many_is_found_by_verify() {
    // The rows of proxies 0 and 1 of a frame, shifted by one local: well-formed, but proxy 1 would point at itself.
    let dir = tempfile::tempdir().unwrap();
    let partition =
        Partition { numbered: 4, locals: vec![(3, vec![])], frames: vec![(0..4, vec![vec![], vec![0, 1], vec![]])] };
    let path = partition.write(dir.path(), "a.spill", Codec::Planes, 1).path;
    let error = failure(opened(&path).unwrap().verify(&Control::silent()));
    assert!(error.to_string().contains("frame 0: the row of proxy 1"), "{error}");
}

#[test]
fn blocks_of_many_sizes_come_back_on_any_number_of_threads() {
    // Rows of 0 to 3,000,000 heads, several blocks a section, one longer than a block, in chunks and all at once.
    let numbered = 3_000_100;
    let row = |number: u32| match number % 50 {
        0 if number >= 3_000_000 => (0..number).collect(),
        k if number >= 2_900_000 => (0..k).map(|i| i * (number / 50)).collect::<Vec<u32>>(),
        _ => vec![],
    };
    let is_local = |number: u32| number % 3 == 1;
    let frame = |range: Range<u32>| (range.clone(), range.filter(|&n| !is_local(n)).map(row).collect());
    let partition = Partition {
        numbered,
        locals: (0..numbered).filter(|&n| is_local(n)).map(|n| (n, row(n))).collect(),
        frames: vec![frame(0..2_950_000), frame(2_950_000..2_950_000), frame(2_950_000..numbered)],
    };
    let dir = tempfile::tempdir().unwrap();
    let mut checksums = Vec::new();
    for threads in [1, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            for (codec, chunk) in [(Codec::Planes, 1_000), (Codec::Planes, usize::MAX), (Codec::Raw, 200_000)] {
                let summary = partition.write(dir.path(), "a.spill", codec, chunk);
                checksums.push(summary.checksum);
                let spill = opened(&summary.path).unwrap();
                let report = spill.report();
                assert!(report.resident.blocks > 5 && report.total.rows == u64::from(numbered));
                partition.assert_is_in(&spill);
            }
        });
    }
    assert_eq!(checksums[..3], checksums[3..], "the bytes do not depend on the threads");
}

#[test]
fn an_unfinished_spill_leaves_nothing_and_a_directory_that_is_missing_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = SpillWriter::create(dir.path(), "a.spill", tiny().header(), Codec::Planes).unwrap();
    writer.resident(&tiny().resident()).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert!(!dir.path().join("a.spill").exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let missing = dir.path().join("missing");
    let error = failure(SpillWriter::create(&missing, "a.spill", tiny().header(), Codec::Planes));
    assert_eq!(error.kind(), Kind::Resource);
    let control = Control::silent();
    control.stop();
    let path = tiny().write(dir.path(), "a.spill", Codec::Planes, 1).path;
    assert_eq!(failure(opened(&path).unwrap().verify(&control)).kind(), Kind::Interrupted);
}

#[test]
fn a_report_counts_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = tiny().write(dir.path(), "a.spill", Codec::Raw, 1).path;
    let json = serde_json::to_value(opened(&path).unwrap().report()).unwrap();
    assert_eq!(json["codec"], "raw");
    assert_eq!(json["fingerprint"], "0123456789abcdef0011223344556677");
    assert_eq!(json["resident"]["rows"], 3);
    assert_eq!(json["resident"]["stored_bytes"], 44);
    assert_eq!(json["frames"][1]["first"], 3);
    assert_eq!(json["frames"][1]["arcs"], 2);
    assert_eq!(json["frames"][0]["raw_bytes"], 16);
    assert_eq!(json["total"]["ratio"], 1.0);
}

#[test]
fn every_changed_byte_of_a_manifest_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(fixture_dir().join("manifest.json")).unwrap();
    let path = dir.path().join("manifest.json");
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            std::fs::write(&path, &flipped).unwrap();
            let error = failure(Manifest::read(dir.path()));
            assert_eq!(error.kind(), Kind::Data);
            assert!(error.to_string().contains("manifest.json"), "{error}");
        }
        std::fs::write(&path, &whole[..at]).unwrap();
        failure(Manifest::read(dir.path()));
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(failure(Manifest::read(dir.path())).kind(), Kind::Data);
}

#[test]
fn a_manifest_names_the_very_files_it_was_written_for() {
    let dir = tempfile::tempdir().unwrap();
    let mut manifest = Manifest::read(&fixture_dir()).unwrap();
    let summary = tiny().write(dir.path(), "part-00001.spill", Codec::Planes, 1);
    let error = failure(manifest.open(dir.path(), &manifest.partitions[1]));
    assert!(error.to_string().contains("as the manifest says"), "{error}");
    assert_eq!(failure(manifest.open(dir.path(), &manifest.partitions[0])).kind(), Kind::Data);
    manifest.partitions = vec![(&summary).into()];
    manifest.write(dir.path()).unwrap();
    let back = Manifest::read(dir.path()).unwrap();
    assert_eq!(back, manifest);
    assert!(back.open(dir.path(), &back.partitions[0]).is_ok());
    manifest.partitions[0].file = "../part-00001.spill".into();
    manifest.write(dir.path()).unwrap();
    assert!(failure(Manifest::read(dir.path())).to_string().contains("beside the manifest"));
}

/// Makes the checksums of index and header right again, as a faulty or malicious writer would.
fn seal(bytes: &mut [u8]) {
    let index = u64::from_le_bytes(bytes[104..112].try_into().unwrap());
    if let Some(index) = usize::try_from(index).ok().and_then(|index| bytes.get(index..)) {
        let checksum = xxh3_64(index);
        bytes[120..128].copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = xxh3_64(&bytes[..152]);
    bytes[152..HEADER].copy_from_slice(&checksum.to_le_bytes());
}

/// A row of strictly ascending heads below `bound`.
fn row_below(bound: u32) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::btree_set(0..bound.max(1), 0..=8.min(bound as usize))
        .prop_map(|row| row.into_iter().collect())
}

fn partition() -> impl Strategy<Value = Partition> {
    (0u32..60)
        .prop_flat_map(|numbered| {
            let rows: Vec<_> = (0..numbered).map(row_below).collect();
            let count = numbered as usize;
            (rows, proptest::collection::vec(any::<bool>(), count), proptest::collection::vec(0..=numbered, 0..4))
        })
        .prop_map(|(rows, local, mut cuts)| {
            let numbered = rows.len() as u32;
            cuts.sort_unstable();
            let all_local = local.iter().all(|&local| local);
            let ends = if all_local && cuts.is_empty() { vec![] } else { [&cuts[..], &[numbered]].concat() };
            let mut start = 0;
            let frames = ends.into_iter().map(|end| {
                let range = std::mem::replace(&mut start, end)..end;
                let proxies = range.clone().filter(|&n| !local[n as usize]);
                (range, proxies.map(|n| rows[n as usize].clone()).collect())
            });
            let frames = frames.collect();
            let locals = (0..numbered).filter(|&n| local[n as usize]).map(|n| (n, rows[n as usize].clone())).collect();
            Partition { numbered, locals, frames }
        })
}

/// Ascending values with gaps of every size, the largest below `u32::MAX`.
fn ascending(count: usize) -> impl Strategy<Value = Vec<u32>> {
    let value = prop_oneof![0..300u32, any::<u32>().prop_map(|v| v.min(u32::MAX - 2)), Just(u32::MAX - 2)];
    proptest::collection::btree_set(value, 0..count).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_partition_comes_back(partition in partition(), chunk in 1usize..20, raw: bool) {
        let dir = tempfile::tempdir().unwrap();
        let codec = if raw { Codec::Raw } else { Codec::Planes };
        let summary = partition.write(dir.path(), "a.spill", codec, chunk);
        let spill = opened(&summary.path).unwrap();
        partition.assert_is_in(&spill);
        prop_assert_eq!((summary.bytes, summary.checksum), (spill.bytes(), spill.checksum()));
        prop_assert_eq!(summary.largest_frame_bytes, spill.largest_frame_bytes());
    }

    #[test]
    fn rows_with_giant_gaps_come_back(rows in proptest::collection::vec(ascending(6), 0..9), raw: bool) {
        let codec = if raw { Codec::Raw } else { Codec::Planes };
        let offsets = ends(rows.iter());
        let heads = rows.concat();
        let (mut stored, mut back) = (Vec::new(), vec![1; heads.len()]);
        let numbers = Numbers::Below(u32::MAX);
        let shape = Rows { numbers, offsets: &offsets, heads: &heads };
        Encoder::new().unwrap().encode(codec, &shape, &mut stored).unwrap();
        let mut ends = vec![0u64; rows.len()];
        let base = u64::from(u32::MAX) + 5;
        let into = RowsMut { numbers: Numbers::Below(u32::MAX), ends: &mut ends, heads: &mut back, base };
        Decoder::new().unwrap().decode(codec, &stored, into).unwrap();
        prop_assert_eq!(back, heads);
        let expected: Vec<u64> = offsets[1..].iter().map(|end| base + end).collect();
        prop_assert_eq!(ends, expected);
    }

    #[test]
    fn a_decoder_takes_no_nonsense(
        partition in partition(), raw: bool, at: prop::sample::Index, byte: u8, cut: prop::sample::Index, noise: Vec<u8>,
    ) {
        let codec = if raw { Codec::Raw } else { Codec::Planes };
        let Resident { numbers, offsets, heads } = partition.resident();
        let mut stored = Vec::new();
        let rows = Rows { numbers: Numbers::Each(&numbers[..]), offsets: &offsets, heads: &heads };
        Encoder::new().unwrap().encode(codec, &rows, &mut stored).unwrap();
        let mut changed = stored.clone();
        if !changed.is_empty() {
            *at.get_mut(&mut changed) = byte;
        }
        let cut = cut.index(stored.len() + 1);
        let mut decoder = Decoder::new().unwrap();
        for bytes in [&changed[..], &stored[..cut], &noise] {
            let (mut numbers, mut heads) = (vec![0; numbers.len()], vec![0; heads.len()]);
            let mut ends = vec![0u64; numbers.len()];
            let into = RowsMut { numbers: Numbers::Each(&mut numbers[..]), ends: &mut ends, heads: &mut heads, base: 0 };
            if decoder.decode(codec, bytes, into).is_ok() {
                prop_assert!(numbers.is_sorted_by(|a, b| a < b));
                let starts = std::iter::once(&0).chain(&ends);
                for ((&start, &end), &number) in starts.zip(&ends).zip(&numbers) {
                    let row = &heads[start as usize..end as usize];
                    prop_assert!(row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|&last| last < number));
                }
            }
        }
    }

    #[test]
    fn a_sealed_lie_ends_in_an_error_or_in_valid_rows(
        partition in partition(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = partition.write(dir.path(), "a.spill", Codec::Planes, 5).path;
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
