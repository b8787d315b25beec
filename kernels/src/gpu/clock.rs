//! When copies and kernels ran, by the host's clock. One event is recorded and waited for, so that its time is known by both clocks. Later events are
//! timed from it, with the resolution of CUDA events: half a microsecond, or 1 / 2^24 of the time since then if that is more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, sys};
use trimill_counting::DeviceWork;
use trimill_system::timeline::TrackKind;

use crate::engine::Timed;
use crate::error::{GpuResult, driver};

#[derive(Debug)]
pub(super) struct Clock {
    base: CudaEvent,
    at: Instant,
    work: Vec<DeviceWork>,
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

    /// Adds work that began at event `from`, which was reached, and took `seconds`.
    pub(super) fn add(&mut self, what: Timed, from: &CudaEvent, seconds: f64) -> GpuResult<()> {
        let milliseconds = self.base.elapsed_ms(from).map_err(driver("timing"))?;
        let start = self.at + Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1000.0);
        let (queue, name) = match what {
            Timed::Copy => (TrackKind::Copies, "copy"),
            Timed::Prepare => (TrackKind::Kernels, "prepare"),
            Timed::Count => (TrackKind::Kernels, "count"),
            Timed::Sum => (TrackKind::Kernels, "sum"),
        };
        self.work.push(DeviceWork { queue, name, start, time: Duration::from_secs_f64(seconds.max(0.0)) });
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<DeviceWork> {
        std::mem::take(&mut self.work)
    }
}
