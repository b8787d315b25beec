//! Arcs as records of fixed size, without a header: pairs of `u32` or `u64`, and Graph500's packed edges.
//!
//! | format | a record, little-endian |
//! | --- | --- |
//! | `bin-u32` | `u32` tail, `u32` head |
//! | `bin-u64` | `u64` tail, `u64` head |
//! | `graph500` | `u32` low bits of the tail, `u32` low bits of the head, `u32` whose low half are the high bits of the tail and whose high half are those of the head |
//!
//! A file's size must be a multiple of the record size. A file of pairs that surely holds something else (floats, CSR, a header) is refused, unless
//! the user named the format. All threads read; memory: a window per thread.

use std::ops::Range;
use std::sync::Once;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::file::InputFile;
use super::format::Format;
use super::header::{Gather, HeaderNumbers, HeaderVerdict, LONG, judge};
use super::parallel::{chunks, in_order};
use super::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

/// How many first bytes are looked at to tell what a file holds.
const HEAD: u64 = 1 << 16;

pub(super) struct Binary {
    pub(super) files: Vec<InputFile>,
    format: Format,
    named: bool,
    record: u64,
    window: u64,
    /// Whether it was logged that arcs may be missing.
    cut_noted: Once,
}

impl Binary {
    /// Checks the sizes of files; `format` is one of the three, `named`: whether the user named it.
    pub(super) fn open(files: Vec<InputFile>, format: Format, named: bool, window: u64) -> Result<Self> {
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
        let window = (window / record).max(1) * record;
        Ok(Self { files, format, named, record, window, cut_noted: Once::new() })
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

    fn check_pairs(&self, file: &InputFile, control: &Control) -> Result<()> {
        let wrong = |found: String, advice: &str| {
            Err(Error::data(&file.path, found)
                .expected(format!("pairs of ids, as in {}", self.format))
                .advice(format!("{advice}; if it holds pairs of ids, name it with --format {}", self.format)))
        };
        let is_wide = self.format == Format::BinU64;
        let head = file.window(0, HEAD)?;
        let narrow_floats = || are_floats(&head, 23, |raw| f32::from_le_bytes(raw).into());
        if are_floats(&head, 40, f64::from_le_bytes) || !is_wide && narrow_floats() {
            return wrong("holds floating-point numbers".into(), "write its numbers as integers");
        }
        let csr = match is_wide {
            true => rows_of_csr::<8>(file, &head, 8)?,
            false => rows_of_csr::<4>(file, &head, 4)?.or(rows_of_csr::<8>(file, &head, 4)?),
        };
        if let Some(rows) = csr {
            let found =
                format!("looks like CSR: the ends of {rows} rows, and then as many numbers as the last one says");
            return wrong(found, "save it with scipy.sparse.save_npz, or write a pair for each edge");
        }
        let first: Vec<[u64; 2]> = match is_wide {
            true => words::<8, 2>(&head).iter().take(2).map(|pair| pair.map(u64::from_le_bytes)).collect(),
            false => {
                words::<4, 2>(&head).iter().take(2).map(|pair| pair.map(|id| u32::from_le_bytes(id).into())).collect()
            }
        };
        if let [[n, m], [next, _]] = first[..]
            && m >= LONG
            && m == file.bytes / self.record - 1
        {
            let gather = Gather::new(n);
            let chunks: Vec<_> = chunks(self.record..file.bytes, self.window).collect();
            in_order(&chunks, control, |range| self.scan_range(file, range, ArcBatch::new(&gather, control)))?;
            let goes_on = n != m && (next == n || next == m);
            if judge(HeaderNumbers { n, m, alike: true, goes_on }, &gather.finish()) == HeaderVerdict::Header {
                let found =
                    format!("begins with {n} and {m}, and {m} pairs follow, whose ids are in this range of {n}");
                return wrong(found, &format!("cut off the header: tail -c +{} FILE > NEW", self.record + 1));
            }
        }
        Ok(())
    }
}

/// Whether all numbers but zeros, and at least eight, are whole floats from 1 to below two to the power of `bits`, which ids hardly ever are.
fn are_floats<const N: usize>(head: &[u8], bits: i32, value: impl Fn([u8; N]) -> f64) -> bool {
    let most = 2f64.powi(bits);
    let mut numbers = head.as_chunks::<N>().0.iter().filter(|raw| **raw != [0; N]).map(|&raw| value(raw));
    let is_whole = |number: f64| (1.0..most).contains(&number) && number.fract() == 0.0;
    numbers.clone().count() >= 8 && numbers.all(is_whole)
}

/// The number of rows if a file begins with the places where they begin and end, in `W` bytes each, and goes on with as many numbers of `width` bytes
/// as the last one says. What follows is smaller, unlike in a list of pairs that ascend.
fn rows_of_csr<const W: usize>(file: &InputFile, head: &[u8], width: usize) -> Result<Option<u64>> {
    let (mut places, mut last) = (0, 0);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    if !head.starts_with(&[0; W]) {
        return Ok(None);
    }
    for range in chunks(0..file.bytes, HEAD) {
        for place in file.window(range.start, range.end)?.as_chunks::<W>().0 {
            let place = number(place);
            places += 1;
            let after = file.bytes - places * W as u64;
            let needed = place.saturating_mul(width as u64);
            if place < last || needed > after {
                return Ok(None);
            }
            if needed == after {
                let mut next = vec![0; width.min(after as usize)];
                file.read_exact_at(&mut next, file.bytes - after)?;
                return Ok((places > LONG && number(&next) < place).then(|| places - 1));
            }
            last = place;
        }
    }
    Ok(None)
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
        if !self.named && self.format != Format::Graph500 {
            self.files.iter().try_for_each(|file| self.check_pairs(file, control))?;
        }
        self.files.iter().try_for_each(|file| file.note_zeros(self.record, &self.cut_noted))?;
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
