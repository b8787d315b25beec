//! What the program of this package uses besides the library's interface: jobs made from tables of options, what each command does
//! ([`execute`]), and reports as text. It is no part of that interface and changes without notice.

pub use crate::bench::child::serve;
pub use crate::cluster::for_shell;
pub use crate::count::method::{Choice, Method};
pub use crate::front::key_of;
pub use crate::job::file::{ClusterTable, InputTable, RunTable, Scheduler, Tables};
pub use crate::job::job::STANDARD_INPUT;
pub use crate::job::overrides::Override;
#[cfg(feature = "cli")]
pub use crate::job::schema::schema;
#[cfg(feature = "cli")]
pub use crate::job::typed::{from_one, html};
pub use crate::job::{BatchJob, Job, Mode, Prepare, batch, suggest};
pub use crate::paths::Paths;
pub use crate::rates::{ArcRates, Rates};
pub use crate::report::failure::{Failure, kind_name};
pub use crate::report::page::{EarlierResult, PageEntry, ResultKind};
pub use crate::report::{files, json, views};
pub use crate::run_dir::with_resume_advice;
pub use crate::shards::ShardChoice;
#[cfg(feature = "cli")]
pub use trimill_generate::{Family, RowArcs, SUFFIXES};
pub use trimill_system::control::{NOTE, Silent};
#[cfg(feature = "cli")]
pub use trimill_system::machine::{cores, own_process};
#[cfg(feature = "cli")]
pub use trimill_system::mapped::{end_at_once, report_failed_reads};
pub use trimill_system::text::{plural, printable, shown};
pub use trimill_system::threads::{WORKER, guarded};
pub use trimill_system::{lock, unpoisoned};

/// What commands report, as values.
pub mod report {
    pub use crate::report::*;
}

/// What each command does. A function that takes a [`Control`](crate::Control) stops soon after it was asked to, with
/// [`Kind::Interrupted`](crate::Kind::Interrupted), and leaves no files behind.
pub mod execute {
    pub use crate::bench::{BenchGraph, BenchRequest, bench};
    pub use crate::execute::cache;
    pub use crate::execute::cluster::{check_scripts, cluster};
    pub use crate::execute::count::count;
    #[cfg(feature = "cli")]
    pub use crate::execute::doctor::doctor;
    #[cfg(feature = "cli")]
    pub use crate::execute::generate::{GenerateRequest, generate};
    pub use crate::execute::inspect::inspect;
    pub use crate::execute::merge::merge;
    pub use crate::execute::partition::partition;
    pub use crate::execute::plan::plan;
    pub use crate::execute::prepare::prepare;
    pub use crate::execute::shard::shard;
    pub use crate::execute::verify::verify;
    pub use trimill_system::child::Helper;
}

/// What jobs read and write.
pub mod paths {
    pub use crate::paths::check;
}

/// Files that the program writes itself.
pub mod disk {
    pub use trimill_system::disk::{file_of_output, write_outputs};
}
