//! The shard of a process, from the variables that schedulers and launchers set.

use std::num::NonZeroU32;

use super::Shard;
use trimill_system::{Error, Result};

/// The variable that says how many shards there are, for schedulers that do not.
pub const COUNT: &str = "TRIMILL_SHARDS";

const ADVICE: &str = "name the shard, such as --shard 0/16";

struct SchedulerVariables {
    name: &'static str,
    index: &'static str,
    /// The variables of the least index and the step, if these are not 0 and 1.
    first: Option<(&'static str, &'static str)>,
    /// The variable of the number of shards, if the scheduler has one.
    count: Option<&'static str>,
}

/// In order of precedence: a worker of HyperQueue may be a task of an array, and a task of an array may have a rank.
const SCHEDULERS: [SchedulerVariables; 6] = [
    SchedulerVariables { name: "HyperQueue", index: "HQ_TASK_ID", first: None, count: None },
    SchedulerVariables {
        name: "a Slurm array",
        index: "SLURM_ARRAY_TASK_ID",
        first: Some(("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP")),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
    },
    SchedulerVariables { name: "an indexed Kubernetes job", index: "JOB_COMPLETION_INDEX", first: None, count: None },
    SchedulerVariables {
        name: "Open MPI",
        index: "OMPI_COMM_WORLD_RANK",
        first: None,
        count: Some("OMPI_COMM_WORLD_SIZE"),
    },
    SchedulerVariables { name: "PMI", index: "PMI_RANK", first: None, count: Some("PMI_SIZE") },
    SchedulerVariables { name: "Slurm", index: "SLURM_PROCID", first: None, count: Some("SLURM_NTASKS") },
];

/// This process's shard, and where it was found; `prepared`: the job's number of shards. `Kind::Usage`: no scheduler's variables, or contradictions.
pub fn shard(variable: impl Fn(&str) -> Option<String>, prepared: Option<NonZeroU32>) -> Result<(Shard, String)> {
    let Some(scheduler) = SCHEDULERS.iter().find(|scheduler| variable(scheduler.index).is_some()) else {
        let names = SCHEDULERS.map(|scheduler| scheduler.index).join(", ");
        return Err(Error::usage("--shard auto, and no scheduler's variables are set")
            .expected(format!("one of {names}"))
            .advice(ADVICE));
    };
    let wrong = |name: &str, text| Error::usage(format!("{name} is '{text}'")).expected("a number").advice(ADVICE);
    let number = |name: &str| match variable(name) {
        None => Ok(None),
        Some(text) => text.trim().parse::<u32>().map(Some).map_err(|_| wrong(name, text)),
    };
    let given = match scheduler.count.into_iter().chain([COUNT]).find(|name| variable(name).is_some()) {
        Some(name) => number(name)?.map(|count| (count, name)),
        None => prepared.map(|shards| (shards.get(), "trimill prepare --shards")),
    };
    let Some((count, from)) = given else {
        return Err(Error::usage(format!("{} does not say how many shards there are", scheduler.name))
            .expected(format!("{COUNT}, or a job prepared with --shards"))
            .advice(ADVICE));
    };
    let (first, step) = match scheduler.first {
        Some((first, step)) => (number(first)?.unwrap_or(0), number(step)?.unwrap_or(1).max(1)),
        None => (0, 1),
    };
    let id = number(scheduler.index)?.unwrap_or_default();
    let index = id.checked_sub(first).filter(|past| past % step == 0).map(|past| past / step);
    let shard = index.zip(NonZeroU32::new(count)).and_then(|(index, count)| Shard::new(index, count));
    let Some(shard) = shard else {
        return Err(Error::usage(format!("{} is {id}, and {from} is {count}", scheduler.index))
            .expected("a number for each shard, from the first on")
            .advice(format!("{ADVICE}; a part of an array that is submitted again has other numbers")));
    };
    Ok((shard, format!("{} of {}, and {from}", scheduler.index, scheduler.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)], prepared: Option<u32>) -> Result<(String, String)> {
        let variable = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.to_string());
        shard(variable, prepared.and_then(NonZeroU32::new)).map(|(shard, from)| (shard.to_string(), from))
    }

    #[test]
    fn the_first_scheduler_that_is_there_names_the_shard() {
        let array = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_COUNT", "4"), ("SLURM_ARRAY_TASK_MIN", "5")];
        let ranks = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("PMI_RANK", "0"), ("PMI_SIZE", "3")];
        for (variables, prepared, expected) in [
            (&array[..], None, "2/4"),
            (&[array[0], array[1], array[2], ("SLURM_ARRAY_TASK_STEP", "2")], None, "1/4"),
            (&[&array[..], &ranks].concat(), None, "2/4"),
            (&ranks, None, "0/3"),
            (&ranks[..2], None, "1/2"),
            (&[("HQ_TASK_ID", "3")], Some(8), "3/8"),
            (&[("HQ_TASK_ID", "3"), array[0], array[1], array[2]], Some(8), "3/8"),
            (&[("HQ_TASK_ID", "3"), (COUNT, "5")], Some(8), "3/5"),
            (&[("JOB_COMPLETION_INDEX", "0"), ("SLURM_PROCID", "1")], Some(2), "0/2"),
            (&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ranks[2], ranks[3]], Some(9), "1/2"),
        ] {
            let (shard, from) = found(variables, prepared).unwrap();
            assert_eq!(shard, expected, "{variables:?}");
            assert!(variables.iter().any(|(name, _)| from.starts_with(name)), "{from}");
        }
    }

    #[test]
    fn what_names_no_shard_is_refused() {
        let again = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_COUNT", "2"), ("SLURM_ARRAY_TASK_MIN", "3")];
        for (variables, prepared, word) in [
            (&[][..], Some(3), "no scheduler"),
            (&[("HQ_TASK_ID", "3")], None, "how many"),
            (&[("HQ_TASK_ID", "3")], Some(3), "HQ_TASK_ID is 3, and trimill prepare --shards is 3"),
            (&[("PMI_RANK", "x"), ("PMI_SIZE", "2")], None, "PMI_RANK is 'x'"),
            (&[("PMI_RANK", "0"), ("PMI_SIZE", "0")], None, "PMI_SIZE is 0"),
            (&again, None, "submitted again"),
        ] {
            let error = found(variables, prepared).unwrap_err();
            assert_eq!(error.kind(), trimill_system::error::Kind::Usage);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
