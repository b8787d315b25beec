//! In what order sections come, whatever the method: all runs of the resident section, then frames that leave no gap.

use crate::engine::Mark;
use crate::error::{Error, Result};
use crate::lstc::sections::{FrameSlices, ResidentSlices, Size};

/// How far a partition has come.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    size: Size,
    /// Locals and arcs of the resident section so far.
    locals: u32,
    arcs: u64,
    /// Where the next frame begins.
    next: u32,
    frames: bool,
}

impl Order {
    /// # Errors
    /// [`Error::Section`]: sizes that cannot be.
    pub(crate) fn new(size: Size) -> Result<Self> {
        size.check()?;
        Ok(Self { size, locals: 0, arcs: 0, next: 0, frames: false })
    }

    /// Takes a run of the resident section.
    ///
    /// # Errors
    /// [`Error::Section`].
    pub(crate) fn run(&mut self, run: &ResidentSlices<'_>) -> Result<()> {
        if self.frames {
            return Err(Error::Section("resident section: a run after the first frame".into()));
        }
        run.check(&self.size, u64::from(self.locals), self.arcs)?;
        self.locals += run.offsets.len() as u32 - 1;
        self.arcs += run.arcs();
        Ok(())
    }

    /// Takes a frame. Returns its bytes.
    ///
    /// # Errors
    /// [`Error::Section`], [`Error::FrameTooLarge`].
    pub(crate) fn frame(&mut self, frame: &FrameSlices<'_>) -> Result<u64> {
        if (u64::from(self.locals), self.arcs) != (self.size.locals, self.size.arcs) {
            let text = format!("resident section: {} rows of {} before the first frame", self.locals, self.size.locals);
            return Err(Error::Section(text));
        }
        frame.check(self.next, self.size.numbered, self.locals)?;
        let (bytes, limit) = (frame.bytes(), self.size.frame_limit);
        if bytes > limit {
            return Err(Error::FrameTooLarge { bytes, limit });
        }
        self.next = frame.range.end;
        self.frames = true;
        Ok(bytes)
    }

    /// Whether no frame has come yet.
    pub(crate) fn is_first_frame(&self) -> bool {
        !self.frames
    }

    /// After the last frame.
    ///
    /// # Errors
    /// [`Error::Section`] when frames are missing.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.next != self.size.numbered {
            let text = format!("frames end at {} of {} vertices", self.next, self.size.numbered);
            return Err(Error::Section(text));
        }
        Ok(())
    }

    /// Locals so far.
    pub(crate) fn locals(&self) -> u32 {
        self.locals
    }

    /// Resident arcs so far.
    pub(crate) fn arcs(&self) -> u64 {
        self.arcs
    }

    /// Locals and proxies.
    pub(crate) fn numbered(&self) -> u32 {
        self.size.numbered
    }
}

/// The marks of one section's way. Slots have theirs, and whatever else is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) copy: Mark,
    pub(crate) copied: Mark,
    pub(crate) kernel: Mark,
    pub(crate) counted: Mark,
}

impl Marks {
    pub(crate) const fn of(section: usize) -> Self {
        let first = 4 * section;
        Self { copy: first, copied: first + 1, kernel: first + 2, counted: first + 3 }
    }
}
