//! Run directories: a job that ended at any moment is resumed from its files.
//!
//! ```text
//! DIR/lock             locked while a process uses the directory; its id
//! DIR/job.json         the job: its input, how it is cut, what is pruned
//! DIR/outputs.json     the files elsewhere that the job writes, and may therefore replace; the directories elsewhere that got spills
//! DIR/plan.json        the chosen partitions, the mode and the size of row blocks, a fingerprint
//! DIR/prepared.json    for shards: the settings, the file of the graph, what each partition is expected to cost
//! DIR/part-00012.json  the result of a partition that was counted
//! DIR/part-00012.vertices  the triangles at its vertices, where they are wanted, until the job is done
//! DIR/part-00012.edges  the triangles on its edges, likewise
//! DIR/peeled.edges     a checkpoint of peeling
//! DIR/result.json      the complete result
//! DIR/spills/          partitions that were built and not yet counted
//! DIR/graph/           the prepared graph, where the cache is not used
//! DIR/work/            temporary files
//! ```
//!
//! A file that is incomplete or belongs to another job is made again; shards and `merge`, which make none anew, refuse it. For that, JSON files are
//! sealed ([`trimill_system::sealed`]), written under a temporary name, synced and renamed; graph and spills have checksums over every byte, which
//! are verified before use; and every file (plan, results and counts of partitions, complete result, spills, their manifest, `prepared.json`) has the
//! fingerprint of its job, or its checksum is in a file that has it (`locals.zst` in the plan, the graph in `prepared.json`). A partition's result
//! is one file, so nothing is counted twice. Only `job.json`, which defines the job, cannot be made again: without it the directory is useless.
//! Checksums find accidents, not deliberate changes.

pub mod journal;
mod lock;
mod outputs;
mod plan;
mod prepared;
mod record;
mod sealed_file;

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub use journal::{CountedBy, Journal, PartitionRecord};
pub use outputs::announced;
pub use plan::PlanRecord;
pub use prepared::{PreparedJob, with_prepare_advice};
pub use record::JobRecord;
pub use sealed_file::unless_damaged;

use serde::{Deserialize, Serialize};

use crate::job::Mode;
use crate::job::file::OutputTable;
use crate::plan::GraphCut;
use crate::report::RunResult;
use crate::sums::{ByArc, ByRank, SumKey};
use trimill_graph::OrientedGraph;
use trimill_graph::file as graph_file;
use trimill_partitioners::spill::Manifest;
use trimill_partitioners::spill::manifest::MANIFEST_NAME;
use trimill_system::{Error, Kind, Result, disk, hex};

const LOCK: &str = "lock";
const JOB: &str = "job.json";
const RESULT: &str = "result.json";
const GRAPHS: &str = "graph";
const SPILLS: &str = "spills";
const WORK: &str = "work";

/// The run directory that `path` is, or is somewhere in.
pub fn around(path: &Path) -> Option<&Path> {
    path.ancestors().find(|dir| lock::is_there(dir))
}

/// What to do about a file of a prepared job that is missing, damaged, or of another job.
pub const PREPARE_AGAIN: &str = "run 'trimill prepare' again with the same settings: it checks what is there, and makes again what is wrong or missing";

/// The error about a file with the fingerprint `found` in the run directory of the job `expected`.
fn foreign(path: &Path, found: u128, expected: u128) -> Error {
    Error::data(path, format!("is of another job, with the fingerprint {found:032x}"))
        .expected(format!("{expected:032x}"))
}

pub fn kept_by_another(dir: &Path) -> Error {
    Error::resource("holds the spilled partitions of another job")
        .at(dir)
        .advice("name another --spill-dir, or remove its manifest.json and part-*.spill")
}

#[derive(Serialize)]
struct Finished<'a> {
    #[serde(with = "hex")]
    fingerprint: u128,
    #[serde(flatten)]
    result: &'a RunResult,
}

#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Its folders for spills elsewhere are named by this and its path; 0 if it is not locked.
    id: u64,
    /// Held until the value is dropped; none if several processes share the directory, or it is only read.
    lock: Option<disk::FileLock>,
    /// Whether it cannot be written, but has a result, which can be printed.
    read_only: bool,
    /// Directories that this start made; if still empty when the value is dropped, they are removed.
    made: Vec<PathBuf>,
}

impl RunDir {
    /// Opens or makes the directory, and removes a former process's unfinished files, unless shards of a prepared job may be writing them.
    pub fn open(path: &Path) -> Result<Self> {
        disk::make_dir(path)?;
        let mut run = Self::unlocked(path);
        run.read_only = run.is_only_read();
        if run.read_only {
            return Ok(run);
        }
        let (lock, id) = lock::take(path)?;
        (run.lock, run.id) = (Some(lock), id);
        if !run.is_prepared() {
            remove_unfinished(path);
            remove_unfinished(&run.graphs());
        }
        Ok(run)
    }

    fn unlocked(path: &Path) -> Self {
        Self { path: path.to_path_buf(), id: 0, lock: None, read_only: false, made: Vec::new() }
    }

    fn is_only_read(&self) -> bool {
        self.has_result() && self.check_writable().is_err()
    }

    pub fn is_prepared(&self) -> bool {
        self.path.join(prepared::NAME).exists()
    }

    /// Opens a prepared job's directory for one of several processes that count: locks nothing, and removes nothing of other processes.
    pub fn open_for_shard(path: &Path) -> Result<(Self, PreparedJob)> {
        let run = Self::unlocked(path);
        let prepared = run.prepared()?;
        Ok((run, prepared))
    }

    pub fn is_for_shard(&self) -> bool {
        self.lock.is_none() && !self.read_only
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub fn check_writable(&self) -> Result<()> {
        access(&self.path, Access::WRITE_OK).map_err(|error| Error::write(&self.path, error.into()))
    }

    pub fn prepared(&self) -> Result<PreparedJob> {
        PreparedJob::read(&self.path)?.ok_or_else(|| {
            Error::resource("holds no prepared job")
                .at(&self.path)
                .expected("the run directory of 'trimill prepare INPUT --run-dir DIR'")
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn has_result(&self) -> bool {
        self.path.join(RESULT).exists()
    }

    /// This job's complete result from an earlier start. Another job's result is an error; a damaged one counts as missing.
    pub fn finished(&self, fingerprint: u128) -> Result<Option<RunResult>> {
        #[derive(Deserialize)]
        struct Of {
            #[serde(with = "hex")]
            fingerprint: u128,
        }
        let path = self.path.join(RESULT);
        let read = || match (sealed_file::read::<Of>(&path)?, sealed_file::read::<RunResult>(&path)?) {
            (Some(of), Some(result)) => result.check(&path).map(|()| Some((of.fingerprint, result))),
            _ => Ok(None),
        };
        match sealed_file::unless_damaged(read(), "it is put together again")? {
            Some((found, _)) if found != fingerprint => Err(foreign(&path, found, fingerprint)),
            found => Ok(found.map(|(_, result)| result)),
        }
    }

    /// Removes the complete result, if there is one, so that it is made again.
    pub fn forget_result(&self) -> Result<()> {
        if self.has_result() { disk::remove(&self.path.join(RESULT)) } else { Ok(()) }
    }

    pub fn graph(&self, prepared: &PreparedJob) -> Result<OrientedGraph> {
        let path = self.graphs().join(&prepared.graph);
        let graph = graph_file::open(&path).map_err(|error| with_prepare_advice(error, &self.path))?;
        let (found, expected) = (graph.checksum().unwrap_or_default(), prepared.graph_checksum);
        if found == expected {
            return Ok(graph);
        }
        Err(Error::data(path, format!("is not the graph of this job: its checksum is {found:016x}"))
            .expected(format!("{expected:016x}"))
            .advice(PREPARE_AGAIN))
    }

    /// Whether the graph of a prepared job is gone, as it is once the job is merged.
    pub fn lacks_graph(&self, prepared: &PreparedJob) -> bool {
        self.graphs().join(&prepared.graph).try_exists().is_ok_and(|there| !there)
    }

    /// Fails if the plan or the spills' manifest is another job's. Missing or damaged ones become errors when they are needed.
    pub fn check(&self, prepared: &PreparedJob) -> Result<()> {
        let spills = self.spills(None);
        let plan =
            PlanRecord::read(&self.path).ok().flatten().map(|plan| (PlanRecord::path(&self.path), plan.fingerprint));
        let manifest = Manifest::read(&spills).ok().map(|manifest| (spills.join(MANIFEST_NAME), manifest.fingerprint));
        match plan.into_iter().chain(manifest).find(|(_, found)| *found != prepared.fingerprint) {
            Some((path, found)) => Err(foreign(&path, found, prepared.fingerprint).advice(PREPARE_AGAIN)),
            None => Ok(()),
        }
    }

    /// Fails if the run directory `run` has a plan of the spilled mode, and the spills in `dir` are another job's.
    pub fn check_kept(run: &Path, dir: &Path) -> Result<()> {
        let plan = PlanRecord::read(run).ok().flatten().filter(|plan| plan.mode == Mode::Spilled);
        match plan.zip(Manifest::read(dir).ok()) {
            Some((plan, manifest)) if plan.fingerprint != manifest.fingerprint => Err(kept_by_another(dir)),
            _ => Ok(()),
        }
    }

    /// An earlier start's plan and partitions; `vertices`: the number of the graph's, if known. `None`, to plan anew, if missing or damaged.
    pub fn planned(&self, vertices: Option<u32>) -> Result<Option<(PlanRecord, GraphCut)>> {
        let read = PlanRecord::read(&self.path).and_then(|plan| {
            let Some(plan) = plan else { return Ok(None) };
            let cut = plan.cut(&self.path, vertices)?;
            Ok(Some((plan, cut)))
        });
        match read {
            // The warning comes later, when the graph is prepared and the job is planned.
            Err(error) if error.kind() == Kind::Data && vertices.is_none() => Ok(None),
            read => sealed_file::unless_damaged(read, "the job is planned anew"),
        }
    }

    pub fn journal(&self, fingerprint: u128, parts: u32) -> Journal {
        Journal { dir: self.path.clone(), fingerprint, parts }
    }

    pub fn finish(&self, fingerprint: u128, result: &RunResult, outputs: &OutputTable) -> Result<()> {
        self.record_written(outputs)?;
        sealed_file::write(&self.path.join(RESULT), &Finished { fingerprint, result })
    }

    /// Removes the counts of partitions, once their sums are written, and what killed shards left.
    pub fn remove_counts(&self) {
        remove_unfinished(&self.path);
        for entry in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let kept = [ByRank::SUFFIX, ByArc::SUFFIX];
            if entry.path().extension().is_some_and(|suffix| kept.iter().any(|kept| suffix == *kept)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Where temporary files go if no other place is named. Files of an earlier start are not used.
    pub fn work(&self) -> PathBuf {
        self.path.join(WORK)
    }

    pub fn graphs(&self) -> PathBuf {
        self.path.join(GRAPHS)
    }

    /// Makes a directory of this job's own, unless it exists.
    pub fn make(&mut self, dir: &Path) -> Result<()> {
        if disk::private_dir(dir)? {
            self.made.push(dir.to_path_buf());
        }
        Ok(())
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        for dir in &self.made {
            // Fails if anything is there.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// Adds to the error of a job that had begun to count that a run directory keeps its results so far.
pub fn with_resume_advice(error: Error, run_dir: Option<&Path>) -> Error {
    match run_dir {
        Some(dir) if error.kind() != Kind::Interrupted => error
            .also(&format!("finished partitions are saved in {}; start the same job again to continue", dir.display())),
        _ => error,
    }
}

/// Removes files under temporary names, whose writers have ended; ignores failures.
pub fn remove_unfinished(dir: &Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = [".trimill-", ".part-", "trimill-graph-"];
        let name = name.to_string_lossy();
        if name.ends_with(".tmp") && ours.iter().any(|prefix| name.starts_with(prefix)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

pub fn remove_tree(dir: &Path) {
    if let Err(error) = std::fs::remove_dir_all(dir)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{} cannot be removed ({error})", dir.display());
    }
}
