//! Waits for a device without blocking in its driver: an event is polled, often at first, then every half millisecond. After a limit the device is
//! abandoned ([`GpuError::Hung`]): from then on nothing of its context is freed, as kernels or copies may still use it and freeing waits for them,
//! and nothing else is asked of its driver, as any call could block ([`bind`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};

use crate::error::{GpuError, GpuResult, driver};
use trimill_system::lock;

/// How long a device may take to answer by default.
pub const USUAL_LIMIT: Duration = Duration::from_secs(600);

/// Bounds of the pause between two polls, which is a sixteenth of the time so far.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(500)];

/// The contexts of abandoned devices, and the seconds that were waited for each.
static ABANDONED: Mutex<BTreeMap<usize, f64>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
pub(crate) struct Waiting {
    context: Arc<CudaContext>,
    limit: Duration,
    end: CudaEvent,
}

impl Waiting {
    pub(crate) fn new(context: &Arc<CudaContext>) -> GpuResult<Self> {
        let end = context.new_event(None).map_err(driver("making an event"))?;
        Ok(Self { context: Arc::clone(context), limit: USUAL_LIMIT, end })
    }

    pub(crate) fn at_most(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Waits until an event is reached (or was never recorded). Errors: [`GpuError::Hung`] after the limit, or if the device was abandoned.
    pub(crate) fn for_event(&self, event: &CudaEvent, doing: &'static str) -> GpuResult<()> {
        bind(&self.context, doing)?;
        if until(self.limit, || event.try_is_complete().map_err(driver(doing)))? {
            return Ok(());
        }
        let seconds = self.limit.as_secs_f64();
        abandon(&self.context, seconds);
        Err(GpuError::Hung { doing, seconds })
    }

    pub(crate) fn for_stream(&self, stream: &CudaStream, doing: &'static str) -> GpuResult<()> {
        bind(&self.context, doing)?;
        self.end.record(stream).map_err(driver(doing))?;
        self.for_event(&self.end, doing)
    }
}

fn until(limit: Duration, mut is_so: impl FnMut() -> GpuResult<bool>) -> GpuResult<bool> {
    let start = Instant::now();
    loop {
        if is_so()? {
            return Ok(true);
        }
        let waited = start.elapsed();
        if waited >= limit {
            return Ok(false);
        }
        let [shortest, longest] = PAUSES;
        match waited / 16 {
            pause if pause < shortest => yield_now(),
            pause => sleep(pause.min(longest)),
        }
    }
}

/// From now on nothing of this context is freed.
fn abandon(context: &Arc<CudaContext>, seconds: f64) {
    lock(&ABANDONED).insert(context.cu_ctx() as usize, seconds);
    std::mem::forget(Arc::clone(context));
}

/// Binds a context to the current thread, before calls that may wait for its device. Errors: [`GpuError::Hung`] if the device was abandoned.
pub(crate) fn bind(context: &CudaContext, doing: &'static str) -> GpuResult<()> {
    let abandoned = lock(&ABANDONED).get(&(context.cu_ctx() as usize)).copied();
    match abandoned {
        Some(seconds) => Err(GpuError::Hung { doing, seconds }),
        None => context.bind_to_thread().map_err(driver(doing)),
    }
}

/// Whether a device of this process was abandoned: the driver may wait for it at a normal exit, so a program should end by `_exit`.
pub fn any_abandoned() -> bool {
    !lock(&ABANDONED).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_ends_when_it_succeeds_or_after_the_limit() {
        for after in [0, 1, 1000] {
            let mut asked = 0;
            let comes = || {
                asked += 1;
                Ok(asked > after)
            };
            assert!(until(USUAL_LIMIT, comes).unwrap());
            assert_eq!(asked, after + 1);
        }
        let start = Instant::now();
        assert!(!until(Duration::from_millis(30), || Ok(false)).unwrap());
        assert!(start.elapsed() >= Duration::from_millis(30));
        let lost = GpuError::DeviceLost { doing: "x", reason: String::new() };
        assert_eq!(until(USUAL_LIMIT, || Err(lost.clone())), Err(lost));
        assert!(!any_abandoned());
    }
}
