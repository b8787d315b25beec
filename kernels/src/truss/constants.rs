//! What the host and `cuda/truss.cu` must agree on.

crate::shared_constants! {
    TEXT = "truss constants";
    /// Threads of a block whose warps look for triangles.
    TAKE_THREADS: u32 = 256;
    SHORTEN_THREADS: u32 = 256;
    /// The tail of each edge whose number is a multiple of this is stored.
    TAIL_STEP: u64 = 64;
    /// Counts that the host reads.
    COUNTS: u64 = 4;
}
