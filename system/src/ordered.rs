//! Makes chunks of an output by all threads, and writes them in order.

use crate::error::Result;
use crate::parallel;

/// Calls `make` for each chunk below `chunks`, a batch in parallel while `write` receives the batch before, in order.
/// Memory: two batches, each of two chunks a thread.
pub fn make_and_write<T: Send + Sync>(
    chunks: u64,
    make: impl Fn(u64) -> Result<T> + Sync,
    mut write: impl FnMut(&T) -> Result<()> + Send,
) -> Result<()> {
    let mut made: Vec<T> = Vec::new();
    let (mut next, width) = (0, 2 * rayon::current_num_threads() as u64);
    while next < chunks || !made.is_empty() {
        let batch = next..chunks.min(next + width);
        next = batch.end;
        let (written, following) =
            rayon::join(|| made.iter().try_for_each(&mut write), || parallel::try_map(batch, &make));
        written?;
        made = following?;
    }
    Ok(())
}
