//! Errors of devices, by kind, so that the caller can decide what to retry and what to report.

use cudarc::driver::{result, sys::CUresult};
use trimill_system::Error;

use crate::Absence;

/// Why a device could not do what was asked. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    #[error(transparent)]
    Absent(#[from] Absence),
    #[error("there is no GPU {ordinal}; this machine has {count}, counted from 0")]
    NoSuchDevice { ordinal: u32, count: u32 },
    /// `free`: right after the refusal, according to the driver.
    #[error("the device refused {asked} bytes; its driver says that {free} of {total} bytes are free")]
    DeviceMemory { asked: u64, free: u64, total: u64 },
    #[error("{asked} bytes do not fit the budget: {used} of {capacity} bytes of device memory are in use")]
    Budget { asked: u64, used: u64, capacity: u64 },
    /// A row block is larger than was announced when counting began.
    #[error("a row block takes {bytes} bytes of device memory; the limit given was {limit}")]
    RowBlockTooLarge { bytes: u64, limit: u64 },
    #[error("the driver refused {asked} bytes of page-locked host memory")]
    HostMemory { asked: u64 },
    /// The driver has no memory for its own needs, outside the arena.
    #[error("the GPU ran out of memory beside this program's budget: {doing}: {reason}")]
    OutOfMemory { doing: &'static str, reason: String },
    /// Sorted runs could not be stored or read again; `reason` is the message of the caller's store.
    #[error("keys of the graph could not be stored: {reason}")]
    Store { reason: String },
    /// Sections that violate their invariants or arrive in the wrong order.
    #[error("the partition's sections are inconsistent: {0}")]
    Section(String),
    /// More than a method can number.
    #[error("{0}")]
    TooLarge(String),
    /// Stored rows whose successors do not ascend or are too large, or whose number is not as announced.
    #[error("the stored rows of the graph are not those of an oriented graph")]
    Rows,
    /// What a method does not count, or block threads or a tile width out of bounds.
    #[error("{0}")]
    Shape(String),
    /// `name`: the image, or what is wrong with all images.
    #[error("this program has no kernels {name}; run scripts/make-images")]
    Image { name: String },
    /// A kernel could not be started, or failed while it ran.
    #[error("a kernel failed: {doing}: {reason}")]
    Launch { doing: &'static str, reason: String },
    /// The device is lost or needs a reset; this process cannot use it any more.
    #[error("the GPU was lost: {doing}: {reason}; see what nvidia-smi and the system's log say")]
    DeviceLost { doing: &'static str, reason: String },
    /// The device did not answer; it was abandoned, and nothing that it holds is freed.
    #[error("the GPU did not answer for {seconds} s: {doing}")]
    Hung { doing: &'static str, seconds: f64 },
    #[error("the CUDA driver failed: {doing}: {reason}")]
    Driver { doing: &'static str, reason: String },
}

/// Adds advice.
impl From<GpuError> for Error {
    fn from(error: GpuError) -> Self {
        use GpuError as E;
        let text = error.to_string();
        match error {
            E::Shape(_) => Self::usage(text),
            E::Rows => {
                Self::data("the graph file", text).advice("remove it (trimill cache remove), and it is made again")
            }
            E::Absent(_) | E::NoSuchDevice { .. } => {
                // Which refuses settings of GPUs.
                Self::resource(format!("no usable GPU: {text}"))
                    .advice("use --backend cpu, and leave out --devices and a --method of GPUs")
            }
            E::DeviceMemory { .. } => Self::resource(text).advice("lower --device-memory to what is free"),
            E::OutOfMemory { .. } => {
                Self::resource(text).advice("lower --device-memory, or end other programs on that GPU")
            }
            E::Hung { .. } => Self::resource(text).advice(
                "see what nvidia-smi and the system's log say of it; where its kernels take so long, raise --device-timeout",
            ),
            E::Store { .. } | E::TooLarge(_) => Self::resource(text),
            E::HostMemory { .. } => {
                Self::resource(text).advice("lower --host-memory, or end other programs that lock memory")
            }
            E::Budget { .. } | E::RowBlockTooLarge { .. } => {
                Self::resource(text).advice("lower --block-bytes or raise --device-memory")
            }
            _ => Self::resource(text).advice(
                "use --backend cpu without --devices and a --method of GPUs, or see what nvidia-smi says of the device",
            ),
        }
    }
}

pub type GpuResult<T, E = GpuError> = std::result::Result<T, E>;

/// Sorts an error of the driver by kind.
pub(crate) fn driver(doing: &'static str) -> impl Fn(result::DriverError) -> GpuError {
    move |error| {
        let text = error.error_string().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        sorted(doing, error.0, format!("{text} ({:?})", error.0))
    }
}

/// The error if the driver gives no memory: `refused`, unless the device is lost or a kernel failed before, after which every call fails.
pub(crate) fn unless_lost(error: result::DriverError, refused: GpuError) -> GpuError {
    match driver("allocating memory")(error) {
        lost @ (GpuError::Launch { .. } | GpuError::DeviceLost { .. }) => lost,
        _ => refused,
    }
}

fn sorted(doing: &'static str, code: CUresult, reason: String) -> GpuError {
    use CUresult::*;
    match code {
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        | CUDA_ERROR_LAUNCH_TIMEOUT
        | CUDA_ERROR_LAUNCH_FAILED
        | CUDA_ERROR_ASSERT
        | CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC => GpuError::Launch { doing, reason },
        CUDA_ERROR_DEVICE_UNAVAILABLE
        | CUDA_ERROR_ECC_UNCORRECTABLE
        | CUDA_ERROR_NVLINK_UNCORRECTABLE
        | CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUDA_ERROR_SYSTEM_NOT_READY
        | CUDA_ERROR_UNKNOWN => GpuError::DeviceLost { doing, reason },
        CUDA_ERROR_OUT_OF_MEMORY => GpuError::OutOfMemory { doing, reason },
        _ => GpuError::Driver { doing, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn driver_errors_are_sorted_by_what_can_be_done() {
        let kind = |code| sorted("x", code, String::new());
        assert!(matches!(kind(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS), GpuError::Launch { .. }));
        assert!(matches!(kind(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE), GpuError::DeviceLost { .. }));
        assert!(matches!(kind(CUresult::CUDA_ERROR_OUT_OF_MEMORY), GpuError::OutOfMemory { .. }));
        assert!(matches!(kind(CUresult::CUDA_ERROR_INVALID_VALUE), GpuError::Driver { .. }));
    }
}
