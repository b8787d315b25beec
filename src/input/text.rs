//! Edge lists as text: one arc a line, its tail and head in the first two columns.
//!
//! SNAP (`#` comments, tabs), KONECT (`%` comments, more columns), Graph Challenge (`u v 1`), GAPBS `.el`, CSV. Ids are
//! delivered as written, up to `u64::MAX - 1`. The first line that is neither blank nor a comment may be a header:
//! words without numbers, or one single number. Files may be plain or compressed, each for itself.
//!
//! Plain files are parsed by all threads from mapped windows; a compressed file is decoded by one thread, which hands
//! blocks of whole lines to the others. Memory: a window (plain) or three blocks of 1 MiB (compressed) a thread.

use std::io::Read;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::batch::Batch;
use super::compressed::Blocks;
use super::file::InputFile;
use super::head::Head;
use super::lines::{self, Sizes};
use super::number::{columns, shown, whole};
use super::pairs::{self, Dialect};
use super::parallel::{hand_over, in_order};
use super::{ArcSink, Reader};
use crate::control::{Control, Task};
use crate::error::{Error, Result};

/// A graph in one or several edge lists.
pub(super) struct Text {
    files: Vec<(InputFile, Preamble)>,
    sizes: Sizes,
}

/// What stands before the first arc of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Preamble {
    /// Bytes (after decompression) before the line of the first arc.
    skip: u64,
    /// Lines before it.
    lines: u64,
    /// The line and text of the header, if there is one.
    header: Option<(u64, String)>,
}

/// Ids as they stand.
struct AnyId;

impl Dialect for AnyId {
    #[inline(always)]
    fn check(&self, tail: u64, head: u64, _: bool) -> Result<(), (String, String)> {
        if tail.max(head) == u64::MAX {
            return Err((format!("the id {}, which is too large", u64::MAX), format!("ids up to {}", u64::MAX - 1)));
        }
        Ok(())
    }
}

/// A piece of work: a range of a plain file (by its number), or all of a compressed one.
enum Piece {
    Plain(usize, Range<u64>),
    Compressed(usize),
}

impl Text {
    pub(super) fn open(files: Vec<InputFile>, sizes: Sizes) -> Result<Self> {
        let files = files
            .into_iter()
            .map(|file| {
                let preamble = preamble(&file, sizes)?;
                Ok((file, preamble))
            })
            .collect::<Result<_>>()?;
        Ok(Self { files, sizes })
    }

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (number, (file, preamble)) in self.files.iter().enumerate() {
            if file.compression.is_some() {
                pieces.push(Piece::Compressed(number));
            } else {
                let ranges = lines::ranges(file, preamble.skip, self.sizes.window);
                pieces.extend(ranges.map(|range| Piece::Plain(number, range)));
            }
        }
        pieces
    }

    fn scan_plain(&self, number: usize, range: &Range<u64>, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        let (file, preamble) = &self.files[number];
        let lines = lines::read(file, preamble.skip, range, self.sizes)?;
        let mut batch = Batch::new(sink, control);
        pairs::parse(&lines, &AnyId, &mut batch)
            .map_err(|failure| failure.locate(|error, at| file.locate(error, lines.at + at as u64)))?;
        batch.finish()
    }

    fn scan_compressed(&self, number: usize, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let (file, preamble) = &self.files[number];
        let mut stream = file.stream(Some(task))?;
        std::io::copy(&mut stream.by_ref().take(preamble.skip), &mut std::io::sink()).map_err(|e| file.damaged(e))?;
        let mut blocks = Blocks::new(file, stream, preamble.lines + 1, self.sizes);
        let delivered = AtomicU64::new(0);
        hand_over(
            |block| {
                control.check()?;
                blocks.next(block)
            },
            |block| {
                let mut batch = Batch::new(sink, control);
                pairs::parse(&block.bytes, &AnyId, &mut batch)
                    .map_err(|failure| failure.locate(|error, at| error.at(&file.path).line(block.line_of(at))))?;
                delivered.fetch_add(batch.finish()?, Ordering::Relaxed);
                Ok(())
            },
        )?;
        Ok(delivered.into_inner())
    }
}

impl Reader for Text {
    fn declared_vertices(&self) -> Option<u64> {
        None
    }

    /// The shortest line of a plain file has 4 bytes; compressed text takes more than a byte an arc (3 to 5 in
    /// graphs met so far).
    fn arcs_at_most(&self) -> u64 {
        self.files
            .iter()
            .map(|(file, _)| if file.compression.is_some() { file.bytes } else { file.bytes.div_ceil(4) })
            .sum()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let found: Vec<AtomicU64> = self.files.iter().map(|_| AtomicU64::new(0)).collect();
        let arcs = in_order(&self.pieces(), |piece| {
            control.check()?;
            let (number, arcs) = match piece {
                Piece::Compressed(number) => (*number, self.scan_compressed(*number, sink, control, task)?),
                Piece::Plain(number, range) => {
                    let arcs = self.scan_plain(*number, range, sink, control)?;
                    task.advance(range.end - range.start);
                    (*number, arcs)
                }
            };
            found[number].fetch_add(arcs, Ordering::Relaxed);
            Ok(arcs)
        })?;
        for ((file, preamble), found) in self.files.iter().zip(found) {
            if let (Some((line, header)), 0) = (&preamble.header, found.into_inner()) {
                return Err(Error::data(&file.path, format!("'{header}' and no arc after it"))
                    .line(*line)
                    .expected("lines of two non-negative integers"));
            }
        }
        Ok(arcs)
    }
}

/// Reads up to the first arc.
fn preamble(file: &InputFile, sizes: Sizes) -> Result<Preamble> {
    let mut head = Head::new(file, sizes)?;
    let mut preamble = Preamble::default();
    while let Some(line) = head.next()? {
        let mark: &[u8] = if preamble.lines == 0 { b"\xef\xbb\xbf" } else { b"" };
        let text = line.strip_prefix(mark).unwrap_or(line);
        if is_header(text) && preamble.header.is_none() {
            preamble.header = Some((preamble.lines + 1, shown(text.trim_ascii())));
        } else if !pairs::is_blank_or_comment(text) {
            // A byte order mark before the first arc is passed over, too.
            preamble.skip += (line.len() - text.len()) as u64;
            break;
        }
        (preamble.skip, preamble.lines) = (head.end, head.number);
    }
    Ok(preamble)
}

/// Whether the first line of a list names its columns (`source,target`), or is a single number (of vertices).
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if pairs::is_blank_or_comment(line) {
        return false;
    }
    let mut columns = columns(line);
    match (columns.next(), columns.next()) {
        (Some(first), None) if whole(first).is_some() => true,
        (Some(first), second) => {
            let named = |column: &[u8]| {
                !column.iter().any(u8::is_ascii_control)
                    && std::str::from_utf8(column)
                        .is_ok_and(|c| c.starts_with(|c: char| c.is_alphabetic() || "_\"'".contains(c)))
            };
            named(first) && second.is_none_or(named)
        }
        (None, _) => false,
    }
}
