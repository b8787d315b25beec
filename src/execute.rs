//! Runs a job: the stages one after another, or at the same time where they can overlap.
//!
//! Enters: a resolved [job](crate::job::Job). Leaves: its result. One place ([`setup`]) turns a job's settings into threads, budgets,
//! directories and a backend; [`graph`] takes the input to the oriented graph; [`build`] makes spills, bounded in how far
//! it runs ahead; `counting` counts them on one device or several; [`count`] and [`partition`] are what `trimill count` and `trimill partition` do, [`plan`] what
//! `trimill plan` does.

pub mod batch;
pub mod build;
pub mod building;
pub mod cache;
pub mod count;
mod counting;
pub mod doctor;
pub mod generate;
pub mod graph;
mod host;
pub mod inspect;
mod kept;
pub mod machine;
mod measure;
pub mod partition;
pub mod plan;
mod planned;
mod queue;
mod reserve;
mod results;
mod room;
pub mod setup;
pub mod spill_dir;
mod stage_times;
pub mod verify;
mod whole;
mod workers;
