//! `docs/messages.md`: typical mistakes, and what the program says. `INSTA_UPDATE=always` makes the page from this file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::job::listing;
use crate::common::place::{Place, stderr};

const PAGE: &str = "docs/messages.md";

const HEAD: &str = "# What the program says\n\n\
    Typical mistakes, and the message of each: what was found and where, what was expected, and what to do. The exit code is in brackets:\n\
    1 for data, 2 for a command line or a job file, 3 for a budget, a disk or a device. `⏎` ends a line of a file, and `→` is a tab.\n";

/// The pointer that a repository has in place of a Git LFS file. As raw pairs, it is a graph of 17 edges.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345678901\n";

/// Files, and what they hold, below headings.
const DATA: &[(&str, &str)] = &[
    ("## Files that are no graph, or in a format that is not read", ""),
    ("empty.txt", ""),
    ("comments.txt", "# nothing here\n"),
    ("names.txt", "ann bob\nbob cleo\n"),
    ("names.csv", "source,target\nann,bob\n"),
    ("graph.json", "{\"nodes\": [{\"id\": 0}]}\n"),
    ("pairs.json", "[[0, 1], [1, 2]]\n"),
    ("links.json", "[{\"source\": 0, \"target\": 1}]\n"),
    ("graph.graphml", "<?xml version=\"1.0\"?>\n<graphml>\n</graphml>\n"),
    ("graph.gexf", "<gexf version=\"1.2\">\n"),
    ("graph.gml", "graph [\n  node [ id 0 ]\n]\n"),
    ("graph.dot", "graph G {\n  0 -- 1;\n}\n"),
    ("graph.net", "*Vertices 3\n*Edges\n1 2\n"),
    ("graph.col", "p edge 3 2\ne 1 2\n"),
    ("lists.txt", "0: 1 2\n1: 0 2\n"),
    ("wide.xyz", "\u{1}\u{2}\u{3}"),
    ("pointer.txt", POINTER),
    ("pointer.bin", POINTER),
    ("login.txt", "<!DOCTYPE html>\n<html><head><title>Sign in</title>\n"),
    ("refused.txt.gz", "{\"message\": \"Not Found\", \"status\": \"404\"}\n"),
    ("## Edge lists", ""),
    ("header.txt", "3 2\n3 1\n3 2\n"),
    ("semicolons.csv", "0;1\n1;2\n"),
    ("bars.txt", "0|1\n1|2\n"),
    ("quotes.csv", "\"0\",\"1\"\n"),
    ("slashes.txt", "// my graph\n0 1\n"),
    ("minus.txt", "0 1\n1 -2\n"),
    ("fraction.txt", "0 1\n1.5 2\n"),
    ("exponent.txt", "0 1\n1e+05 2\n"),
    ("joined.csv", "source,target\n0,1\nsource,target\n1,2\n"),
    ("excel.csv", "sep=,\n0,1\n"),
    ("large.txt", "0 1\n1 99999999999999999999\n"),
    ("one-column.txt", "0 1\n2\n"),
    ("more-columns.txt", "0 1\n1 2 0.5\n"),
    ("header-alone.csv", "source,target\n"),
    ("old-mac.txt", "0 1\r1 2\r"),
    ("bipartite.txt", "% bip\n1 1\n"),
    ("columns-apart.csv", "source,weight,target\n0,1,1\n"),
    ("unnamed-column.csv", "a,b\n0,1,2\n"),
    ("key-first.csv", "id,a,b\n0,1,2\n"),
    ("thousands.txt", "1,002 1,003\n"),
    ("dense-matrix.txt", "0 1 1 1\n1 0 1 1\n1 1 0 1\n1 1 1 0\n"),
    ("## Other formats", ""),
    ("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 1\n1 2\n"),
    ("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n3 3 1\n1 2 1 0\n"),
    ("dense.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n1\n"),
    ("short.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 2\n2 3\n"),
    ("from-zero.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n0 1\n"),
    ("asymmetric.metis", "3 2\n2\n1 3\n\n"),
    ("beyond.metis", "2 1\n3\n1\n"),
    ("missing-row.metis", "3 2\n2\n"),
    ("no-header.graph", "a b\n"),
    ("crawl.properties", "nodes=3\n"),
    ("odd.bin", "123456789012"),
];

/// Command lines, with a triangle in `graph.txt`, a job file `job.toml`, and a folder `folder`. Options alone are those of `count graph.txt`.
const LINES: [(&str, &str); 4] = [
    (
        "Command lines",
        "graph.txt, job.toml, cuont graph.txt, count, count missing.txt, count folder, count graph.txt -, \
         --formt text, count graph.txt -j 4, --format txt, count pointer.txt --names, \
         count pointer.bin --format bin-u32, --header maybe, --columns src, --backend cude, --method guess, \
         --method polak --backend cpu, --method forward --backend cpu --per-vertex v.tsv, \
         --method forward --backend cpu --truss, --devices 0 --backend cpu, --threads 0, --json --details, \
         --no-cache --cache-dir c, plan graph.txt --run-dir r, verify graph.txt --backend cpu, merge folder, \
         cluster graph.txt, cluster hq graph.txt, inspect folder, generate gap-kron --scale 4 --output k.xyz, \
         man generate gap-krom",
    ),
    (
        "Partitions and memory",
        "--parts 0, --parts many, --partitioner metsi, --partitioner file:, --partitioner file:missing.part, \
         --partitioner rank --prune direct, --prune direkt, --seed first, --metis-contract 4, \
         --device-memory lots, --device-memory 0, --keep-spill",
    ),
    (
        "Files that are written",
        "--per-vertex v.txt, --per-vertex there.tsv, --per-vertex dir.tsv, --per-vertex nowhere/v.tsv, \
         --per-vertex same.tsv --per-edge same.tsv, --per-vertex graph.txt, --by-degree d.npy, --per-edge e.npy, \
         --by-k k.parquet, --by-k there.tsv, --report r.htm, --trace t.html, --output there.tsv, --force, --k 2",
    ),
    (
        "Job files",
        "run missing.toml, run job.toml --set partition.pats=3, run job.toml --set partition.parts, \
         run job.toml --only other, run graph.txt",
    ),
];

fn say(place: &Place, line: &str, page: &mut String) {
    let words: Vec<&str> = line.split(' ').collect();
    let files = || [listing(&place.path("")), listing(&place.path("tmp"))];
    let before = files();
    let output = place.run(&[&words[..], &["--progress", "none"]].concat());
    let said = stderr(&output);
    let message = said.split_once("error: ").map_or("is no mistake", |(_, message)| message.trim_end());
    let message = message.split("\n\nUsage:").next().unwrap_or_default().replace('\n', "\n    ");
    assert!(output.stdout.is_empty() || line.contains("--json"), "{line}");
    assert_eq!(files(), before, "{line}");
    writeln!(page, "\n    trimill {line}\n    [{}] {message}", output.status.code().unwrap()).unwrap();
}

#[test]
fn typical_mistakes_get_the_messages_of_the_page() {
    let place = Place::new();
    ["folder", "dir.tsv", "cache"].iter().for_each(|name| fs::create_dir(place.path(name)).unwrap());
    place.write("graph.txt", "0 1\n1 2\n2 0\n");
    place.write("there.tsv", "mine\n");
    place.write("job.toml", "[[job]]\nname = 'k3'\ninput.path = 'graph.txt'\n");
    let mut page = HEAD.to_owned();
    for (name, content) in DATA {
        if name.starts_with("## ") {
            writeln!(page, "\n{name}").unwrap();
            continue;
        }
        place.write(name, content);
        let shown = content.replace('\n', "⏎").replace('\t', "→").replace('\r', "\\r");
        let shown = shown.replace(['\u{1}', '\u{2}', '\u{3}'], "·");
        let shown = if shown.is_empty() { "nothing".into() } else { format!("`{shown}`") };
        writeln!(page, "\n`{name}` holds {shown}").unwrap();
        say(&place, &format!("count {name}"), &mut page);
    }
    for (title, lines) in LINES {
        writeln!(page, "\n## {title}").unwrap();
        for line in lines.split(", ") {
            let command = if line.starts_with("--") { "count graph.txt " } else { "" };
            say(&place, &format!("{command}{line}"), &mut page);
        }
    }
    assert!(!page.contains("] is no mistake\n"), "{page}");
    assert_eq!(place.read("there.tsv"), "mine\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    // A build without Parquet does not name its suffix.
    let parquet = |line: &(&str, &str)| cfg!(feature = "parquet") || !line.1.contains(".parquet");
    for (found, expected) in page.lines().zip(kept.lines()).filter(parquet) {
        assert_eq!(found, expected, "{PAGE} says otherwise; INSTA_UPDATE=always writes it anew");
    }
    assert_eq!(page.lines().count(), kept.lines().count(), "{PAGE}");
}
