//! Counts of partitions by methods, on any device.

use trimill_counting::{
    CounterMemory, Detail, Footprint, PartitionCount, PartitionCounter, PartitionExtent, RowBlock, VertexCounters,
};
use trimill_system::{Bytes, Result};

use super::{Partition, encoded, give};
use crate::engine::Engine;
use crate::testing::{Double, Pace};
use crate::{CountingMethod, Lstc, Packed};

/// Method `packed`, and `lstc` with blocks and tiles of these sizes.
pub fn methods_of(shapes: impl IntoIterator<Item = (u32, u32)>) -> Vec<Box<dyn CountingMethod>> {
    let mut methods: Vec<Box<dyn CountingMethod>> = vec![Box::new(Packed)];
    for (threads, tile) in shapes {
        methods.push(Box::new(Lstc::new(threads, tile).unwrap()));
    }
    methods
}

/// Arenas of the least bytes of a footprint; for a method that uses more memory if it gets more, also the most that it uses, and sizes between.
pub fn arenas(footprint: &Footprint, size: &PartitionExtent) -> Vec<u64> {
    let least = footprint.least(size);
    match footprint.of_budget.map(|of_budget| of_budget(size, u64::MAX)) {
        None => vec![least],
        Some(preferred) => vec![least, least + (preferred - least) / 8, preferred],
    }
}

pub fn bytes_of(counter: &dyn PartitionCounter) -> u64 {
    match counter.memory() {
        CounterMemory::All(Bytes(bytes)) => bytes,
        besides => panic!("{besides:?}"),
    }
}

impl Partition {
    /// Counts all triangles, or those of a share of the edges. The resident section comes in some runs, encoded if a row block is.
    pub fn count(
        &self,
        engine: &mut dyn Engine,
        method: &dyn CountingMethod,
        detail: Detail,
        row_blocks: &[RowBlock],
    ) -> Result<PartitionCount> {
        let most = engine.layout().capacity() + engine.scratch().bytes + engine.counters().bytes;
        let rows = self.numbers.len() / 7 + 1;
        let is_encoded = row_blocks.iter().any(|row_block| row_block.view().encoded.is_some());
        let runs = if is_encoded { self.encoded_runs(rows, 1) } else { self.runs(rows) };
        let mut counter = method.begin(engine, self.size_with(row_blocks), detail)?;
        give(&mut *counter, runs, row_blocks)?;
        assert!(bytes_of(&*counter) <= most);
        let counted = counter.finish()?;
        assert_eq!(engine.layout().used(), 0, "memory is given back");
        Ok(counted)
    }

    /// Counts on test doubles with row blocks of proxies' rows, of all rows and of encoded ones, each in another arena by `turn`: all must be equal.
    pub fn count_on_doubles(&self, method: &dyn CountingMethod, cuts: &[u32], pace: Pace, turn: usize) -> u64 {
        let in_parts = self.shared_row_blocks(cuts).iter().map(|row_block| encoded(row_block, 3)).collect();
        let mut counts = Vec::new();
        for (kind, row_blocks) in [self.row_blocks(cuts), self.shared_row_blocks(cuts), in_parts].iter().enumerate() {
            let all = arenas(&method.footprint(), &self.size_with(row_blocks));
            let mut double = Double::new(all[(kind + turn) % all.len()], pace).unwrap().with_scratch(1 << 18);
            counts.push(self.count(&mut double, method, Detail::Total, row_blocks).unwrap().triangles);
        }
        assert!(counts.iter().all(|&count| count == counts[0]), "{counts:?}: {method:?}, {cuts:?}, {pace:?}");
        counts[0]
    }

    /// The counters of a pass, and all triangles.
    pub fn count_at_vertices(
        &self,
        engine: &mut dyn Engine,
        method: &dyn CountingMethod,
        row_blocks: &[RowBlock],
        counters: VertexCounters,
    ) -> (Vec<u64>, u64) {
        let detail = Detail::Vertices(counters);
        let mut counter = method.begin(engine, self.size_with(row_blocks), detail).unwrap();
        give(&mut *counter, self.runs(self.numbers.len() / 3 + 1), row_blocks).unwrap();
        let found = counter.vertices().unwrap().counts;
        (found, counter.finish().unwrap().triangles)
    }
}
