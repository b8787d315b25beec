//! Arcs as records of fixed size, without a header: pairs of `u32` or `u64`, and Graph500's packed edges.
//!
//! | format | a record, little-endian |
//! | --- | --- |
//! | `bin-u32` | `u32` tail, `u32` head |
//! | `bin-u64` | `u64` tail, `u64` head |
//! | `graph500` | `u32` low bits of the tail, `u32` low bits of the head, `u32` whose low half are the high bits of the tail and whose high half are those of the head |
//!
//! A file's size must be a multiple of the record size. All threads read; memory: a window per thread.

use std::ops::Range;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::file::InputFile;
use super::format::Format;
use super::lines::ReadSizes;
use super::parallel::{chunks, in_order};
use super::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

pub(super) struct Binary {
    pub(super) files: Vec<InputFile>,
    format: Format,
    record: u64,
    window: u64,
}

impl Binary {
    /// Checks the sizes of files; `format` is one of the three.
    pub(super) fn open(files: Vec<InputFile>, format: Format, sizes: ReadSizes) -> Result<Self> {
        let record = match format {
            Format::Graph500 => 12,
            Format::BinU64 => 16,
            _ => 8,
        };
        for file in &files {
            if file.bytes % record != 0 {
                return Err(Error::data(&file.path, format!("a size of {} bytes", file.bytes))
                    .expected(format!("a multiple of {record}, the bytes of an arc in {format}"))
                    .advice("the file is truncated, or of another format: name it with --format"));
            }
        }
        let window = (sizes.window / record).max(1) * record;
        Ok(Self { files, format, record, window })
    }

    pub(super) fn scan_range(&self, file: &InputFile, range: &Range<u64>, mut batch: ArcBatch<'_>) -> Result<u64> {
        let window = file.window(range.start, range.end)?;
        match self.format {
            Format::BinU64 => {
                for (number, &[tail, head]) in words(&window).iter().enumerate() {
                    let (tail, head) = (u64::from_le_bytes(tail), u64::from_le_bytes(head));
                    if tail.max(head) == u64::MAX {
                        let arc = range.start / self.record + number as u64;
                        return Err(Error::data(&file.path, format!("the id {} in arc {arc}", u64::MAX))
                            .expected(format!("ids up to {}", u64::MAX - 1)));
                    }
                    batch.push(tail, head)?;
                }
            }
            Format::Graph500 => {
                for &[tail, head, high] in words(&window) {
                    let high = u64::from(u32::from_le_bytes(high));
                    batch.push(
                        u64::from(u32::from_le_bytes(tail)) | (high & 0xffff) << 32,
                        u64::from(u32::from_le_bytes(head)) | (high >> 16) << 32,
                    )?;
                }
            }
            _ => batch.push_pairs(&window)?,
        }
        batch.finish()
    }
}

fn words<const W: usize, const N: usize>(bytes: &[u8]) -> &[[[u8; W]; N]] {
    bytes.as_chunks::<W>().0.as_chunks::<N>().0
}

impl Reader for Binary {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.files.iter().map(|file| file.bytes / self.record).sum();
        SourceFacts { arcs_at_most, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let chunks: Vec<_> = self
            .files
            .iter()
            .flat_map(|file| chunks(0..file.bytes, self.window).map(move |range| (file, range)))
            .collect();
        in_order(&chunks, control, |(file, range)| {
            let arcs = self.scan_range(file, range, ArcBatch::new(sink, control))?;
            task.advance(range.end - range.start);
            Ok(arcs)
        })
    }
}
