//! Writes `tests/data/bvgraphs.tar.zst`: BVGraphs by WebGraph's library, for `tests/stages/readers/bvgraph.rs`, which says what each is for and
//! computes its arcs independently. The same releases of the crates write the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dsi_bitstream::dispatch::Codes;
use dsi_bitstream::traits::{BE, LE};
use lender::for_;
use tar::{Builder, Header};
use webgraph::prelude::{BvComp, BvGraphSeq, CompFlags, SequentialLabeling, VecGraph};

type Arcs = Vec<(usize, usize)>;

const BIG: &str = "big";
const LITTLE: &str = "little";

fn main() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let archive = data.join("bvgraphs.tar.zst");
    let mut files = Files::default();
    small(&mut files, &data);
    chains(&mut files, &data);
    copies(&mut files);
    fs::write(&archive, files.packed()).unwrap();
    println!("{}: {} files, {} bytes", archive.display(), files.0.len(), fs::metadata(&archive).unwrap().len());
}

/// Names and contents of the files of all graphs.
#[derive(Default)]
struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Adds a graph in this order of bytes; returns its number of bits.
    fn add(&mut self, name: &str, arcs: &[(usize, usize)], flags: CompFlags, order: &str) -> u64 {
        let dir = tempfile::tempdir().unwrap();
        let graph = VecGraph::from_arcs(arcs.iter().copied());
        let mut writer = BvComp::with_basename(dir.path().join(name)).comp_flags(flags);
        let bits = if order == LITTLE { writer.comp_graph::<LE>(&graph) } else { writer.comp_graph::<BE>(&graph) };
        let bits = bits.unwrap();
        for suffix in ["graph", "offsets", "properties"] {
            let file = format!("{name}.{suffix}");
            let bytes = fs::read(dir.path().join(&file)).unwrap();
            assert!(self.0.insert(file, bytes).is_none(), "two graphs {name}");
        }
        bits
    }

    /// A tar archive of them, without times and owners.
    fn packed(&self) -> Vec<u8> {
        let mut tar = Builder::new(Vec::new());
        for (name, bytes) in &self.0 {
            let mut header = Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            tar.append_data(&mut header, name, &bytes[..]).unwrap();
        }
        zstd::encode_all(&tar.into_inner().unwrap()[..], 19).unwrap()
    }
}

/// Small graphs, and one with a long row, with all flags that a BVGraph may have.
fn small(files: &mut Files, data: &Path) {
    let tiny = vec![(0, 1), (1, 2), (2, 2), (0, 2), (3, 4), (4, 3), (1, 4)];
    let text = fs::read_to_string(data.join("karate.mtx")).unwrap();
    let mut entries = text.lines().filter(|line| !line.starts_with('%')).skip(1);
    let pair = |line: &str| line.split_once(' ').map(|(u, v)| (u.parse().unwrap(), v.parse().unwrap())).unwrap();
    let karate = entries.by_ref().map(pair).collect();
    let hub = (0..200_000).map(|head| (7, head)).chain((0..200_000).map(|tail| (tail, 7))).collect();
    let usual = CompFlags::default();
    let all = [
        ("usual", usual),
        ("no-intervals", CompFlags { min_interval_length: 0, ..usual }),
        ("no-window", CompFlags { compression_window: 0, ..usual }),
        ("short-intervals", CompFlags { min_interval_length: 1, compression_window: 2, ..usual }),
        ("delta", CompFlags { residuals: Codes::Delta, outdegrees: Codes::Delta, ..usual }),
        ("omega", CompFlags { residuals: Codes::Omega, references: Codes::Gamma, ..usual }),
        ("zeta5", CompFlags { residuals: Codes::Zeta(5), ..usual }),
        ("no-references", CompFlags { max_ref_count: 0, ..usual }),
    ];
    let graphs: [(&str, Arcs, &[_]); 3] = [("tiny", tiny, &all), ("karate", karate, &all), ("hub", hub, &all[..2])];
    for (graph, arcs, flags) in graphs {
        for (name, flags) in flags {
            for order in [BIG, LITTLE] {
                files.add(&format!("{graph}-{name}-{order}"), &arcs, *flags, order);
            }
        }
    }
}

/// The arcs between the first 37,000 vertices of a crawl, whose rows refer to rows that refer to others.
fn chains(files: &mut Files, data: &Path) {
    let graph = BvGraphSeq::with_basename(data.join("cnr-symmetric")).endianness::<BE>().load().unwrap();
    let mut crawl = Arcs::new();
    for_!((tail, successors) in graph.iter() {
        crawl.extend(successors.into_iter().map(|head| (tail, head)).filter(|&(u, v)| u.max(v) < 37_000));
    });
    let usual = CompFlags::default();
    files.add("crawl-big", &crawl, usual, BIG);
    files.add("crawl-little", &crawl, usual, LITTLE);
    files.add("crawl-long", &crawl, CompFlags { max_ref_count: 1 << 20, ..usual }, LITTLE);
    let wide = CompFlags { compression_window: 64, max_ref_count: 1 << 20, ..usual };
    files.add("crawl-long-wide", &crawl, wide, BIG);
    files.add("crawl-short-wide", &crawl, CompFlags { compression_window: 500, max_ref_count: 2, ..usual }, BIG);
}

/// Rows that copy from near rows, and from far ones.
fn copies(files: &mut Files) {
    let equal = |tails: std::ops::Range<usize>| tails.flat_map(|tail| (0..50_000).map(move |head| (tail, head)));
    let window = |rows: usize| CompFlags { compression_window: rows, ..CompFlags::default() };
    files.add("equal-rows", &equal(0..90).collect::<Arcs>(), window(7), BIG);

    // The last row copies from the first one, over 199 equal rows.
    let odd = |tail: usize| (0..16_000).map(move |i| (tail, 3 * i + usize::from(i * i % 7 < 3)));
    files.add("far-row", &odd(0).chain(equal(1..200)).chain(odd(200)).collect::<Arcs>(), window(200), BIG);

    // Six rows are repeated after 300 dissimilar rows. No row copies from a nearer one.
    const STRIDES: [usize; 11] = [29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71];
    let row = |tail: usize, many: usize| (0..many).map(move |i| (tail, tail / 11 + i * STRIDES[tail % 11]));
    let first: Arcs = (0..6).flat_map(|tail| row(tail, 3000)).collect();
    let between = (6..306).flat_map(|tail| row(tail, 2000));
    let last = first.iter().map(|&(tail, head)| (tail + 310, head));
    let arcs: Arcs = first.iter().copied().chain(between).chain(last).collect();
    let [none, near] = [0, 309].map(|rows| Files::default().add("far-chunks", &arcs, window(rows), LITTLE));
    let far = files.add("far-chunks", &arcs, window(512), LITTLE);
    assert!(near == none + 312 && far + 50_000 < near, "bits without copies: {none}, {near}; with them: {far}");
}
