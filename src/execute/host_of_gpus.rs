//! Host memory that GPUs take while they count: runs of resident rows, row blocks and staging buffers.

use crate::count::cuda;
use crate::outputs::CountsWanted;
use trimill_counting::smallest_row_block_limit;
use trimill_system::Bytes;

/// Row blocks of each GPU in host memory: two on their way to it; with edges, the counts of one on their way back.
pub(super) fn blocks_of_gpu(counts: CountsWanted) -> u64 {
    if counts.edges { 3 } else { 2 }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OnGpus {
    pub(super) chunk: Bytes,
    pub(super) block: Bytes,
    /// In total: runs, row blocks and staging buffers of all GPUs.
    pub(super) all: Bytes,
}

pub(super) fn least_on_gpus(gpus: u64, blocks: u64, longest_row: u32) -> Bytes {
    let blocks = blocks * smallest_row_block_limit(longest_row).get();
    Bytes(gpus * (trimill_kernels::STAGING_BYTES + cuda::on_host(cuda::LEAST_CHUNK).get() + blocks) * 8 / 5)
}

/// Divides `left` among `gpus` GPUs: runs of resident rows take half of each share, each row block an eighth.
pub(super) fn on_gpus(gpus: u64, blocks: u64, left: Bytes) -> OnGpus {
    let staging = Bytes(gpus * trimill_kernels::STAGING_BYTES);
    let each = left.saturating_sub(staging).get() / gpus;
    let chunk = Bytes(each / 40).clamp(cuda::LEAST_CHUNK, cuda::CHUNK);
    let block = Bytes(each / 8);
    let all = staging + Bytes(gpus * (cuda::on_host(chunk).get() + blocks * block.get()));
    OnGpus { chunk, block, all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gpus_take_together_is_within_their_share() {
        for (gpus, blocks) in [(1, 2), (2, 3), (8, 2)] {
            for longest in [1, 1000, 1_000_000] {
                let least = least_on_gpus(gpus, blocks, longest);
                for left in [least, Bytes(least.get() + 1), Bytes(3 * least.get()), Bytes(100 << 30)] {
                    let OnGpus { chunk, block, all } = on_gpus(gpus, blocks, left);
                    assert!(all <= left, "{gpus:?}: {all} of {left}");
                    assert!(block >= smallest_row_block_limit(longest) && chunk >= cuda::LEAST_CHUNK);
                }
            }
        }
    }
}
