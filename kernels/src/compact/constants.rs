//! What the host and `cuda/unpack.cu` must agree on.

crate::shared_constants! {
    TEXT = "unpack constants";
    /// Bins of successors by their high bits.
    UNPACK_BINS: u32 = 2048;
    /// Threads of a block, which takes a part.
    UNPACK_THREADS: u32 = 1024;
}
