//! Templates: `@NAME@` stands for a value; a line whose value was not given is left out.

use super::{ClusterJob, USUAL_MERGE};
use crate::job::file::ClusterTable;

/// A value, by its name; none if it was not given.
pub(super) type TemplateValue = (&'static str, Option<String>);

/// The backend options: with GPUs only `cuda`, so that a task without its GPU fails instead of counting slowly.
fn on(gpus: u32) -> &'static str {
    match gpus {
        0 => "--backend cpu",
        1 => "--backend cuda",
        _ => "--backend cuda --devices all",
    }
}

fn lines(all: &Option<Vec<String>>, directives: bool) -> Option<String> {
    let some: Vec<&str> =
        all.iter().flatten().map(String::as_str).filter(|line| line.starts_with("#SBATCH") == directives).collect();
    (!some.is_empty()).then(|| some.join("\n"))
}

/// The values of all templates. `paths` has quoted paths by their names.
pub(super) fn values(
    cluster: &ClusterTable,
    job: ClusterJob,
    paths: [(&'static str, String); 3],
) -> Vec<TemplateValue> {
    let (memory, merge_memory, shards) = (job.mib_of_task(cluster), job.mib_of_merge(cluster), job.shards);
    let ClusterTable { time, partition, account, merge_time, merge_partition, .. } = cluster.clone();
    let gpus = cluster.gpus_per_task();
    let [asked, merge_asked] = [memory, merge_memory].map(|mib| cluster.memory.map(|_| mib.to_string()));
    let or_0 = |asked: &Option<String>| Some(asked.clone().unwrap_or_else(|| "0".into()));
    let at_once = cluster.at_once.map(|tasks| format!("%{tasks}"));
    let mut values: Vec<_> = paths.into_iter().map(|(name, path)| (name, Some(path))).collect();
    values.extend([
        ("SHARDS", Some(shards.to_string())),
        ("LAST", Some((shards.get() - 1).to_string())),
        ("AT_ONCE", Some(at_once.unwrap_or_default())),
        ("GPUS", (gpus > 0).then(|| gpus.to_string())),
        ("GPUS_OR_0", Some(gpus.to_string())),
        ("ON", Some(on(gpus).into())),
        ("CPUS", Some(cluster.cpus_per_task().to_string())),
        ("MEMORY_MIB", Some(memory.to_string())),
        ("HOST_MIB", Some((memory / 4 * 3).to_string())),
        ("ASKED_OR_0", or_0(&asked)),
        ("ASKED_MIB", asked),
        ("MERGE_MEMORY_MIB", Some(merge_memory.to_string())),
        ("MERGE_HOST_MIB", Some((merge_memory / 4 * 3).to_string())),
        ("MERGE_ASKED_OR_0", or_0(&merge_asked)),
        ("MERGE_ASKED_MIB", merge_asked),
        ("MERGE_TIME", merge_time.or_else(|| if job.peels { time.clone() } else { Some(USUAL_MERGE.into()) })),
        ("MERGE_PARTITION", merge_partition.or_else(|| partition.clone())),
        ("TIME", time),
        ("PARTITION", partition),
        ("ACCOUNT", account),
        ("DIRECTIVES", lines(&cluster.sbatch, true)),
        ("COMMANDS", lines(&cluster.sbatch, false)),
        ("MERGE_DIRECTIVES", lines(&cluster.merge_sbatch, true)),
        ("MERGE_COMMANDS", lines(&cluster.merge_sbatch, false)),
    ]);
    values
}

pub(super) fn fill(template: &str, values: &[TemplateValue]) -> String {
    template.lines().filter_map(|line| fill_line(line, values)).map(|line| line + "\n").collect()
}

/// The line with values filled in. An `@` inside a value is kept, since a path may contain `@TIME@`. None if a value was not given.
fn fill_line(line: &str, values: &[TemplateValue]) -> Option<String> {
    let (mut filled, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find('@') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let name = from[1..].split_once('@').map(|(name, _)| name);
        let value = name.and_then(|name| values.iter().find(|(known, _)| *known == name));
        match value {
            Some((name, value)) => {
                filled.push_str(value.as_ref()?);
                rest = &from[name.len() + 2..];
            }
            None => {
                filled.push('@');
                rest = &from[1..];
            }
        }
    }
    Some(filled + rest)
}
