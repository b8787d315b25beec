//! Compares spills that are built in batches with the rows that pruning keeps, and with the bytes from other batches.
//! What is kept is compared with its definition in `partitions`.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use crate::common::{complete, oriented, rows_of};
use crate::spill_support::{resident_of, row_block_of};
use trimill::{Bytes, Control};
use trimill_counting::{Resident, RowBlock, smallest_row_block_limit};
use trimill_graph::OrientedGraph;
use trimill_partitioners::build::{Builder, BuiltPartition};
use trimill_partitioners::partition::GraphPasses;
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::partition::cuts::RowBlockCuts;
use trimill_partitioners::partition::kept::{Kept, kept};
use trimill_partitioners::partition::prune::Prune;
use trimill_partitioners::partition::sizes::sizes;
use trimill_partitioners::partition::totals::RowBlockTotals;
use trimill_partitioners::spill::SpillReader;
use trimill_partitioners::spill::block::FULL;
use trimill_system::hash::mix;
use trimill_system::memory::SharedBudget;

const LEVELS: [Prune; 3] = [Prune::None, Prune::ZeroIndegree, Prune::Direct];

/// What a spill holds: the ranks of its vertices, the rows of its locals and of its proxies.
type Sections = (Vec<u32>, Resident, Vec<RowBlock>);

/// The bytes and the contents of all spills, by partition; `many` are built at a time.
fn spills(builder: &Builder<'_>, block: Bytes, many: usize) -> Vec<(Vec<u8>, Sections)> {
    let (dir, control) = (tempfile::tempdir().unwrap(), Control::silent());
    let builder = Builder { dir: dir.path(), ..builder.clone() };
    let parts: Vec<u32> = (0..builder.locals.parts()).collect();
    let built = parts.chunks(many).flat_map(|parts| builder.build(block, parts, &control).unwrap());
    let read =
        |built: BuiltPartition| (built.part, (std::fs::read(&built.spill.path).unwrap(), contents(&builder, &built)));
    let spills: BTreeMap<_, _> = built.map(read).collect();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), parts.len());
    spills.into_values().collect()
}

fn contents(builder: &Builder<'_>, built: &BuiltPartition) -> Sections {
    let spill = SpillReader::reopen(&built.spill).unwrap();
    let (mut resident, mut row_blocks) = (Resident::default(), Vec::new());
    spill.read_resident(&mut resident).unwrap();
    for i in 0..spill.row_blocks() {
        row_blocks.push(RowBlock::default());
        spill.read_row_block(i, false, &mut row_blocks[i]).unwrap();
    }
    let (size, row_block_arcs) =
        (builder.sizes[built.part as usize], row_blocks.iter().map(|row_block| row_block.view().size().arcs));
    let found = (u64::from(spill.header().numbered), row_block_arcs.sum::<u64>());
    assert_eq!(found, (size.numbered(), size.arcs_kept - size.resident_arcs));
    // Each block, except the last one of its section, ends with the row that makes it full.
    let blocks = |offsets: &[u64]| {
        let (mut blocks, mut weight) = (0u64, FULL);
        for row in offsets.windows(2) {
            if weight >= FULL {
                (blocks, weight) = (blocks + 1, 0);
            }
            weight += 1 + row[1] - row[0];
        }
        blocks
    };
    let report = spill.report();
    assert_eq!(report.resident.blocks, blocks(&resident.offsets));
    for (row_block, report) in row_blocks.iter().zip(&report.row_blocks) {
        let offsets: Vec<u64> = row_block.view().offsets.iter().map(|&offset| offset.into()).collect();
        assert_eq!(report.section.blocks, blocks(&offsets));
    }
    (spill.ranks().unwrap(), resident, row_blocks)
}

/// Builds the sections of a partition from all rows of the graph and what pruning kept, row by row: the rows of locals in full, and those of
/// proxies, in row blocks of at most `limit` bytes.
fn sections(rows: &[Vec<u32>], kept: &Kept, locals: &Assignment, limit: Bytes) -> (Resident, Vec<RowBlock>) {
    let number = |&rank: &u32| kept.kept.rank(rank);
    let (mut resident, mut cuts, mut proxies) = (Vec::new(), RowBlockCuts::new(limit), Vec::new());
    for (place, rank) in (0..).zip(kept.kept.iter(0..rows.len() as u32)) {
        let row = rows[rank as usize].iter();
        if locals.part(rank) == kept.part {
            resident.push((place, row.map(number).collect::<Vec<u32>>()));
        } else {
            let row: Vec<u32> = row.filter(|&&successor| kept.keeps(successor)).map(number).collect();
            cuts.row(place, row.len() as u32);
            proxies.push((place, row));
        }
    }
    let (mut start, mut rest) = (0, proxies.into_iter().peekable());
    let row_blocks = cuts.finish(kept.kept.count()).into_iter().map(|end| {
        let rows = std::iter::from_fn(|| rest.next_if(|(place, _)| *place < end)).map(|(_, row)| row);
        row_block_of(std::mem::replace(&mut start, end)..end, &rows.collect::<Vec<_>>())
    });
    (resident_of(&resident), row_blocks.collect())
}

fn assert_same(graph: &OrientedGraph, assignment: &Assignment, limits: &[u64], block: Bytes, many: usize) {
    let rows = rows_of(graph);
    let passes = GraphPasses { graph, block: Bytes::mib(1), control: &Control::silent() };
    let room = SharedBudget::new(Bytes::ZERO);
    let parts: Vec<u32> = (0..assignment.parts()).collect();
    let locals = assignment.by_rank(&graph.order().unwrap());
    let [pool, one] = [3, 1].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    for level in LEVELS {
        for &limit in limits {
            let limit = smallest_row_block_limit(graph.size().longest_row).max(Bytes(limit));
            let sizes = sizes(passes, &locals, level).unwrap();
            let builder = Builder {
                graph,
                locals: &locals,
                sizes: sizes.clone(),
                row_block_limit: limit,
                prune: level,
                dir: Path::new(""),
                room: &room,
                fingerprint: 7,
                durable: false,
            };
            let together = pool.install(|| spills(&builder, block, many));
            let alone = one.install(|| spills(&builder, Bytes::mib(1), 1));
            let (kept, _) = kept(passes, &locals, &parts, level).unwrap();
            for ((kept, (bytes, found)), (others, _)) in kept.iter().zip(together).zip(alone) {
                let part = kept.part;
                let ranks: Vec<u32> = kept.kept.iter(0..rows.len() as u32).collect();
                let (resident, row_blocks) = sections(&rows, kept, &locals, limit);
                let case = format!("{level}, blocks of {limit}, {many} at a time, part {part}");
                assert!(found == (ranks, resident, row_blocks), "{case}");
                assert!(bytes == others, "{case}: not the bytes of a spill built alone");
                let most = RowBlockTotals::bound(&sizes[part as usize], limit).spill;
                assert!(Bytes(bytes.len() as u64) <= most, "{case}");
            }
        }
    }
}

/// Random arcs, arcs between small ids more often, or arcs between near ids.
fn any_graph() -> impl Strategy<Value = Vec<(u64, u64)>> {
    (2u64..2000, 0..3).prop_flat_map(|(n, kind)| {
        let arc = (0..n, 0..n, 0..n, 1u64..20).prop_map(move |(u, v, w, step)| match kind {
            0 => (u, v),
            1 => (u.min(v), w.min(v)),
            _ => (u, u + step),
        });
        prop::collection::vec(arc, 1..4000)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn batches_hold_what_is_defined_and_have_the_bytes_of_other_batches(
        mut arcs in any_graph(),
        parts in 1u32..12,
        kind in 0..3,
        seed in any::<u64>(),
        limit in 0u64..20_000,
        block in 64u64..50_000,
        many in 1usize..12,
    ) {
        arcs.push((0, 1));
        let dir = tempfile::tempdir().unwrap();
        let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
        let n = graph.vertices();
        let part_of = match kind {
            0 => trimill_partitioners::random(n, parts, seed),
            1 => (0..n).map(|id| (u64::from(id) * u64::from(parts) / u64::from(n)) as u32).collect(),
            // A few parts have a vertex; the others are empty.
            _ => (0..n).map(|id| if id < 3 { id % parts } else { parts - 1 }).collect(),
        };
        assert_same(&graph, &Assignment::new(part_of, parts), &[limit, 1 << 20], Bytes(block), many);
    }
}

/// Sections of many blocks, and rows long enough to end one.
#[test]
fn blocks_end_where_they_end_alone() {
    let draw = |i: u64| mix(i) % 20_000;
    let mut arcs: Vec<_> = (0..900_000).map(|i| (draw(3 * i).min(draw(3 * i + 1)), draw(3 * i + 2))).collect();
    // Hubs that point at each other.
    arcs.extend(complete(1200));
    let dir = tempfile::tempdir().unwrap();
    let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
    let parts = trimill_partitioners::random(graph.vertices(), 3, 5);
    assert_same(&graph, &Assignment::new(parts, 3), &[3 << 20], Bytes::mib(1), 3);
}
