//! The job of a run directory: the settings that determine its partitions, in `job.json`, and on a later start what differs. Threads,
//! budgets, backend, method and directories are not part of it and may change from start to start.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cache::Origin;
use crate::job::Partitioner;
use crate::job::file::Tables;
use crate::paths::place::is_empty;
use trimill_input::{FileIdentity, Identity};
use trimill_system::{Control, Error, Result, disk};

use super::plan::PlanRecord;
use super::{GRAPHS, JOB, LOCK, RunDir, SPILLS, WORK, sealed_file};

const KIND: &str = "trimill run directory 3";

const NONE: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRecord {
    kind: String,
    input: Vec<FileIdentity>,
    format: String,
    partitioner: String,
    metis_contract: Option<u32>,
    /// The file that assigns the vertices, if there is one.
    assignment: Vec<FileIdentity>,
    seed: u64,
    prune: String,
    /// The number of parts, the mode and the size of row blocks, as asked for.
    parts: String,
    mode: String,
    block_bytes: Option<u64>,
}

impl JobRecord {
    pub fn new(settings: &Tables, origin: Option<&Origin>, control: &Control) -> Result<Self> {
        let Some(origin) = origin else {
            return Err(Error::usage(
                "an input that is not a file, nor a URL with a strong ETag, cannot be identified on a later start",
            )
            .advice("write it to a file first, or count without --run-dir"));
        };
        let cut = &settings.partition;
        let mut assignment = Vec::new();
        if let Partitioner::File(path) = cut.partitioner() {
            let mut identity = Identity::of(path, control)?;
            identity.hash(control)?;
            assignment = identity.files;
        }
        Ok(Self {
            kind: KIND.into(),
            input: origin.identity.files.clone(),
            format: match (origin.header, &origin.columns) {
                (Some(header), _) => format!("{} (header: {})", origin.format, header.name()),
                (None, Some(columns)) => format!("{} (columns: {columns})", origin.format),
                (None, None) => origin.format.to_string(),
            } + if origin.named { " (named)" } else { "" }
                + if origin.names { " (names)" } else { "" },
            partitioner: cut.partitioner().to_string(),
            metis_contract: cut.metis.contract.map(Into::into),
            assignment,
            seed: cut.seed(),
            prune: cut.prune().to_string(),
            parts: cut.parts().to_string(),
            mode: settings.mode().map_or_else(|| "auto".into(), |mode| mode.to_string()),
            block_bytes: settings.memory.block.map(|bytes| bytes.get()),
        })
    }

    /// The files of the graph, with hashes of their contents if these are known.
    pub fn input(&self) -> Identity {
        Identity { files: self.input.clone() }
    }

    /// The recorded settings with the files of `identity`, which has the hashes of their contents.
    #[must_use]
    pub fn with_input(self, identity: &Identity) -> Self {
        Self { input: identity.files.clone(), ..self }
    }

    /// The error if a start with the job `now` cannot continue the job `self` of `dir`, with each differing setting, old and new. What `plan` chose,
    /// or what is left to the planner, does not differ. Files that only contents can tell apart are hashed; `now` gets the hashes.
    pub fn refusal(
        &self,
        now: &mut Self,
        plan: Option<&PlanRecord>,
        dir: &Path,
        control: &Control,
    ) -> Result<Option<Error>> {
        let mut found = Vec::new();
        if self.kind != now.kind {
            found.push(format!("kind: recorded {}, now {}", self.kind, now.kind));
        }
        let other_partitioner = self.partitioner != now.partitioner;
        for ((name, before), (_, now)) in self.settings().into_iter().zip(now.settings()) {
            let by = if name == "mode" { ", as --prune or --keep-spill asks for" } else { "" };
            let free = match name {
                "parts" => now == "auto" || plan.is_some_and(|plan| now == plan.parts.to_string()),
                // A named partitioner determines the mode, and is itself reported as the difference.
                "mode" => other_partitioner || now == "auto" || plan.is_some_and(|plan| now == plan.mode.to_string()),
                "block bytes" => now == NONE || plan.is_some_and(|plan| now == plan.block_bytes.get().to_string()),
                _ => false,
            };
            if before != now && !free {
                found.push(format!("{name}: recorded {before}, now {now}{by}"));
            }
        }
        files_differ("input", &self.input, &mut now.input, &mut found, control)?;
        files_differ("assignment", &self.assignment, &mut now.assignment, &mut found, control)?;
        Ok((!found.is_empty()).then(|| {
            Error::resource(format!("belongs to another job ({})", found.join("; ")))
                .at(dir)
                .advice("set these as they were, name another --run-dir, or remove this one")
        }))
    }

    fn settings(&self) -> [(&'static str, String); 8] {
        let or_none = |value: Option<u64>| value.map_or_else(|| NONE.into(), |value| value.to_string());
        [
            ("format", self.format.clone()),
            ("partitioner", self.partitioner.clone()),
            ("metis contract", or_none(self.metis_contract.map(Into::into))),
            ("seed", self.seed.to_string()),
            ("prune", self.prune.clone()),
            ("parts", self.parts.clone()),
            ("mode", self.mode.clone()),
            ("block bytes", or_none(self.block_bytes)),
        ]
    }
}

impl RunDir {
    /// Fails if the directory belongs to another job. `job` gets the recorded hashes of contents. Any job may use the directory before
    /// [`Self::record`], and as long as the recorded job has nothing here to continue from.
    pub fn claim(&self, job: &mut JobRecord, control: &Control) -> Result<()> {
        let path = self.path.join(JOB);
        let before = sealed_file::read::<JobRecord>(&path)
            .map_err(|error| error.advice("remove the run directory and start anew"))?;
        let Some(before) = before else { return Ok(()) };
        let plan = PlanRecord::read(&self.path).ok().flatten();
        if let Some(refusal) = before.refusal(job, plan.as_ref(), &self.path, control)? {
            return if self.has_work(&before, job) { Err(refusal) } else { disk::remove(&path) };
        }
        // The recorded settings, and the present files.
        let now = JobRecord { input: job.input.clone(), assignment: job.assignment.clone(), ..before.clone() };
        if now == before || self.read_only { Ok(()) } else { sealed_file::write(&path, &now) }
    }

    /// Whether the job `before` began to count or to spill here, or has a graph other than that of `now`.
    fn has_work(&self, before: &JobRecord, now: &JobRecord) -> bool {
        const OF_ANY_START: [&str; 5] = [LOCK, JOB, GRAPHS, SPILLS, WORK];
        let same_graph = before.format == now.format && before.input().paths_only() == now.input().paths_only();
        let of_any_start = |entry: DirEntry| OF_ANY_START.iter().any(|name| entry.file_name() == *name);
        let is_bare = std::fs::read_dir(&self.path).is_ok_and(|mut there| there.all(|it| it.is_ok_and(of_any_start)));
        !is_bare || !same_graph && !is_empty(&self.graphs())
    }

    pub fn input(&self) -> Result<Option<Identity>> {
        Ok(sealed_file::read::<JobRecord>(&self.path.join(JOB))?.map(|job| job.input()))
    }

    /// Records the directory's job, after its input is hashed and before anything is stored here that another job could take for its own.
    pub fn record(&self, job: &JobRecord) -> Result<()> {
        let path = self.path.join(JOB);
        if path.exists() { Ok(()) } else { sealed_file::write(&path, job) }
    }
}

fn files_differ(
    what: &str,
    before: &[FileIdentity],
    now: &mut Vec<FileIdentity>,
    found: &mut Vec<String>,
    control: &Control,
) -> Result<()> {
    let paths = |files: &[FileIdentity]| files.iter().map(|file| file.path.clone()).collect::<Vec<PathBuf>>();
    if paths(before) != paths(now) {
        let shown = |files: &[FileIdentity]| match files {
            [] => "none".into(),
            _ => files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>().join(" and "),
        };
        found.push(format!("{what}: recorded {}, now {}", shown(before), shown(now)));
        return Ok(());
    }
    let known = found.len();
    for (before, now) in before.iter().zip(&*now) {
        let (path, before, now) = (now.path.display(), before.stat, now.stat);
        if before.bytes != now.bytes {
            found.push(format!("bytes of {path}: recorded {}, now {}", before.bytes, now.bytes));
        }
        if before.modified != now.modified {
            let time = |(seconds, nanos): (i64, i64)| format!("{seconds}.{nanos:09}");
            let (before, now) = (time(before.modified), time(now.modified));
            found.push(format!("time of modification of {path}, in seconds since 1970: recorded {before}, now {now}"));
        }
    }
    if found.len() > known {
        return Ok(());
    }
    let mut identity = Identity { files: std::mem::take(now) };
    let same = identity.is(&Identity { files: before.to_vec() }, control);
    *now = identity.files;
    if !same? {
        let shown = |contents: Option<u128>| contents.map_or_else(|| NONE.into(), |hash| format!("{hash:032x}"));
        let differ =
            before.iter().zip(&*now).find(|(before, now)| now.contents.is_some() && before.contents != now.contents);
        if let Some((before, now)) = differ {
            let (path, before, now) = (now.path.display(), shown(before.contents), shown(now.contents));
            found.push(format!("hash of the contents of {path}: recorded {before}, now {now}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Mode;
    use trimill_input::identity::Stat;
    use trimill_system::Kind;
    use trimill_system::bytes::Bytes;

    fn record() -> JobRecord {
        let stat = Stat { bytes: 10, modified: (5, 7), changed: (6, 8), inode: 3 };
        let file = |path: &str| FileIdentity { path: path.into(), stat, settled: true, contents: Some(1) };
        JobRecord {
            kind: KIND.into(),
            input: vec![file("/a.txt"), file("/b.txt")],
            format: "text".into(),
            partitioner: "random".into(),
            metis_contract: None,
            assignment: Vec::new(),
            seed: 1,
            prune: "direct".into(),
            parts: "auto".into(),
            mode: "auto".into(),
            block_bytes: None,
        }
    }

    fn recorded(parts: u32) -> PlanRecord {
        PlanRecord::of(parts, Mode::Spilled, Bytes(4096))
    }

    fn difference(change: impl Fn(&mut JobRecord), plan: Option<&PlanRecord>) -> Option<String> {
        let mut now = record();
        change(&mut now);
        let error = record().refusal(&mut now, plan, Path::new("/run"), &Control::silent()).unwrap()?;
        assert_eq!(error.kind(), Kind::Resource);
        Some(error.to_string())
    }

    #[test]
    fn what_was_chosen_may_be_asked_for() {
        assert_eq!(difference(|_| (), None), None);
        assert_eq!(difference(|job| (job.input[0].stat.changed, job.input[0].stat.inode) = ((9, 9), 4), None), None);
        let asked: fn(&mut JobRecord) =
            |job| (job.parts, job.mode, job.block_bytes) = ("8".into(), "spilled".into(), Some(4096));
        assert_eq!(difference(asked, Some(&recorded(8))), None);
        assert!(difference(asked, Some(&recorded(9))).is_some());
        assert!(difference(asked, None).is_some());
        let mut before = record();
        asked(&mut before);
        assert!(before.refusal(&mut record(), None, Path::new("/run"), &Control::silent()).unwrap().is_none());
    }
}
