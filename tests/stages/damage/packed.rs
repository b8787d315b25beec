//! Compressed inputs and archives: the checksums of gzip, bzip2 and zip, and of zstd where the writer added them.

use std::io::{Cursor, Read};

use rayon::prelude::*;
use trimill::Kind;
use trimill::testing::input::Source;
use trimill::testing::input::format::Format;
use zip::CompressionMethod;

use crate::common::packed::{gz, tarred, zipped_by};
use crate::readers::support::{Folder, on, read, work_dir, zst_with};

/// What a zip archive holds of a member that is compressed by bzip2 is a `.bz2` file.
fn bz2(bytes: &[u8]) -> Vec<u8> {
    let zip = zipped_by(CompressionMethod::Bzip2, &[("x", bytes)]);
    let (mut archive, mut packed) = (zip::ZipArchive::new(Cursor::new(zip)).unwrap(), Vec::new());
    archive.by_index_raw(0).unwrap().read_to_end(&mut packed).unwrap();
    packed
}

/// The edges of a small graph, as a text and as pairs of 32 bits; no line of the text can be a header.
fn graph() -> (Vec<u8>, Vec<u8>) {
    let arcs: Vec<(u32, u32)> = (0..12).map(|i| (i, i * 7 % 13)).collect();
    let text: String = arcs.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    (text.into_bytes(), arcs.iter().flat_map(|(u, v)| [u.to_le_bytes(), v.to_le_bytes()].concat()).collect())
}

/// Reads a file with every third bit flipped, and cut at each byte: it gives the right arcs, or an error that names it. Returns the refused flips.
fn damaged(name: &str, whole: &[u8]) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let right = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(&path).map_err(|error| {
            assert!(error.kind() == Kind::Data && error.to_string().contains(name), "{name}: {error}");
        })
    };
    let arcs = right(whole).unwrap();
    assert_eq!(arcs.len(), 12, "{name}");
    let mut refused = 0;
    for bit in (0..8 * whole.len()).step_by(3) {
        let mut flipped = whole.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // The bit may belong to a time or a flag of a header.
        right(&flipped).map_or_else(|()| refused += 1, |found| assert_eq!(found, arcs, "{name}: bit {bit}"));
    }
    for cut in 0..whole.len() {
        assert!(right(&whole[..cut]).is_err(), "{name}: {cut} bytes");
    }
    refused
}

#[test]
fn a_flipped_bit_or_a_cut_gives_an_error_or_the_same_arcs() {
    let (text, pairs) = graph();
    let matrix = ["%%MatrixMarket matrix coordinate pattern general\n13 13 12\n", "1 2\n".repeat(12).as_str()].concat();
    let of_text = tarred(&[("g.txt", &text)]);
    let (stored, deflated) = (CompressionMethod::Stored, CompressionMethod::Deflated);
    let files = [
        ("g.txt.gz", gz(&text)),
        ("g.txt.bz2", bz2(&text)),
        ("g.txt.zst", zst_with(true, &text)),
        ("g.bin.gz", gz(&pairs)),
        ("g.bin.bz2", bz2(&pairs)),
        ("g.bin.zst", zst_with(true, &pairs)),
        ("g.mtx.gz", gz(matrix.as_bytes())),
        ("g.tar.gz", gz(&of_text)),
        ("g.tgz", gz(tarred(&[("g.bin", &pairs)]))),
        ("g.tar.bz2", bz2(&of_text)),
        ("g.tar.zst", zst_with(true, &of_text)),
        ("no-suffix", gz(&of_text)),
        ("stored.zip", zipped_by(stored, &[("g.txt", &text)])),
        ("deflated.zip", zipped_by(deflated, &[("g.bin", &pairs)])),
        ("bzip2.zip", zipped_by(CompressionMethod::Bzip2, &[("g.txt", &text)])),
        ("in-zip.zip", zipped_by(stored, &[("g.txt.gz", &gz(&text))])),
        ("in-tar.tar.gz", gz(tarred(&[("g.txt.zst", &zst_with(true, &text))]))),
    ];
    files.par_iter().with_max_len(1).for_each(|(name, whole)| {
        let refused = damaged(name, whole);
        assert!(refused > 4 * whole.len() / 3, "{name}: {refused} of {} bits", 8 * whole.len() / 3);
    });
}

#[test]
fn what_follows_a_stream_is_zeros_or_another_one() {
    let (text, _) = graph();
    let dir = tempfile::tempdir().unwrap();
    let read = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read(&path).map(|arcs| arcs.len()).map_err(|error| error.to_string())
    };
    let matrix = b"%%MatrixMarket matrix coordinate pattern general\n9 9 1\n1 2\n";
    for (name, whole, arcs) in
        [("g.txt.gz", gz(&text), 12), ("g.tar.gz", gz(tarred(&[("g.txt", &text)])), 12), ("g.mtx.gz", gz(matrix), 1)]
    {
        // As many zeros as in a tape's block, and more than are read at once.
        for zeros in [1, 511, 10_240, 1 << 19] {
            let padded = [&whole[..], &vec![0; zeros]].concat();
            assert_eq!(read(name, &padded), Ok(arcs), "{name} and {zeros} zeros");
            for after in [&[1][..], &whole] {
                let error = read(name, &[&padded, after].concat()).unwrap_err();
                assert!(error.contains("the gzip stream is damaged (bytes after its padding)"), "{error}");
            }
        }
        for after in [&b"more"[..], b"\r\n", b"a line that is longer than the header of a member\n"] {
            let error = read(name, &[&whole[..], after].concat()).unwrap_err();
            assert!(error.contains("the gzip stream is damaged (bytes after its end)"), "{error}");
        }
        let error = read(name, &[&whole[..], &gz(&text)[..5]].concat()).unwrap_err();
        assert!(error.contains("the gzip stream is truncated"), "{error}");
    }
    assert_eq!(read("two.txt.gz", &[gz(&text), gz(&text), vec![0; 9]].concat()), Ok(24));
    // The members of an archive may be in several streams, too.
    let archive = tarred(&[("g.txt", &text)]);
    let (begin, end) = archive.split_at(700);
    assert_eq!(read("parts.tar.gz", &[gz(begin), gz(end), vec![0; 9]].concat()), Ok(12));
    assert_eq!(read("parts.tar.bz2", &[bz2(begin), bz2(end)].concat()), Ok(12));
    assert_eq!(read("parts.tar.zst", &[zst_with(true, begin), zst_with(true, end)].concat()), Ok(12));
    assert!(read("half.tar.gz", &gz(begin)).unwrap_err().contains("it ends before the mark of its end"));
}

#[test]
fn what_other_programs_compressed_is_named() {
    let folder = Folder::new();
    let said = |name: &str, bytes: &[u8], format: Option<Format>| {
        let source = Source::open(&[folder.write(name, bytes)], format, &work_dir());
        let error = source.map(|source| source.format()).expect_err(name);
        assert!(error.kind() == Kind::Data && error.to_string().contains(name), "{error}");
        error.to_string()
    };
    for (begin, end, program, command) in [
        (&b"\xfd7zXZ\0"[..], "xz", "xz", "xz -dc"),
        (b"7z\xbc\xaf\x27\x1c", "7z", "7-Zip", "7z x -so"),
        (b"Rar!\x1a\x07", "rar", "RAR", "unrar p -inul"),
        (b"\x5d\0\0\x80\0", "lzma", "lzma", "xz -dc"),
        (b"\x04\x22\x4d\x18", "lz4", "lz4", "lz4 -dc"),
        (b"\x1f\x9d\x90", "Z", "compress", "gzip -dc"),
    ] {
        let bytes = [begin, &[0; 24]].concat();
        let expected = format!("is compressed by {program}, which is not read; expected a plain file");
        for format in [None, Some(Format::Text), Some(Format::BinU32)] {
            let error = said(&format!("g.txt.{end}"), &bytes, format);
            let how = format!("{command} FILE | trimill count -");
            assert!(error.contains(&expected) && error.ends_with(&how), "{error}");
        }
        for name in ["g", "g.gz"] {
            let bytes = if name == "g" { bytes.clone() } else { gz(&bytes) };
            assert!(said(name, &bytes, None).contains(&expected), "{name} of {program}");
        }
        // A few bytes may begin raw numbers, too.
        let is_sure = begin.len() == 6;
        let raw = [begin, &[0; 8]].concat();
        let raw = folder.write("g.bin", &raw[..8]);
        assert_eq!(Source::open(&[raw], None, &work_dir()).is_err(), is_sure, "{program}");
    }
    let (text, _) = graph();
    for (name, format) in [("g.txt.gz.gz", None), ("g.txt.gz.gz", Some(Format::Text)), ("g.txt.gz", None)] {
        let error = said(name, &gz(gz(&text)), format);
        assert!(error.contains("is compressed twice") && error.ends_with("gzip -dc FILE | trimill count -"), "{error}");
    }
    // Compressed once, in spite of its name.
    assert_eq!(read(&folder.write("g.txt.gz.gz", gz(&text))).unwrap().len(), 12);
}

#[test]
fn a_zstd_window_that_is_too_large_is_told_from_damage() {
    let folder = Folder::new();
    let mut frame = zst_with(false, &graph().0);
    // The header has the window's size and no single-segment flag, as `zstd --long=31` writes it.
    assert_eq!(frame[4] & 0x20, 0);
    frame[5] = (31 - 10) << 3;
    for (name, bytes) in [("one.txt.zst", frame.clone()), ("two.txt.zst", frame.repeat(2))] {
        for threads in [1, 4] {
            on(threads, || folder.refuses(name, &bytes, &["a window of more than 128 MiB", "zstd -dc --long=31"]));
        }
    }
}
