//! The arrays of a SciPy matrix: members of a zip archive, each a `.npy` file.

use std::path::Path;

use super::SAVE_AGAIN;
use crate::archive::zip::Zip;
use crate::file::InputFile;
use crate::npy::array::NpyArray;
use crate::npy::header::{MOST, NpyHeader};
use crate::source::HowToOpen;
use crate::spool::Spool;
use trimill_system::text::{listed, shown};
use trimill_system::{Error, Result};

/// The most bytes of an array that is read into memory: a name, or a shape.
const MOST_SMALL: u64 = MOST + 1024;

const MOST_LISTED: usize = 8;

pub(super) struct Arrays<'a> {
    file: &'a InputFile,
    archive: Zip<'a>,
    how: &'a HowToOpen<'a>,
}

impl<'a> Arrays<'a> {
    pub(super) fn open(file: &'a InputFile, how: &'a HowToOpen<'a>) -> Result<Self> {
        Ok(Self { file, archive: Zip::open(file)?, how })
    }

    pub(super) fn text(&self, name: &str) -> Result<String> {
        let (header, bytes) = self.small(name)?;
        let bytes = &bytes[header.end as usize..];
        let text = match header.descr.as_deref().map(|descr| descr.split_at(1.min(descr.len())).1) {
            Some(kind) if kind.starts_with('S') => bytes.to_vec(),
            // Characters of 32 bits, which are ASCII.
            Some(kind) if kind.starts_with('U') => bytes.iter().copied().filter(|&byte| byte != 0).collect(),
            _ => return Err(self.error(name, "no text".into()).expected("the name of a sparse format")),
        };
        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
        Ok(text.chars().take(40).collect())
    }

    pub(super) fn numbers(&self, name: &str) -> Result<Vec<u64>> {
        self.small(name)?;
        let array = self.integers(name)?;
        (0..array.length).map(|at| array.get(at)).collect()
    }

    /// A one-dimensional array, in the file itself or unpacked.
    pub(super) fn integers(&self, name: &str) -> Result<NpyArray> {
        let at = self.place(name)?;
        let bytes = self.archive.members[at].bytes;
        let (file, start) = if let Some(start) = self.archive.stored_at(at)? {
            self.archive.contents(at, self.how.control, |_| Ok(()))?;
            (self.file.file.clone(), start)
        } else {
            let mut spool = Spool::new("an array", &self.file.path, self.how.work_dir, bytes)?;
            self.archive.contents(at, self.how.control, |chunk| spool.write(chunk))?;
            (spool.finish()?, 0)
        };
        let (array, header) = NpyArray::open(self.file.member(&format!("{name}.npy"), file)?, start, bytes)?;
        if header.shape.len() != 1 {
            return Err(self
                .error(name, format!("an array of shape {}", header.shown_shape()))
                .expected("one dimension"));
        }
        Ok(array)
    }

    pub(super) fn check_values(&self, entries: u64) -> Result<()> {
        let Some(at) = self.archive.place("data.npy") else { return Ok(()) };
        let header = NpyHeader::of(&self.archive.head(at, MOST)?).map_err(|found| self.error("data", found.into()))?;
        if header.shape == [entries] {
            return Ok(());
        }
        Err(self
            .error("data", format!("values of shape {}", header.shown_shape()))
            .expected(format!("({entries},), one for each entry"))
            .advice(SAVE_AGAIN))
    }

    fn small(&self, name: &str) -> Result<(NpyHeader, Vec<u8>)> {
        let at = self.place(name)?;
        let bytes = self.archive.members[at].bytes;
        if bytes > MOST_SMALL {
            return Err(self.error(name, format!("{bytes} bytes")).expected("a few"));
        }
        let mut read = Vec::new();
        self.archive.contents(at, self.how.control, |chunk| {
            read.extend_from_slice(chunk);
            Ok(())
        })?;
        let header = NpyHeader::of(&read).map_err(|found| self.error(name, found.into()))?;
        Ok((header, read))
    }

    fn place(&self, name: &str) -> Result<usize> {
        self.archive.place(&format!("{name}.npy")).ok_or_else(|| {
            let members = self.archive.members.iter().map(|member| shown(Path::new(&member.name)));
            let members = listed(members, MOST_LISTED);
            let members = if members.is_empty() { "(none)" } else { members.as_str() };
            Error::data(&self.file.path, format!("no array '{name}' among {members}"))
                .expected("what scipy.sparse.save_npz writes")
                .advice("save an array of edges with numpy.save, as .npy")
        })
    }

    fn error(&self, name: &str, found: String) -> Error {
        Error::data(format!("{}: {name}.npy", self.file.path.display()), found)
    }
}
