//! Graphs whose partitions are planned, and the pass of a partition through a backend.

use crate::common::{arcs_of_pairs, oriented, rows_of};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::path::Path;
use std::sync::LazyLock;
use trimill::testing::graph::OrientedGraph;
use trimill::testing::memory::SharedBudget;
use trimill::testing::partition::prune::Prune;
use trimill::testing::plan::{GraphCut, Plan};
use trimill::testing::spill::{SpillReader, SpillSummary};
use trimill::testing::stream::ranges::RankRange;
use trimill::testing::stream::{CountedPartition, DeviceThread};
use trimill::{Bytes, Control};
use trimill_counting::{CountBackend, Detail, PartitionSource};
use trimill_generate::{Family, StarKind, generate, parse_leaves};
use trimill_partitioners::build::Builder;
use trimill_partitioners::spill::Spilled;
use trimill_system::hash::mix;

/// A graph, with its rows and triangles computed without the library's planner and counters.
pub(crate) struct Known {
    pub(crate) graph: OrientedGraph,
    pub(crate) rows: Vec<Vec<u32>>,
    pub(crate) triangles: u64,
}

impl Known {
    pub(crate) fn new(graph: OrientedGraph) -> Self {
        let rows = rows_of(&graph);
        let common = |(a, b): (&[u32], &[u32])| a.iter().filter(|successor| b.binary_search(successor).is_ok()).count();
        let of_row =
            |row: &Vec<u32>| row.iter().map(|&successor| common((row, &rows[successor as usize])) as u64).sum::<u64>();
        let triangles = rows.par_iter().map(of_row).sum();
        Self { graph, rows, triangles }
    }

    pub(crate) fn pass_range(&self, plan: &Plan, part: u32, backend: &mut dyn CountBackend) -> CountedPartition {
        let GraphCut::Ranges(ranges) = &plan.cut else { panic!("no ranges") };
        let source = RankRange::new(&self.graph, &plan.row_blocks, &ranges[part as usize]).unwrap();
        passed(Box::new(source), backend)
    }

    /// Builds the spills of all partitions, streams each through `backend`, and calls `each` with it.
    pub(crate) fn build_and_pass(
        &self,
        plan: &Plan,
        level: Prune,
        backend: &mut dyn CountBackend,
        mut each: impl FnMut(u32, SpillSummary, CountedPartition),
    ) {
        let GraphCut::Sets(locals) = &plan.cut else { panic!("no sets") };
        // Room for all spills, which therefore are in memory.
        let room = SharedBudget::new(Bytes::mib(1 << 20));
        let builder = Builder {
            graph: &self.graph,
            locals,
            sizes: plan.partitions.iter().map(|planned| planned.size).collect(),
            row_block_limit: plan.row_block_limit,
            prune: level,
            dir: Path::new(""),
            room: &room,
            fingerprint: 0,
            durable: false,
        };
        let parts: Vec<u32> = (0..plan.parts()).collect();
        for some in parts.chunks(64) {
            for built in builder.build(Bytes::mib(1), some, &Control::silent()).unwrap() {
                let (size, header) = (plan.partitions[built.part as usize].size, &built.spill.header);
                let found = (u64::from(header.partition.numbered), header.row_block_arcs);
                assert_eq!(found, (size.numbered(), size.arcs_kept - size.resident_arcs), "sizes are exact");
                let counted = passed(Box::new(Spilled::new(SpillReader::reopen(&built.spill).unwrap())), backend);
                each(built.part, built.spill, counted);
            }
        }
    }
}

pub(crate) fn passed(mut source: Box<dyn PartitionSource + '_>, backend: &mut dyn CountBackend) -> CountedPartition {
    static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    DeviceThread { backend, pool: &POOL, control: &Control::silent() }
        .count(source.as_mut(), Detail::Total, None)
        .unwrap()
        .0
}

pub(crate) fn graph_of(family: &Family, dir: &Path) -> OrientedGraph {
    let path = dir.join("graph.bin");
    generate(family, None, &path, &Control::silent()).unwrap();
    oriented(&arcs_of_pairs(&path), dir, Bytes::mib(64))
}

/// Pages that copy most of the links of a page shortly before them.
pub(crate) fn crawl(pages: u64, dir: &Path) -> OrientedGraph {
    let mut rows: Vec<Vec<u64>> = vec![vec![]];
    for page in 1..pages {
        let draw = |i: u64| mix(page << 8 | i);
        let model = &rows[(page - 1).saturating_sub(draw(255) % 16) as usize];
        let row = (0..4 + draw(254) % 28).map(|i| match draw(i) % 100 {
            0..75 if !model.is_empty() => model[draw(128 + i) as usize % model.len()],
            0..97 => page - 1 - draw(128 + i) % page.min(40),
            _ => draw(128 + i) % page,
        });
        rows.push(row.collect());
    }
    let arcs: Vec<_> =
        (0..).zip(rows).flat_map(|(page, row)| row.into_iter().map(move |successor| (page, successor))).collect();
    oriented(&arcs, dir, Bytes::mib(64))
}

pub(crate) fn graphs(dir: &Path) -> Vec<Known> {
    let stars = Family::Stars { leaves: parse_leaves("3-4-5-9").unwrap(), kind: StarKind::B1k };
    let mut graphs: Vec<_> = [
        Family::GapKron { scale: 12 },
        Family::GapUrand { scale: 11 },
        Family::KingsGrid { rows: 60, columns: 90 },
        Family::RingLattice { vertices: 5000, k: 4 },
        stars,
    ]
    .iter()
    .map(|family| graph_of(family, dir))
    .collect();
    graphs.push(crawl(4000, dir));
    graphs.into_iter().map(Known::new).collect()
}
