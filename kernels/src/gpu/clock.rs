//! When copies and kernels ran: the device's clock beside the host's.
//!
//! An event is recorded and waited for once, so that its time is known by both clocks. Later events are timed from it, with the
//! resolution of CUDA events: half a microsecond, or 1 / 2^24 of the time since then where that is more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::{CudaEvent, CudaStream, sys};

use crate::engine::Timed;
use crate::error::{GpuResult, driver};

/// A copy, or some kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedCommand {
    pub what: Timed,
    /// When it began, by the host's clock.
    pub start: Instant,
    pub time: Duration,
}

/// The clock, and what was timed by it.
#[derive(Debug)]
pub(super) struct Clock {
    base: CudaEvent,
    at: Instant,
    work: Vec<TimedCommand>,
}

impl Clock {
    /// Starts at the end of what `stream` is doing.
    pub(super) fn start(stream: &Arc<CudaStream>) -> GpuResult<Self> {
        let starting = driver("starting a clock");
        let base = stream.context().new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(&starting)?;
        base.record(stream).map_err(&starting)?;
        base.synchronize().map_err(&starting)?;
        Ok(Self { base, at: Instant::now(), work: Vec::new() })
    }

    /// Adds what began at `from`, which was reached, and took `seconds`.
    pub(super) fn add(&mut self, what: Timed, from: &CudaEvent, seconds: f64) -> GpuResult<()> {
        let milliseconds = self.base.elapsed_ms(from).map_err(driver("timing"))?;
        let start = self.at + Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1000.0);
        self.work.push(TimedCommand { what, start, time: Duration::from_secs_f64(seconds.max(0.0)) });
        Ok(())
    }

    pub(super) fn take(&mut self) -> Vec<TimedCommand> {
        std::mem::take(&mut self.work)
    }
}
