//! Spills hold the partitions of their definition.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::{Defined, LEVELS, any_arcs, by_definition, by_rank, locals_of, part};
use crate::common::job::job;
use crate::common::{oriented, rows_of, simple, triangles};
use proptest::prelude::*;
use trimill::testing::count::cpu::Cpu;
use trimill::testing::execute::partition::partition;
use trimill::testing::partition::assignment::Assignment;
use trimill::testing::partition::prune::Prune;
use trimill::testing::spill::{Manifest, SpillReader};
use trimill::testing::stream::DeviceThread;
use trimill::{Bytes, Control};
use trimill_counting::{Detail, EdgeShare, Resident, RowBlock, smallest_row_block_limit};
use trimill_partitioners::spill::Spilled;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn kept_spills_hold_the_partitions_of_their_definition(
        arcs in any_arcs(), parts in 1u32..9, salt in any::<u64>(), rows_a_row_block in 1u64..20, level in prop::sample::select(LEVELS.to_vec()),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let edges = simple(&arcs);
        prop_assume!(!edges.is_empty());
        let graph = oriented(&arcs, dir.path(), Bytes::mib(64));
        let ids = graph.ids().unwrap();
        let part_of: Vec<u32> = (0..graph.vertices()).map(|vertex| part(vertex, salt, parts)).collect();
        let limit = Bytes(smallest_row_block_limit(graph.size().longest_row).get() + rows_a_row_block * 16);
        let manifest = spilled(&arcs, &ids_and_parts(&ids, &part_of), level, limit, dir.path());
        let inhabited: Vec<u32> = part_of.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect();
        prop_assert_eq!(manifest.partitions.len(), inhabited.len());
        let locals = Assignment::new(part_of, parts).by_rank(&graph.order().unwrap());
        let arcs_by_rank = by_rank(&rows_of(&graph));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut total = 0;
        for (partition, &part) in manifest.partitions.iter().zip(&inhabited) {
            let spill = manifest.open(&dir.path().join("spills"), partition).unwrap();
            spill.verify(&Control::silent()).unwrap();
            prop_assert!(spill.largest_block_bytes() <= limit.get());
            let own = locals_of(&locals, part);
            let defined = by_definition(&arcs_by_rank, &own, level);
            holds(&spill, &own, &defined);
            let mut cpu = Cpu::new(Bytes::mib(64), graph.vertices());
            let counted = DeviceThread { backend: &mut cpu, pool: &pool, control: &Control::silent() }.count(&mut Spilled::new(spill), EdgeShare::ALL, Detail::Total, None);
            total += counted.map_err(|failed| failed.error()).unwrap().0.triangles;
        }
        prop_assert_eq!(total, triangles(&edges), "level {}", level);
    }
}

fn ids_and_parts(ids: &trimill::testing::graph::oriented::Ids, part_of: &[u32]) -> String {
    (0..).zip(part_of).map(|(vertex, part)| format!("{} {part}\n", ids.original(vertex))).collect()
}

/// Spills the partitions of a graph as `trimill partition` does, to the folder `spills`.
fn spilled(arcs: &[(u64, u64)], parts: &str, level: Prune, limit: Bytes, dir: &Path) -> Manifest {
    let lines: String = arcs.iter().map(|(u, v)| format!("{u} {v}\n")).collect();
    std::fs::write(dir.join("g.txt"), lines).unwrap();
    std::fs::write(dir.join("parts.txt"), parts).unwrap();
    let toml = format!(
        "input = {{ path = 'g.txt', format = 'text', header = 'no' }}\nspill.dir = 'spills'\nmemory.block = {limit}\n\
         partition = {{ partitioner = 'file:parts.txt', prune = '{level}' }}\ncache.enabled = false\ncount.threads = 2",
        limit = limit.get()
    );
    partition(job(&toml, dir).unwrap(), None, &Control::silent()).unwrap();
    Manifest::read(&dir.join("spills")).unwrap()
}

fn holds(spill: &SpillReader, locals: &BTreeSet<u32>, defined: &Defined) {
    let ranks: Vec<u32> = defined.vertices.iter().copied().collect();
    assert_eq!((spill.size(), spill.header().numbered as usize), (defined.size, ranks.len()));
    assert_eq!(spill.ranks().unwrap(), ranks);
    let (mut resident, mut row_block, mut arcs) = (Resident::default(), RowBlock::default(), BTreeSet::new());
    spill.read_resident(&mut resident).unwrap();
    assert!(resident.numbers.iter().map(|&number| ranks[number as usize]).eq(locals.iter().copied()));
    let mut add = |number: u32, row: &[u32]| {
        arcs.extend(row.iter().map(|&successor| (ranks[number as usize], ranks[successor as usize])));
    };
    (0..).zip(&resident.numbers).for_each(|(i, &number)| add(number, resident.row(i)));
    let mut next = 0;
    for i in 0..spill.row_blocks() {
        spill.read_row_block(i, &mut row_block).unwrap();
        let row_block = row_block.view();
        let Range { start, end } = row_block.range;
        assert_eq!(start, next);
        next = end;
        let proxies: Vec<u32> = (start..end).filter(|&number| !locals.contains(&ranks[number as usize])).collect();
        assert_eq!(proxies.len() as u64, row_block.size().rows);
        (0..).zip(proxies).for_each(|(i, number)| add(number, row_block.row(i)));
    }
    assert_eq!(next as usize, ranks.len());
    assert_eq!(arcs, defined.arcs);
}
