//! Waiting for a device, without ever blocking in its driver, and what becomes of a device that does not answer.
//!
//! The driver is asked again and again whether an event was reached, at first often, then every half millisecond. After a limit the
//! device is abandoned: [`Error::Hung`]. What it holds may still be in use, by kernels or copies that never end, and freeing it would
//! wait for them; so from then on nothing of its context is freed: memory of the device, page-locked memory, modules, the context.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};

use crate::error::{Error, Result, driver};

/// How long a device may be silent, unless somebody says otherwise.
pub const USUAL_LIMIT: Duration = Duration::from_secs(600);

/// Between two questions: a sixteenth of the time so far, within these.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(500)];

/// Contexts of devices that were abandoned.
static ABANDONED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Waits for the events of a device.
#[derive(Debug)]
pub(crate) struct Waiting {
    context: Arc<CudaContext>,
    limit: Duration,
    /// The end of a queue.
    end: CudaEvent,
}

impl Waiting {
    /// For at most `limit` at a time.
    pub(crate) fn new(context: &Arc<CudaContext>, limit: Duration) -> Result<Self> {
        let end = context.new_event(None).map_err(driver("making an event"))?;
        Ok(Self { context: Arc::clone(context), limit, end })
    }

    /// From now on waits for at most `limit`.
    pub(crate) fn at_most(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Waits until an event was reached, or was never recorded.
    ///
    /// # Errors
    /// [`Error::Hung`] after the limit, and at once where the device was abandoned before.
    pub(crate) fn for_event(&self, event: &CudaEvent, doing: &'static str) -> Result<()> {
        let hung = || Error::Hung { doing, seconds: self.limit.as_secs_f64() };
        if is_abandoned(&self.context) {
            return Err(hung());
        }
        match until(self.limit, || event.try_is_complete().map_err(driver(doing)))? {
            true => Ok(()),
            false => {
                abandon(&self.context);
                Err(hung())
            }
        }
    }

    /// Waits until all that was ordered in a queue is done.
    ///
    /// # Errors
    /// As [`Self::for_event`].
    pub(crate) fn for_queue(&self, queue: &CudaStream, doing: &'static str) -> Result<()> {
        if !is_abandoned(&self.context) {
            self.end.record(queue).map_err(driver(doing))?;
        }
        self.for_event(&self.end, doing)
    }
}

/// Asks until it is so; whether it was within `limit`.
fn until(limit: Duration, mut is_so: impl FnMut() -> Result<bool>) -> Result<bool> {
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

/// Nothing of this context is freed any more.
fn abandon(context: &Arc<CudaContext>) {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).push(context.cu_ctx() as usize);
    std::mem::forget(Arc::clone(context));
}

/// Whether nothing of this context is to be freed.
pub(crate) fn is_abandoned(context: &CudaContext) -> bool {
    ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).contains(&(context.cu_ctx() as usize))
}

/// Whether a device of this process was abandoned. The driver may wait for it when the process ends as usual: a program should then
/// end by `_exit`.
pub fn any_abandoned() -> bool {
    !ABANDONED.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_waited_for_and_what_does_not_is_given_up_after_the_limit() {
        for after in [0, 1, 5000] {
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
        let lost = Error::DeviceLost { doing: "x", reason: String::new() };
        assert_eq!(until(USUAL_LIMIT, || Err(lost.clone())), Err(lost));
        assert!(!any_abandoned());
    }
}
