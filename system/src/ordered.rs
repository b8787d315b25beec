//! Makes pieces of an output by all threads, and writes them in order.

use crate::error::Result;
use crate::parallel;

/// Calls `make` for each piece below `pieces`, a batch in parallel while `write` receives the batch before, in order.
/// Memory: two batches, each of two pieces a thread.
pub fn make_and_write<T: Send + Sync>(
    pieces: u64,
    make: impl Fn(u64) -> Result<T> + Sync,
    mut write: impl FnMut(&T) -> Result<()> + Send,
) -> Result<()> {
    let mut made: Vec<T> = Vec::new();
    let (mut next, width) = (0, 2 * rayon::current_num_threads() as u64);
    while next < pieces || !made.is_empty() {
        let batch = next..pieces.min(next + width);
        next = batch.end;
        let (written, following) =
            rayon::join(|| made.iter().try_for_each(&mut write), || parallel::try_map(batch, &make));
        written?;
        made = following?;
    }
    Ok(())
}
