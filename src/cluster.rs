//! Scripts with which a scheduler counts the shards of a prepared job and merges them. Input: a run directory, and what each task gets. Output: files
//! there, which users can read and change, and the command that submits them. Templates are in `src/cluster/`, as the scheduler reads them: `@NAME@`
//! stands for a value; a line without its value is left out. Paths are quoted, and no directive names one: Slurm starts a job where it is submitted.

mod template;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::job::file::{ClusterTable, Scheduler};
use crate::report::ClusterReport;
use crate::shards;
use template::{fill, values};
use trimill_system::memory::{HostMemory, Needs};
use trimill_system::text::plural;
use trimill_system::{Bytes, Error, Result, disk};

/// Defaults of a task: GPUs, cores, mebibytes a core; and the most time of a merge that only adds.
const USUAL_GPUS: u32 = 1;
const USUAL_CPUS: NonZeroU32 = NonZeroU32::new(4).unwrap();
const USUAL_MIB: u64 = 4 << 10;
const USUAL_MERGE: &str = "1:00:00";

#[derive(Debug, Clone, Copy)]
pub struct ClusterJob {
    pub shards: NonZeroU32,
    /// The budget that the partitions were cut for.
    pub partitions: Bytes,
    pub peels: bool,
    /// The least host budget of the merge.
    pub merge: Bytes,
}

impl ClusterJob {
    /// The memory of a task in mebibytes; its budget is three quarters. CPUs count partitions in half of that budget, GPUs in their own memory.
    fn mib_of_task(self, cluster: &ClusterTable) -> u64 {
        let partitions = if cluster.gpus_per_task() == 0 { self.partitions.get() / 3 * 8 } else { 0 };
        let usual = USUAL_MIB * u64::from(cluster.cpus_per_task().get()) + (partitions >> 20);
        cluster.memory.map_or(usual, |bytes| bytes.get().div_ceil(1 << 20))
    }

    /// The memory of the merge in mebibytes: that of a task, or more if one of its stages, such as peeling, needs a larger budget.
    fn mib_of_merge(self, cluster: &ClusterTable) -> u64 {
        self.mib_of_task(cluster).max(self.merge.get().div_ceil(3 << 20) * 4)
    }
}

impl ClusterTable {
    fn scheduler(&self) -> Scheduler {
        self.engine.unwrap_or(Scheduler::Slurm)
    }

    fn gpus_per_task(&self) -> u32 {
        self.gpus_per_task.unwrap_or(USUAL_GPUS)
    }

    pub(crate) fn cpus_per_task(&self) -> NonZeroU32 {
        self.cpus_per_task.unwrap_or(USUAL_CPUS)
    }

    /// Refuses too many shards, and values that scripts would misread.
    pub fn check(&self) -> Result<()> {
        let names = [
            ("time", &self.time),
            ("partition", &self.partition),
            ("account", &self.account),
            ("time of the merge", &self.merge_time),
            ("partition of the merge", &self.merge_partition),
        ];
        self.shards.map_or(Ok(()), shards::check)?;
        self.memory.map_or(Ok(()), |memory| self.check_memory(memory))?;
        names.into_iter().try_for_each(|(what, name)| name.as_ref().map_or(Ok(()), |name| check_name(what, name)))?;
        [&self.sbatch, &self.merge_sbatch].into_iter().flatten().flatten().try_for_each(|line| check_line(line))
    }

    /// Refuses less memory than the program and its threads need before any graph is counted.
    fn check_memory(&self, asked: Bytes) -> Result<()> {
        let cores = self.cpus_per_task();
        let taken = HostMemory::new(Bytes::ZERO, cores.get() as usize).floor(&Needs::to("count")).bytes;
        // Three quarters are the budget.
        let least = Bytes::mib(taken.get().div_ceil(3 << 20) * 4);
        if asked >= least {
            return Ok(());
        }
        Err(Error::usage(format!("a memory of {} for a task", asked.exactly())).expected(format!(
            "at least {}: three quarters are its budget, of which the program and {} take {taken}",
            least.exactly(),
            plural(cores, "thread", "threads")
        )))
    }
}

/// The scripts and their folder. Fails if an existing script differs, unless `force` replaces it.
pub fn scripts(
    cluster: &ClusterTable,
    run: &Path,
    program: &Path,
    job: ClusterJob,
    force: bool,
) -> Result<(PathBuf, Vec<(PathBuf, String)>)> {
    cluster.check()?;
    let (run, program) = (absolute(run)?, absolute(program)?);
    let scheduler = cluster.scheduler();
    let (name, files): (_, &[(&str, &str)]) = match scheduler {
        Scheduler::Slurm => (
            "slurm",
            &[
                ("count.sbatch", include_str!("cluster/count.sbatch")),
                ("merge.sbatch", include_str!("cluster/merge.sbatch")),
                ("submit", include_str!("cluster/submit-slurm")),
            ],
        ),
        Scheduler::Hq => (
            "hq",
            &[
                ("count.toml", include_str!("cluster/count.toml")),
                ("merge.toml", include_str!("cluster/merge.toml")),
                ("submit", include_str!("cluster/submit-hq")),
                ("submit.py", include_str!("cluster/submit.py")),
            ],
        ),
    };
    check_directory(&run, scheduler)?;
    let folder = run.join(name);
    let paths = [("RUN", run.as_path()), ("PROGRAM", &program), ("FOLDER", &folder)];
    let [run_path, program_path, folder_path] = paths.map(|(name, path)| -> Result<_> {
        let text = text_of(path)?;
        Ok((name, if scheduler == Scheduler::Slurm { for_shell(text) } else { for_toml(text) }))
    });
    let values = values(cluster, job, [run_path?, program_path?, folder_path?]);
    let scripts: Vec<_> = files.iter().map(|(name, text)| (folder.join(name), fill(text, &values))).collect();
    let differs =
        |path: &Path, text: &str| path.is_file() && std::fs::read(path).ok().as_deref() != Some(text.as_bytes());
    if let Some((path, _)) = scripts.iter().find(|(path, text)| !force && differs(path, text)) {
        return Err(Error::usage("is there already, and differs: it was edited, or written with other settings")
            .at(path)
            .advice("move it away, or replace it with --force (in a job file `output.force = true`)"));
    }
    Ok((folder, scripts))
}

/// Writes the scripts; `force` replaces existing ones that differ.
pub fn write(
    cluster: &ClusterTable,
    run: &Path,
    program: &Path,
    job: ClusterJob,
    force: bool,
) -> Result<ClusterReport> {
    let (folder, scripts) = scripts(cluster, run, program, job, force)?;
    disk::make_dir(&folder)?;
    for (path, text) in &scripts {
        disk::replace(path, text.as_bytes())?;
    }
    let written = scripts.into_iter().map(|(path, _)| path).collect();
    let command = |with: &str, name: &str| format!("{with} {}", for_shell(&folder.join(name).to_string_lossy()));
    let without_hq = (cluster.scheduler() == Scheduler::Hq).then(|| command("python3", "submit.py"));
    let commands = std::iter::once(command("sh", "submit")).chain(without_hq).collect();
    Ok(ClusterReport::new(absolute(run)?, job.shards, written, commands))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::write(path, error))
}

/// Characters besides letters and digits that need no quoting in a shell, a TOML file or Slurm's patterns.
const PLAIN: &str = "_./,:+@=-";

fn check_name(what: &str, name: &str) -> Result<()> {
    match name.chars().find(|letter| !letter.is_ascii_alphanumeric() && !PLAIN.contains(*letter)) {
        None if !name.is_empty() => Ok(()),
        found => {
            let found = found.map_or_else(|| "is empty".into(), |letter| format!("has the character '{letter}'"));
            Err(Error::usage(format!("{what} '{name}' {found}, which job scripts may misread"))
                .expected(format!("letters, digits and {PLAIN}")))
        }
    }
}

fn check_line(line: &str) -> Result<()> {
    let one = !line.is_empty() && !line.starts_with('-') && !line.contains(|letter: char| letter.is_ascii_control());
    if one {
        return Ok(());
    }
    Err(Error::usage(format!("'{}' for a script of Slurm", line.escape_debug()))
        .expected("one line: a directive such as '#SBATCH --qos=long', or a command such as 'module load cuda'"))
}

fn text_of(path: &Path) -> Result<&str> {
    let refused = || Error::usage("a path that is not UTF-8, which job scripts cannot name").at(path);
    path.to_str().ok_or_else(refused)
}

/// Refuses a directory whose path the scheduler, which names logs with it, would interpret as a pattern.
fn check_directory(run: &Path, engine: Scheduler) -> Result<()> {
    let (scheduler, patterns): (_, &[&str]) = match engine {
        Scheduler::Slurm => ("Slurm", &["%", "\\"]),
        Scheduler::Hq => ("HyperQueue", &["%{"]),
    };
    let text = text_of(run)?;
    match patterns.iter().find(|pattern| text.contains(**pattern)) {
        None => Ok(()),
        Some(pattern) => {
            Err(Error::usage(format!("'{pattern}' in the path, which {scheduler} replaces in the names of its logs"))
                .at(run)
                .advice("rename the directory"))
        }
    }
}

/// Quotes `text` as one word of a shell.
pub fn for_shell(text: &str) -> String {
    if text.chars().all(|letter| letter.is_alphanumeric() || PLAIN.contains(letter)) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a string for TOML and Python: as in JSON, except for one control character.
fn for_toml(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\x7f', r"\u007f")
}

#[cfg(test)]
mod tests;
