//! Streaming with a counter that only looks on.

use std::sync::{Arc, Mutex};

use super::*;
use crate::count::{PartitionCounter, Tally, Terms};
use crate::lock;
use crate::partition::section::{FrameSize, FrameView};

/// Every third frame has many short rows, the others few long ones: both buffers meet both kinds.
struct Alternating {
    frames: usize,
    fails_at: usize,
}

impl Alternating {
    fn size(&self, i: usize) -> FrameSize {
        if i.is_multiple_of(3) {
            FrameSize { range: 20_000, rows: 20_000, arcs: 5_000 }
        } else {
            FrameSize { range: 20_000, rows: 50, arcs: 24_950 }
        }
    }
}

impl PartitionSource for Alternating {
    fn numbered(&self) -> u32 {
        20_000 * self.frames as u32
    }
    fn frames(&self) -> usize {
        self.frames
    }
    fn frame_size(&self, i: usize) -> FrameSize {
        self.size(i)
    }
    fn resident_size(&self) -> ResidentSize {
        ResidentSize { locals: 0, arcs: 0 }
    }
    fn read_resident(&mut self, _: Option<Bytes>, into: &mut Resident) -> Result<bool> {
        into.offsets = vec![0];
        Ok(false)
    }
    fn read_frame(&mut self, i: usize, into: &mut Frame) -> Result<()> {
        if i == self.fails_at {
            return Err(Error::data("part", "frame is damaged"));
        }
        let FrameSize { range, rows, arcs } = self.size(i);
        let (offsets, heads) = into.reset(range * i as u32..range * (i as u32 + 1), rows, arcs)?;
        offsets.fill(0);
        heads.fill(0);
        Ok(())
    }
}

#[derive(Default)]
struct Onlooker(Arc<Mutex<Vec<u32>>>);

impl Backend for Onlooker {
    fn name(&self) -> &'static str {
        "none"
    }
    fn method(&self) -> &'static str {
        "none"
    }
    fn terms(&self) -> Terms {
        Terms {
            per_resident_arc: 4,
            per_local: 12,
            tables: |_, _| Bytes::ZERO,
            workers: 1,
            slots: |_| 2,
            wish: None,
            fixed: Bytes::ZERO,
            scratch: Bytes::ZERO,
        }
    }
    fn begin<'a>(&'a mut self, _: ResidentSize, _: u32, _: Bytes) -> Result<Box<dyn PartitionCounter + 'a>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }
}

impl PartitionCounter for Onlooker {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        Ok(Some(run))
    }
    fn frame(&mut self, frame: &FrameView<'_>, _: &ThreadPool) -> Result<()> {
        lock(&self.0).push(frame.range.start / 20_000);
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<Tally> {
        Ok(Tally { triangles: 7, device: None })
    }
    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(Bytes::ZERO)
    }
}

fn run(mut source: Alternating) -> (Result<Counted, Failed>, Vec<u32>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut onlooker = Onlooker::default();
    let counted = count_partition(&mut source, &mut onlooker, &pool, &Control::silent());
    let seen = lock(&onlooker.0).clone();
    (counted, seen)
}

#[test]
fn frames_come_in_order_and_two_buffers_never_hold_more_than_two_frames() {
    let source = Alternating { frames: 9, fails_at: usize::MAX };
    let largest = source.largest_frame();
    let (counted, seen) = run(source);
    let counted = counted.unwrap();
    assert_eq!((counted.triangles, counted.frames), (7, 9));
    assert_eq!(seen, (0..9).collect::<Vec<_>>());
    // The resident section is one offset.
    assert!(counted.peak <= largest + largest + Bytes(8), "{} with frames of {largest}", counted.peak);
}

#[test]
fn a_frame_that_cannot_be_read_is_the_error_that_is_told() {
    let (counted, seen) = run(Alternating { frames: 9, fails_at: 4 });
    let Failed::Job(error) = counted.unwrap_err() else { panic!("the device is blamed") };
    assert!(error.to_string().contains("frame is damaged"));
    assert!(seen.len() <= 4);
}
