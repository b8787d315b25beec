//! Sorted runs of arcs beyond device memory, [encoded](trimill_graph::arcs) there in 1 to 4 bytes an arc; in host memory or, above its budget, files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use trimill_graph::arcs;
use trimill_kernels::prepare::{RunStore, StoredRun};
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::{Bytes, Control, Error, unpoisoned};

pub(super) struct EncodedRuns {
    pub(super) limit: Arc<MemoryLimit>,
    dir: PathBuf,
    control: Control,
}

struct EncodedRun {
    overflow: Overflow,
    parts: RwLock<Vec<RunPart>>,
    control: Control,
}

struct RunPart {
    begin: u64,
    bytes: WaitingBytes,
}

impl EncodedRuns {
    /// At most `most` bytes of runs stay in memory; others go to files in `dir`. Once `control` is stopped, runs are neither written nor read.
    pub(super) fn new(dir: &Path, most: Bytes, control: &Control) -> Self {
        Self { limit: Arc::new(MemoryLimit::new(most)), dir: dir.to_path_buf(), control: control.clone() }
    }
}

impl RunStore for EncodedRuns {
    fn begin(&self) -> io::Result<Box<dyn StoredRun>> {
        let overflow = Overflow::new(&self.dir, self.limit.clone());
        Ok(Box::new(EncodedRun { overflow, parts: RwLock::default(), control: self.control.clone() }))
    }
}

impl StoredRun for EncodedRun {
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.control.check().map_err(told)?;
        let part = RunPart { begin: at, bytes: self.overflow.put(bytes.to_vec()).map_err(told)? };
        let mut parts = unpoisoned(self.parts.write());
        let behind = parts.partition_point(|part| part.begin < at);
        parts.insert(behind, part);
        Ok(())
    }

    fn read(&self, at: u64, mut bytes: &mut [u8]) -> io::Result<()> {
        self.control.check().map_err(told)?;
        let parts = unpoisoned(self.parts.read());
        let (first, mut at) = (parts.partition_point(|part| part.begin + part.bytes.length() <= at), at);
        for part in &parts[first..] {
            if bytes.is_empty() {
                break;
            }
            let skipped = (at - part.begin) as usize;
            let now = bytes.len().min(part.bytes.length() as usize - skipped);
            let (into, rest) = bytes.split_at_mut(now);
            into.copy_from_slice(&self.overflow.read(&part.bytes, skipped..skipped + now).map_err(told)?);
            (at, bytes) = (at + now as u64, rest);
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], keys: &mut [u64]) -> io::Result<()> {
        let wrong = |wrong| io::Error::other(format!("arcs that wait to be merged cannot be read back: {wrong}"));
        arcs::decode(encoded, keys).map(drop).map_err(wrong)
    }
}

impl Drop for EncodedRun {
    fn drop(&mut self) {
        let parts = unpoisoned(self.parts.get_mut());
        self.overflow.limit.release(parts.iter().map(|part| part.bytes.held()).sum());
    }
}

fn told(error: Error) -> io::Error {
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn runs_are_read_from_any_place_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..100_003u64).map(|i| (i * i / 7) as u8).collect();
        for most in [0, 70_000, 1 << 30] {
            let control = Control::silent();
            let store = EncodedRuns::new(dir.path(), Bytes(most), &control);
            let runs: Vec<_> = (0..2).map(|_| store.begin().unwrap()).collect();
            for run in &runs {
                let parts: Vec<_> = bytes.chunks(12_345).enumerate().collect();
                parts.into_par_iter().rev().for_each(|(i, part)| run.write(12_345 * i as u64, part).unwrap());
            }
            let held = store.limit.held().get();
            assert!(held <= most && (held == 0) == (most == 0), "{held}");
            assert_eq!((store.limit.lower(Bytes(held)), store.limit.lower(Bytes(held / 2))), (true, held == 0));
            for (at, many) in [(0, bytes.len()), (1, 1), (12_344, 2), (12_287, 30_000), (99_999, 4), (5_000, 0)] {
                let mut read = vec![0; many];
                runs[1].read(at as u64, &mut read).unwrap();
                assert_eq!(read, bytes[at..at + many], "{many} from {at}");
            }
            control.stop();
            assert!(runs[0].write(bytes.len() as u64, &[1]).is_err() && runs[1].read(0, &mut [0]).is_err());
            drop(runs);
            assert_eq!(store.limit.held(), Bytes::ZERO);
        }
    }
}
