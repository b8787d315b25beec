//! Templates: `@NAME@` stands for a value; a line whose value was not given is left out.

use std::num::NonZeroU32;

use super::Cluster;

pub(super) struct TemplateValues(Vec<(&'static str, Option<String>)>);

/// A task that counts a shard, in a job file of HyperQueue.
const TASK: &str = include_str!("task.toml");

/// The options that say what counts: with GPUs nothing else, so that a task whose GPU is missing fails instead of counting slowly.
fn on(gpus: u32) -> Vec<&'static str> {
    match gpus {
        0 => vec!["--backend", "cpu"],
        1 => vec!["--backend", "cuda"],
        _ => vec!["--backend", "cuda", "--devices", "all"],
    }
}

impl TemplateValues {
    pub(super) fn new(cluster: &Cluster, run: &str, program: &str, shards: NonZeroU32) -> Self {
        let gpus = cluster.gpus_per_task;
        let ids = (0..shards.get()).map(|id| id.to_string()).collect::<Vec<_>>().join(", ");
        let mut values = Self(vec![
            ("RUN", Some(run.into())),
            ("PROGRAM", Some(program.into())),
            ("SHARDS", Some(shards.to_string())),
            ("LAST", Some((shards.get() - 1).to_string())),
            ("IDS", Some(ids)),
            ("GPUS", (gpus > 0).then(|| gpus.to_string())),
            ("GPUS_OR_0", Some(gpus.to_string())),
            ("ON", Some(on(gpus).join(" "))),
            ("ON_LIST", Some(on(gpus).iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))),
            ("CPUS", Some(cluster.cpus_per_task.to_string())),
            ("TIME", cluster.time.clone()),
            ("PARTITION", cluster.partition.clone()),
            ("ACCOUNT", cluster.account.clone()),
            ("MEMORY", cluster.memory.clone()),
        ]);
        let of_shard = |shard: u32| {
            values.0.push(("SHARD", Some(shard.to_string())));
            let task = values.fill(TASK);
            values.0.pop();
            task
        };
        let tasks = (0..shards.get()).map(of_shard).collect();
        values.0.push(("TASKS", Some(tasks)));
        values
    }

    pub(super) fn fill(&self, template: &str) -> String {
        template.lines().filter_map(|line| self.line(line)).map(|line| line + "\n").collect()
    }

    /// The line with its values, which are not looked into: a path may have `@TIME@` in it. None where a value was not given.
    fn line(&self, line: &str) -> Option<String> {
        let (mut filled, mut rest) = (String::with_capacity(line.len()), line);
        while let Some(at) = rest.find('@') {
            let (before, from) = rest.split_at(at);
            filled.push_str(before);
            let name = from[1..].split_once('@').map(|(name, _)| name);
            let value = name.and_then(|name| self.0.iter().find(|(known, _)| *known == name));
            match value {
                Some((name, value)) => {
                    filled.push_str(value.as_ref()?);
                    rest = &from[name.len() + 2..];
                }
                // An '@' of the template's own.
                None => {
                    filled.push('@');
                    rest = &from[1..];
                }
            }
        }
        Some(filled + rest)
    }
}
