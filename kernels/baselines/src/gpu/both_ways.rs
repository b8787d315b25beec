//! The edge array: makes 64-bit keys of the rows of the oriented graph and copies them to the device in chunks.

use bytemuck::cast_slice;
use trimill_counting::Resident;
use trimill_kernels::GpuResult;

use super::machine::BaselineDevice;

/// Keys that are made and copied together.
const CHUNK: usize = 1 << 20;

pub(super) struct EdgeArray {
    /// The device address of the next keys.
    next: u64,
    row: u64,
    /// Whether there is a key for each direction of an arc.
    pub(super) both: bool,
}

impl EdgeArray {
    pub(super) fn new(at: u64, both: bool) -> Self {
        Self { next: at, row: 0, both }
    }

    /// Copies the arcs of a run: for each a key with the tail in the high half, and if `both` one with the head there.
    pub(super) fn resident(&mut self, machine: &mut BaselineDevice<'_>, run: &Resident) -> GpuResult<()> {
        machine.start_clock()?;
        let both = self.both;
        let mut keys: Vec<u64> = Vec::with_capacity(CHUNK.min(run.successors.len() * (1 + usize::from(both))));
        let start = run.offsets[0];
        for (tail, row) in (self.row..).zip(run.offsets.windows(2)) {
            for &successor in &run.successors[(row[0] - start) as usize..(row[1] - start) as usize] {
                keys.push(tail << 32 | u64::from(successor));
                if both {
                    keys.push(u64::from(successor) << 32 | tail);
                }
                if keys.len() + 1 >= CHUNK {
                    self.send(machine, &mut keys)?;
                }
            }
        }
        self.send(machine, &mut keys)?;
        self.row += run.offsets.len() as u64 - 1;
        machine.stop_clock(|times| &mut times.copies)
    }

    fn send(&mut self, machine: &mut BaselineDevice<'_>, keys: &mut Vec<u64>) -> GpuResult<()> {
        machine.upload(self.next, cast_slice(keys))?;
        self.next += size_of_val(keys.as_slice()) as u64;
        keys.clear();
        Ok(())
    }
}
