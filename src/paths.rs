//! Every path that a job reads or writes, announced before it begins, and compared with all others and with existing files. Input: jobs, and what a
//! command reads or writes beside them. Output: nothing, or the first error:
//!
//! | found | refused |
//! | --- | --- |
//! | two outputs in one file; an output where a directory of the job is to be | always |
//! | an output that is an input of any job of the batch, or in its directory or pattern; a directory for other jobs' use there, too | always |
//! | anything in a run directory that exists or is a job's of the batch; kept spills that are a run directory; either of them for two jobs | always |
//! | an existing result or file of counts; a kept spill's name that is taken | unless forced, or announced by an earlier start and unchanged since |
//! | a report, a trace or a comparison whose name holds something else | always |
//! | an output in a directory that does not exist and that no job makes; an output that cannot be written | always |
//!
//! Existing files are compared by device and inode, with all links followed; others, also inputs, by their directory and name. Devices, pipes and
//! the file of standard output lose nothing, so they may be named twice. Costs a few system calls for each path.

pub mod place;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::job::file::Tables;
use crate::job::job::STANDARD_INPUT;
use crate::job::{Job, Partitioner};
use crate::report::{files, views};
use crate::run_dir;
use place::{file_of, is_empty, place};
use trimill_input::{InputPattern, files_of};
use trimill_partitioners::spill;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::url::is_url;
use trimill_system::{Error, Result, disk};

/// What a job, or a command, reads and writes.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    job: Option<String>,
    force: bool,
    announced: Vec<PathBuf>,
    /// Also announced by an earlier start, but changed by others since they were written.
    changed: Vec<PathBuf>,
    /// Directories that are made for outputs before these are written, with links resolved.
    made: Vec<PathBuf>,
    all: Vec<AnnouncedPaths>,
}

#[derive(Debug, Clone)]
struct AnnouncedPaths {
    path: PathBuf,
    what: &'static str,
    how: How,
}

/// Fails if an existing file may not be replaced.
type Check = fn(&Path) -> Result<()>;

#[derive(Debug, Clone, Copy)]
enum How {
    Read,
    /// A directory or a pattern whose files are all inputs; also a path that does not exist yet, and may become a directory.
    ReadAll,
    /// An output. If there is a check, it alone decides whether an existing file is replaced.
    Write(Option<Check>),
    /// A directory for exclusive use.
    Own,
    /// A directory where spills and their manifest stay.
    Spills,
    /// A directory for graph files or temporary files that other jobs may use, too.
    Shared,
}

impl Job {
    /// The paths that the job reads and writes.
    pub fn paths(&self) -> Paths {
        let (announced, changed) = self.settings.run.dir.as_deref().map(run_dir::announced).unwrap_or_default();
        let kept = self.settings.spill.kept();
        let made = self.settings.output.dir.as_deref().into_iter().chain(kept).map(place).collect();
        let (job, force) = (self.name.clone(), self.settings.output.force());
        let mut paths = Paths { job, force, announced, changed, made, all: Vec::new() };
        let is_graph = self.kept_spills().is_none();
        // An input that cannot be listed is refused when it is opened.
        let listed = if is_graph { files_of(&self.inputs).ok() } else { None };
        for input in listed.as_ref().unwrap_or(&self.inputs) {
            paths = paths.reads("the input", input);
        }
        let is_absent = |input: &Path| !is_url(input) && input != Path::new(STANDARD_INPUT) && !input.exists();
        let is_several = |input: &&PathBuf| input.is_dir() || InputPattern::of(input).is_some() || is_absent(input);
        for several in self.inputs.iter().filter(|_| is_graph).filter(is_several) {
            paths = paths.with("the input", several, How::ReadAll);
        }
        if let Partitioner::File(path) = self.settings.partition.partitioner() {
            paths = paths.reads("the assignment of the vertices", path);
        }
        for (what, path) in self.outputs() {
            paths = paths.writes(what, &path, None);
        }
        let Tables { output, run, cache, work, .. } = &self.settings;
        for (what, path, how) in [
            ("the report", output.report.as_deref(), How::Write(Some(views::check_report))),
            ("the trace", output.trace.as_deref(), How::Write(Some(views::check_trace))),
            ("the run directory", run.dir.as_deref(), How::Own),
            ("the cache directory", cache.dir.as_deref().filter(|_| cache.enabled()), How::Shared),
            ("the directory of temporary spills", self.temporary_spills(), How::Shared),
            ("the directory of temporary files", work.dir.as_deref(), How::Shared),
            ("the spilled partitions", kept, How::Spills),
        ] {
            paths = path.into_iter().fold(paths, |paths, path| paths.with(what, path, how));
        }
        paths
    }

    /// The paths of a plan: as [`Self::paths`], but existing files of counts are no obstacle, since a plan does not replace them.
    pub fn paths_of_plan(&self) -> Paths {
        Paths { force: true, ..self.paths() }
    }

    /// The files that the job writes outside of its directories, with links resolved: what its run directory records.
    pub fn replaced(&self) -> Vec<PathBuf> {
        self.outputs().filter_map(|(_, path)| file_of(&path)).collect()
    }

    /// What a later job of the batch may read: kept spills, and the files of the result, with links resolved.
    pub fn made(&self) -> impl Iterator<Item = PathBuf> {
        let kept = self.settings.spill.kept().map(place);
        kept.into_iter().chain(self.outputs().map(|(_, path)| place(&path)))
    }

    /// The directory that the job names for spills that it does not keep.
    pub fn temporary_spills(&self) -> Option<&Path> {
        self.settings.spill.dir.as_deref().filter(|_| !self.settings.spill.keep())
    }

    fn outputs(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let output = &self.settings.output;
        let tables = output.dir.iter().flat_map(|dir| files::NAMES.map(|name| ("the result", dir.join(name))));
        let counts = output.clone().counts_mut().map(|file| Some((file.title, file.path.take()?)));
        counts.into_iter().flatten().chain(tables)
    }
}

impl Paths {
    /// The paths of a command; `force`: existing files are replaced.
    pub fn forced(force: bool) -> Self {
        Self { force, ..Self::default() }
    }

    /// Adds an input, with the files that belong to it: those of a BVGraph or a Graphalytics graph, the manifest of kept spills.
    #[must_use]
    pub fn reads(mut self, what: &'static str, path: &Path) -> Self {
        // A URL cannot be an output.
        if is_url(path) {
            return self;
        }
        if path == Path::new(STANDARD_INPUT) {
            return self.with(what, Path::new("/dev/stdin"), How::Read);
        }
        let companions = trimill_input::read_together(path).into_iter().chain([path.join(MANIFEST_NAME)]);
        for companion in companions.filter(|file| file.is_file()) {
            self = self.with(what, &companion, How::Read);
        }
        self.with(what, path, How::Read)
    }

    /// Adds an output. Where a file is there, `check` says whether it is replaced; without a check, `force` does.
    #[must_use]
    pub fn writes(self, what: &'static str, path: &Path, check: Option<Check>) -> Self {
        self.with(what, path, How::Write(check))
    }

    /// The inputs alone, with absolute paths, so that the working directory may change.
    #[must_use]
    pub fn inputs(mut self) -> Self {
        self.all.retain(|announced| matches!(announced.how, How::Read | How::ReadAll));
        for input in &mut self.all {
            input.path = std::path::absolute(&input.path).unwrap_or_else(|_| input.path.clone());
        }
        Self { all: self.all, ..Self::default() }
    }

    fn with(mut self, what: &'static str, path: &Path, how: How) -> Self {
        self.all.push(AnnouncedPaths { path: path.to_path_buf(), what, how });
        self
    }
}

/// Compares all jobs' paths with each other and with existing files. Errors: `Kind::Usage` (the table above); `Kind::Resource`: an unwritable output.
pub fn check(all: &[Paths]) -> Result<()> {
    let mut found: Vec<ResolvedPath<'_>> = Vec::new();
    for paths in all {
        found.extend(paths.all.iter().filter_map(|announced| ResolvedPath::of(paths, announced)));
    }
    let (mut files, mut inodes, mut own, mut spills) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
    let (mut inputs, mut patterns) = (HashMap::new(), Vec::new());
    for this in &found {
        let other = match this.announced.how {
            How::Read | How::Shared => None,
            How::ReadAll => {
                match InputPattern::of(&this.announced.path) {
                    Some(pattern) => patterns.push((pattern, this)),
                    None => drop(inputs.insert(&*this.place, this)),
                }
                None
            }
            How::Write(_) => {
                let same = this.inode.and_then(|inode| inodes.insert(inode, this));
                files.insert(&*this.place, this).or(same)
            }
            How::Own => own.insert(&*this.place, this),
            How::Spills => spills.insert(&*this.place, this),
        };
        if let Some(other) = other {
            return Err(other.same(this));
        }
    }
    for this in &found {
        let (how, is_dir) = (this.announced.how, matches!(this.announced.how, How::Own | How::Spills));
        let inode = this.inode.and_then(|inode| inodes.get(&inode));
        if let (How::Read, Some(output)) = (how, files.get(&*this.place).or(inode)) {
            return Err(output.replaces(this));
        }
        let writes = !matches!(how, How::Read | How::ReadAll);
        let matched = || patterns.iter().find(|(pattern, _)| pattern.matches(&this.place)).map(|(_, input)| input);
        // A job may keep its spills in an empty directory that is a later job's input. An output there is found with the inputs.
        let may_be_made = |dir: &Path| matches!(how, How::Write(_) | How::Spills) && dir == this.place && is_empty(dir);
        let among =
            || this.place.ancestors().filter(|dir| !may_be_made(dir)).find_map(|dir| inputs.get(dir)).or_else(matched);
        if let Some(input) = writes.then(among).flatten() {
            return Err(this.among(input));
        }
        let is_shared = matches!(how, How::Shared);
        for (above, dir) in this.place.ancestors().enumerate() {
            if let Some(output) = files.get(dir).filter(|_| !is_shared && (above > 0 || is_dir)) {
                return Err(this.same(output));
            }
            if let Some(run) = own.get(dir).filter(|_| above > 0 || !matches!(how, How::Own)) {
                return Err(this.inside(&run.whose(), &run.announced.path));
            }
        }
        let spills = this.place.parent().and_then(|dir| spills.get(dir)).filter(|_| !is_dir);
        let name = this.place.file_name().unwrap_or_default();
        match (spills, how) {
            (Some(spills), How::Read) if spill::is_spill_name(name) => return Err(spills.replaces(this)),
            (Some(spills), How::Write(_)) if spill::is_spill_name(name) || name == MANIFEST_NAME => {
                return Err(this.same(spills));
            }
            // Kept spills may be the input of another job of the batch.
            _ => {}
        }
    }
    found.iter().try_for_each(ResolvedPath::is_free)?;
    check_places(all)
}

/// Refuses outputs in directories that do not exist and that no job makes.
fn check_places(all: &[Paths]) -> Result<()> {
    let mut made: Vec<&Path> = Vec::new();
    for paths in all {
        made.extend(paths.made.iter().map(PathBuf::as_path));
        let check_place = |output: &AnnouncedPaths| match output.how {
            How::Write(None) => can_be_written(&output.path, &made),
            // A report is also written for a job that fails before it makes its directory.
            How::Write(Some(_)) => can_be_written(&output.path, &[]),
            _ => Ok(()),
        };
        paths.all.iter().try_for_each(check_place).map_err(|error| error.in_job(paths.job.as_deref()))?;
    }
    Ok(())
}

/// Checks that an output can be written. Of one in a directory that is `made` later, only that a directory can be made there.
fn can_be_written(path: &Path, made: &[&Path]) -> Result<()> {
    let file = file_of(path).unwrap_or_else(|| place(path));
    let dir = disk::parent(&file);
    let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    if !there.is_dir() {
        return Err(Error::resource("is not a directory").at(there).expected("a directory, for an output below it"));
    }
    match there != dir && made.iter().any(|made| made.starts_with(dir)) {
        true => Ok(()),
        false => disk::check_output(path),
    }
}

struct ResolvedPath<'a> {
    of: &'a Paths,
    announced: &'a AnnouncedPaths,
    place: PathBuf,
    inode: Option<(u64, u64)>,
}

impl<'a> ResolvedPath<'a> {
    /// `None` if no data can be lost: for an existing input that is no regular file, and an output that makes no file.
    fn of(of: &'a Paths, announced: &'a AnnouncedPaths) -> Option<Self> {
        let path = &announced.path;
        let (place, inode) = match announced.how {
            How::Read => match path.metadata() {
                Ok(read) if read.is_file() => (place(path), Some((read.dev(), read.ino()))),
                Ok(_) => return None,
                // An earlier job of the batch might write it.
                Err(_) => (place(path), None),
            },
            How::Write(_) => {
                let file = file_of(path)?;
                let inode = file.metadata().ok().map(|there| (there.dev(), there.ino()));
                (file, inode)
            }
            How::Own | How::Spills | How::Shared | How::ReadAll => (place(path), None),
        };
        Some(Self { of, announced, place, inode })
    }

    fn whose(&self) -> String {
        self.of.job.as_ref().map_or(self.announced.what.into(), |job| format!("{} of job '{job}'", self.announced.what))
    }

    fn usage(&self, found: String) -> Error {
        Error::usage(found).at(&self.announced.path)
    }

    fn same(&self, other: &Self) -> Error {
        match (&self.of.job, &other.of.job) {
            (Some(one), Some(two)) if one != two => {
                let path = other.announced.path.display();
                Error::usage(match other.announced.how {
                    How::Own => format!("the jobs '{one}' and '{two}' both have the run directory {path}"),
                    How::Spills => format!("the jobs '{one}' and '{two}' both keep their spill in {path}"),
                    _ => format!("the jobs '{one}' and '{two}' both write to {path}"),
                })
                .advice("give each job files and directories of its own")
            }
            _ => other
                .usage(format!("{} and {} cannot both be here", self.whose(), other.whose()))
                .advice("give each a place of its own"),
        }
    }

    fn replaces(&self, input: &Self) -> Error {
        let output = &self.announced.path;
        let same = match self.announced.how {
            How::Write(_) if *output != input.announced.path => format!(": {} is the same file", output.display()),
            _ => String::new(),
        };
        input
            .usage(format!("is {}, and {} would replace it{same}", input.whose(), self.whose()))
            .expected("another name for the output: an input is never replaced, with or without --force")
    }

    fn among(&self, input: &Self) -> Error {
        self.usage(format!("{} in {}, {}", self.whose(), input.whose(), input.announced.path.display()))
            .expected("a place outside: every file that this names is part of the graph")
    }

    fn inside(&self, run: &str, path: &Path) -> Error {
        self.usage(format!("{} in {run}, {}", self.whose(), path.display()))
            .expected("a place outside: what is in a run directory may be removed")
    }

    /// Refuses a place in another run directory, whose job removes files there, and existing files that may not be replaced.
    fn is_free(&self) -> Result<()> {
        let (path, paths, how) = (&self.announced.path, self.of, self.announced.how);
        let outer = match how {
            How::Read | How::ReadAll => None,
            How::Own => self.place.parent().and_then(run_dir::around),
            How::Write(_) | How::Spills | How::Shared => run_dir::around(&self.place),
        };
        if let Some(outer) = outer {
            return Err(self.inside("another run directory", outer));
        }
        match how {
            How::Write(Some(check)) => check(path),
            How::Write(None) if self.inode.is_some() && !paths.force && !paths.announced.contains(&self.place) => {
                let changed = paths.changed.contains(&self.place);
                let found = if changed { "was changed since the job wrote it" } else { "is there already" };
                Err(Error::usage(found).at(path).advice(disk::TO_REPLACE))
            }
            How::Spills if !paths.force => match spill::foreign_in(path) {
                Some(foreign) => Err(Error::usage("is there already, and is no spilled partition").at(foreign).advice(
                    "name another --spill-dir, or replace it with --force (in a job file `output.force = true`)",
                )),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
