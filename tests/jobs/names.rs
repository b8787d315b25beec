//! Ids that are names: counts at vertices and on edges, and trusses, against a map of neighbours by name, for any threads, order of lines,
//! budgets, files and formats; the cache, run directories and shards; refusals.

mod arrow;
mod parquet;

use std::num::ParseIntError;
use std::path::Path;
use std::str::FromStr;

use super::figures::{AtVertices, OnEdges, by_all_pairs};
use crate::common::complete;
use crate::common::job::{SETTINGS, count, job, listing};
use crate::common::packed::{gz, zst};
use crate::common::place::Place;
use tempfile::TempDir;
use trimill::testing::execute::verify::verify;
use trimill::testing::report::RunResult;
use trimill::{Backend, Control, Error, Graph, Kind, Options};
use trimill_system::hash::mix;

type Edge = (String, String);

/// Names of every kind; some of them differ only in quotes, zeros or blanks.
fn names() -> Vec<String> {
    let odd = [
        "1", "01", "001", "1 ", " 1", "New York", "new york", "a,b", "a\tb", "\"", "say \"hi\"", "''", "#1", "%",
        "Zürich", "名前", "-4", "\\N", "\u{feff}",
    ];
    let mut names: Vec<String> = odd.iter().map(|&name| name.to_owned()).collect();
    names.extend([16_384, 16_383].map(|length| "x".repeat(length)));
    names.extend((0..43).map(|i| format!("http://example.org/{}", i * i)));
    names
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Arcs between these names, with loops and repetitions in one or both directions.
fn arcs() -> Vec<Edge> {
    let names = names();
    let name = |i: u64| names[mix(i) as usize % names.len()].clone();
    let mut arcs: Vec<Edge> = (0..600).map(|i| (name(i), name(!i))).collect();
    // A name that only a loop has.
    arcs.push(("alone".into(), "alone".into()));
    arcs
}

fn lines(arcs: &[Edge]) -> String {
    arcs.iter().map(|(tail, head)| format!("{},{}\n", quoted(tail), quoted(head))).collect()
}

/// The expected counts, by name.
struct Expected {
    vertices: AtVertices<String>,
    edges: OnEdges<String>,
}

fn expected(arcs: &[Edge]) -> Expected {
    let edges = arcs.iter().filter(|(tail, head)| tail != head);
    let edges = edges.map(|(tail, head)| (tail.min(head).clone(), tail.max(head).clone())).collect();
    let (vertices, edges) = by_all_pairs(&edges);
    Expected { vertices, edges }
}

fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut in_quotes, mut rest) = (vec![String::new()], false, line.chars().peekable());
    while let Some(c) = rest.next() {
        let cell = cells.last_mut().unwrap();
        match c {
            '"' if in_quotes && rest.peek() == Some(&'"') => cell.push(rest.next().unwrap()),
            '"' if in_quotes || cell.is_empty() => in_quotes = !in_quotes,
            c if c == separator && !in_quotes => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

fn rows(path: &Path, separator: char) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| cells(line, separator)).collect()
}

fn number<N: FromStr<Err = ParseIntError>>(cell: &str) -> N {
    cell.parse().unwrap()
}

/// An empty folder, arcs between names, and what is to be counted of them.
fn known() -> (TempDir, Vec<Edge>, Expected) {
    let arcs = arcs();
    let expected = expected(&arcs);
    (tempfile::tempdir().unwrap(), arcs, expected)
}

/// A list without a header, and the files of counts.
const LIST: &str = "input = { path = 'n.csv', names = true, header = 'no' }\n";
const FILES: &str = "\n[output]\nper_vertex = 'v.tsv'\nper_edge = 'e.csv'\nforce = true";

/// Counts by a job with [`FILES`], and compares these.
fn assert_counted(dir: &Path, expected: &Expected, text: &str) -> RunResult {
    let result = count(&format!("{text}{FILES}"), dir).unwrap();
    assert_written(dir, expected);
    result
}

/// Compares files of counts: of vertices separated by tabs, of edges by commas.
fn assert_written(dir: &Path, expected: &Expected) {
    let found = rows(&dir.join("v.tsv"), '\t');
    assert!(found.is_sorted_by(|a, b| a[0].as_bytes() < b[0].as_bytes()));
    let found = found.into_iter().map(|row| (row[0].clone(), (number(&row[1]), number(&row[2]))));
    assert!(found.collect::<AtVertices<String>>() == expected.vertices);
    let found = rows(&dir.join("e.csv"), ',').into_iter();
    let found = found.map(|row| ((row[0].clone(), row[1].clone()), number(&row[2])));
    assert!(found.collect::<OnEdges<String>>() == expected.edges);
}

#[test]
fn counts_have_the_names_that_were_read() {
    let (dir, arcs, expected) = known();
    let triangles = expected.edges.values().sum::<u32>() / 3;
    assert!(triangles > 500 && expected.vertices.len() == names().len());
    let most = expected.vertices.values().map(|&(_, triangles)| triangles).max().unwrap();
    let mut reversed = arcs.clone();
    reversed.reverse();
    let mut written = None;
    for arcs in [&arcs, &reversed] {
        std::fs::write(dir.path().join("n.csv"), lines(arcs)).unwrap();
        for settings in SETTINGS {
            let result = assert_counted(dir.path(), &expected, &format!("{LIST}{settings}"));
            assert_eq!(result.triangles, u128::from(triangles), "{settings}");
            let summary = result.clustering.unwrap();
            let name = summary.most_triangles_name.unwrap();
            assert_eq!((summary.most_triangles_vertex, expected.vertices[&name].1), (None, most));
            let files = ["v.tsv", "e.csv"].map(|file| std::fs::read(dir.path().join(file)).unwrap());
            assert!(*written.get_or_insert_with(|| files.clone()) == files);
        }
    }
    // Both files can be read as lists; in that of vertices, the second column has degrees, which differ from these names.
    let read =
        |file| count(&format!("input = {{ path = '{file}', names = true, header = 'yes' }}"), dir.path()).unwrap();
    assert_eq!(read("e.csv").triangles, u128::from(triangles));
    assert_eq!(read("v.tsv").edges, expected.vertices.len() as u64);
}

#[test]
fn several_files_and_compressed_ones_are_one_graph() {
    let (dir, arcs, expected) = known();
    std::fs::create_dir(dir.path().join("parts")).unwrap();
    let part = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join("parts").join(name), bytes).unwrap();
    // The first file has a comment (a header in front of the second would be an arc), the second has line ends of Windows.
    part("1.csv", format!("# all names\n\n{}", lines(&arcs[..200])).as_bytes());
    part("2.csv.zst", &zst(lines(&arcs[200..400]).replace('\n', "\r\n")));
    part("3.csv.gz", &gz(lines(&arcs[400..]).trim_end()));
    for (threads, memory) in [(1, "64MiB"), (5, "100MiB")] {
        let input = "input = { path = 'parts', names = true, header = 'no' }";
        let text = format!("{input}\ncount.threads = {threads}\nmemory.host = '{memory}'");
        assert_counted(dir.path(), &expected, &text);
    }
}

#[test]
fn the_verifier_counts_them() {
    let (dir, arcs, expected) = known();
    std::fs::write(dir.path().join("n.csv"), lines(&arcs)).unwrap();
    let verified = |more: &str| verify(job(&format!("{LIST}{more}"), dir.path()).unwrap(), &Control::silent());
    let report = verified(&format!("{FILES}\nclustering = true")).unwrap();
    assert_written(dir.path(), &expected);
    let corners: u64 = expected.vertices.values().map(|&(_, triangles)| triangles).sum();
    assert_eq!((report.triangles, report.edges), (u128::from(corners / 3), expected.edges.len() as u64));
    let (most, name) = expected.vertices.values().map(|counts| counts.1).max().zip(report.clustering).unwrap();
    assert_eq!(expected.vertices[&name.most_triangles_name.unwrap()].1, most);
    assert_eq!(name.most_triangles_vertex, None);
    let counted = count(LIST, dir.path()).unwrap();
    assert_eq!((counted.triangles, counted.edges), (report.triangles, report.edges));
    let error = verified("memory.host = '64KiB'").unwrap_err();
    assert_eq!(error.kind(), Kind::Resource, "{error}");
}

#[test]
fn trusses_have_edges_by_name() {
    let dir = tempfile::tempdir().unwrap();
    // A complete graph of five names, and an edge.
    let name = |i: u64| ["a b", "b", "c\"", "d", "e"][i as usize];
    let text: String = complete(5).map(|(u, v)| format!("{}\t{}\n", quoted(name(u)), quoted(name(v)))).collect();
    std::fs::write(dir.path().join("names.tsv"), text + "e\tf\n").unwrap();
    let text = "input = { path = 'names.tsv', names = true }\n[output]\ntruss = true\nper_edge = 't.csv'";
    let result = count(text, dir.path()).unwrap();
    assert_eq!(result.truss.unwrap().largest().unwrap().k, 5);
    let rows = rows(&dir.path().join("t.csv"), ',');
    let trussness = |row: &Vec<String>| if row[..2] == ["e", "f"] { 2 } else { 5 };
    assert!(rows.len() == 11 && rows.iter().all(|row| number::<u32>(&row[2]) == trussness(row)));
}

#[test]
fn the_cache_tells_names_from_numbers_and_notices_changes() {
    let dir = tempfile::tempdir().unwrap();
    let cached = |names: bool, file: &str| {
        let input = format!("input = {{ path = 'n.txt', format = 'text', names = {names} }}");
        let text = format!("{input}\ncache.dir = 'cache'\noutput = {{ per_vertex = '{file}', force = true }}");
        let result = count(&text, dir.path()).unwrap();
        let vertices: Vec<_> = rows(&dir.path().join(file), '\t').into_iter().map(|row| row[0].clone()).collect();
        (result.stages.iter().any(|stage| stage.name == "cached"), vertices.join(" "))
    };
    std::fs::write(dir.path().join("n.txt"), "01 1\n1 2\n10 2\n").unwrap();
    for (names, file, is_cached, vertices) in [
        (true, "a.tsv", false, "01 1 10 2"),
        (true, "b.tsv", true, "01 1 10 2"),
        (false, "c.tsv", false, "1 2 10"),
        (true, "d.tsv", true, "01 1 10 2"),
    ] {
        assert_eq!(cached(names, file), (is_cached, vertices.to_owned()), "{file}");
    }
    assert_eq!(listing(&dir.path().join("cache")).iter().filter(|name| name.ends_with(".trimgraf")).count(), 2);
    std::fs::write(dir.path().join("n.txt"), "01 1\n1 2\n10 3\n").unwrap();
    assert_eq!(cached(true, "e.tsv"), (false, "01 1 10 2 3".to_owned()));
}

/// The sections of a graph file, without the footer, which contains times.
fn sections(dir: &Path) -> Vec<u8> {
    let graph = listing(dir).into_iter().find(|name| name.ends_with(".trimgraf")).unwrap();
    let bytes = std::fs::read(dir.join(graph)).unwrap();
    let end = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    bytes[4096..end as usize].to_vec()
}

#[test]
fn the_graph_file_depends_on_the_edges_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut arcs = arcs();
    let mut files = Vec::new();
    for (i, settings) in ["count.threads = 1", "count.threads = 4\nmemory.host = '96MiB'", ""].into_iter().enumerate() {
        arcs.rotate_left(177);
        std::fs::write(dir.path().join("n.csv"), lines(&arcs)).unwrap();
        count(&format!("{LIST}{settings}\ncache.dir = 'cache{i}'"), dir.path()).unwrap();
        files.push(sections(&dir.path().join(format!("cache{i}"))));
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn shards_and_later_starts_write_names() {
    let place = Place::new();
    let (_, arcs, expected) = known();
    place.write("n.csv", lines(&arcs));
    let input = ["--names", "--header", "no", "--parts", "3", "--threads", "2"];
    let outputs = ["--per-vertex", "v.tsv", "--per-edge", "e.csv"];
    place.sharded("run", &[&["n.csv"], &input[..], &outputs[..]].concat());
    let dir = place.path("");
    assert_written(&dir, &expected);
    let words = [&["count", "n.csv", "--run-dir", "again", "--force"], &input[..], &outputs[..]].concat();
    for _ in 0..2 {
        place.prints(&words);
        assert_written(&dir, &expected);
        std::fs::remove_file(dir.join("v.tsv")).unwrap();
    }
}

/// For a small graph, sorting names takes the most memory.
#[test]
fn the_least_memory_that_plan_names_is_enough() {
    let place = Place::new();
    place.write("n.txt", "ann bob\nbob cleo\ncleo ann\n");
    let words = ["n.txt", "--names", "--threads", "2", "--no-cache"];
    place.least_suffices("--host-memory", &words, |least| least - 4096);
}

/// With one thread, counting takes more memory than sorting names.
#[test]
fn the_budget_that_sorting_names_asks_for_is_enough_to_count() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("n.txt"), "ann bob\nbob cleo\ncleo ann\n").unwrap();
    let within = |bytes: u64| {
        let input = "input = { path = 'n.txt', names = true }\ncount = { threads = 1, backend = 'cpu' }";
        count(&format!("{input}\nmemory.host = '{bytes}'"), dir.path())
    };
    let error = within(17 << 20).unwrap_err();
    assert!(error.to_string().contains("to sort names"), "{error}");
    assert_eq!(within(error.bytes_wanted().unwrap().get()).unwrap().triangles, 1);
}

#[test]
fn what_is_no_list_of_names_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str, text: &[u8], settings: &str| -> Error {
        std::fs::write(dir.path().join(name), text).unwrap();
        let text = format!("input = {{ path = '{name}', names = true }}\n{settings}");
        count(&text, dir.path()).unwrap_err()
    };
    let long = format!("a b\nb {}\n", "x".repeat(16_385));
    for (text, line, words) in [
        (&b"a b\nb\n"[..], 2, "one column"),
        (b"a b\nb c d\n", 2, "3 columns; expected 2"),
        (b"a b\n\"\" c\n", 2, "an empty name"),
        (b"a\tb\nb\t\n", 2, "an empty name"),
        (b"a b\n\"b c\n", 2, "not closed"),
        (b"a b\n\"b\"x c\n", 2, "behind a quote"),
        (b"a b\nb c\n\xff d\n", 3, "UTF-8"),
        (b"# c\na b\n# b c\n", 3, "comments before all arcs"),
        (b"a b\nb\rc d\n", 2, "carriage return"),
        (long.as_bytes(), 2, "a name of 16385 bytes"),
        (b"source,target\na,b\n", 1, "could be a header"),
        (b"c roads\nc\np sp 3 2\na 1 2 7\n", 3, "a DIMACS file"),
        (b"ann ; bob\nbob ; cleo\n", 1, "'ann ; bob'; expected two names between tabs, commas or blanks; replace ';'"),
        (b"# c\nann; bob\n", 2, "tr ';' ','"),
        (b"ann |bob\n", 1, "tr '|' ','"),
        (b"ann|bob\n", 1, "tr '|' ','"),
        (b"a\tb\nb\t\\N\t\\N\n", 2, "a missing value"),
        (b"a , b\n\\N , b\n", 2, "a missing value"),
        (b"a b\n\xef\xbb\xbfb c\n", 2, "a byte order mark"),
    ] {
        let error = refused("n.txt", text, "");
        let said = error.to_string();
        assert!(said.contains(words) && error.kind() == Kind::Data, "{said}");
        assert!(error.line() == Some(line) && error.path().unwrap().ends_with("n.txt"), "{said}");
    }
    assert!(refused("n.txt", b"# nothing\n", "").to_string().contains("holds no arcs"));
    std::fs::write(dir.path().join("n.txt"), "from,to\na,b\nfrom,to\nb,c\n").unwrap();
    let joined = count("input = { path = 'n.txt', names = true, header = 'yes' }", dir.path()).unwrap_err();
    assert!(joined.to_string().contains("n.txt:3: the header once more"), "{joined}");
    std::fs::create_dir(dir.path().join("tables")).unwrap();
    let with = |second: &str| {
        std::fs::write(dir.path().join("tables/1"), "from,to\na,b\n").unwrap();
        std::fs::write(dir.path().join("tables/2"), second).unwrap();
        count("input = { path = 'tables', names = true, header = 'yes' }", dir.path())
    };
    let other = with("id,name\n1,ann\n").unwrap_err().to_string();
    assert!(other.contains("tables/2: the ends of edges in the columns 'id' and 'name'"), "{other}");
    assert_eq!(with("Source,Target\nb,c\n").unwrap().edges, 2);
    // A byte order mark at the beginning of each file, null in a column that is not read, and names in quotes.
    std::fs::create_dir(dir.path().join("marked")).unwrap();
    for (name, text) in [("1", "\u{feff}a b \\N\n\"\\N\" a 7\n"), ("2", "\u{feff}b \"\\N\"\n\"x;\" gi|1|\n")] {
        std::fs::write(dir.path().join("marked").join(name), text).unwrap();
    }
    let read = count("input = { path = 'marked', names = true, header = 'no' }", dir.path()).unwrap();
    assert_eq!((read.vertices, read.edges, read.triangles), (5, 4, 1));
    let (list, matrix) = (b"a b\nb c\n", b"%%MatrixMarket matrix coordinate pattern general\n1 1 0\n");
    for (name, text, settings, words) in [
        ("n.bin", &[1u8, 0, 0, 0, 2, 0, 0, 0][..], "", "whose ids are numbers"),
        ("n.mtx", matrix, "", "whose ids are numbers"),
        ("n.txt", list, "output.per_vertex = 'v.npy'", "an array of counts by id"),
        ("n.txt", list, "partition.partitioner = 'file:parts.txt'", "by numbers"),
        ("n.txt", list, "output.lcc = 'l.txt'\noutput.directed = true", "directions of edges"),
    ] {
        let error = refused(name, text, settings);
        assert!(error.kind() == Kind::Usage && error.to_string().contains(words), "{error}");
    }
    // Without the setting, an id that is no integer is an error that names it.
    let error = count("input.path = 'n.txt'", dir.path()).unwrap_err().to_string();
    assert!(error.contains("--names"), "{error}");
}

#[test]
fn a_caller_counts_names_and_has_no_arrays_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("n.txt");
    std::fs::write(&path, "ann bob\nbob cleo\ncleo ann\n").unwrap();
    let options = Options::new().backend(Backend::Cpu).cache_dir(dir.path().join("cache"));
    let named = options.clone().names(true);
    assert_eq!(Graph::from_file(&path).count(&named).unwrap().triangles, 1);
    let prepared = Graph::from_file(&path).prepare(&named).unwrap();
    assert_eq!(prepared.count(&options).unwrap().triangles, 1);
    let (vertices, edges) = (prepared.vertices(&options).map(drop), prepared.edges(&options).map(drop));
    for refused in [vertices, edges, prepared.degrees(&options).map(drop)] {
        assert!(refused.unwrap_err().to_string().contains("ids are names"));
    }
}
