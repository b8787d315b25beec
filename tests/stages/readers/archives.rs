//! Archives: hostile ones, damaged ones, and which of their members is read.

use std::io::Cursor;
use std::path::Path;

use trimill::testing::input::Source;
use trimill::testing::input::format::Format;
use trimill::{Control, Kind};
use zip::write::SimpleFileOptions;

use super::support::{Folder, SORTED, TINY, arcs, failed, gz, on, open, pairs32, read, read_as, text_of, work_dir};
use crate::common::job::fixture;
use crate::common::packed::{zipped, zst};

fn member(name: &str, kind: u8, size: u64, contents: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_mode(0o644);
    header.set_size(size);
    header.set_cksum();
    let padding = vec![0; contents.len().next_multiple_of(512) - contents.len()];
    [&header.as_bytes()[..], contents, &padding].concat()
}

fn file(name: &str, contents: &str) -> Vec<u8> {
    member(name, b'0', contents.len() as u64, contents.as_bytes())
}

fn ended(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 1024]].concat()
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let record = |(key, value): &(&str, &str)| {
        let rest = format!(" {key}={value}\n");
        let digits = (rest.len() + 2).to_string().len();
        format!("{}{rest}", rest.len() + digits)
    };
    let text: String = records.iter().map(record).collect();
    member("pax", b'x', text.len() as u64, text.as_bytes())
}

#[test]
fn the_graph_in_an_archive_is_read_and_nothing_is_written_by_name() {
    let folder = Folder::new();
    let text = text_of(&TINY, " ", "\n");
    let read_in = |name: &str, bytes: &[u8], format: Format| {
        let source = open(&folder.write(name, bytes)).unwrap();
        assert_eq!(source.format(), format, "{name}");
        assert_eq!(source.identity(&Control::silent()).unwrap().unwrap().files[0].path.file_name().unwrap(), name);
        arcs(&source).unwrap()
    };
    let matrix = format!("%%MatrixMarket matrix coordinate pattern general\n9 9 8\n{}", text.replace('0', "9"));
    let tar = ended(&[file("readme.txt", "about"), file("../../out.csv", &text)]);
    assert_eq!(read_in("a.tar", &tar, Format::Text), SORTED);
    assert_eq!(read_in("a.tar.gz", &gz(&tar), Format::Text), SORTED);
    assert_eq!(read_in("no-suffix", &gz(&tar), Format::Text), SORTED);
    let two = zipped(&[("/etc/g.edges", text.as_bytes()), ("a.html", b"<p>")]);
    assert_eq!(read_in("b.zip", &two, Format::Text), SORTED);
    // Folders as Windows writes them; and names in its old encoding.
    let two = zipped(&[("g\\edges.txt", text.as_bytes()), ("g\\README.txt", b"about"), ("g\\", b"")]);
    assert_eq!(read_in("windows.zip", &two, Format::Text), SORTED);
    let mut two = zipped(&[("Gr#e.md", b"x"), ("Gr$e.md", b"y"), ("g.txt", text.as_bytes())]);
    for (letter, byte) in [(b'#', 0x94), (b'$', 0x81)] {
        let name = [b'G', b'r', letter, b'e', b'.'];
        while let Some(at) = two.windows(5).position(|part| part == name) {
            two[at + 2] = byte;
        }
    }
    assert_eq!(read_in("cp437.zip", &two, Format::Text), SORTED);
    // A member may be compressed; its name says its format.
    assert_eq!(read_in("c.zip", &zipped(&[("g.csv.gz", &gz(text.as_bytes()))]), Format::Text), SORTED);
    assert_eq!(read_in("d.zip", &zipped(&[("x/g.mtx", matrix.as_bytes())]), Format::MatrixMarket).len(), 8);
    assert_eq!(read_in("e.zip", &zipped(&[("g.bin", &pairs32(&TINY))]), Format::BinU32), SORTED);
    // Names and sizes in pax headers take precedence over those in the header that follows.
    let size = text.len().to_string();
    let long = [pax(&[("path", "folder/g.el"), ("size", &size)]), member("x", b'0', 0, text.as_bytes())].concat();
    assert_eq!(read_in("pax.tar", &ended(&[long, file("b", "2 3\n")]), Format::Text), SORTED);
    // Links and folders have no contents, whatever size their headers say, except for a link after a pax header with a size.
    let with_contents = [pax(&[("size", "4")]), member("d", b'1', 0, b"0 1\n")].concat();
    let empty = [(b'1', "a"), (b'2', "b"), (b'5', "c/")].map(|(kind, name)| member(name, kind, 600, b""));
    let sized = ended(&[empty.concat(), with_contents, file("g.txt", &text)]);
    assert_eq!(read_in("sized.tar", &sized, Format::Text), SORTED);
    assert!(!folder.path("../../out.csv").exists());
}

#[test]
fn of_members_with_one_path_the_last_counts() {
    let folder = Folder::new();
    let text = text_of(&TINY, " ", "\n");
    let about = file("g/x.properties", "graph.x.directed = false\n");
    // Files that macOS adds do not count.
    let hidden = [file("g/._x.v", "0\n"), file("__MACOSX/g/._x.e", "x")].concat();
    let updated = ended(&[hidden, file("g/x.v", "0\n"), file("g/x.e", "7 8\n"), about, file("./g/x.e", &text)]);
    let source = open(&folder.write("updated.tar", updated)).unwrap();
    assert_eq!((source.format(), arcs(&source).unwrap()), (Format::Graphalytics, SORTED.to_vec()));
    // Packed twice: GNU tar adds a link to the same file.
    let (old, new) = (file("g.txt", "7 8\n"), file("g.txt", &text));
    let long = member("././@LongLink", b'K', 8, b"./g.txt\0");
    for link in [pax(&[("linkpath", "g.txt")]), long] {
        let packed = ended(&[old.clone(), new.clone(), link, member("g.txt", b'1', 0, b"")]);
        assert_eq!(read(&folder.write("packed.tar", packed)).unwrap(), SORTED);
    }
    folder.refuses("linked.tar", ended(&[new, member("./g.txt", b'2', 0, b"")]), &["no plain file"]);
    // Names whose bytes are not UTF-8 stay different.
    let mut two = ended(&[file("g?.txt", &text), file("g!.txt", &text)]);
    for (at, byte) in [(0, 0xe4), (1024, 0xf6)] {
        let header = &mut two[at..][..512];
        header[1] = byte;
        let mut summed = tar::Header::from_byte_slice(header).clone();
        summed.set_cksum();
        header.copy_from_slice(summed.as_bytes());
    }
    folder.refuses("latin.tar", two, &["2 files that may be the graph"]);
}

#[test]
fn a_matrix_of_scipy_is_no_archive_in_an_archive() {
    let folder = Folder::new();
    let matrix = std::fs::read(fixture("csr.npz")).unwrap();
    let expected = read(&fixture("csr.npz")).unwrap();
    for (name, bytes) in [
        ("a.tar", ended(&[member("x/csr.npz", b'0', matrix.len() as u64, &matrix)])),
        ("a.zip", zipped(&[("csr.npz", &matrix), ("README.txt", b"about")])),
        ("no-suffix.zip", zipped(&[("csr", &matrix)])),
    ] {
        let path = [folder.write(name, bytes)];
        for format in [None, Some(Format::ScipyNpz)] {
            let source = Source::open(&path, format, &work_dir()).unwrap();
            assert_eq!((source.format(), arcs(&source).unwrap()), (Format::ScipyNpz, expected.clone()), "{name}");
        }
    }
}

#[test]
fn archives_without_one_graph_are_refused() {
    let folder = Folder::new();
    // The names decide which member is read: input/src/archive/member.rs tests more of them.
    let two = [file("a.txt", "0 1\n"), file("b.txt", "1 2\n")];
    folder.refuses("two.tar", ended(&two), &["2 files that may be the graph: 'a.txt', 'b.txt'", "unpack the archive"]);
    folder.refuses("link.tar", ended(&[member("g.txt", b'2', 0, b"")]), &["no plain file"]);
    folder.refuses("hard.tar", ended(&[member("g.txt", b'1', 0, b"")]), &["no plain file"]);
    folder.refuses("nothing.zip", zipped(&[]), &["no plain file"]);
    let mut linked = zip::ZipWriter::new(Cursor::new(Vec::new()));
    linked.add_directory("g.mtx", SimpleFileOptions::default()).unwrap();
    linked.add_symlink("g.txt", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    folder.refuses("linked.zip", linked.finish().unwrap().into_inner(), &["no plain file"]);
    folder.refuses("void.zip", zipped(&[("g.txt", b"")]), &["void.zip: g.txt: is empty"]);
    folder.refuses("line.zip", zipped(&[("g.txt", b"0 1\n1 x\n")]), &["line.zip: g.txt:2: 'x'"]);
    let inner = zipped(&[("g.txt", b"0 1\n")]);
    folder.refuses("outer.zip", zipped(&[("inner.zip", &inner)]), &["inner.zip: is an archive in an archive"]);
    for (name, packed) in [("g.zip.gz", gz(&inner)), ("g.ZIP.zst", zst(&inner))] {
        folder.refuses(name, packed, &["is a zip archive that was compressed again", "-dc FILE | trimill count -"]);
    }
    folder.refuses("outer.tar", ended(&[member("i.tar.gz", b'0', 0, &[])]), &["is empty"]);
    let packed = gz(ended(&[file("g.txt", "0 1\n")]));
    folder.refuses("deep.zip", zipped(&[("i.tar.gz", &packed)]), &["is an archive in an archive"]);
    let crawl = [("g.graph", &[0u8, 1, 2, 3][..]), ("g.properties", b"nodes=1\n")];
    folder.refuses("crawl.zip", zipped(&crawl), &["a BVGraph in an archive"]);
}

#[test]
fn damaged_and_hostile_archives_are_refused() {
    let folder = Folder::new();
    let whole = ended(&[file("g.txt", "0 1\n1 2\n")]);
    assert_eq!(read(&folder.write("whole.tar", &whole)).unwrap().len(), 2);
    for cut in [513, 600, 1024, 1100] {
        folder.refuses("cut.tar", &whole[..cut], &["it ends before the mark of its end", "it was cut"]);
    }
    folder.refuses("cut.tar.gz", &gz(&whole)[..60], &["gzip stream is truncated", "fetch the file again"]);
    // Tapes have longer padding; other bytes may be another archive.
    assert_eq!(read(&folder.write("tape.tar", [&whole[..], &[0; 1 << 19]].concat())).unwrap().len(), 2);
    let twice = [&whole[..], &whole].concat();
    for (name, bytes) in [
        ("two.tar", twice.clone()),
        ("one.tar.gz", gz(&twice)),
        ("two.tar.gz", gz(&whole).repeat(2)),
        ("more.tar", [&whole[..], &[0; 999], b"x"].concat()),
    ] {
        folder.refuses(name, bytes, &["bytes after the end of the tar archive", "--ignore-zeros"]);
    }
    let mut second = ended(&[file("g.txt", "0 1\n"), file("h.html", "x")]);
    second[1024] = b'i';
    folder.refuses("sum.tar", second, &["a header with a wrong checksum"]);
    let huge = u64::MAX / 2;
    folder.refuses("huge.tar", ended(&[member("g.txt", b'0', huge, b"0 1\n")]), &["it ends before the mark"]);
    let size = ended(&[pax(&[("size", "18446744073709551615")]), file("g.txt", "0 1\n")]);
    folder.refuses("size.tar", size, &["a size above 2^64"]);
    let long = ended(&[member("long", b'L', 1 << 20, &vec![b'x'; 1 << 20]), file("g.txt", "0 1\n")]);
    folder.refuses("long.tar", long, &["an extension header of 1048576 bytes"]);
    let odd = ended(&[member("pax", b'x', 9, b"99 path=x"), file("g.txt", "0 1\n")]);
    folder.refuses("odd.tar", odd, &["a damaged pax header"]);
    let sparse = ended(&[member("g.txt", b'S', 4, b"0 1\n")]);
    folder.refuses("sparse.tar", sparse, &["stored as a sparse file", "--sparse"]);
    let sparse = ended(&[pax(&[("GNU.sparse.major", "1")]), file("g.txt", "1\n0\n4\n")]);
    folder.refuses("sparse.tar", sparse, &["'g.txt' is stored as a sparse file"]);
    let many: Vec<Vec<u8>> = (0..10_001).map(|i| file(&format!("{i}.html"), "")).collect();
    folder.refuses("many.tar", ended(&many), &["more than 10000 members"]);
    let many: Vec<String> = (0..10_001).map(|i| format!("{i}.html")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    folder.refuses("many.zip", zipped(&many), &["more than 10000 members"]);

    let zip = zipped(&[("g.txt", text_of(&[(3, 4); 500], " ", "\n").as_bytes())]);
    folder.refuses("cut.zip", &zip[..zip.len() - 1], &["the zip archive is damaged", "fetch it again"]);
    let directory = zip.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let altered = |at: usize, bytes: &[u8]| {
        let mut zip = zip.clone();
        zip[directory + at..][..bytes.len()].copy_from_slice(bytes);
        zip
    };
    folder.refuses("locked.zip", altered(8, &[1, 0]), &["the member 'g.txt' is encrypted"]);
    folder.refuses("method.zip", altered(10, &[14, 0]), &["the member 'g.txt' is compressed by"]);
    folder.refuses("sum.zip", altered(16, &[1, 2, 3, 4]), &["the member 'g.txt' is damaged (its checksum differs)"]);
    // Where the member begins.
    folder.refuses("offset.zip", altered(42, &[0xff, 0xff, 0xff, 0x7f]), &["the zip archive is damaged"]);
    // The size that the directory announces, too small and too large.
    let told = ["the member 'g.txt' is damaged", "more than the 7 bytes announced"];
    folder.refuses("bomb.zip", altered(24, &[7, 0, 0, 0]), &told);
    folder.refuses("more.zip", altered(24, &[0, 0, 16, 0]), &["2000 bytes instead of 1048576"]);
    let told = "4294967294 bytes of 'g.txt' from 28; expected a size that compression can lead to";
    folder.refuses("absurd.zip", altered(24, &[0xfe, 0xff, 0xff, 0xff]), &[told]);

    let joined = [zipped(&[("g.txt", b"0 1\n")]), zip.clone()].concat();
    folder.refuses("joined.zip", joined, &["bytes before the first member that is listed", "name them one by one"]);

    // A name that is there twice, in the list and before the contents; and a list that is shorter than its length.
    let two = zipped(&[("a.txt", b"0 1\n"), ("b.txt", b"1 2\n")]);
    let twice: Vec<u8> = two.iter().map(|&byte| if byte == b'b' { b'a' } else { byte }).collect();
    folder.refuses("twice.zip", twice, &["two members of the name 'a.txt'", "members with different names"]);
    for number in [1, 3] {
        let (mut other, length) = (two.clone(), two.len());
        other[length - 12] = number;
        folder.refuses("list.zip", other, &[&format!("a list of 2 members instead of {number}")]);
    }
}

#[test]
fn raw_numbers_may_begin_like_an_archive() {
    let folder = Folder::new();
    let numbers: Vec<u8> = [0x0403_4b50u32, 7, 1, 2].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(read(&folder.write("g.bin", &numbers)).unwrap(), [(1, 2), (0x0403_4b50, 7)]);
    assert_eq!(read_as(&folder.write("data", &numbers), Some(Format::BinU32), None).unwrap().len(), 2);
    assert_eq!(read(&folder.write("g.zip", zipped(&[("g.bin", &numbers)]))).unwrap().len(), 2);
    folder.refuses("g.dat", &numbers, &["the zip archive is damaged"]);
}

#[test]
fn unpacking_needs_space() {
    failed(Source::open(&[fixture("plain.tar")], None, Path::new("/nowhere")), Kind::Resource, &[]);
}

#[test]
fn bzip2_is_read_as_a_stream() {
    let folder = Folder::new();
    let whole = std::fs::read(fixture("snap.txt.bz2")).unwrap();
    let arcs = read(&folder.write("one.txt.bz2", &whole)).unwrap();
    // Several streams, as pbzip2 writes them.
    assert_eq!(read(&folder.write("two.txt.bz2", [&whole[..], &whole].concat())).unwrap().len(), 2 * arcs.len());
    folder.refuses("cut.txt.bz2", &whole[..whole.len() - 9], &["the bzip2 stream is truncated"]);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 0x10;
    folder.refuses("damaged.txt.bz2", damaged, &["the bzip2 stream is damaged", "a complete .bz2 file"]);
}

/// A zstd frame without contents, which decoders skip.
fn skippable(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[0x50 + number, 0x2a, 0x4d, 0x18][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat()
}

#[test]
fn zstd_frames_without_contents_are_skipped() {
    let folder = Folder::new();
    let text = text_of(&TINY, " ", "\n");
    let whole = zst(&text);
    let size = (whole.len() as u32).to_le_bytes();
    let (first, second) = text.split_at(9);
    let matrix = b"%%MatrixMarket matrix coordinate pattern general\n9 9 1\n1 2\n";
    for threads in [1, 4] {
        on(threads, || {
            for number in [0, 7, 15] {
                let file = [skippable(number, &size), whole.clone()].concat();
                for name in ["one.txt.zst", "no-suffix", "a.el"] {
                    let source = open(&folder.write(name, &file)).unwrap();
                    assert_eq!((source.format(), arcs(&source).unwrap()), (Format::Text, SORTED.to_vec()), "{name}");
                }
            }
            // As pzstd writes them: one before each frame; several, and one at the end.
            let parts = [skippable(0, &[1; 4]), zst(first), skippable(0, &[2; 4]), zst(second), skippable(3, &[])];
            assert_eq!(read(&folder.write("parts.txt.zst", parts.concat())).unwrap(), SORTED);
            let several = [skippable(0, &[]), skippable(15, &[9; 100_000]), parts.concat()].concat();
            assert_eq!(read(&folder.write("several.txt.zst", &several)).unwrap(), SORTED);
            let other = [skippable(0, &size), zst(matrix)].concat();
            assert_eq!(open(&folder.write("other.zst", &other)).unwrap().format(), Format::MatrixMarket);
            let archive = [skippable(0, &size), zst(ended(&[file("g.txt.zst", "")]))].concat();
            folder.refuses("void.tar.zst", archive, &["g.txt.zst: is empty"]);
            let archive = [skippable(0, &size), zst(ended(&[file("g.txt", &text)]))].concat();
            assert_eq!(read(&folder.write("a.tar.zst", &archive)).unwrap(), SORTED);
            folder.refuses("cut.txt.zst", &several[..200], &["the zstd stream is truncated"]);
            folder.refuses("only.txt.zst", skippable(0, &size), &["only.txt.zst"]);
        });
    }
    // Raw numbers may begin like such a frame.
    let numbers: Vec<u8> = [0x184d_2a50u32, 3, 1, 2, 5, 6].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(read(&folder.write("g.bin", &numbers)).unwrap(), [(1, 2), (5, 6), (0x184d_2a50, 3)]);
}
