//! A hash of all bytes of a file, for jobs with a cache or a run directory. Readers map parts of a file in any order, so a separate pass hashes what
//! they left in the page cache: blocks of [`BLOCK`] in parallel (XXH3, about 10 GB/s per core), then their hashes. Memory: [`CHUNK`] per thread.

use std::fs::File;
use std::path::Path;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::parallel::chunks;
use trimill_system::{Control, Error, Result, disk, parallel};

const BLOCK: u64 = 4 << 20;
/// Bytes read at a time; they fit in a core's cache.
const CHUNK: usize = 256 << 10;

/// Hashes the first `bytes` bytes of `file`, which must be there. `path` is for errors.
pub(super) fn hash(file: &File, path: &Path, bytes: u64, control: &Control) -> Result<u128> {
    let mut blocks = parallel::try_map_with(0..bytes.div_ceil(BLOCK), Vec::new, |buffer, block| {
        control.check()?;
        let mut hash = Xxh3Default::new();
        for part in chunks(block * BLOCK..bytes.min((block + 1) * BLOCK), CHUNK as u64) {
            buffer.resize((part.end - part.start) as usize, 0);
            disk::read_at(file, buffer, part.start).map_err(|e| Error::read(path, e))?;
            hash.update(buffer);
        }
        Ok(hash.digest128())
    })?;
    // So that a file of one block and a file that holds its hash differ.
    blocks.push(u128::from(bytes));
    Ok(xxh3_128(bytemuck::cast_slice(&blocks)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn of(bytes: &[u8]) -> u128 {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        hash(&file, Path::new("x"), bytes.len() as u64, &Control::silent()).unwrap()
    }

    #[test]
    fn every_byte_every_length_and_the_order_of_blocks_matter() {
        let block = BLOCK as usize;
        let mut bytes: Vec<u8> = (0..2 * block + 100).map(|i| (i % 251) as u8).collect();
        let plain = of(&bytes);
        assert_eq!(plain, of(&bytes));
        for at in [0, 1, CHUNK - 1, CHUNK, block / 2, block - 1, block, block + 77, 2 * block, bytes.len() - 1] {
            bytes[at] ^= 1;
            assert_ne!(plain, of(&bytes), "byte {at}");
            bytes[at] ^= 1;
        }
        for cut in [1, 100, 101, block] {
            assert_ne!(plain, of(&bytes[..bytes.len() - cut]));
        }
        let swapped = [&bytes[block..2 * block], &bytes[..block], &bytes[2 * block..]].concat();
        assert_ne!(plain, of(&swapped));
        assert_ne!(of(&[]), of(&[0]));
    }

    #[test]
    fn a_file_that_is_too_short_is_an_error() {
        let error = hash(&tempfile::tempfile().unwrap(), Path::new("g.txt"), 1, &Control::silent()).unwrap_err();
        assert!(error.to_string().starts_with("g.txt: cannot be read"), "{error}");
    }
}
