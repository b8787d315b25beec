//! What the host and `cuda/packed.cu` must agree on.

crate::shared_constants! {
    TEXT = "packed constants";
    /// Lanes that pack or assign a row, unless it is long; one packs it if it is short.
    ROW_LANES: u32 = 8;
    /// Words of a chunk, which is read at once; a thread takes arcs between two rows of one (`packed_by_thread`).
    ONE_CHUNK: u32 = 4;
    /// If no row of a partition has more words, arcs are not assigned (`packed_by_group`).
    GROUP_WORDS: u32 = 32;
    /// Threads of a block that counts for one owner (`packed_by_block`), or for one with each of its four warps.
    OWNER_THREADS: u32 = 128;
    /// Numbers that a block of the scan adds up.
    SCAN: u32 = 4096;
}
