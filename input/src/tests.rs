//! Reading in windows so small that lines, rows and numbers cross them, compared with naive readers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use proptest::prelude::*;

use super::arcs::ArcSource;
use super::format::Format;
use super::lines::ReadSizes;
use super::source::HowToOpen;
use super::storage::Storage;
use super::{InputSettings, NameSink, NamedArcs, Source};
use trimill_system::parallel::on;
use trimill_system::{Control, Result};

const WINDOWS: [u64; 7] = [1, 2, 7, 16, 61, 1000, 1 << 16];

fn open(paths: &[PathBuf], reading: InputSettings, window: u64) -> Result<Source> {
    let sizes = ReadSizes { window, ..ReadSizes::USUAL };
    let how = HowToOpen { work_dir: &std::env::temp_dir(), sizes, streams: false, control: &Control::silent() };
    Source::open_how(paths, reading, &how)
}

fn read(paths: &[PathBuf], format: Option<Format>, window: u64) -> Result<Vec<(u64, u64)>> {
    let source = open(paths, InputSettings { format, ..InputSettings::default() }, window)?;
    let kept = Mutex::<Vec<(u64, u64)>>::default();
    let found = source.scan(&kept, &Control::silent())?;
    let mut arcs = kept.into_inner().unwrap();
    assert_eq!(found, arcs.len() as u64);
    arcs.sort_unstable();
    Ok(arcs)
}

type NamedArc = (Vec<u8>, Vec<u8>);

#[derive(Default)]
struct KeepNames(Mutex<Vec<NamedArc>>);

impl NameSink for KeepNames {
    fn arcs(&self, batch: &NamedArcs) -> Result<()> {
        self.0.lock().unwrap().extend(batch.iter().map(|[tail, head]| (tail.to_vec(), head.to_vec())));
        Ok(())
    }
}

fn read_names(path: &Path, window: u64) -> Result<Vec<NamedArc>, String> {
    let reading = InputSettings { format: Some(Format::Text), names: true, ..InputSettings::default() };
    let keep = KeepNames::default();
    let scanned =
        open(&[path.to_path_buf()], reading, window).and_then(|source| source.scan_names(&keep, &Control::silent()));
    let found = scanned.map_err(|error| error.to_string())?;
    let mut arcs = keep.0.into_inner().unwrap();
    assert_eq!(found, arcs.len() as u64);
    arcs.sort_unstable();
    Ok(arcs)
}

/// Writes `bytes` to a file and reads it with every window, on one thread and on several.
fn with_every_window(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Vec<(u64, u64)>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut first: Option<Result<Vec<(u64, u64)>, String>> = None;
    let pools = [1, 4].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for window in WINDOWS {
        for pool in &pools {
            let arcs = pool
                .install(|| read(std::slice::from_ref(&path), format, window))
                .map_err(|error| error.to_string().replace(&folder.path().display().to_string(), ""));
            let expected = first.get_or_insert_with(|| arcs.clone());
            let threads = pool.current_num_threads();
            assert!(*expected == arcs, "window {window}, {threads} threads: {arcs:?} instead of {expected:?}");
        }
    }
    first.unwrap()
}

pub(crate) fn stored(bytes: &[u8]) -> Storage {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Storage::Local(file.into())
}

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn windows_of_any_size_give_the_same_arcs_of_real_graphs() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data");
    for (name, count, smallest) in [
        ("karate.mtx", 78, 1),
        ("chesapeake.mtx", 170, 1),
        ("as20000102.txt", 13_895, 61),
        ("ca-HepTh.txt", 51_971, 61),
        ("delaunay_n15.graph", 196_548, 61),
        ("soc-Slashdot0902.txt.gz", 948_464, 1000),
        ("bcsstk13.mtx", 42_943, 61),
    ] {
        let paths = [data.join(name)];
        let whole = read(&paths, None, 8 << 20).unwrap();
        assert_eq!(whole.len(), count, "{name}");
        for window in WINDOWS.into_iter().filter(|&window| window >= smallest) {
            assert!(read(&paths, None, window).unwrap() == whole, "{name} by {window}");
        }
    }
}

#[test]
fn a_row_may_be_longer_than_many_windows() {
    // A wheel: vertex 1 is adjacent to all others, which form a ring.
    let n = 400u64;
    let mut text = format!("% a wheel\n{n} {}\n", 2 * (n - 1));
    text += &(2..=n).map(|v| v.to_string()).collect::<Vec<_>>().join(" ");
    let next = |v: u64| if v == n { 2 } else { v + 1 };
    let before = |v: u64| if v == 2 { n } else { v - 1 };
    for v in 2..=n {
        text += &format!("\n% comment {v}\n1 {} {}", next(v), before(v));
    }
    let mut expected: Vec<_> = (2..=n).flat_map(|v| [(1, v), (v, 1), (v, next(v)), (v, before(v))]).collect();
    expected.sort_unstable();
    assert_eq!(with_every_window("wheel.metis", text.as_bytes(), None).unwrap(), expected);
    assert_eq!(with_every_window("wheel.graph", format!("{text}\n\n\n").as_bytes(), None).unwrap(), expected);
    let bad = text.replace("\n% comment 300\n1 301 299", "\n% comment 300\n1 301 2x9");
    let error = with_every_window("wheel.graph", bad.as_bytes(), None).unwrap_err();
    // Two lines before the rows, one line for vertex 1, and two lines for each further vertex up to 300.
    assert!(error.starts_with("/wheel.graph:601: 'x' in the line of vertex 300"), "{error}");
}

#[test]
fn the_first_of_many_errors_is_reported_whatever_the_windows() {
    let mut text: String = (0..3000).map(|i| format!("{i} {}\n", i * 7)).collect();
    for word in ["2000 14000", "2500 17500", "1234 8638"] {
        text = text.replace(&format!("\n{word}\n"), "\nbad line\n");
    }
    for (name, bytes) in [("many.txt", text.clone().into_bytes()), ("many.txt.gz", gz(text.as_bytes()))] {
        let error = with_every_window(name, &bytes, None).unwrap_err();
        assert!(error.starts_with(&format!("/{name}:1235: 'bad'")), "{error}");
    }
}

/// A naive reader of edge lists: the arcs, or the number of the first wrong line.
fn naive(text: &str) -> Result<Vec<(u64, u64)>, usize> {
    let mut arcs = Vec::new();
    for (number, line) in text.split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let trimmed = line.trim_start_matches([' ', '\t']);
        if trimmed.is_empty() || trimmed.starts_with(['#', '%']) {
            continue;
        }
        let columns: Vec<&str> = trimmed.split([' ', '\t', ',']).filter(|c| !c.is_empty()).collect();
        let number_of = |i: usize| {
            let column = columns.get(i).filter(|c| c.bytes().all(|b| b.is_ascii_digit()))?;
            column.parse::<u64>().ok().filter(|&id| id < u64::MAX)
        };
        match (number_of(0), number_of(1), trimmed.starts_with(',')) {
            (Some(tail), Some(head), false) => arcs.push((tail, head)),
            _ => return Err(number + 1),
        }
    }
    arcs.sort_unstable();
    Ok(arcs)
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0u64..200).prop_map(|id| id.to_string()),
        1 => (0..u64::MAX).prop_map(|id| id.to_string()),
        1 => (0u64..50).prop_map(|id| format!("000{id}")),
    ]
}

/// A line of a list; an arc is followed by `more`, a third column or nothing.
fn line(more: &'static str) -> impl Strategy<Value = String> {
    let separator = prop_oneof!["\t", " ", ",", "[ \t]{1,4}", "[ \t]{0,2},[ \t]{0,2}"];
    let arc = (prop_oneof!["", "[ \t]{1,3}"], id(), separator, id(), more, prop_oneof!["", "[ \t]{1,3}"])
        .prop_map(|(lead, tail, separator, head, more, blank)| format!("{lead}{tail}{separator}{head}{more}{blank}"));
    prop_oneof![
        10 => arc,
        1 => "[ \t]{0,2}[#%][ -~]{0,30}",
        1 => "[ \t]{0,3}",
    ]
}

fn wrong_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,5} [0-9]{1,3}", "-[0-9] 3", "[0-9]{1,3}", "3 -[0-9]", "[1-9][0-9]{20} 5", "1 2[a-z.]3", "7 [.;:]"
    ]
}

fn text() -> impl Strategy<Value = String> {
    let ended = |line: BoxedStrategy<String>| (line, prop_oneof!["\n", "\r\n"]).prop_map(|(l, e)| l + &e);
    let lines = move |first: &'static str, more: &'static str| {
        let lines = prop::collection::vec(ended(line(more).boxed()), 0..60);
        (lines, line(more), prop_oneof!["", "\n", "\r"])
            .prop_map(move |(lines, last, end)| format!("{first}\n{}{last}{end}", lines.concat()))
    };
    // The text begins with an arc of vertex 0, so that no line can be a header.
    prop_oneof![
        lines("0 2", ""),
        lines("0 2 7", "[ \t,][0-9+.-][0-9a-z.-]{0,6}"),
        lines("0 2 {}", "[ \t,][{a-z][ -!#-~]{0,9}"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_lists_are_read_as_line_by_line(text in text()) {
        let expected = naive(&text).unwrap();
        let plain = with_every_window("list.txt", text.as_bytes(), Some(Format::Text)).unwrap();
        prop_assert_eq!(&plain, &expected);
        let packed = with_every_window("list.txt.gz", &gz(text.as_bytes()), None).unwrap();
        prop_assert_eq!(&packed, &expected);
    }

    #[test]
    fn the_first_wrong_line_is_named(before in text(), wrong in wrong_line(), after in text()) {
        let text = format!("{before}\n{wrong}\n{after}");
        let line = naive(&text).unwrap_err();
        let error = with_every_window("list.txt", text.as_bytes(), Some(Format::Text)).unwrap_err();
        prop_assert!(error.starts_with(&format!("/list.txt:{line}: ")), "{} instead of line {}", error, line);
    }

    #[test]
    fn random_records_are_read_as_they_stand(arcs in prop::collection::vec((0u64..1 << 32, 0u64..1 << 32), 1..200)) {
        let mut expected = arcs.clone();
        expected.sort_unstable();
        let narrow: Vec<u8> = arcs.iter().flat_map(|&(u, v)| (u | v << 32).to_le_bytes()).collect();
        prop_assert_eq!(&with_every_window("a.bin", &narrow, Some(Format::BinU32)).unwrap(), &expected);
        let wide: Vec<u8> = arcs.iter().flat_map(|&(u, v)| [u.to_le_bytes(), v.to_le_bytes()].concat()).collect();
        prop_assert_eq!(&with_every_window("a.u64", &wide, Some(Format::BinU64)).unwrap(), &expected);
        let packed: Vec<u8> = arcs
            .iter()
            .flat_map(|&(u, v)| [(u as u32).to_le_bytes(), (v as u32).to_le_bytes(), [0; 4]].concat())
            .collect();
        prop_assert_eq!(&with_every_window("a.g500", &packed, Some(Format::Graph500)).unwrap(), &expected);
    }

    #[test]
    fn random_serialized_graphs_are_read_row_by_row(
        mut arcs in prop::collection::vec((0u64..30, 0u64..30), 0..150),
        hub in prop::collection::vec(0u64..30, 0..80),
    ) {
        // Most rows are empty or short, one is long.
        arcs.retain(|arc| arc.0 % 3 != 1);
        arcs.extend(hub.into_iter().map(|head| (13, head)));
        arcs.sort_unstable();
        let mut bytes = vec![0u8];
        bytes.extend((arcs.len() as i64).to_le_bytes());
        bytes.extend(30i64.to_le_bytes());
        for vertex in 0..=30 {
            bytes.extend((arcs.partition_point(|arc| arc.0 < vertex) as i64).to_le_bytes());
        }
        bytes.extend(arcs.iter().flat_map(|arc| (arc.1 as i32).to_le_bytes()));
        prop_assert_eq!(with_every_window("a", &bytes, None).unwrap(), arcs);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the text, windows and threads change neither its arcs nor its error, which names the file.
    #[test]
    fn names_of_any_text_are_the_same_in_all_windows(
        lines in prop::collection::vec("[ab\"#%, \t\r\u{e4}0]{0,9}", 0..12),
        end in prop::sample::select(&["\n", "\r\n", "\n\n", "\n\u{0}", "\n\t\n"][..]),
        packed in any::<bool>(),
        is_utf8 in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("names");
        let mut text = lines.join(end).into_bytes();
        // The remaining byte of each umlaut is no valid character.
        text.retain(|&byte| is_utf8 || byte != 0xc3);
        std::fs::write(&path, if packed { gz(&text) } else { text }).unwrap();
        let expected = read_names(&path, 1 << 16);
        if let Err(error) = &expected {
            prop_assert!(error.starts_with(&path.display().to_string()), "{}", error);
        }
        for (window, threads) in [(1, 1), (3, 3), (16, 2)] {
            prop_assert_eq!(&on(threads, || read_names(&path, window)), &expected);
        }
    }
}
