//! Why a partition was not counted.

use trimill_system::Error;

/// A partial count is discarded.
#[derive(Debug)]
pub enum PartitionFailure {
    /// The device refused or is gone; another one may count the partition.
    Device(Error),
    /// Anything else: a damaged spill, a thread that panicked, an interruption.
    Job(Error),
}

impl PartitionFailure {
    #[cfg(feature = "testing")]
    pub fn error(self) -> Error {
        match self {
            Self::Device(error) | Self::Job(error) => error,
        }
    }

    /// Adds to a device's error which partition it was counting.
    #[must_use]
    pub fn at_partition(self, part: u32) -> Self {
        match self {
            Self::Device(error) => Self::Device(error.while_doing(&format!("partition {part}"))),
            job => job,
        }
    }
}

impl From<Error> for PartitionFailure {
    fn from(error: Error) -> Self {
        Self::Job(error)
    }
}
