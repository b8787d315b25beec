//! A stream from a pipe, read once, as it arrives: threads take turns reading record batches and deliver arcs in parallel. Only for ids of at most 32
//! bits: sparse 64-bit ids may need a second pass, so such a stream is copied first. Memory: a window per thread; a larger batch waits in a file.

use std::path::PathBuf;
use std::sync::Mutex;

use super::message::{BatchLayout, PREFIX, body_length, damaged, message, metadata_length};
use super::schema::ArrowColumn;
use super::values::{ArrowBatch, BatchBody};
use super::{after_end, columns_of, without_end};
use crate::arcs::SourceFacts;
use crate::batch::ArcBatch;
use crate::parallel::chunks;
use crate::pipe::{Pipe, PipeReadOnce};
use crate::settings::InputSettings;
use crate::source::HowToOpen;
use crate::spool::Spool;
use crate::storage::Storage;
use crate::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::mapped::zeros;
use trimill_system::{Result, lock};

/// The longest schema, in bytes, of a stream that is read without a copy.
const LONGEST_SCHEMA: u64 = 1 << 20;

pub(crate) struct ArrowStream {
    pipe: PipeReadOnce,
    columns: [ArrowColumn; 2],
    work_dir: PathBuf,
    window: u64,
}

struct ReadBatch {
    number: u64,
    layout: BatchLayout,
    bytes: u64,
    /// The body, if it does not fit in the thread's buffer.
    copy: Option<Storage>,
}

struct OpenStream {
    pipe: Pipe,
    batches: u64,
    ended: bool,
}

impl ArrowStream {
    /// The columns, if the pipe holds such a stream; the schema is then consumed.
    fn columns(pipe: &mut Pipe, reading: &InputSettings, control: &Control) -> Result<Option<[ArrowColumn; 2]>> {
        let Some(&prefix) = pipe.peek(PREFIX as usize, control)?.first_chunk() else { return Ok(None) };
        let Some(length) = metadata_length(prefix).ok().flatten().filter(|&length| length <= LONGEST_SCHEMA) else {
            return Ok(None);
        };
        let head = pipe.peek((PREFIX + length) as usize, control)?;
        // An error in the schema is found again, and reported, when the copy is read.
        let columns = head.get(PREFIX as usize..).map(|metadata| columns_of(metadata, reading));
        match columns {
            Some(Ok((columns, 0))) if columns.iter().all(|column| column.width <= 4) => {
                pipe.fill(&mut vec![0; (PREFIX + length) as usize], control)?;
                Ok(Some(columns))
            }
            _ => Ok(None),
        }
    }

    /// The stream in a pipe; or the pipe unchanged, if it has to be copied.
    pub(crate) fn begin(
        mut pipe: Pipe,
        reading: &InputSettings,
        how: &HowToOpen<'_>,
    ) -> Result<std::result::Result<Self, Pipe>> {
        let Some(columns) = Self::columns(&mut pipe, reading, how.control)? else { return Ok(Err(pipe)) };
        let (work_dir, window) = (how.work_dir.to_path_buf(), how.sizes.window);
        Ok(Ok(Self { pipe: PipeReadOnce::new(pipe), columns, work_dir, window }))
    }

    /// Reads record batches and delivers their arcs until the stream ends; called by several threads.
    fn deliver(&self, stream: &Mutex<OpenStream>, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let (mut arcs, mut buffer): (u64, Vec<u8>) = (0, zeros(self.window as usize));
        loop {
            let read = lock(stream).next(self, &mut buffer, control)?;
            let Some(ReadBatch { number, layout, bytes, copy }) = read else { return Ok(arcs) };
            let body = copy.as_ref().map_or(BatchBody::Held(&buffer), |copy| BatchBody::Stored(copy, 0));
            let (path, columns, work_dir) = (&self.pipe.path, &self.columns, &self.work_dir);
            let batch = ArrowBatch { path, number, columns, layout: &layout, body, work_dir };
            arcs += batch.deliver(&(0..layout.rows), ArcBatch::new(sink, control))?;
            self.pipe.count(bytes);
            task.advance(bytes);
        }
    }
}

impl OpenStream {
    fn next(&mut self, stream: &ArrowStream, buffer: &mut [u8], control: &Control) -> Result<Option<ReadBatch>> {
        let next = self.next_message(stream, buffer, control);
        self.ended |= !matches!(next, Ok(Some(_)));
        next.map_err(|error| error.at_if_unset(&stream.pipe.path))
    }

    fn next_message(
        &mut self,
        stream: &ArrowStream,
        buffer: &mut [u8],
        control: &Control,
    ) -> Result<Option<ReadBatch>> {
        while !self.ended {
            let mut prefix = [0; PREFIX as usize];
            match self.pipe.fill(&mut prefix, control)? as u64 {
                0 => return Err(without_end(self.batches)),
                PREFIX => {}
                _ => return Err(damaged("a message that is cut")),
            }
            let Some(length) = metadata_length(prefix)? else {
                return if self.pipe.fill(&mut [0], control)? == 0 { Ok(None) } else { Err(after_end()) };
            };
            let mut metadata = vec![0; length as usize];
            self.fill(&mut metadata, control)?;
            let message = message(&metadata)?;
            let bytes = body_length(message)?;
            let layout = BatchLayout::of(message, &stream.columns, bytes)?;
            let copy = self.body(bytes, stream, buffer, control)?;
            if let Some(layout) = layout {
                let number = self.batches;
                self.batches += 1;
                return Ok(Some(ReadBatch { number, layout, bytes: PREFIX + length + bytes, copy }));
            }
        }
        Ok(None)
    }

    /// Reads a body of `bytes` bytes into `buffer`, or, if it is too large, into a temporary file, which is returned.
    fn body(
        &mut self,
        bytes: u64,
        stream: &ArrowStream,
        buffer: &mut [u8],
        control: &Control,
    ) -> Result<Option<Storage>> {
        if bytes <= buffer.len() as u64 {
            self.fill(&mut buffer[..bytes as usize], control)?;
            return Ok(None);
        }
        let mut spool = Spool::new("a copy of a record batch", &stream.pipe.path, &stream.work_dir, bytes)?;
        for part in chunks(0..bytes, stream.window) {
            let piece = &mut buffer[..(part.end - part.start) as usize];
            self.fill(piece, control)?;
            spool.write(piece)?;
        }
        spool.finish().map(Some)
    }

    fn fill(&mut self, into: &mut [u8], control: &Control) -> Result<()> {
        match self.pipe.fill(into, control)? == into.len() {
            true => Ok(()),
            false => Err(damaged("a message that is cut").advice("what writes to the pipe ended early")),
        }
    }
}

impl Reader for ArrowStream {
    fn facts(&self) -> SourceFacts {
        self.pipe.facts()
    }

    fn bytes(&self) -> u64 {
        self.pipe.bytes()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let begin = |pipe| OpenStream { pipe, batches: 0, ended: false };
        self.pipe.by_all_threads(begin, |stream| self.deliver(stream, sink, control, task))
    }
}
