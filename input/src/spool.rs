//! Copies of inputs that cannot be read in place: standard input, pipes, members of archives, plain texts that need several passes. A copy is a file
//! without a name, removed when closed, with checksums, which are compared at each read. It fails before the disk is full, which would affect other
//! programs. Costs one write of the bytes, and a query of free space per [`STEP`].

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::Arc;

use super::compression::Compression;
use super::spooled::{PIECE, SpooledBytes};
use super::storage::Storage;
use trimill_system::disk::{MemoryLimit, Overflow, WaitingBytes};
use trimill_system::{Bytes, Control, Error, Result};

/// Other programs write to the disk too, so its free space is queried again after this many bytes.
const STEP: u64 = 64 << 20;
/// How much space is left free: the disk's size divided by the first number, but at most the second number of bytes.
const LEFT_FREE: (u64, u64) = (64, 1 << 30);

/// The most that a byte of a zstd frame expands to: a block of 128 KiB takes at least four bytes. A gzip member grows less.
const MOST_GROWTH: u64 = 1 << 15;

pub(super) struct Spool<'a> {
    file: Overflow,
    pieces: Vec<WaitingBytes>,
    /// Fewer bytes than a piece has, not written yet.
    rest: Vec<u8>,
    what: &'static str,
    from: &'a Path,
    dir: &'a Path,
    written: u64,
    until: u64,
    /// How many bytes may still be written to a directory's disk; tests replace it.
    room: fn(&Path) -> Result<u64>,
}

impl<'a> Spool<'a> {
    pub(super) fn new(what: &'static str, from: &'a Path, dir: &'a Path, at_least: u64) -> Result<Self> {
        let free = room(dir)?;
        let file = Overflow::new(dir, MemoryLimit::new(Bytes::ZERO));
        let (pieces, rest) = (Vec::new(), Vec::with_capacity(PIECE));
        let spool = Self { file, pieces, rest, what, from, dir, written: 0, until: 0, room };
        if at_least > free { Err(spool.does_not_fit(at_least, free)) } else { Ok(spool) }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.written + bytes.len() as u64;
        if end > self.until {
            let free = (self.room)(self.dir)?;
            if bytes.len() as u64 > free {
                return Err(self.does_not_fit(end, free));
            }
            self.until = end.max(self.written + free.min(STEP));
        }
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - self.rest.len()));
            self.rest.extend_from_slice(now);
            bytes = later;
            if self.rest.len() == PIECE {
                self.write_rest()?;
            }
        }
        self.written = end;
        Ok(())
    }

    /// Writes all of `from`; returns the size of the copy. `unreadable` makes the error of a failed read.
    pub(super) fn copy(
        &mut self,
        mut from: impl BufRead,
        control: &Control,
        unreadable: impl Fn(io::Error) -> Error,
    ) -> Result<u64> {
        loop {
            control.check()?;
            let bytes = from.fill_buf().map_err(&unreadable)?;
            let read = bytes.len();
            if read == 0 {
                return Ok(self.written);
            }
            self.write(bytes)?;
            from.consume(read);
        }
    }

    fn write_rest(&mut self) -> Result<()> {
        let written = self.file.write(&self.rest);
        let doing = |error: Error| error.while_doing(&format!("{} of {}", self.what, self.from.display()));
        self.pieces.push(written.map_err(doing)?);
        self.rest.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Storage> {
        if !self.rest.is_empty() {
            self.write_rest()?;
        }
        let Self { file, pieces, written: bytes, .. } = self;
        Ok(Storage::Spooled(Arc::new(SpooledBytes { file, pieces, bytes })))
    }

    fn does_not_fit(&self, bytes: u64, free: u64) -> Error {
        let Self { what, from, dir, written, .. } = self;
        let found = format!("{what} of {} does not fit: it takes at least {}", from.display(), Bytes(bytes));
        let more = if *written == 0 { "" } else { " more" };
        Error::resource(found)
            .at(dir)
            .expected(format!("no more than the disk can take, which is {}{more}", Bytes(free)))
            .advice("free some space or name another --work-dir")
    }
}

fn room(dir: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(dir).map_err(|e| Error::write(dir, e.into()))?;
    let (share, most) = LEFT_FREE;
    Ok(match disk.f_blocks {
        // Some file systems do not report their size.
        0 => u64::MAX,
        all => (disk.f_bavail * disk.f_frsize).saturating_sub((all * disk.f_frsize / share).min(most)),
    })
}

/// A lower bound of a compressed file's plain size: zstd has the first frame's, gzip the last member's modulo 2^32, bzip2 none.
pub(super) fn plain_at_least(file: &Storage, compression: Compression) -> u64 {
    let bytes = file.length().unwrap_or(0);
    let said = match compression {
        Compression::Zstd => {
            let mut head = [0; 18];
            let read = head.len().min(bytes as usize);
            let read = file.read_exact_at(&mut head[..read], 0).map_or(0, |()| read);
            zstd::zstd_safe::get_frame_content_size(&head[..read]).ok().flatten()
        }
        Compression::Bzip2 => None,
        Compression::Gzip => {
            let mut end = [0; 4];
            let read = bytes.checked_sub(4).is_some_and(|at| file.read_exact_at(&mut end, at).is_ok());
            read.then_some(u64::from(u32::from_le_bytes(end)))
        }
    };
    // A damaged header may claim any size.
    said.filter(|&plain| plain / MOST_GROWTH <= bytes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{gz, stored};
    use trimill_system::error::Kind;

    /// A disk that can take 1000 bytes at any time.
    fn small(_: &Path) -> Result<u64> {
        Ok(1000)
    }

    #[test]
    fn a_copy_ends_before_the_disk_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let from = Path::new("in.mtx.gz");
        let begin = |at_least| Spool::new("the plain text", from, dir.path(), at_least);
        let error = begin(1 << 62).err().unwrap();
        assert_eq!(error.kind(), Kind::Resource);
        let text = error.to_string();
        let said = "the plain text of in.mtx.gz does not fit: it takes at least 4.0 EiB; expected no more than";
        assert!(text.starts_with(&format!("{}: {said}", dir.path().display())), "{text}");
        assert!(text.contains("--work-dir"), "{text}");

        let mut spool = begin(0).unwrap();
        spool.room = small;
        spool.write(&[7; 600]).unwrap();
        spool.write(&[8; 400]).unwrap();
        // The free space is queried again, and is still 1000 bytes.
        spool.write(&[9; 1000]).unwrap();
        let text = spool.write(&[1; 1001]).unwrap_err().to_string();
        assert!(text.contains("it takes at least 2.9 KiB") && text.contains("1000 B more"), "{text}");
        let file = spool.finish().unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(bytes, [vec![7; 600], vec![8; 400], vec![9; 1000]].concat());
        assert_eq!(file.read_exact_at(&mut [0], 2000).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_say_how_long_their_text_is() {
        let text = vec![b'x'; 123_456];
        let gzip = gz(&text);
        assert_eq!(plain_at_least(&stored(&gzip), Compression::Gzip), 123_456);
        assert_eq!(plain_at_least(&stored(&gzip[..3]), Compression::Gzip), 0);
        let zstd = zstd::bulk::compress(&text, 1).unwrap();
        assert_eq!(plain_at_least(&stored(&zstd), Compression::Zstd), 123_456);
        // A stream need not contain its length.
        let zstd = zstd::stream::encode_all(&text[..], 1).unwrap();
        assert!(plain_at_least(&stored(&zstd), Compression::Zstd) <= 123_456);
        assert_eq!(plain_at_least(&stored(b"x"), Compression::Zstd), 0);
    }
}
