//! What the host and `cuda/prepare.cu` must agree on.

crate::shared_constants! {
    TEXT = "prepare constants";
    SORT_THREADS: u32 = 256;
    /// Keys of each of these threads.
    SORT_KEYS: u32 = 22;
    /// Keys of a block.
    SORT_TILE: u32 = 5632;
    /// Tiles whose counts a block of the sort reads at once.
    SORT_LOOK: u32 = 8;
    /// Elements of a block that selects.
    SELECT_TILE: u32 = 4096;
    /// Elements of each of its threads.
    SELECT_KEYS: u32 = 16;
    SCAN_THREADS: u32 = 1024;
    /// Threads of a block that encodes a file block.
    ENCODE_THREADS: u32 = 256;
    /// Threads of a block that encodes or decodes keys of a run.
    RUN_THREADS: u32 = 256;
    /// Keys of a run that are encoded together.
    RUN_KEYS: u32 = 512;
    /// The most bytes of these keys, encoded.
    RUN_SPACE: u32 = 4096;
    /// Keys of a run whose place and first key the host keeps.
    RUN_BLOCK: u32 = 4096;
}
