//! The names of an input whose ids are text: the section `names` of a graph file (docs/graph-format.md). Ids number the names in the order of their
//! bytes. In a block of 64, each name begins with the length of its common prefix with the one before. A [`NamesWriter`] puts them into a file
//! without a name, from which a graph file gets its section; [`Names`] reads either. Memory: 8 bytes per block, and all bytes if they [are
//! held](Names::held). Cost: nanoseconds for the next name, a block for any other.

use std::fs::File;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

use super::layout::{self, CHECKSUM_DIFFERS, damaged_section};
use super::leb128;
use trimill_system::{Bytes, Error, Result, disk, parallel};

const BLOCK: u64 = 64;

pub const LONGEST_NAME: usize = 1 << 14;

const AT_ONCE: usize = 1 << 20;

/// Names that a thread reads together.
const AT_A_TIME: u64 = 1 << 14;

/// Blocks, evenly spread, whose names are read to learn how long names are.
const SAMPLE: usize = 64;

/// Appends a name, whose first `shared` bytes are those of the name before.
pub fn put_name(name: &[u8], shared: usize, out: &mut Vec<u8>) {
    leb128::put(shared as u32, out);
    leb128::put((name.len() - shared) as u32, out);
    out.extend_from_slice(&name[shared..]);
}

/// The length of the common prefix of two names.
pub fn shared(a: &[u8], b: &[u8]) -> usize {
    let (a_words, b_words) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let alike = a_words.iter().zip(b_words).take_while(|(a, b)| a == b).count() * 8;
    alike + a[alike..].iter().zip(&b[alike..]).take_while(|(a, b)| a == b).count()
}

/// Changes `name` to the next name, at `at` of `bytes`; returns where the one after begins. `None` if the bytes end early or are invalid.
pub fn next_name(bytes: &[u8], at: usize, name: &mut Vec<u8>) -> Option<usize> {
    let mut lengths = [0; 2];
    let at = at + leb128::numbers(bytes.get(at..)?, &mut lengths).ok()?;
    let [shared, rest] = lengths.map(|length| length as usize);
    let rest = bytes.get(at..at.checked_add(rest)?)?;
    if shared > name.len() || shared + rest.len() > LONGEST_NAME {
        return None;
    }
    name.truncate(shared);
    name.extend_from_slice(rest);
    Some(at + rest.len())
}

/// Writes names, ascending, to a file in a directory; the file is removed when it is closed.
pub struct NamesWriter {
    file: File,
    dir: PathBuf,
    waiting: Vec<u8>,
    at: u64,
    ends: Vec<u64>,
    count: u64,
    last: Vec<u8>,
    hash: Xxh3Default,
}

impl NamesWriter {
    pub fn create(dir: &Path) -> Result<Self> {
        let (file, dir) = (disk::anonymous(dir)?, dir.to_path_buf());
        let hash = Xxh3Default::new();
        Ok(Self { file, dir, waiting: Vec::new(), at: 0, ends: Vec::new(), count: 0, last: Vec::new(), hash })
    }

    pub fn add(&mut self, name: &[u8]) -> Result<()> {
        let begins = self.count.is_multiple_of(BLOCK);
        if begins && self.count > 0 {
            self.end_block();
        }
        put_name(name, if begins { 0 } else { shared(name, &self.last) }, &mut self.waiting);
        self.last.clear();
        self.last.extend_from_slice(name);
        self.count += 1;
        if self.waiting.len() >= AT_ONCE { self.write() } else { Ok(()) }
    }

    fn end_block(&mut self) {
        self.ends.push(self.at + self.waiting.len() as u64);
    }

    fn write(&mut self) -> Result<()> {
        disk::write_at(&self.file, &self.dir, &self.waiting, self.at)?;
        self.hash.update(&self.waiting);
        self.at += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    pub fn finish(mut self) -> Result<Names> {
        if self.count > 0 {
            self.end_block();
        }
        for i in 0..self.ends.len() {
            self.waiting.extend_from_slice(&self.ends[i].to_le_bytes());
            if self.waiting.len() >= AT_ONCE {
                self.write()?;
            }
        }
        self.waiting.extend_from_slice(&self.count.to_le_bytes());
        self.write()?;
        let Self { file, dir, at, ends, count, hash, .. } = self;
        let (checksum, start, held, mean) = (Some(hash.digest()), 0, None, 0);
        let names = Names { file, path: dir, start, bytes: at, checksum, ends, count, held, mean };
        Ok(Names { mean: names.mean_of_some(), ..names })
    }
}

#[derive(Debug)]
pub struct Names {
    file: File,
    path: PathBuf,
    start: u64,
    bytes: u64,
    /// The checksum of the section; `None` if the graph file lacks it, which is an error.
    checksum: Option<u64>,
    ends: Vec<u64>,
    count: u64,
    held: Option<Vec<u8>>,
    /// The mean length of the names of some blocks.
    mean: usize,
}

impl Names {
    /// Opens the section of `bytes` bytes at `start` of the file; reads all of it to check its checksum.
    pub(super) fn open(file: File, path: &Path, start: u64, bytes: u64, checksum: Option<u64>) -> Result<Self> {
        let damaged = |found: &str| damaged_section(path, layout::NAMES, found);
        let (path, ends) = (path.to_path_buf(), Vec::new());
        let mut names = Self { file, path, start, bytes, checksum, ends, count: 0, held: None, mean: 0 };
        if !names.pass_parts(|_| Ok(()))? {
            return Err(damaged(CHECKSUM_DIFFERS));
        }
        let Some(at) = bytes.checked_sub(8) else { return Err(damaged("is too short")) };
        let mut count = [0; 8];
        names.read(at, &mut count)?;
        names.count = u64::from_le_bytes(count);
        let blocks = names.count.div_ceil(BLOCK);
        let index = blocks.checked_mul(8).and_then(|index| at.checked_sub(index));
        let Some(index) = index else { return Err(damaged("is too short for its names")) };
        let mut ends = vec![0; (at - index) as usize];
        names.read(index, &mut ends)?;
        names.ends = ends.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end)).collect();
        if !names.ends.is_sorted() || names.ends.last().copied().unwrap_or_default() != index {
            return Err(damaged("has blocks that are not where they should be"));
        }
        names.mean = names.mean_of_some();
        Ok(names)
    }

    /// A name that cannot be read counts as empty; the error is found again when it is used.
    fn mean_of_some(&self) -> usize {
        let (mut reader, mut bytes, mut many) = (self.reader(), 0, 0);
        for block in (0..self.ends.len() as u64).step_by(self.ends.len().div_ceil(SAMPLE).max(1)) {
            for id in block * BLOCK..self.count.min((block + 1) * BLOCK) {
                bytes += reader.name(id).map_or(0, <[u8]>::len);
                many += 1;
            }
        }
        bytes / many.max(1)
    }

    /// How many names have about as many bytes as `many` names of `length` bytes: at most `many`.
    pub fn as_many_as(&self, many: usize, length: usize) -> usize {
        many * length / self.mean.max(length)
    }

    /// The sum, and the largest, of what `length` returns for all names. Runs in the current thread pool.
    pub fn lengths(&self, length: impl Fn(&[u8]) -> usize + Sync) -> Result<[u64; 2]> {
        let of_some = |first: u64| -> Result<[u64; 2]> {
            let (mut reader, mut all, mut longest) = (self.reader(), 0, 0);
            for id in first..self.count.min(first + AT_A_TIME) {
                let length = length(reader.name(id)?) as u64;
                (all, longest) = (all + length, length.max(longest));
            }
            Ok([all, longest])
        };
        let found = parallel::try_map((0..self.count).step_by(AT_A_TIME as usize), of_some)?;
        Ok(found.into_iter().fold([0, 0], |[all, longest], [more, other]| [all + more, longest.max(other)]))
    }

    /// Ids are below this.
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    pub fn held_bytes(&self) -> Bytes {
        Bytes(self.held.as_ref().map_or(0, |held| held.len() as u64))
    }

    /// A copy with the bytes of all blocks in memory, if they are at most `most`: for random access.
    pub fn held(&self, most: Bytes) -> Result<Self> {
        let blocks = self.ends.last().copied().unwrap_or_default();
        let file = self.file.try_clone().map_err(|e| Error::read(&self.path, e))?;
        let (path, ends) = (self.path.clone(), self.ends.clone());
        let mut names = Self { file, path, ends, held: None, ..*self };
        if Bytes(blocks) <= most {
            let mut held = vec![0; blocks as usize];
            names.read(0, &mut held)?;
            names.held = Some(held);
        }
        Ok(names)
    }

    /// A reader of names; a name shortly after the last one read is found faster.
    pub fn reader(&self) -> NameReader<'_> {
        NameReader { names: self, buffer: Vec::new(), id: None, at: 0, name: Vec::new() }
    }

    /// Calls `take` with all bytes of the section, in parts. Errors: also if they have changed ([`Error::changed_on_disk`]).
    pub(super) fn each_part(&self, take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.pass_parts(take)? { Ok(()) } else { Err(Error::changed_on_disk(&self.path)) }
    }

    /// As [`Self::each_part`]; returns whether the bytes have their checksum.
    fn pass_parts(&self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        let mut hash = Xxh3Default::new();
        let (mut at, mut part) = (0, vec![0; AT_ONCE.min(self.bytes as usize)]);
        while at < self.bytes {
            let some = (self.bytes - at).min(AT_ONCE as u64) as usize;
            self.read(at, &mut part[..some])?;
            hash.update(&part[..some]);
            take(&part[..some])?;
            at += some as u64;
        }
        Ok(Some(hash.digest()) == self.checksum)
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        disk::read_back(&self.file, into, self.start + at).map_err(|error| Error::read(&self.path, error))
    }

    fn block<'a>(&'a self, block: u64, buffer: &'a mut Vec<u8>) -> Result<&'a [u8]> {
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        let end = self.ends[block as usize];
        if let Some(held) = &self.held {
            return Ok(&held[start as usize..end as usize]);
        }
        buffer.resize((end - start) as usize, 0);
        self.read(start, buffer)?;
        Ok(buffer)
    }

    fn damaged(&self, id: u64) -> Error {
        damaged_section(&self.path, layout::NAMES, &format!("has no name for the id {id}"))
    }
}

pub struct NameReader<'a> {
    names: &'a Names,
    buffer: Vec<u8>,
    id: Option<u64>,
    at: usize,
    name: Vec<u8>,
}

impl NameReader<'_> {
    /// The name of an id. Errors: `Kind::Data` for an id without a name, and for blocks that hold no names.
    pub fn name(&mut self, id: u64) -> Result<&[u8]> {
        if self.id == Some(id) {
            return Ok(&self.name);
        }
        if id >= self.names.count {
            return Err(self.names.damaged(id));
        }
        let block = id / BLOCK;
        let goes_on = self.id.filter(|&last| last < id && last / BLOCK == block);
        if goes_on.is_none() {
            self.at = 0;
            self.name.clear();
        }
        // `name` is invalid until this name is decoded, and after an error.
        self.id = None;
        let bytes: &[u8] = match goes_on {
            Some(_) if self.names.held.is_none() => &self.buffer,
            _ => self.names.block(block, &mut self.buffer)?,
        };
        for next in goes_on.map_or(block * BLOCK, |last| last + 1)..=id {
            self.at = next_name(bytes, self.at, &mut self.name).ok_or_else(|| self.names.damaged(next))?;
        }
        self.id = Some(id);
        Ok(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(names: &[Vec<u8>]) -> (tempfile::TempDir, Names) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = NamesWriter::create(dir.path()).unwrap();
        names.iter().for_each(|name| writer.add(name).unwrap());
        let written = writer.finish().unwrap();
        (dir, written)
    }

    #[test]
    fn names_are_read_in_any_order() {
        let mut names: Vec<Vec<u8>> = (0..1000).map(|i| format!("http://host-{}/{i}", i % 7).into_bytes()).collect();
        names.extend([b"a".to_vec(), vec![b'b'; LONGEST_NAME], "Zürich".into(), b"01".to_vec(), b"1".to_vec()]);
        names.sort();
        let (_dir, written) = written(&names);
        assert_eq!(written.count(), names.len() as u64);
        for names_at in [written.held(Bytes::ZERO).unwrap(), written.held(Bytes::mib(8)).unwrap()] {
            let mut reader = names_at.reader();
            for id in (0..names.len()).chain((0..names.len()).rev()).chain([3, 3, 5, 4, 900, 901, 63, 64]) {
                assert_eq!(reader.name(id as u64).unwrap(), names[id], "{id}");
            }
            assert!(reader.name(names.len() as u64).is_err());
            assert_eq!(reader.name(0).unwrap(), names[0]);
        }
    }

    #[test]
    fn a_bit_that_changed_before_names_are_copied_is_noticed() {
        let (dir, names) = written(&(0..200).map(|i| format!("{i:05}").into_bytes()).collect::<Vec<_>>());
        assert!(names.each_part(|_| Ok(())).is_ok());
        let mut byte = [0];
        disk::read_at(&names.file, &mut byte, 30).unwrap();
        disk::write_at(&names.file, dir.path(), &[byte[0] ^ 1], 30).unwrap();
        assert!(names.each_part(|_| Ok(())).is_err());
    }

    #[test]
    fn what_is_no_section_is_refused() {
        let names: Vec<Vec<u8>> = (0..200).map(|i| format!("{i:05}").into_bytes()).collect();
        let (dir, written) = written(&names);
        let mut bytes = Vec::new();
        written
            .each_part(|part| {
                bytes.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        let open = |bytes: &[u8], checksum: Option<u64>| {
            let path = dir.path().join("section");
            std::fs::write(&path, bytes).unwrap();
            let checksum = checksum.or(Some(xxhash_rust::xxh3::xxh3_64(bytes)));
            Names::open(File::open(&path).unwrap(), &path, 0, bytes.len() as u64, checksum)
        };
        assert_eq!(open(&bytes, None).unwrap().reader().name(199).unwrap(), b"00199");
        assert!(open(&bytes, Some(1)).is_err());
        // No wrong length or number makes the reader read beyond the section.
        for at in (0..bytes.len()).step_by(3) {
            for byte in [0, 0x7f, 0xff] {
                let mut other = bytes.clone();
                other[at] = byte;
                if let Ok(names) = open(&other, None) {
                    let mut reader = names.reader();
                    (0..200).for_each(|id| drop(reader.name(id).map(<[u8]>::len)));
                }
            }
        }
        for len in (0..bytes.len()).step_by(5) {
            assert!(open(&bytes[..len], None).is_err(), "{len}");
        }
        assert_eq!(open(&0u64.to_le_bytes(), None).unwrap().count(), 0);
    }
}
