//! What the host and `cuda/unpack.cu` must agree on.

crate::shared_constants! {
    TEXT = "unpack constants";
    /// Bins in which successors are counted, by their high bits.
    UNPACK_BINS: u32 = 2048;
    /// Threads of a thread block, which unpacks one part.
    UNPACK_THREADS: u32 = 1024;
}
