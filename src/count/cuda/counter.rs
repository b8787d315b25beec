//! A partition being counted on a GPU, by whichever method.

use std::time::Duration;

use trimill_kernels::packed::Run;
use trimill_kernels::papers::PaperCounter;
use trimill_kernels::{Gpu, ResidentSlices, Result, RowBlockSlices, Size, packed};

use super::Kernels;
use crate::count::{DeviceTimes, PartitionCount};
use crate::partition::section::Resident;

impl Run for Resident {
    fn slices(&self) -> ResidentSlices<'_> {
        let compact = self.compact();
        let successors = if compact.is_some() { &[] } else { &self.successors[..] };
        ResidentSlices { offsets: &self.offsets, successors, compact }
    }
}

/// One of the crate's counters.
pub(super) enum Counter<'g> {
    Lstc(trimill_kernels::Counter<'g>),
    Packed(Box<packed::Counter<'g, Resident>>),
    Paper(PaperCounter<'g>),
}

impl<'g> Counter<'g> {
    pub(super) fn begin(gpu: &'g mut Gpu, kernels: &'g Kernels, size: Size) -> Result<Self> {
        match kernels {
            Kernels::Lstc(shape) => trimill_kernels::Counter::begin(gpu, *shape, size).map(Self::Lstc),
            Kernels::Packed => packed::Counter::begin(gpu, size).map(Box::new).map(Self::Packed),
            Kernels::Paper(method, program) => PaperCounter::begin(gpu, program, method, size).map(Self::Paper),
        }
    }

    /// Takes a run of resident rows. Returns it, or the one before, if either may be filled again.
    pub(super) fn resident(&mut self, run: Resident) -> Result<Option<Resident>> {
        match self {
            Self::Lstc(counter) => counter.resident(&run.slices())?,
            Self::Packed(counter) => return counter.resident(run),
            Self::Paper(counter) => counter.resident(&run.slices())?,
        }
        Ok(Some(run))
    }

    pub(super) fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        match self {
            Self::Lstc(counter) => counter.row_block(row_block),
            Self::Packed(counter) => counter.row_block(row_block),
            Self::Paper(counter) => counter.row_block(row_block),
        }
    }

    /// Of stored rows that were unpacked on the device: how many successors are in each bin.
    pub(super) fn bins(&mut self) -> Result<Vec<u64>> {
        match self {
            Self::Packed(counter) => counter.bins(),
            Self::Lstc(_) | Self::Paper(_) => Ok(Vec::new()),
        }
    }

    /// Bytes of the arena in use, at the most so far.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Lstc(counter) => counter.bytes(),
            Self::Packed(counter) => counter.bytes(),
            Self::Paper(counter) => counter.bytes(),
        }
    }

    pub(super) fn finish(self) -> Result<PartitionCount> {
        let (triangles, kernels, copies, preprocessing) = match self {
            Self::Lstc(counter) => {
                let counted = counter.finish()?;
                (counted.triangles, counted.kernel_seconds + counted.sum_seconds, counted.copy_seconds, 0.0)
            }
            Self::Packed(counter) => {
                let counted = counter.finish()?;
                let kernels = counted.kernel_seconds + counted.sum_seconds;
                (counted.triangles, kernels, counted.copy_seconds, counted.prepare_seconds)
            }
            Self::Paper(counter) => {
                let counted = counter.finish()?;
                (counted.triangles, counted.kernel_seconds, counted.copy_seconds, counted.preprocess_seconds)
            }
        };
        let [kernels, copies, preprocessing] = [kernels, copies, preprocessing].map(Duration::from_secs_f64);
        Ok(PartitionCount { triangles, device: Some(DeviceTimes { kernels, copies, preprocessing }) })
    }
}
