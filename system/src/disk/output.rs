//! Outputs: the files that users name. Input: a path and bytes. Output depends on what is at the path:
//!
//! | at the path | what happens |
//! | --- | --- |
//! | nothing, or a regular file | the bytes are written beside it and renamed: the old file or the whole new one is there |
//! | a symbolic link | the same at its target; the link stays |
//! | a device, a pipe | the bytes are written to it: no name is replaced |
//! | the file that standard output or standard error goes to | the bytes are appended to what was written there |
//! | a directory | an error |
//!
//! Files that belong together are all written before the first one is renamed ([`write_outputs`]).

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, fstat};

use super::{NewFile, SHARED, parent, pass, remove, step, sweep, sync_dir};
use crate::error::{Error, Result};
use crate::text::shown;

/// The most links that are followed, as by the system.
const MOST_LINKS: usize = 40;

/// What to do about a file where an output is to be.
pub const TO_REPLACE: &str = "name another file, or replace it with --force (in a job file `output.force = true`)";

/// The error for an output for which [`Output::finish`] found no free name.
pub fn has_appeared(path: &Path) -> Error {
    Error::resource("is there already: it has appeared since the job began")
        .at(path)
        .expected("no file of that name")
        .advice(TO_REPLACE)
}

/// A new file beside `to`, which errors call `path`. First removes what killed processes left there under temporary names.
fn beside(to: &Path, path: &Path, mode: u32) -> Result<NewFile> {
    let dir = parent(to);
    if !dir.is_dir() {
        return Err(Error::resource(format!("cannot be written: the folder {} does not exist", shown(dir)))
            .at(path)
            .advice("make it first, or name another one"));
    }
    sweep(dir);
    Ok(NewFile::create(dir, ".trimill-", mode).map_err(|error| error.at(path))?.known_as(path))
}

/// Where the chain of links from `path` ends; that file does not exist yet.
pub fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match end.read_link() {
            Ok(to) => end = parent(&end).join(to),
            Err(_) => break,
        }
    }
    end
}

/// Standard output or standard error, if this file is open as one of them.
fn standard(found: &Metadata) -> Option<io::Result<OwnedFd>> {
    let same =
        |open: &BorrowedFd<'_>| fstat(open).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == (found.dev(), found.ino()));
    let (out, err) = (io::stdout(), io::stderr());
    let open = [out.as_fd(), err.as_fd()].into_iter().find(same)?;
    Some(open.try_clone_to_owned())
}

fn open_existing(path: &Path) -> io::Result<File> {
    let file = path.metadata().ok().filter(Metadata::is_file);
    match file.as_ref().and_then(standard) {
        Some(open) => open.map(File::from),
        None => step(|| File::options().write(true).open(path)),
    }
}

/// An output that is being written; if dropped before it has its name ([`Output::finish`]), a new file is removed.
#[derive(Debug)]
pub struct Output {
    name: PathBuf,
    sink: OutputSink,
}

#[derive(Debug)]
enum OutputSink {
    New(NewFile, PathBuf),
    Existing(File),
}

impl Output {
    /// Begins to write to `path`. Opening a pipe waits for its reader. Errors: `Kind::Usage` for a directory, else `Kind::Resource`.
    pub fn create(path: &Path) -> Result<Self> {
        let sink = match file_of_output(path)? {
            Some(to) => {
                // A private file stays private when it is replaced.
                let mode = to.metadata().map_or(SHARED, |found| found.mode() & 0o777);
                OutputSink::New(beside(&to, path, mode)?, to)
            }
            None => OutputSink::Existing(open_existing(path).map_err(|e| Error::write(path, e))?),
        };
        Ok(Self { name: path.to_path_buf(), sink })
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The new file, which can be written at any position; `None` if the bytes must be written in order.
    pub fn new_file(&self) -> Option<&NewFile> {
        match &self.sink {
            OutputSink::New(file, _) => Some(file),
            OutputSink::Existing(_) => None,
        }
    }

    /// Gives new files that belong together their final names, and replaces files only if `force`. If one of them cannot be renamed, those already
    /// renamed are removed: an incomplete set is useless, and the next start would refuse to replace it.
    pub fn finish_together(outputs: impl IntoIterator<Item = Self>, force: bool) -> Result<()> {
        let mut renamed: Vec<PathBuf> = Vec::new();
        for output in outputs {
            let (name, to) = (output.name.clone(), output.renamed_to().map(Path::to_path_buf));
            let finished = output.finish(force).and_then(|free| if free { Ok(()) } else { Err(has_appeared(&name)) });
            if let Err(error) = finished {
                renamed.iter().for_each(|to| drop(remove(to)));
                return Err(error);
            }
            renamed.extend(to);
        }
        Ok(())
    }

    /// Gives a new file its final name, also after a power failure, and replaces a file only if `force`. Returns `false` if the name was taken.
    pub fn finish(self, force: bool) -> Result<bool> {
        let OutputSink::New(file, to) = self.sink else { return Ok(true) };
        let named = if force { file.persist(&to).map(|()| true) } else { file.persist_if_free(&to) }?;
        match if named { sync_dir(parent(&to)) } else { Ok(()) } {
            Err(error) if !force => remove(&to).and(Err(error)),
            synced => synced.map(|()| named),
        }
    }

    /// The file that gets the name, behind links; none if an existing file or a pipe is written to.
    pub fn renamed_to(&self) -> Option<&Path> {
        match &self.sink {
            OutputSink::New(_, to) => Some(to),
            OutputSink::Existing(_) => None,
        }
    }

    fn fill(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|e| Error::write(&self.name, e))?;
        self.new_file().map_or(Ok(()), NewFile::sync)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            OutputSink::New(file, _) => file.write(bytes),
            OutputSink::Existing(file) => pass(bytes, |bytes| file.write_all(bytes)).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Checks whether `path` can be written, before the work whose result goes there.
pub fn check_output(path: &Path) -> Result<()> {
    match file_of_output(path)? {
        Some(to) => beside(&to, path, super::PRIVATE).map(drop),
        // Standard output is already open, even if this user may not open its file.
        None if path.is_file() => Ok(()),
        None => access(path, Access::WRITE_OK).map_err(|e| Error::write(path, e.into())),
    }
}

/// The file that an output replaces or makes, at the end of links; `None` for a device, a pipe, or the file of standard output.
pub fn file_of_output(path: &Path) -> Result<Option<PathBuf>> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(Error::usage("is a directory").at(path).expected("the name of a file to write"))
        }
        Ok(found) if found.is_file() && standard(&found).is_none() => {
            path.canonicalize().map(Some).map_err(|e| Error::write(path, e))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Some(end_of_links(path))),
        Err(error) => Err(Error::write(path, error)),
    }
}

/// Writes outputs that belong together: no new file gets its name before all are on disk. Errors: as `Output::create`; older files stay.
pub fn write_outputs(outputs: &[(&Path, &[u8])]) -> Result<()> {
    let mut written = Vec::new();
    for renamed in [true, false] {
        for &(path, bytes) in outputs {
            if file_of_output(path)?.is_some() == renamed {
                let mut output = Output::create(path)?;
                output.fill(bytes)?;
                written.push(output);
            }
        }
    }
    written.into_iter().try_for_each(|output| output.finish(true).map(drop))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::disk::tests::names;

    #[test]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("below")).unwrap();
        std::fs::write(at("below/old"), "old").unwrap();
        std::fs::set_permissions(at("below/old"), Permissions::from_mode(0o600)).unwrap();
        std::fs::hard_link(at("below/old"), at("kept")).unwrap();
        symlink("below/old", at("link")).unwrap();
        symlink("link", at("further")).unwrap();
        symlink("below/new", at("nowhere")).unwrap();
        write_outputs(&[(&at("further"), b"first"), (&at("nowhere"), b"second"), (&at("plain"), b"third")]).unwrap();
        for (name, text) in [("below/old", "first"), ("below/new", "second"), ("plain", "third"), ("kept", "old")] {
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), text, "{name}");
        }
        // A private file stays private.
        assert_eq!(at("below/old").metadata().unwrap().mode() & 0o777, 0o600);
        for link in ["link", "further", "nowhere"] {
            assert!(at(link).is_symlink(), "{link}");
        }
        assert_eq!(names(dir.path()), ["below", "further", "kept", "link", "nowhere", "plain"]);
        assert_eq!(names(&at("below")), ["new", "old"]);
    }
}
