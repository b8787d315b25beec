//! BVGraphs of `trimill generate` as WebGraph's library reads them, against the same graphs as text. The program is `target/debug/trimill`, or the
//! one that the environment variable `TRIMILL` names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use dsi_bitstream::codes::GammaRead;
use dsi_bitstream::impls::buf_bit_reader;
use dsi_bitstream::traits::BE;
use lender::for_;
use webgraph::prelude::{BvGraphSeq, SequentialLabeling};

type Arcs = BTreeSet<(usize, usize)>;

/// Runs `trimill generate` with these arguments, and `--output file`.
fn generate(arguments: &str, file: &Path) {
    let program = std::env::var_os("TRIMILL").unwrap_or_else(|| "../../target/debug/trimill".into());
    let mut command = Command::new(&program);
    command.args(["generate", "--quiet"]).args(arguments.split(' ')).arg("--output").arg(file);
    let status =
        command.stdout(Stdio::null()).status().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(status.success(), "{arguments}: {status}");
}

/// The arcs of a BVGraph, whose properties and offsets must fit them.
fn read(graph: &Path) -> Arcs {
    let rows = BvGraphSeq::with_basename(graph.with_extension("")).endianness::<BE>().load().unwrap();
    let mut found = Vec::new();
    for_!((tail, successors) in rows.iter() {
        found.extend(successors.into_iter().map(|head| (tail, head)));
    });
    let properties = fs::read_to_string(graph.with_extension("properties")).unwrap();
    assert!(properties.contains(&format!("\narcs={}\n", found.len())), "{properties}");
    let mut offsets = buf_bit_reader::from_path::<BE, u32>(graph.with_extension("offsets")).unwrap();
    let (mut offset, mut begins) = (0, rows.offset_deg_iter());
    for (begin, _) in begins.by_ref() {
        offset += offsets.read_gamma().unwrap();
        assert_eq!(begin, offset);
    }
    assert_eq!(begins.get_pos(), offset + offsets.read_gamma().unwrap(), "the end of the last row");
    assert!(found.is_sorted(), "{}", graph.display());
    found.into_iter().collect()
}

#[test]
fn the_library_reads_what_the_generator_writes() {
    let dir = tempfile::tempdir().unwrap();
    let [base, path, graph, text] = ["base.txt", "path.txt", "g.graph", "g.txt"].map(|name| dir.path().join(name));
    // A wheel and a tail.
    fs::write(&base, "0 1\n0 2\n0 3\n0 4\n0 5\n1 2\n1 5\n2 3\n3 4\n4 5\n5 6\n").unwrap();
    // Rows of many chunks.
    fs::write(&path, (0..150_000).map(|v| format!("{v} {}\n", v + 1)).collect::<String>()).unwrap();
    let [base, path] = [base.display(), path.display()];
    for arguments in [
        "stars 5 --kind B2k",
        "stars 2-3-4 --kind Bk",
        "stars 4-1-2-3 --kind B1k",
        "ring-lattice --vertices 90 --k 17",
        "kings-grid --rows 17 --columns 3",
        "complete --vertices 65",
        "ring-of-cliques --cliques 11 --size 7",
        "hamming --dimension 4 --order 3",
        "gap-kron --scale 10",
        "gap-urand --scale 15",
        &format!("blowup {base} --copies 7"),
        &format!("blowup {base} --copies 3 --permute 9"),
        &format!("tensor-complete {base} --order 6"),
        &format!("copies {base} --copies 5"),
        &format!("copies {path} --copies 3"),
        &format!("blowup {path} --copies 2"),
    ] {
        generate(arguments, &text);
        let edges = fs::read_to_string(&text).unwrap();
        let edges = edges.lines().map(|line| line.split_once(' ').unwrap());
        let edges = edges.map(|(u, v)| (u.parse().unwrap(), v.parse().unwrap())).filter(|(u, v)| u != v);
        let expected: Arcs = edges.flat_map(|(u, v)| [(u, v), (v, u)]).collect();
        let [both, up, down] = ["both", "up", "down"].map(|arcs| {
            generate(&format!("{arguments} --force --arcs {arcs}"), &graph);
            read(&graph)
        });
        assert!(both == expected, "{arguments}");
        assert_eq!(down.iter().map(|&(tail, head)| (head, tail)).collect::<Arcs>(), up, "{arguments}");
        assert!(2 * up.len() == both.len() && up.union(&down).copied().eq(both), "{arguments}");
        fs::remove_file(&text).unwrap();
    }
}
