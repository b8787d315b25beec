//! Translates errors of `trimill-kernels` into this crate's, with advice.

use trimill_system::error::Error;

pub(crate) fn translated(error: trimill_kernels::GpuError) -> Error {
    use trimill_kernels::GpuError as E;
    let text = error.to_string();
    match error {
        E::Shape(_) => Error::usage(text),
        E::Total(_) => Error::usage(text),
        E::Rows => Error::data("the graph file", text).advice("remove it (trimill cache remove), and it is made again"),
        E::Whole { .. } => Error::resource(text).advice("use --parts 1 and a budget of that size, or another --method"),
        E::Absent(_) | E::NoSuchDevice { .. } => {
            Error::resource(format!("no usable GPU: {text}")).advice("use --backend cpu")
        }
        E::DeviceMemory { .. } => Error::resource(text).advice("lower --device-memory to what is free"),
        E::OutOfMemory { .. } => {
            Error::resource(text).advice("lower --device-memory, or end other programs on that GPU")
        }
        E::Hung { .. } => Error::resource(text)
            .advice("see what nvidia-smi and the system's log say of it; where its kernels take so long, raise --device-timeout"),
        E::Store { .. } => Error::resource(text),
        E::HostMemory { .. } => {
            Error::resource(text).advice("lower --host-memory, or end other programs that lock memory")
        }
        E::Budget { .. } | E::RowBlockTooLarge { .. } => {
            Error::resource(text).advice("lower --block-bytes or raise --device-memory")
        }
        _ => Error::resource(text).advice("use --backend cpu, or see what nvidia-smi says of the device"),
    }
}
