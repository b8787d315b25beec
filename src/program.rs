//! What the program of this package uses besides the library's interface: jobs made from tables of options, the trait [`Engine`] that
//! carries them out, and reports as text. It is no part of that interface and changes without notice.

pub use crate::bench::child::{follow_parent, serve};
pub use crate::cluster::{Cluster, Scheduler, USUAL_CPUS, USUAL_GPUS};
pub use crate::count::method::{Choice, Method};
pub use crate::engine::Engine;
pub use crate::execute::directories::rates;
pub use crate::generate::{Family, SUFFIXES, StarKind, parse_leaves};
pub use crate::job::file::{
    CacheTable, InputTable, MetisTable, OutputTable, PartitionTable, RunTable, SpillTable, Tables, WorkTable,
};
pub use crate::job::job::STANDARD_INPUT;
pub use crate::job::overrides::Override;
pub use crate::job::schema::schema;
pub use crate::job::{Batch, BatchJob, Job, Mode, Parts, Prepare, SpillTo, suggest};
pub use crate::paths::Paths;
pub use crate::pipeline::Pipeline;
pub use crate::report::batch::{SummaryLine, summary};
#[cfg(feature = "testing")]
pub use crate::report::bench::example::example;
pub use crate::report::failure::{Failure, kind_name};
pub use crate::report::json::unwritten;
pub use crate::report::table::{TableColumn, grid, or_dash, seconds, thousands};
pub use crate::report::{
    BenchReport, CacheReport, ClusterReport, DoctorReport, GenerateReport, InputReport, PartitionReport,
    PlannedPartition, PreparedReport, ShardReport, VerifyReport, bench_table, files, json, json_text, plan,
    result_table, views,
};
pub use crate::request::{
    BenchGraph, BenchRequest, ClusterRequest, DoctorRequest, GenerateRequest, InspectRequest, RemoveRequest,
};
pub use crate::run_dir::with_resume_advice;
pub use crate::shards::ShardChoice;
pub use trimill_input::{ColumnNames, Header};
pub use trimill_system::control::{NOTE, Silent};
pub use trimill_system::machine::own_process;
pub use trimill_system::mapped::{end_at_once, report_failed_reads};
pub use trimill_system::text::{printable, shown};
pub use trimill_system::threads::{WORKER, guarded};

/// What jobs read and write.
pub mod paths {
    pub use crate::paths::check;
}

/// Files that the program writes itself.
pub mod disk {
    pub use trimill_system::disk::{file_of_output, make_dir, write_outputs};
}
