//! Blocks of whole lines of text files, from the first arc on, by all threads. Plain files are read from mapped windows; a compressed file is decoded
//! by one thread (by all if it has several zstd frames) while the others parse; of several, each has a share of the threads. Memory per thread: a
//! window (plain), three blocks of 1 MiB (compressed), and what [`super::frames`] takes.

use std::io::{BufRead, Read};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::DeliveryFailure;
use super::compression::Compression;
use super::file::InputFile;
use super::frames::Frames;
use super::lines::{self, LONGEST_LINE, ReadSizes, too_long};
use super::parallel::{chunks, map_in_order, produce_and_drain};
use trimill_system::Result;
use trimill_system::control::{Control, Task};

/// Bytes of a block of a compressed file, unless the window is smaller or a line is longer.
const BLOCK: u64 = 1 << 20;

pub(super) struct TextLines<'a> {
    pub(super) file: &'a InputFile,
    /// Bytes of plain text before the first of them.
    pub(super) skip: u64,
    pub(super) before: u64,
    pub(super) window: u64,
    pub(super) task: &'a Task,
}

/// Parses whole lines of the file with this index; returns how many arcs they hold.
pub(super) type ParseLines<'a> = dyn Fn(usize, &[u8]) -> Result<u64, DeliveryFailure> + Sync + 'a;

/// Passes all lines of the files to `parse` once; returns the number of arcs in each file.
pub(super) fn parse_all(files: &[TextLines<'_>], control: &Control, parse: &ParseLines<'_>) -> Result<Vec<u64>> {
    // Ranges of plain files, and whole compressed ones.
    let mut work = Vec::new();
    for (number, TextLines { file, skip, window, .. }) in files.iter().enumerate() {
        match file.compression {
            Some(_) => work.push((number, None)),
            None => work.extend(chunks(*skip..file.bytes, *window).map(|range| (number, Some(range)))),
        }
    }
    let streamed = work.iter().filter(|(_, range)| range.is_none()).map(|&(number, _)| files[number].file.bytes);
    let (streamed, threads) = (streamed.sum::<u64>().max(1), rayon::current_num_threads() as u64);
    // The shares of all files are at most one more for each file than there are threads.
    let share = |bytes: u64| (u128::from(bytes) * u128::from(threads) / u128::from(streamed)).max(1) as usize;
    let found = map_in_order(&work, control, |(number, range)| {
        let (file, parse) = (&files[*number], |bytes: &[u8]| parse(*number, bytes));
        match range {
            Some(range) => file.plain(range, &parse),
            None => file.compressed(share(file.file.bytes), control, &parse),
        }
    })?;
    let mut arcs = vec![0; files.len()];
    work.iter().zip(found).for_each(|((number, _), more)| arcs[*number] += more);
    Ok(arcs)
}

impl TextLines<'_> {
    fn plain(&self, range: &Range<u64>, parse: &dyn Fn(&[u8]) -> Result<u64, DeliveryFailure>) -> Result<u64> {
        let Self { file, skip, .. } = self;
        let lines = lines::read(file, *skip, range)?;
        let arcs =
            parse(&lines).map_err(|failure| failure.locate(|error, at| file.locate(error, lines.at + at as u64)))?;
        self.task.advance(range.end - range.start);
        Ok(arcs)
    }

    /// `threads`: how many this file may have, of all that read.
    fn compressed(
        &self,
        threads: usize,
        control: &Control,
        parse: &(dyn Fn(&[u8]) -> Result<u64, DeliveryFailure> + Sync),
    ) -> Result<u64> {
        let Self { file, skip, .. } = self;
        let mut stream: Box<dyn BufRead> = match file.compression {
            // Several frames at a time take much memory.
            Some(Compression::Zstd) if self.window == ReadSizes::USUAL.window => {
                Box::new(Frames::new(&file.file, file.zstd_window, Some(self.task), threads))
            }
            _ => file.stream(Some(self.task))?,
        };
        std::io::copy(&mut stream.by_ref().take(*skip), &mut std::io::sink()).map_err(|e| file.damaged(e))?;
        let (mut carry, mut line) = (Vec::new(), self.before + 1);
        let fill = move |block: &mut TextBlock| -> Result<bool> {
            block.bytes.clear();
            block.bytes.append(&mut carry);
            block.first_line = line;
            loop {
                let before = block.bytes.len();
                let mut next = stream.by_ref().take(BLOCK.min(self.window));
                next.read_to_end(&mut block.bytes).map_err(|e| file.damaged(e))?;
                if block.bytes.len() == before {
                    return Ok(before > 0);
                }
                if let Some(newline) = memchr::memrchr(b'\n', &block.bytes[before..]) {
                    let end = before + newline + 1;
                    carry.extend_from_slice(&block.bytes[end..]);
                    block.bytes.truncate(end);
                    line += memchr::memchr_iter(b'\n', &block.bytes).count() as u64;
                    return Ok(true);
                }
                if block.bytes.len() as u64 > LONGEST_LINE {
                    return Err(too_long(&block.bytes).at(&file.path).at_line(line));
                }
            }
        };
        let delivered = AtomicU64::new(0);
        produce_and_drain(threads, control, fill, |block: &mut TextBlock| {
            let arcs = parse(&block.bytes)
                .map_err(|failure| failure.locate(|error, at| error.at(&file.path).at_line(block.line_of(at))))?;
            delivered.fetch_add(arcs, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(delivered.into_inner())
    }
}

/// Whole lines; the last one of a stream may lack its end.
#[derive(Default)]
struct TextBlock {
    bytes: Vec<u8>,
    first_line: u64,
}

impl TextBlock {
    fn line_of(&self, at: usize) -> u64 {
        self.first_line + memchr::memchr_iter(b'\n', &self.bytes[..at]).count() as u64
    }
}
