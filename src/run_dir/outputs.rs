//! What a job writes outside of its run directory: the files that it announced, as it left them, and the directories that got spills.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{RunDir, SPILLS, lock, sealed_file};
use crate::job::file::OutputTable;
use crate::paths::place::{file_of, place};
use trimill_system::{Result, path_text};

const ANNOUNCED: &str = "outputs.json";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnnouncedFiles {
    #[serde(with = "path_text::list")]
    files: Vec<PathBuf>,
    /// The directories that starts named for spills that are not kept, with links resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "path_text::list")]
    spill_dirs: Vec<PathBuf>,
    /// Where this directory was at those starts, with links resolved.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "path_text::list")]
    run_dirs: Vec<PathBuf>,
    /// The outputs of the start that wrote the result, with absolute paths.
    #[serde(default)]
    written: Option<OutputTable>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left: Vec<WrittenFile>,
}

/// A file of counts as a finished job left it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    #[serde(with = "path_text::exact")]
    path: PathBuf,
    bytes: u64,
    /// Seconds since 1970 and nanoseconds.
    modified: (i64, i64),
}

impl WrittenFile {
    /// `None` if it is not there.
    fn of(path: PathBuf) -> Option<Self> {
        let found = path.metadata().ok()?;
        Some(Self { path, bytes: found.len(), modified: (found.mtime(), found.mtime_nsec()) })
    }

    fn has_changed(&self) -> bool {
        Self::of(self.path.clone()).is_some_and(|now| now != *self)
    }
}

fn known_outputs(path: &Path) -> AnnouncedFiles {
    // If the record is damaged, no file is known to be the job's own.
    sealed_file::read(&path.join(ANNOUNCED)).ok().flatten().unwrap_or_default()
}

/// The files outside of the run directory that earlier starts announced: first the job's own, which may be replaced, then files that others changed
/// after the job was done. Warns if they are not known.
pub fn announced(path: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    if path.is_dir()
        && let Err(error) = sealed_file::read::<AnnouncedFiles>(&path.join(ANNOUNCED))
    {
        tracing::warn!(
            "{error}: only --force replaces the files that the job wrote elsewhere, and spills in an earlier \
             --spill-dir stay"
        );
    }
    let AnnouncedFiles { files, left, .. } = known_outputs(path);
    files.into_iter().partition(|file| !left.iter().any(|left| left.path == *file && left.has_changed()))
}

impl RunDir {
    /// Announces the job's files elsewhere and its directory of temporary spills before they are written. Removes a result unless it is `complete`.
    pub fn announce(&self, files: Vec<PathBuf>, spills: Option<&Path>, complete: bool) -> Result<()> {
        if !complete {
            self.forget_result()?;
        }
        let known = known_outputs(&self.path);
        let mut all = known.clone();
        // After this start has written a file, a later start must not regard it as changed by others.
        all.left.retain(|left| complete || !files.contains(&left.path));
        all.files.extend(files);
        all.spill_dirs.extend(spills.map(place));
        all.run_dirs.extend(spills.map(|_| place(&self.path)));
        for paths in [&mut all.files, &mut all.spill_dirs, &mut all.run_dirs] {
            paths.sort();
            paths.dedup();
        }
        if all == known || self.read_only { Ok(()) } else { sealed_file::write(&self.path.join(ANNOUNCED), &all) }
    }

    /// Whether the start that wrote the result also wrote all files of these outputs, each for the same setting.
    pub fn has_written(&self, outputs: &OutputTable) -> bool {
        let Some(written) = known_outputs(&self.path).written else { return outputs.count_files().next().is_none() };
        let (mut wanted, mut written) = (outputs.at_places(), written.at_places());
        let mut files = wanted.counts_mut().into_iter().zip(written.counts_mut());
        files.all(|(wanted, written)| wanted.path.is_none() || wanted.path == written.path)
    }

    /// Records that this start, which is done, has written these outputs, and the present state of the files.
    pub(super) fn record_written(&self, outputs: &OutputTable) -> Result<()> {
        let known = known_outputs(&self.path);
        let mut all = AnnouncedFiles { written: Some(outputs.absolute()?), ..known.clone() };
        for file in outputs.count_files().filter_map(|path| file_of(path)).filter_map(WrittenFile::of) {
            all.left.retain(|other| other.path != file.path);
            all.left.push(file);
        }
        if all == known { Ok(()) } else { sealed_file::write(&self.path.join(ANNOUNCED), &all) }
    }

    /// Where spills are kept: in the run directory, or in a folder in `named` that no other run directory uses.
    pub fn spills(&self, named: Option<&Path>) -> PathBuf {
        named.map_or_else(|| self.path.join(SPILLS), |dir| self.spills_in(dir, &place(&self.path)))
    }

    /// Where earlier starts may have left spills that are not to be kept, also if this directory had another name then.
    pub fn earlier_spills(&self) -> Vec<PathBuf> {
        let AnnouncedFiles { spill_dirs, mut run_dirs, .. } = known_outputs(&self.path);
        let here = place(&self.path);
        // A run directory with the same id that is still there keeps its spills: this one is a copy of it.
        run_dirs.retain(|run| place(run) == here || lock::id_of(run) != Some(self.id));
        run_dirs.push(here);
        let elsewhere = spill_dirs.iter().flat_map(|dir| run_dirs.iter().map(move |run| self.spills_in(dir, run)));
        std::iter::once(self.spills(None)).chain(elsewhere).collect()
    }

    /// The folder in `dir` for its spills when it is, or was, at `path`, whose links are resolved. A copy has the same id at another path, and a
    /// directory of another container may have the same path.
    fn spills_in(&self, dir: &Path, path: &Path) -> PathBuf {
        let name = xxh3_64_with_seed(path.as_os_str().as_encoded_bytes(), self.id);
        dir.join(format!("trimill-run-{name:016x}-spills"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_have_the_same_path_one_after_another_have_different_folders_for_spills() {
        let dir = tempfile::tempdir().unwrap();
        let (path, renamed) = (dir.path().join("run"), dir.path().join("other"));
        let announced = || {
            let run = RunDir::open(&path).unwrap();
            run.announce(Vec::new(), Some(dir.path()), false).unwrap();
            run.spills(Some(dir.path()))
        };
        let first = announced();
        assert_eq!(announced(), first);
        std::fs::rename(&path, &renamed).unwrap();
        assert_ne!(announced(), first);
        let earlier = || RunDir::open(&renamed).unwrap().earlier_spills();
        assert!(earlier().contains(&first), "only another directory has its old path now");
        std::fs::copy(renamed.join("lock"), path.join("lock")).unwrap();
        assert!(!earlier().contains(&first), "it may be a copy of that directory");
    }
}
