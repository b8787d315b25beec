//! A file of several zstd frames (`pzstd`, concatenated files), decoded by its share of the threads: frames that lie wholly in a buffer in parallel,
//! larger or damaged ones as a stream. Memory per thread: [`PACKED`] bytes of the file, [`PLAIN`] of frames.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use zstd::stream::read::Decoder;
use zstd::zstd_safe::{find_frame_compressed_size, get_frame_content_size};

use super::storage::{Pread, Storage};
use trimill_system::control::Task;
use trimill_system::mapped::with_capacity;
use trimill_system::parallel;

/// Bytes of the file that are read at once, per thread; a larger frame is decoded as a stream.
const PACKED: usize = 4 << 20;

/// The most bytes, decoded, of a frame that is not decoded as a stream.
const PLAIN: u64 = 8 << 20;

/// The fewest threads for which this is faster: decoded frames leave the caches before they are parsed; a stream's bytes do not.
const FEWEST_THREADS: usize = 4;

type Single<'a> = BufReader<Decoder<'a, BufReader<Pread<'a>>>>;

/// A decoder of frames whose windows have at most 2^`window` bytes.
pub(super) fn decoder<R: BufRead>(from: R, window: u32) -> io::Result<Decoder<'static, R>> {
    let mut decoder = Decoder::with_buffer(from)?;
    decoder.window_log_max(window)?;
    Ok(decoder)
}

/// The bytes of the window of the frame that begins so, if its header states them.
pub(super) fn window(head: &[u8]) -> Option<u64> {
    match *head {
        // The flag says that the window is as long as the contents.
        [0x28, 0xb5, 0x2f, 0xfd, flags, window, ..] if flags & 0x20 == 0 => {
            let eighth = 1u64 << (7 + (window >> 3));
            Some(eighth * (8 + u64::from(window & 7)))
        }
        _ => None,
    }
}

pub(super) struct Frames<'a> {
    file: &'a Storage,
    /// The logarithm of the largest window that a frame may need.
    window: u32,
    task: Option<&'a Task>,
    threads: usize,
    at: u64,
    packed: Vec<u8>,
    rest: Option<Pread<'a>>,
    spare: Vec<Vec<u8>>,
    /// Decoded frames; the first one is read from `next` on.
    ready: VecDeque<Vec<u8>>,
    next: usize,
    single: Option<Single<'a>>,
    is_single: bool,
}

impl<'a> Frames<'a> {
    pub(super) fn new(file: &'a Storage, window: u32, task: Option<&'a Task>, threads: usize) -> Self {
        let (packed, spare, ready) = (Vec::new(), Vec::new(), VecDeque::new());
        let (rest, single) = (None, None);
        Self { file, window, threads, task, at: 0, packed, rest, spare, ready, next: 0, single, is_single: false }
    }

    /// Decodes the next frames into `ready`, or begins to stream a single one; false at the end of the file.
    fn decode(&mut self) -> io::Result<bool> {
        if !self.is_single && self.threads >= FEWEST_THREADS {
            let (file, most) = (self.file, PACKED * self.threads);
            let Self { packed, .. } = self;
            let before = packed.len();
            if packed.capacity() == 0 {
                *packed = with_capacity(most);
            }
            let rest = self.rest.get_or_insert_with(|| Pread::new(file, self.at + before as u64, None));
            rest.take((most - before) as u64).read_to_end(packed)?;
            self.decode_in_parallel();
            if !self.ready.is_empty() {
                return Ok(true);
            }
        }
        (self.packed, self.rest) = (Vec::new(), None);
        self.is_single = false;
        let mut from = BufReader::with_capacity(1 << 18, Pread::new(self.file, self.at, self.task));
        if from.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let frame = decoder(from, self.window)?.single_frame();
        self.single = Some(BufReader::with_capacity(1 << 18, frame));
        Ok(true)
    }

    /// Decodes the frames that are wholly in memory, if there are several, up to the first that must be streamed.
    fn decode_in_parallel(&mut self) {
        let Self { packed, spare, ready, threads, .. } = self;
        let (mut frames, mut end, mut plain) = (Vec::new(), 0, 0);
        while let Some(size) = find_frame_compressed_size(&packed[end..]).ok().filter(|&size| size > 0) {
            // A frame need not state the size of its contents; a damaged one may state any size.
            let contents = get_frame_content_size(&packed[end..]).ok().flatten().unwrap_or(PLAIN);
            plain = contents.saturating_add(plain);
            if plain > PLAIN * *threads as u64 && !frames.is_empty() {
                break;
            }
            // Rounded up, so that frames of similar lengths can have each other's buffers.
            let room = (contents.min(PLAIN) as usize).next_power_of_two();
            let buffer = spare.pop().filter(|buffer| buffer.capacity() >= room);
            frames.push((end..end + size, buffer.unwrap_or_else(|| with_capacity(room))));
            end += size;
        }
        spare.clear();
        // A single frame is no faster here than as a stream.
        if frames.len() < 2 {
            self.is_single = true;
            return;
        }
        let decoded: Vec<_> = parallel::map(frames, |(frame, plain)| (frame.end, decoded(&packed[frame], plain)));
        let mut done = 0;
        for (end, plain) in decoded {
            let Some(plain) = plain else {
                self.is_single = true;
                break;
            };
            ready.push_back(plain);
            done = end;
        }
        packed.drain(..done);
        self.at += done as u64;
        self.task.inspect(|task| task.advance(done as u64));
    }
}

/// The bytes of a frame; `None` if it is damaged or too long.
fn decoded(frame: &[u8], mut plain: Vec<u8>) -> Option<Vec<u8>> {
    plain.clear();
    Decoder::with_buffer(frame).ok()?.take(PLAIN + 1).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= PLAIN).then_some(plain)
}

impl BufRead for Frames<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        loop {
            if let Some(single) = &mut self.single {
                if !single.fill_buf()?.is_empty() {
                    break;
                }
                if let Some(ended) = self.single.take() {
                    let rest = ended.into_inner().finish();
                    let buffered = rest.buffer().len() as u64;
                    self.at = rest.into_inner().at - buffered;
                }
            } else if self.ready.front().is_some_and(|plain| self.next < plain.len()) {
                break;
            } else if let Some(plain) = self.ready.pop_front() {
                self.spare.push(plain);
                self.next = 0;
            } else if !self.decode()? {
                return Ok(&[]);
            }
        }
        match &mut self.single {
            Some(single) => single.fill_buf(),
            None => Ok(self.ready.front().map_or(&[], |plain| &plain[self.next..])),
        }
    }

    fn consume(&mut self, bytes: usize) {
        match &mut self.single {
            Some(single) => single.consume(bytes),
            None => self.next += bytes,
        }
    }
}

impl Read for Frames<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let now = self.fill_buf()?.read(into)?;
        self.consume(now);
        Ok(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::stored;
    use trimill_system::parallel::on;

    #[test]
    fn frames_take_the_memory_of_their_contents() {
        let frame = zstd::bulk::compress(b"0 1\n", 1).unwrap();
        let file = stored(&frame.repeat(1000));
        let (ready, room) = on(FEWEST_THREADS, || {
            let mut frames = Frames::new(&file, 27, None, FEWEST_THREADS);
            assert_eq!(frames.fill_buf().unwrap(), b"0 1\n");
            (frames.ready.len(), frames.ready.iter().map(Vec::capacity).sum::<usize>())
        });
        assert!(ready == 1000 && room <= 64 * ready, "{ready} frames in {room} bytes");
    }
}
