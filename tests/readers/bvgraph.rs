//! BVGraphs that the library's own writer makes: both byte orders, other codes and windows.

use std::path::Path;

use dsi_bitstream::dispatch::Codes;
use dsi_bitstream::traits::{BE, LE};
use webgraph::prelude::{BvComp, CompFlags, VecGraph};

use trimill::input::Format;

use crate::support::{Folder, TINY, arcs, data, open};

/// Writes `graph` under `base`.
fn write(base: &Path, graph: &VecGraph, flags: CompFlags, little_endian: bool) {
    let mut writer = BvComp::with_basename(base).comp_flags(flags);
    if little_endian {
        writer.comp_graph::<LE>(graph).unwrap()
    } else {
        writer.comp_graph::<BE>(graph).unwrap()
    };
}

fn graph_of(arcs: &[(u64, u64)]) -> VecGraph {
    VecGraph::from_arcs(arcs.iter().map(|&(u, v)| (u as usize, v as usize)))
}

#[test]
fn a_written_graph_is_read_in_both_byte_orders_and_with_any_flags() {
    let folder = Folder::new();
    let mut tiny = TINY.to_vec();
    tiny.sort_unstable();
    tiny.dedup();
    let karate = arcs(&open(&data("karate.mtx")).unwrap()).unwrap();
    let hub: Vec<_> = (0..200_000).map(|head| (7, head)).chain((0..200_000).map(|tail| (tail, 7))).collect();
    for (graph, mut expected) in [("tiny", tiny), ("karate", karate), ("hub", hub)] {
        expected.sort_unstable();
        expected.dedup();
        let usual = CompFlags::default();
        let others = [
            ("usual", usual),
            ("no-window", CompFlags { compression_window: 0, ..usual }),
            ("no-intervals", CompFlags { min_interval_length: 0, ..usual }),
            ("short-intervals", CompFlags { min_interval_length: 1, compression_window: 2, ..usual }),
            ("delta", CompFlags { residuals: Codes::Delta, outdegrees: Codes::Delta, ..usual }),
        ];
        for (name, flags) in others {
            for little_endian in [false, true] {
                let name = format!("{graph}-{name}-{little_endian}");
                write(&folder.path(&name), &graph_of(&expected), flags, little_endian);
                let source = open(&folder.path(&format!("{name}.graph"))).unwrap();
                assert_eq!(source.format(), Format::Bvgraph, "{name}");
                assert!(arcs(&source).unwrap() == expected, "{name}");
            }
        }
    }
}
