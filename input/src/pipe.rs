//! Input that can be read only once: standard input, a named pipe, a device. Pairs of `u32` ([`PairStream`]) and Arrow streams with 32-bit ids
//! ([`super::arrow`]) are read as they arrive: threads take turns to fill a buffer, and deliver its arcs in parallel. All else is copied first.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::compression::{Compression, not_read};
use super::hints::{TELLING, in_place_of_a_graph};
use super::{ArcSink, Reader};
use trimill_system::control::{Control, Task};
use trimill_system::mapped::zeros;
use trimill_system::{Error, Result, lock, parallel};

/// How long to wait for bytes before checking for a stop, since a signal does not interrupt the wait.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

const BUFFER: usize = 1 << 20;

const PAIR: usize = 8;

pub(super) struct Pipe {
    pub(super) path: PathBuf,
    pub(super) file: File,
    head: Vec<u8>,
    /// The first error of a thread; the others then stop reading.
    failed: Arc<Mutex<Option<Error>>>,
}

impl Pipe {
    pub(super) fn new(path: &Path, file: File) -> Self {
        // For fewer and longer reads. If this fails (no pipe, or the limit is reached), reads still work.
        let _ = rustix::pipe::fcntl_setpipe_size(&file, BUFFER);
        Self { path: path.to_path_buf(), file, head: Vec::new(), failed: Arc::default() }
    }

    pub(super) fn stdin() -> Result<Self> {
        let path = Path::new("(standard input)");
        let file = io::stdin().as_fd().try_clone_to_owned().map_err(|e| Error::read(path, e))?;
        Ok(Self::new(path, file.into()))
    }

    pub(super) fn is_file(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.is_file())
    }

    /// Reads until `buffer` is full or the input ends; returns the number of bytes.
    pub(super) fn fill(&mut self, buffer: &mut [u8], control: &Control) -> Result<usize> {
        let mut filled = self.head.len().min(buffer.len());
        buffer[..filled].copy_from_slice(&self.head[..filled]);
        self.head.drain(..filled);
        while filled < buffer.len() {
            control.check()?;
            if lock(&self.failed).is_some() {
                return Err(Error::interrupted());
            }
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&POLL_TIMEOUT)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                // Input that cannot be polled is read at once.
                Ok(_) | Err(_) => {}
            }
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => continue,
                Err(e) => return Err(Error::read(&self.path, e)),
            }
        }
        Ok(filled)
    }

    /// The next `bytes` bytes, or fewer at the end; later reads return them again.
    pub(super) fn peek(&mut self, bytes: usize, control: &Control) -> Result<&[u8]> {
        let mut head = vec![0; bytes.max(self.head.len())];
        let filled = self.fill(&mut head, control)?;
        head.truncate(filled);
        self.head = head;
        Ok(&self.head)
    }

    /// Whether it begins like a compressed file. Errors: it begins like what comes [instead of a graph](in_place_of_a_graph), or is compressed
    /// by a program that is not known.
    pub(super) fn looks_compressed(&mut self, control: &Control) -> Result<bool> {
        self.peek(TELLING as usize, control)?;
        match in_place_of_a_graph(&self.head).or_else(|| not_read(&self.head, Some(self.path.as_path()))) {
            Some(error) => Err(error.at(&self.path)),
            None => Ok(Compression::of(&self.head).is_some()),
        }
    }
}

pub(super) struct PipeReadOnce {
    pub(super) path: PathBuf,
    pipe: Mutex<Option<Pipe>>,
    read: AtomicU64,
}

impl PipeReadOnce {
    pub(super) fn new(pipe: Pipe) -> Self {
        Self { path: pipe.path.clone(), pipe: Mutex::new(Some(pipe)), read: AtomicU64::new(0) }
    }

    pub(super) fn count(&self, bytes: u64) -> u64 {
        self.read.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    pub(super) fn bytes(&self) -> u64 {
        self.count(0)
    }

    pub(super) fn facts(&self) -> SourceFacts {
        SourceFacts { arcs_at_most: u64::MAX, is_read_once: true, ..SourceFacts::default() }
    }

    /// Runs `deliver` on all threads, which share what `begin` makes of the pipe, until one fails; returns the sum of their arcs.
    pub(super) fn by_all_threads<T: Send>(
        &self,
        begin: impl FnOnce(Pipe) -> T,
        deliver: impl Fn(&Mutex<T>) -> Result<u64> + Sync,
    ) -> Result<u64> {
        let Some(pipe) = lock(&self.pipe).take() else {
            return Err(Error::defect("a pipe is read a second time"));
        };
        let failed = Arc::clone(&pipe.failed);
        let stream = Mutex::new(begin(pipe));
        let arcs = parallel::map(0..rayon::current_num_threads(), |_| {
            deliver(&stream).unwrap_or_else(|error| {
                lock(&failed).get_or_insert(error);
                0
            })
        });
        let error = lock(&failed).take();
        error.map_or_else(|| Ok(arcs.into_iter().sum()), Err)
    }
}

pub(super) struct PairStream(PipeReadOnce);

impl PairStream {
    pub(super) fn new(pipe: Pipe) -> Self {
        Self(PipeReadOnce::new(pipe))
    }

    /// Reads pairs and delivers them until the pipe ends; called by several threads.
    fn deliver(&self, pipe: &Mutex<Pipe>, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let (mut buffer, mut batch): (Vec<u8>, _) = (zeros(BUFFER), ArcBatch::new(sink, control));
        loop {
            let (filled, end) = {
                let mut pipe = lock(pipe);
                let filled = pipe.fill(&mut buffer, control)?;
                (filled, self.0.count(filled as u64))
            };
            if !filled.is_multiple_of(PAIR) {
                return Err(Error::data(&self.0.path, format!("{end} bytes"))
                    .expected(format!("a multiple of {PAIR}, the bytes of an arc in bin-u32"))
                    .advice("what writes to the pipe ended early, or writes another format: name it with --format"));
            }
            batch.push_pairs(&buffer[..filled])?;
            task.advance(filled as u64);
            if filled < BUFFER {
                return batch.finish();
            }
        }
    }
}

impl Reader for PairStream {
    fn facts(&self) -> SourceFacts {
        self.0.facts()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let arcs = self.0.by_all_threads(|pipe| pipe, |pipe| self.deliver(pipe, sink, control, task))?;
        if self.bytes() == 0 {
            return Err(Error::data(&self.0.path, "is empty").expected("pairs of u32"));
        }
        Ok(arcs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_stops_the_others() {
        const MOST: u64 = 1 << 22;
        let endless = Pipe::new(Path::new("endless"), File::open("/dev/zero").unwrap());
        let (pipe, turns) = (PipeReadOnce::new(endless), AtomicU64::new(0));
        // One thread finds wrong data. The other one must stop reading; the test fails if it goes on for too long.
        let deliver = |stream: &Mutex<Pipe>| {
            if turns.fetch_add(1, Ordering::Relaxed) == 0 {
                return Err(Error::data("endless", "wrong data"));
            }
            while pipe.count(1) < MOST {
                lock(stream).fill(&mut [0], &Control::silent())?;
            }
            Ok(0)
        };
        let error = parallel::on(2, || pipe.by_all_threads(|pipe| pipe, deliver)).unwrap_err().to_string();
        assert!(error.contains("wrong data") && pipe.bytes() < MOST, "{error} after {} reads", pipe.bytes());
    }
}
