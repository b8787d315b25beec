//! A device on which graphs are prepared, as seen by the stages before and after it.

use trimill_kernels::engine::Engine;

use trimill_system::Error;

pub trait StartingDevice: Send {
    fn has_started(&self) -> bool;

    /// Waits until it has started. All memory of the engine may be used. `None`: it cannot be used.
    fn engine(&mut self) -> Option<&mut dyn Engine>;
}

pub(super) enum Stop {
    /// The device cannot prepare this graph.
    Unfit(Error),
    /// Any other error, which ends the job.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<trimill_kernels::GpuError> for Stop {
    fn from(error: trimill_kernels::GpuError) -> Self {
        Self::Unfit(error.into())
    }
}

pub(super) fn unfit(reason: impl Into<String>) -> Stop {
    Stop::Unfit(Error::resource(reason))
}
