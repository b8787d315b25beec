//! When copies and kernels ran, by the host's clock. One event is recorded and waited for, so that its time is known by both clocks; later events are
//! timed from it. Resolution: that of CUDA events, half a microsecond, or 1 / 2^24 of the time since then if that is more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use trimill_system::timeline::{TimedWork, TrackKind};

use crate::engine::Timed;
use crate::error::{GpuResult, driver};

#[derive(Debug)]
pub(super) struct Clock {
    base: CudaEvent,
    at: Instant,
    work: Vec<TimedWork>,
}

pub(super) fn elapsed(from: &CudaEvent, to: &CudaEvent) -> GpuResult<Duration> {
    let milliseconds = from.elapsed_ms(to).map_err(driver("timing"))?;
    Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1000.0))
}

impl Clock {
    /// Starts when `stream` has done all its commands.
    pub(super) fn start(stream: &Arc<CudaStream>) -> GpuResult<Self> {
        let starting = driver("starting a clock");
        let base = stream.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(&starting)?;
        base.record(stream).map_err(&starting)?;
        base.synchronize().map_err(&starting)?;
        Ok(Self { base, at: Instant::now(), work: Vec::new() })
    }

    /// Adds work that began at event `from`, which was reached, and took `time`.
    pub(super) fn add(&mut self, what: Timed, from: &CudaEvent, time: Duration) -> GpuResult<()> {
        let start = self.at + elapsed(&self.base, from)?;
        let (kind, name) = match what {
            Timed::Copy => (TrackKind::Copies, "copy"),
            Timed::Prepare => (TrackKind::Kernels, "prepare"),
            Timed::Count => (TrackKind::Kernels, "count"),
            Timed::Sum => (TrackKind::Kernels, "sum"),
        };
        self.work.push(TimedWork { kind, name: (name, None), start, time, bytes: None, waiting: false });
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<TimedWork> {
        std::mem::take(&mut self.work)
    }
}
