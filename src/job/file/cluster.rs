//! The settings of a cluster that counts a job: `[job.cluster]`, and the flags of `trimill cluster`.

use std::num::NonZeroU32;

#[cfg(feature = "cli")]
use clap::Args;
#[cfg(feature = "cli")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(feature = "cli")]
use crate::job::typed::{self, budget};
#[cfg(feature = "cli")]
use crate::shards::MOST_SHARDS;
use trimill_system::Bytes;
use trimill_system::integers::whole;

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

/// `[job.cluster]`; the job is then prepared in its run directory, and scripts for the scheduler are written there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(Args, JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", command(next_help_heading = "Tasks"))]
pub struct ClusterTable {
    /// The scheduler: slurm | hq [default: none, the job is counted at once]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub engine: Option<Scheduler>,
    /// How many tasks count [default: as many as the job was prepared for, or has partitions]
    #[cfg_attr(feature = "cli", schemars(range(min = 1, max = MOST_SHARDS)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = typed::from_one::<NonZeroU32>))]
    pub shards: Option<NonZeroU32>,
    /// GPUs of a task; 0: its cores count [default: 1]
    #[cfg_attr(feature = "cli", schemars(range(max = 4_294_967_295_u32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub gpus_per_task: Option<u32>,
    /// Cores of a task [default: 4]
    #[cfg_attr(feature = "cli", schemars(range(min = 1, max = 4_294_967_295_u32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = typed::from_one::<NonZeroU32>))]
    pub cpus_per_task: Option<NonZeroU32>,
    /// The most time of a task, such as 4:00:00 [default: the cluster's]
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$")))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME"))]
    pub time: Option<String>,
    /// The partition of the cluster [default: its own]
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$")))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub partition: Option<String>,
    /// The account that is charged [default: the user's]
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$")))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub account: Option<String>,
    /// The host's memory of a task, such as 64GiB; three quarters are its budget [default: 4 GiB a core, and the partitions' memory where cores count]
    #[cfg_attr(feature = "cli", schemars(schema_with = "budget"))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "BYTES"))]
    pub memory: Option<Bytes>,
    /// The most tasks that count at a time [default: all]
    #[cfg_attr(feature = "cli", schemars(range(min = 1, max = 4_294_967_295_u32)))]
    #[serde(deserialize_with = "whole")]
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = typed::from_one::<NonZeroU32>))]
    pub at_once: Option<NonZeroU32>,
    /// Lines for the script that counts, as they are: directives such as '#SBATCH --qos=long', or commands such as 'module load cuda'
    #[cfg_attr(feature = "cli", schemars(inner(regex(pattern = r"^[^\-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"))))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LINE", help = typed::SBATCH))]
    pub sbatch: Option<Vec<String>>,
    /// The most time of the merge [default: 1:00:00; where trusses are found, that of a task]
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$")))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", help_heading = "Merge"))]
    pub merge_time: Option<String>,
    /// The partition of the cluster that merges [default: that of the tasks]
    #[cfg_attr(feature = "cli", schemars(regex(pattern = r"^[A-Za-z0-9_./,:+@=-]+$")))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", help_heading = "Merge"))]
    pub merge_partition: Option<String>,
    /// Lines for the script that merges, such as those of `sbatch`
    #[cfg_attr(feature = "cli", schemars(inner(regex(pattern = r"^[^\-\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"))))]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LINE", help_heading = "Merge", help = typed::MERGE_SBATCH))]
    pub merge_sbatch: Option<Vec<String>>,
}
