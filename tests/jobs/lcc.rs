//! The coefficients of all vertices, directed and undirected: against graphs counted by hand and the definition over random arcs; inputs of
//! LDBC Graphalytics in all their forms; shards, budgets and refusals.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::Read;
use std::path::Path;

use crate::common::job::{SETTINGS, arcs, count, input};
use crate::common::packed::{tarred, zipped, zst};
use crate::common::place::{Place, number_after, stderr, text, with_suffix};
use proptest::prelude::*;
use trimill::testing::report::PlanReport;
use trimill::{Error, Graph, Kind, Options};

type Arcs = Vec<(u64, u64)>;

fn write(dir: &Path, name: &str, directed: bool, vertices: &[u64], arcs: &Arcs) {
    let (n, m) = (vertices.len(), arcs.len());
    let properties = format!(
        "# Filenames\ngraph.{name}.vertex-file = {name}.v\ngraph.{name}.edge-file = {name}.e\n\
         graph.{name}.meta.vertices = {n}\ngraph.{name}.meta.edges = {m}\ngraph.{name}.directed = {directed}\n\
         graph.{name}.algorithms = bfs, lcc\n"
    );
    let vertices: String = vertices.iter().map(|v| format!("{v}\n")).collect();
    let edges: String = arcs.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    for (suffix, text) in [("v", vertices), ("e", edges), ("properties", properties)] {
        fs::write(dir.join(format!("{name}.{suffix}")), text).unwrap();
    }
}

/// The lines of a file: an id and a value, ids ascending.
fn values(text: &str) -> Vec<(u64, f64)> {
    let line = |line: &str| {
        let (id, value) = line.split_once(' ').unwrap();
        (id.parse().unwrap(), value.parse().unwrap())
    };
    let values: Vec<(u64, f64)> = text.lines().map(line).collect();
    assert!(values.is_sorted_by(|a, b| a.0 < b.0), "{text}");
    values
}

/// By definition: neighbours by arcs of either direction, and the arcs between them as a share of `d (d - 1)`. An undirected edge is two arcs.
fn by_definition(directed: bool, vertices: &[u64], arcs: &Arcs) -> Vec<(u64, f64)> {
    let mut all: HashSet<(u64, u64)> = arcs.iter().copied().filter(|(u, v)| u != v).collect();
    if !directed {
        all.extend(arcs.iter().filter(|(u, v)| u != v).map(|&(u, v)| (v, u)));
    }
    let mut around = BTreeMap::<u64, BTreeSet<u64>>::new();
    for &(u, v) in &all {
        around.entry(u).or_default().insert(v);
        around.entry(v).or_default().insert(u);
    }
    let value = |&id: &u64| {
        let near = around.get(&id).cloned().unwrap_or_default();
        let between =
            near.iter().flat_map(|&u| near.iter().map(move |&v| (u, v))).filter(|arc| all.contains(arc)).count();
        let most = near.len() * near.len().saturating_sub(1);
        (id, if most == 0 { 0.0 } else { between as f64 / most as f64 })
    };
    vertices.iter().collect::<BTreeSet<_>>().into_iter().map(value).collect()
}

/// Whether both have the same vertices, with values that differ at most in the last digit.
fn are_near(found: &[(u64, f64)], expected: &[(u64, f64)]) -> bool {
    let near = |(a, b): (&(u64, f64), &(u64, f64))| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-15;
    found.len() == expected.len() && found.iter().zip(expected).all(near)
}

fn graphs() -> impl Strategy<Value = (bool, u64, Arcs, Vec<u64>)> {
    let arcs = prop::collection::vec((0..24u64, 0..24u64), 1..200);
    // Dense ids, or sparse ones up to nearly 2^64.
    let steps = prop_oneof![Just(1u64), Just(3), Just(u64::MAX / 64)];
    (any::<bool>(), steps, arcs, prop::collection::vec(24..40u64, 0..8))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn random_graphs_have_the_coefficients_of_the_definition(
        (directed, step, arcs, more) in graphs(),
        setting in 0..SETTINGS.len(),
        are_ignored in any::<bool>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let arcs: Arcs = arcs.iter().map(|&(u, v)| (u * step, v * step)).collect();
        let ends = arcs.iter().flat_map(|&(u, v)| [u, v]).chain(more.iter().map(|id| id * step));
        let mut vertices: Vec<u64> = ends.collect::<BTreeSet<_>>().into_iter().collect();
        // The list may be in any order.
        let third = vertices.len() / 3;
        vertices.rotate_left(third);
        write(dir.path(), "g", directed, &vertices, &arcs);
        // Directions may be ignored.
        let (directed, said) = if are_ignored { (false, ", directed = false") } else { (directed, "") };
        let input = format!("input.path = '{}'\n{}", ["g", "g.e", "g.v"][setting % 3], SETTINGS[setting]);
        let result = count(&format!("{input}\noutput = {{ lcc = 'g.txt'{said} }}"), dir.path()).unwrap();
        let found = values(&fs::read_to_string(dir.path().join("g.txt")).unwrap());
        let expected = by_definition(directed, &vertices, &arcs);
        prop_assert!(are_near(&found, &expected), "{:?} {:?}", found, expected);
        let (summary, many) = (result.clustering.unwrap().lcc.unwrap(), vertices.len());
        prop_assert_eq!((summary.directed, summary.vertices), (directed, many as u64));
        let average = expected.iter().map(|(_, value)| value).sum::<f64>() / many as f64;
        prop_assert!((summary.average - average).abs() <= 1e-12, "{:?} {}", summary, average);
    }
}

#[test]
fn other_inputs_have_all_vertices_that_they_declare_and_directions_if_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let matrix = |kind: &str| format!("%%MatrixMarket matrix coordinate pattern {kind}\n6 6 4\n2 1\n3 1\n3 2\n4 3\n");
    let (general, symmetric) = (matrix("general"), matrix("symmetric"));
    let far = "0 18446744073709551614\n5 0\n5 18446744073709551614\n";
    let named = "New York,b\nb,c\nc,New York\nc,d\nx y,x y\nz,z\n";
    let (directed, names) = ("output.directed = true", "input.names = true\ninput.header = 'no'");
    for (name, text, more, expected) in [
        ("g.mtx", &*general, "", "1 1\n2 1\n3 0.3333333333333333\n4 0\n5 0\n6 0\n"),
        // An entry of a symmetric matrix is two arcs, one of another matrix is one.
        ("s.mtx", &symmetric, directed, "1 1\n2 1\n3 0.3333333333333333\n4 0\n5 0\n6 0\n"),
        ("d.mtx", &general, directed, "1 0.5\n2 0.5\n3 0.16666666666666666\n4 0\n5 0\n6 0\n"),
        // A list has the vertices with an edge; if its ids have no gap, also one with a loop alone.
        ("g.txt", "5 7\n7 9\n9 5\n9 7\n", directed, "5 1\n7 0.5\n9 0.5\n"),
        ("loop.txt", "0 1\n1 2\n2 0\n3 3\n", "", "0 1\n1 1\n2 1\n3 0\n"),
        ("far.txt", far, "", "0 1\n5 1\n18446744073709551614 1\n"),
        // Names that have only loops are vertices, too, also the last names.
        ("n.csv", named, names, "\"New York\" 1\nb 1\nc 0.3333333333333333\nd 0\n\"x y\" 0\nz 0\n"),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
        count(&format!("input.path = '{name}'\noutput.lcc = '{name}.lcc'\n{more}"), dir.path()).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join(format!("{name}.lcc"))).unwrap(), expected, "{name}");
    }
}

#[test]
fn a_real_graph_has_the_coefficients_of_the_definition_by_direction() {
    let dir = tempfile::tempdir().unwrap();
    let (input, arcs) = (input("wiki-Vote.txt"), arcs("wiki-Vote.txt"));
    let vertices: Vec<u64> = arcs.iter().flat_map(|&(u, v)| [u, v]).collect();
    let expected = by_definition(true, &vertices, &arcs);
    for setting in SETTINGS {
        let output = "output = { lcc = 'l.txt.zst', directed = true, force = true }";
        count(&format!("{input}cache.dir = 'cache'\n{setting}\n{output}"), dir.path()).unwrap();
        let found = zstd::decode_all(fs::File::open(dir.path().join("l.txt.zst")).unwrap()).unwrap();
        let found = values(std::str::from_utf8(&found).unwrap());
        assert!(are_near(&found, &expected), "{setting}");
    }
}

#[test]
fn a_graph_may_be_compressed_or_in_an_archive() {
    let place = Place::new();
    let dir = place.path("");
    write(&dir, "g", true, &[1, 2, 3, 4], &vec![(1, 2), (2, 1), (2, 3), (3, 1)]);
    let bytes = |name: &str| fs::read(dir.join(name)).unwrap();
    let members =
        [("data/g.e", &bytes("g.e")[..]), ("data/g.properties", &bytes("g.properties")), ("data/g.v", &bytes("g.v"))];
    place.write("g.tar", tarred(&members));
    place.write("g.zip", zipped(&members));
    let is = |input: &str| {
        let found = place.prints(&["count", input, "--no-cache", "--backend", "cpu", "--quiet", "--lcc", "-"]);
        // Between the neighbours of 3 there is an edge of both directions.
        assert_eq!(text(&found), "1 0.5\n2 0.5\n3 1\n4 0\n", "{input}");
    };
    is("g.properties");
    for name in ["g.e", "g.v", "g.properties"] {
        place.write(name, ["\u{feff}".as_bytes(), &bytes(name)[..]].concat());
    }
    is("g.properties");
    for name in ["g.e", "g.v", "g.tar"] {
        place.write(format!("{name}.zst"), zst(bytes(name)));
    }
    ["g.e", "g.v"].into_iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
    ["g.v", "g.e.zst", "g.tar", "g.tar.zst", "g.zip"].into_iter().for_each(is);
}

fn fails(dir: &Path, more: &str) -> Error {
    let error = count(&format!("input.path = 'g'\n{more}"), dir).unwrap_err();
    assert!(!dir.join("l.txt").exists());
    error
}

#[test]
fn what_contradicts_itself_is_refused_with_the_file_and_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let arcs: Arcs = vec![(1, 2), (2, 3), (3, 1), (3, 8)];
    let lcc = "output.lcc = 'l.txt'";
    let says = |error: &Error, words: &[&str]| {
        let said = error.to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    };
    write(dir, "g", true, &[1, 2], &Arcs::new());
    says(&fails(dir, lcc), &["g.e: is empty"]);
    write(dir, "g", true, &[1, 2, 3], &arcs);
    for more in [lcc, ""] {
        says(&fails(dir, more), &["g.e:4: an edge of the vertex 8, which", "g.v lacks"]);
    }
    fs::write(dir.join("g.e"), "ann bob\n").unwrap();
    let said = fails(dir, "").to_string();
    assert!(said.contains("g.e:1: 'ann'") && !said.contains("--names"), "{said}");
    write(dir, "g", true, &[1, 2, 3, 8, 2], &arcs);
    says(&fails(dir, lcc), &["g.v:5: the vertex 2 is there twice"]);
    write(dir, "g", true, &[1, 2, 3, 8], &arcs);
    let properties = fs::read_to_string(dir.join("g.properties")).unwrap();
    let directions = "output = { lcc = 'l.txt', directed = true }";
    for (from, to, more, said) in [
        ("edges = 4", "edges = 5", "", ["g.e: 4 edges; expected 5", "meta.edges"]),
        ("vertices = 4", "vertices = 3", "", ["g.v: 4 vertices; expected 3", "meta.vertices"]),
        ("directed = true", "directed = maybe", "", ["g.properties", "'maybe', not 'true' or 'false'"]),
        ("directed = true", "directed = false", directions, ["directions of a graph", "has none"]),
    ] {
        fs::write(dir.join("g.properties"), properties.replace(from, to)).unwrap();
        says(&fails(dir, more), &said);
    }
    fs::write(dir.join("g.properties"), properties).unwrap();
    for (third, said) in
        [("x 3", "g.v:3: 2 columns; expected the id of a vertex"), ("-3", "g.v:3: the negative number -3")]
    {
        fs::write(dir.join("g.v"), format!("1\n2\n{third}\n8\n")).unwrap();
        says(&fails(dir, lcc), &[said]);
    }
    fs::remove_file(dir.join("g.v")).unwrap();
    says(&fails(dir, lcc), &["g.v: does not exist; expected the vertices of a Graphalytics graph"]);
    fs::write(dir.join("g.v"), "1\n2\n3\n8\n").unwrap();
    fs::remove_file(dir.join("g.properties")).unwrap();
    says(&fails(dir, lcc), &["g.properties: does not exist; expected the properties of a Graphalytics graph"]);
    let error = count("input.path = 'g.e'\noutput.directed = true", dir).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
    says(&error, &["directions of edges", "--lcc"]);
    for name in ["l.csv", "l.tsv.gz", "l.parquet", "l.npy", "l.bz2"] {
        let error = count(&format!("input.path = 'g.e'\noutput.lcc = '{name}'"), dir).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        says(&error, &[name, "lines `id value`", "expected another name"]);
    }
}

#[test]
fn the_coefficients_of_no_vertex_are_an_empty_file_also_compressed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("none.mtx"), "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n").unwrap();
    let file = |name: &str| {
        count(&format!("input.path = 'none.mtx'\noutput.lcc = '{name}'"), dir.path()).unwrap();
        fs::read(dir.path().join(name)).unwrap()
    };
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&file("l.gz")[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked.is_empty() && zstd::decode_all(&file("l.zst")[..]).unwrap().is_empty());
    // The library takes a file without a frame for an empty text; the program `zstd` refuses it.
    assert!(!file("m.zst").is_empty());
}

#[test]
fn memory_for_directions_is_asked_for_before_anything_is_counted() {
    let place = Place::new();
    // Each vertex is joined to the next two; every third edge to the next one is there in both directions.
    let ring = |n: u64| -> Arcs {
        let of = |i: u64| {
            let next = (i + 1) % n;
            [(i, next), (i, (i + 2) % n)].into_iter().chain(i.is_multiple_of(3).then_some((next, i)))
        };
        (0..n).flat_map(of).collect()
    };
    let n = 210_000;
    write(&place.path(""), "g", true, &(0..n).collect::<Vec<_>>(), &ring(n));
    // In a process of its own, whose memory is measured. The budget is enough to prepare the graph.
    let words = ["count", "g", "--lcc", "l.txt", "--threads", "1", "--backend", "cpu", "--no-cache", "--host-memory"];
    let refused = place.refuses(&[&words[..], &["38MiB"]].concat(), 3, &["to mark the directions of edges"]);
    assert!(refused.stdout.is_empty() && !place.path("l.txt").exists(), "{}", text(&refused.stdout));
    let enough = number_after("raise --host-memory to ", &stderr(&refused));
    let peak = place.answer(&[&words[..], &[&*enough]].concat())["peak_host_bytes"].as_u64().unwrap();
    assert!(peak <= enough.parse::<u64>().unwrap(), "{peak} of {enough}");
    let found = values(&place.read("l.txt"));
    // Values depend only on the place modulo three.
    let expected = by_definition(true, &(0..30).collect::<Vec<_>>(), &ring(30));
    assert_eq!(found.len(), n as usize);
    assert!(found.iter().all(|&(id, value)| value == expected[id as usize % 30].1), "{found:?}");
}

/// All jobs compare the vertices with the list, which here takes more memory than all else.
#[test]
fn the_least_memory_that_plan_names_is_enough_to_compare_the_vertices() {
    let place = Place::new();
    write(&place.path(""), "g", true, &(0..1_000_000).collect::<Vec<_>>(), &sixty());
    let words = ["g", "--threads", "2", "--no-cache", "--backend", "cpu"];
    let (_, said, _) = place.least_suffices("--host-memory", &words, |least| least - (1 << 16));
    assert!(said.contains("to compare the vertices with their list"), "{said}");
}

/// Arcs between the ids below 60, some of them in both directions.
fn sixty() -> Arcs {
    (0..60).flat_map(|i| [(i, (i + 1) % 60), (i, (i + 2) % 60), (i, (i * 7 + 3) % 60)]).collect()
}

#[test]
fn the_directions_of_a_cached_input_are_kept_beside_its_graph() {
    let place = Place::new();
    let (arcs, vertices): (Arcs, Vec<u64>) = (sixty(), (0..60).collect());
    let count = |arcs: &Arcs| {
        let args = ["count", "g", "--lcc", "l.txt", "--force", "--cache-dir", "cache", "--backend", "cpu", "-v"];
        let output = place.command(&args).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let found = values(&place.read("l.txt"));
        assert_eq!(found, by_definition(true, &vertices, arcs));
        stderr(&output).matches("the graph is in the cache").count()
    };
    write(&place.path(""), "g", true, &vertices, &arcs);
    assert_eq!(count(&arcs), 0);
    assert_eq!(count(&arcs), 2);
    let listed = String::from_utf8(place.prints(&["cache", "list", "--cache-dir", "cache"])).unwrap();
    assert!(listed.contains("2 graphs") && listed.matches("g.e").count() == 2, "{listed}");
    // Another input with as many vertices and edges, of which as many are there in both directions.
    let turned: Arcs = arcs.iter().map(|&(u, v)| (59 - u, 59 - v)).collect();
    write(&place.path(""), "g", true, &vertices, &turned);
    assert_eq!(count(&turned), 0);
    assert_eq!(count(&turned), 2);
    // The doubled graph is kept beside its graph; where the graph is made again, so is the doubled one.
    let graphs = with_suffix(&place.path("cache"), "trimgraf");
    assert_eq!(graphs.len(), 2);
    let smaller = graphs.iter().min_by_key(|path| path.metadata().unwrap().len()).unwrap();
    fs::remove_file(smaller).unwrap();
    assert!(count(&turned) < 2);
    assert_eq!(count(&turned), 2);
}

#[test]
fn shards_are_merged_to_the_same_file() {
    let place = Place::new();
    let (arcs, vertices): (Arcs, Vec<u64>) = (sixty(), (0..64).collect());
    for directed in [true, false] {
        let name = format!("g{directed}");
        write(&place.path(""), &name, directed, &vertices, &arcs);
        let (run, file) = (format!("run-{directed}"), format!("l-{directed}.txt"));
        place.sharded(&run, &[&name, "--parts", "3", "--lcc", &file]);
        let expected = by_definition(directed, &vertices, &arcs);
        assert!(are_near(&values(&place.read(&file)), &expected), "{directed}");
    }
}

/// Only a merge counts the doubled graph, which needs more memory of a device than the graph itself.
#[test]
fn shards_need_no_memory_for_directions() {
    let place = Place::new();
    place.write("d.txt", "1 2\n2 1\n2 3\n3 1\n3 4\n4 2\n4 5\n");
    let plan = place.prints(&["plan", "d.txt", "--lcc", "o.lcc", "--backend", "cpu", "--json"]);
    let plan: PlanReport = serde_json::from_slice(&plan).unwrap();
    let least = plan.smallest_device_memory.get().to_string();
    for words in ["prepare d.txt --lcc o.lcc --directed --run-dir run --shards 2", "count --run-dir run --shard 0/1"] {
        let limited = words.split(' ').chain(["--backend", "cpu", "--device-memory", &least]);
        place.prints(&limited.collect::<Vec<_>>());
    }
    place.prints(&["merge", "run"]);
    assert!(place.path("o.lcc").exists());
}

#[test]
fn graphs_in_memory_have_coefficients_without_directions() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("l.txt");
    let edges = || Graph::from_edges([(5, 6), (6, 7), (7, 5), (7, 8), (1, 1)]);
    let counted = edges().count(&Options::new().lcc(&file)).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "5 1\n6 1\n7 0.3333333333333333\n8 0\n");
    assert_eq!(counted.clustering.unwrap().lcc.unwrap().vertices, 4);
    let other = dir.path().join("other.txt");
    let options = Options::new().lcc(&other);
    let refused = [
        edges().count(&options.clone().directed(true)).unwrap_err(),
        edges().prepare(&Options::new()).unwrap().count(&options).unwrap_err(),
    ];
    for (error, words) in refused.iter().zip(["read once", "prepared already"]) {
        assert!(error.kind() == Kind::Usage && error.to_string().contains(words) && !other.exists(), "{error}");
    }
}

/// Directions are read from the input again, which must be the one whose graph was counted.
#[test]
fn a_merge_refuses_an_input_that_has_changed() {
    let place = Place::new();
    place.write("d.txt", "1 2\n2 1\n2 3\n3 1\n3 4\n4 2\n4 5\n");
    place.prints(&["prepare", "d.txt", "--lcc", "o.lcc", "--directed", "--run-dir", "run", "--shards", "2"]);
    place.prints(&["count", "--run-dir", "run", "--shard", "0/1"]);
    // Another pair has both directions: as many edges as before.
    place.write("d.txt", "1 2\n4 3\n2 3\n3 1\n3 4\n4 2\n4 5\n");
    place.refuses(&["merge", "run"], 1, &["d.txt", "changed since the graph was prepared"]);
    assert!(!place.path("o.lcc").exists());
}
