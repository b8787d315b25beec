//! Runs a resolved [job](crate::job::Job): its stages in order, overlapped where they can be. [`session`] turns settings into threads, budgets,
//! directories and devices; [`graph`] prepares the oriented graph; `planned` makes the plan; [`building`] builds spills a bounded number ahead of
//! `counting`, on one device or several. Each command has a file.

mod absent;
mod assign;
mod backends;
pub mod building;
pub mod cache;
mod chosen;
pub mod cluster;
pub mod count;
mod count_memory;
mod counting;
mod details;
mod device;
mod directions;
mod directories;
mod disk_needs;
#[cfg(feature = "cli")]
pub mod doctor;
mod edge_shares;
mod edges;
mod estimates;
#[cfg(feature = "cli")]
pub mod generate;
pub mod graph;
mod host;
mod host_of_gpus;
pub mod inspect;
mod kept;
#[cfg(feature = "cli")]
mod measure;
pub mod merge;
mod more_memory;
mod opening;
mod part_counts;
pub mod partition;
pub mod plan;
mod planned;
mod planning;
pub mod prepare;
mod queue;
mod recorded_plan;
mod reserve;
mod results;
pub mod session;
pub mod shard;
pub mod spill_dir;
mod spilled;
mod stage_times;
pub mod survey;
pub mod verify;
mod vertices;
mod work;
mod workers;
