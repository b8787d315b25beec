//! Scripts that have the shards of a prepared job counted by a scheduler, and merged afterwards.
//!
//! Input: a run directory, and what each task gets. Output: files in that directory, which a user can read and change, and the command that
//! submits them. The templates are in `src/cluster/`, each of them a file as the scheduler reads it: `@NAME@` stands for a value, and a
//! line whose value was not given is left out.

mod template;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

#[cfg(feature = "cli")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::ClusterReport;
use crate::shards;
use template::TemplateValues;
use trimill_system::disk;
use trimill_system::error::{Error, Result};

/// A scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Slurm.
    Slurm,
    /// HyperQueue.
    Hq,
}

/// What a job asks of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The scheduler.
    pub engine: Scheduler,
    /// How many tasks count; none: as many as the job was prepared for.
    pub shards: Option<NonZeroU32>,
    /// GPUs of a task; 0: the CPU counts.
    pub gpus_per_task: u32,
    /// Cores of a task.
    pub cpus_per_task: NonZeroU32,
    /// The most time of a task, as Slurm writes it.
    pub time: Option<String>,
    /// The partition of the cluster.
    pub partition: Option<String>,
    /// The account that is charged.
    pub account: Option<String>,
    /// The host's memory of a task, as Slurm writes it.
    pub memory: Option<String>,
}

/// GPUs of a task, where the user does not say.
pub const USUAL_GPUS: u32 = 1;
/// Cores of a task, where the user does not say.
pub const USUAL_CPUS: NonZeroU32 = NonZeroU32::new(4).unwrap();

impl Cluster {
    /// Tasks with the usual resources.
    pub fn new(engine: Scheduler) -> Self {
        Self {
            engine,
            shards: None,
            gpus_per_task: USUAL_GPUS,
            cpus_per_task: USUAL_CPUS,
            time: None,
            partition: None,
            account: None,
            memory: None,
        }
    }

    /// Refuses more shards than there may be, and values that scripts would misread.
    pub fn check(&self) -> Result<()> {
        let values = [
            ("time", &self.time),
            ("partition", &self.partition),
            ("account", &self.account),
            ("memory", &self.memory),
        ];
        self.shards.map_or(Ok(()), shards::check)?;
        values.into_iter().try_for_each(|(name, value)| {
            value.as_ref().map_or(Ok(()), |value| plain(name, value, |letter| letter.is_ascii_alphanumeric()))
        })
    }
}

/// Writes the files for `shards` shards of the job in `run`, counted by `program`.
pub fn write(cluster: &Cluster, run: &Path, program: &Path, shards: NonZeroU32) -> Result<ClusterReport> {
    cluster.check()?;
    let [run, program] = [run, program].map(|path| {
        let path = std::path::absolute(path).map_err(|error| Error::write(path, error))?;
        let text = path.display().to_string();
        plain("the path", &text, char::is_alphanumeric).map(|()| text)
    });
    let (run, program) = (run?, program?);
    let values = TemplateValues::new(cluster, &run, &program, shards);
    let (folder, files, command): (_, &[(&str, &str)], _) = match cluster.engine {
        Scheduler::Slurm => (
            "slurm",
            &[
                ("count.sbatch", include_str!("cluster/count.sbatch")),
                ("merge.sbatch", include_str!("cluster/merge.sbatch")),
                ("submit", include_str!("cluster/submit")),
            ],
            "sh @RUN@/slurm/submit",
        ),
        Scheduler::Hq => (
            "hq",
            &[("job.toml", include_str!("cluster/job.toml")), ("submit.py", include_str!("cluster/submit.py"))],
            "hq job submit-file @RUN@/hq/job.toml",
        ),
    };
    let folder = PathBuf::from(&run).join(folder);
    disk::make_dir(&folder)?;
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        disk::replace(&path, values.fill(text).as_bytes())?;
        written.push(path);
    }
    let without_hq = (cluster.engine == Scheduler::Hq).then(|| values.fill("python3 @RUN@/hq/submit.py"));
    let commands = std::iter::once(values.fill(command)).chain(without_hq);
    Ok(ClusterReport::new(
        PathBuf::from(run),
        shards,
        written,
        commands.map(|command| command.trim_end().into()).collect(),
    ))
}

/// Characters that a shell, a TOML file and Slurm's patterns read as they are.
const PLAIN: &str = "_./,:+@=-";

/// Refuses other ones; those of paths may be letters of any alphabet.
fn plain(what: &str, text: &str, letters: fn(char) -> bool) -> Result<()> {
    match text.chars().find(|&letter| !letters(letter) && !PLAIN.contains(letter)) {
        None if !text.is_empty() => Ok(()),
        found => {
            let found = found.map_or_else(|| "is empty".into(), |letter| format!("has the character '{letter}'"));
            Err(Error::usage(format!("{what} '{text}' {found}, which job scripts may misread"))
                .expected(format!("letters, digits and {PLAIN}")))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(cluster: &Cluster, shards: u32) -> (tempfile::TempDir, ClusterReport) {
        let dir = tempfile::Builder::new().prefix("run").tempdir().unwrap();
        let report =
            write(cluster, dir.path(), Path::new("/usr/bin/trimill"), NonZeroU32::new(shards).unwrap()).unwrap();
        (dir, report)
    }

    #[test]
    fn every_value_is_filled_in_and_lines_without_one_are_left_out() {
        for engine in [Scheduler::Slurm, Scheduler::Hq] {
            let all = Cluster {
                time: Some("1:00:00".into()),
                partition: Some("gpu".into()),
                account: Some("graphs".into()),
                memory: Some("64G".into()),
                ..Cluster::new(engine)
            };
            let none = Cluster { gpus_per_task: 0, ..Cluster::new(engine) };
            for cluster in [all, none] {
                let (dir, report) = written(&cluster, 3);
                let texts: Vec<String> =
                    report.files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
                for text in &texts {
                    assert!(text.lines().all(|line| line.matches('@').count() < 2), "{text}");
                }
                let all = texts.concat();
                assert!(all.contains(&dir.path().display().to_string()));
                if engine == Scheduler::Slurm {
                    let given = cluster.time.is_some();
                    for option in ["--time=1:00:00", "--partition=gpu", "--account=graphs", "--mem=64G", "--gres=gpu:1"]
                    {
                        assert_eq!(all.contains(option), given, "{option}");
                    }
                    assert!(all.contains("--array=0-2"));
                } else {
                    let file: toml::Table = texts[0].parse().unwrap();
                    assert_eq!(file["task"].as_array().unwrap().len(), 4);
                    assert_eq!(all.contains("gpus/nvidia\" = "), cluster.gpus_per_task > 0);
                    let last = &file["task"][3];
                    assert_eq!(last["deps"].as_array().unwrap().len(), 3);
                }
            }
        }
    }

    #[test]
    fn a_path_is_not_looked_into_and_arrives_as_it_is() {
        let names = [
            "RUN",
            "PROGRAM",
            "SHARDS",
            "LAST",
            "IDS",
            "GPUS",
            "GPUS_OR_0",
            "ON",
            "ON_LIST",
            "CPUS",
            "TIME",
            "PARTITION",
            "ACCOUNT",
            "MEMORY",
            "SHARD",
            "TASKS",
            "OTHER",
        ];
        let folders =
            names.map(|name| format!("@{name}@")).into_iter().chain([format!("\u{e9}{PLAIN}").replace('/', "")]);
        let dir = tempfile::Builder::new().prefix("run").tempdir().unwrap();
        for folder in folders {
            let run = dir.path().join(folder).join("x");
            std::fs::create_dir_all(&run).unwrap();
            let [program, shown] = [run.join("program"), run.clone()].map(|path| path.display().to_string());
            for engine in [Scheduler::Slurm, Scheduler::Hq] {
                let cluster = Cluster { gpus_per_task: 0, ..Cluster::new(engine) };
                let shards = NonZeroU32::new(2).unwrap();
                let report = write(&cluster, &run, Path::new(&program), shards).unwrap();
                assert!(report.commands.iter().all(|command| command.contains(&shown)), "{:?}", report.commands);
                if engine == Scheduler::Hq {
                    let text = |name: &str| std::fs::read_to_string(run.join("hq").join(name)).unwrap();
                    let file: toml::Table = text("job.toml").parse().unwrap();
                    let tasks = file["task"].as_array().unwrap();
                    assert_eq!(tasks.len(), 3);
                    for task in tasks {
                        let words: Vec<&str> =
                            task["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
                        assert!(words[0] == program && words.contains(&&shown[..]), "{words:?}");
                        assert_eq!(task["cwd"].as_str().unwrap(), format!("{shown}/hq"));
                    }
                    assert!(text("submit.py").contains(&format!("run = \"{shown}\"\n")));
                    continue;
                }
                // The words that a shell makes of the scripts: the program prints those that it is called with.
                std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\"\n").unwrap();
                std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
                for (script, words) in [("count.sbatch", 4), ("merge.sbatch", 3)] {
                    let bash = "srun() { shift 3; /bin/sh \"$@\"; }; . \"$0\"";
                    let mut command = std::process::Command::new("bash");
                    command.env("SLURM_ARRAY_TASK_ID", "1").env("SLURM_CPUS_PER_TASK", "3");
                    let output = command.args(["-c", bash]).arg(run.join("slurm").join(script)).output().unwrap();
                    let said = String::from_utf8(output.stdout).unwrap();
                    let said: Vec<&str> = said.lines().collect();
                    assert!(
                        said.len() >= words && said[0] == program && said.contains(&&shown[..]),
                        "{script}: {said:?}"
                    );
                    let folder = format!("\n#SBATCH --chdir={shown}/slurm\n");
                    assert!(std::fs::read_to_string(run.join("slurm").join(script)).unwrap().contains(&folder));
                }
            }
        }
    }

    #[test]
    fn what_scripts_would_misread_is_refused() {
        let shards = NonZeroU32::MIN;
        let cluster = Cluster::new(Scheduler::Slurm);
        let dir = tempfile::tempdir().unwrap();
        let error = write(&cluster, &dir.path().join("my run"), Path::new("trimill"), shards).unwrap_err();
        assert!(error.to_string().contains("character ' '"), "{error}");
        let cluster = Cluster { partition: Some("a;rm".into()), ..cluster };
        let error = write(&cluster, dir.path(), Path::new("trimill"), shards).unwrap_err();
        assert!(error.to_string().contains("partition 'a;rm'"), "{error}");
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none());
    }
}
