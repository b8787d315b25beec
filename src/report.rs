//! Reports: the results of the commands as plain data, to be written, read and checked, as JSON and as HTML; the program formats them as tables.

pub mod bench;
pub mod cache;
pub mod doctor;
pub mod failure;
pub mod files;
pub mod generate;
pub mod json;
pub mod page;
pub mod partitions;
pub mod plan;
mod repeat;
pub mod result;
pub mod shards;
pub mod trace;
pub mod verify;
pub mod views;

pub use bench::BenchReport;
pub use cache::{CacheEntry, CacheReport};
pub use doctor::DoctorReport;
pub use failure::Failure;
pub use generate::GenerateReport;
pub use partitions::{CountedFigures, PartitionFigures, PartitionReport};
pub use plan::PlanReport;
pub use result::{DeviceResult, InputReport, RunResult, Stage};
pub use shards::{ClusterJobReport, ClusterReport, PreparedReport, ShardReport};
pub use verify::VerifyReport;

/// The version of the JSON objects; fields are added without raising it.
pub const SCHEMA_VERSION: u32 = 1;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Closed paths of three vertices as a share of all: `3 T / W`, and 0 where there are no wedges.
pub fn transitivity(triangles: u128, wedges: u128) -> f64 {
    if wedges == 0 { 0.0 } else { 3.0 * triangles as f64 / wedges as f64 }
}
