//! Streaming with a counter that only records its row blocks.

use std::sync::{Arc, Mutex};

use super::*;
use trimill_counting::{
    Detail, Footprint, PartitionCount, PartitionCounter, PartitionExtent, RowBlockRoom, RowBlockSize, RowBlockView,
};
use trimill_system::lock;

/// Every third row block has many short rows, the others few long ones: both buffers hold both kinds.
struct Alternating {
    row_blocks: usize,
    fails_at: usize,
}

impl Alternating {
    fn size(&self, i: usize) -> RowBlockSize {
        if i.is_multiple_of(3) {
            RowBlockSize { range: 20_000, rows: 20_000, arcs: 5_000 }
        } else {
            RowBlockSize { range: 20_000, rows: 50, arcs: 24_950 }
        }
    }
}

impl PartitionSource for Alternating {
    fn outline(&self) -> PartitionOutline {
        let sizes = || (0..self.row_blocks).map(|i| self.size(i));
        PartitionOutline {
            numbered: 20_000 * self.row_blocks as u32,
            locals_at: 0,
            resident: ResidentSize { locals: 0, arcs: 0 },
            row_blocks: self.row_blocks,
            largest_row_block: sizes().map(|size| size.bytes()).max().unwrap_or_default(),
            buffer_words: sizes().map(|size| size.words()).max().unwrap_or(0),
        }
    }
    fn ranks(&mut self) -> Result<Option<Vec<u32>>> {
        Ok(None)
    }
    fn read_resident(&mut self, _: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        into.offsets = vec![0];
        Ok(false)
    }
    fn read_row_block(&mut self, i: usize, into: &mut RowBlock) -> Result<()> {
        if i == self.fails_at {
            return Err(Error::data("part", "row block is damaged"));
        }
        let RowBlockSize { range, rows, arcs } = self.size(i);
        let (offsets, successors, _) = into.reset(range * i as u32..range * (i as u32 + 1), rows, arcs)?;
        offsets.fill(0);
        successors.fill(0);
        Ok(())
    }
}

#[derive(Default)]
struct Recorder(Arc<Mutex<Vec<u32>>>);

impl CountBackend for Recorder {
    fn name(&self) -> &'static str {
        "none"
    }
    fn method(&self) -> &'static str {
        "none"
    }
    fn footprint(&self) -> Footprint {
        Footprint { per_resident_arc: 4, per_local: 12, row_blocks: RowBlockRoom::Always(2), ..Footprint::NOTHING }
    }
    fn begin<'a>(&'a mut self, _: PartitionExtent, _: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }
}

impl PartitionCounter for Recorder {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(Some(run))
    }
    fn row_block(&mut self, row_block: &RowBlockView<'_>, _: &ThreadPool) -> Result<()> {
        lock(&self.0).push(row_block.range.start / 20_000);
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        Ok(PartitionCount { triangles: 7, device: None })
    }
    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(Bytes::ZERO)
    }
}

fn run(mut source: Alternating) -> (Result<CountedPartition, PartitionFailure>, Vec<u32>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut recorder = Recorder::default();
    let counted = DeviceThread { backend: &mut recorder, pool: &pool, control: &Control::silent() }
        .count(&mut source, Detail::Total, None)
        .map(|(counted, _)| counted);
    let seen = lock(&recorder.0).clone();
    (counted, seen)
}

#[test]
fn row_blocks_come_in_order_and_two_buffers_never_hold_more_than_two_row_blocks() {
    let source = Alternating { row_blocks: 9, fails_at: usize::MAX };
    let largest = source.outline().largest_row_block;
    let (counted, seen) = run(source);
    let counted = counted.unwrap();
    assert_eq!((counted.triangles, counted.row_blocks), (7, 9));
    assert_eq!(seen, (0..9).collect::<Vec<_>>());
    // The resident section has one offset only.
    assert!(counted.peak <= largest + largest + Bytes(8), "{} with row blocks of {largest}", counted.peak);
}

#[test]
fn a_row_block_that_cannot_be_read_is_the_error_that_is_reported() {
    let (counted, seen) = run(Alternating { row_blocks: 9, fails_at: 4 });
    let PartitionFailure::Job(error) = counted.unwrap_err() else { panic!("the device is blamed") };
    assert!(error.to_string().contains("row block is damaged"));
    assert!(seen.len() <= 4);
}
