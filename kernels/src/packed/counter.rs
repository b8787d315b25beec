//! The counter that callers see: it owns a run while the device copies it, so that the host can read the next one meanwhile.

use super::Counting;
use crate::compact;
use crate::engine::Engine;
use crate::error::Result;
use crate::method::{Counted, Counter, Run};
use crate::sections::RowBlockSlices;

/// A counter and the run that the device may still be copying.
#[derive(Debug)]
pub(super) struct Owning<'g, R: Run, E: Engine> {
    // Dropped first, which waits for the device: nothing reads the run any more then.
    counting: Counting<'g, E>,
    copied: Option<R>,
}

impl<'g, R: Run, E: Engine> Owning<'g, R, E> {
    pub(super) fn new(counting: Counting<'g, E>) -> Self {
        Self { counting, copied: None }
    }
}

impl<R: Run, E: Engine + Send> Counter<R> for Owning<'_, R, E> {
    fn resident(&mut self, run: R) -> Result<Option<R>> {
        // SAFETY: the run stays here until the next but one call has waited for its copy, or until `counting` was dropped.
        let ordered = unsafe { self.counting.resident(&run.slices()) };
        // Kept in any case, for a part of it may be on its way.
        let before = self.copied.replace(run);
        ordered?;
        self.counting.run_before_is_copied()?;
        Ok(before)
    }

    fn row_block(&mut self, row_block: &RowBlockSlices<'_>) -> Result<()> {
        // SAFETY: the slices stay until `sent` returned, which is called in any case.
        let queued = unsafe { self.counting.row_block(row_block) };
        let sent = self.counting.engine.sent();
        queued.and(sent)
    }

    fn bins(&mut self) -> Result<Vec<u64>> {
        compact::bins(self.counting.engine)
    }

    fn bytes(&self) -> u64 {
        self.counting.so_far.peak_bytes
    }

    fn finish(self: Box<Self>) -> Result<Counted> {
        let Self { counting, copied } = *self;
        let counted = counting.end();
        drop(copied);
        counted
    }
}
