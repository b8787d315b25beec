//! What `trimill doctor` does: surveys the machine, and measures its rates if asked to.

use std::path::Path;

use super::measure::{measure, measured_scale};
use super::survey::survey;
use crate::cache;
use crate::report::DoctorReport;
use trimill_system::disk::temporary_folder;
use trimill_system::{Control, Error, Result};

/// Surveys the machine; `measures`: a graph is counted in several ways, in `work_dir`, and the rates are stored in the cache directory.
pub fn doctor(
    work_dir: Option<&Path>,
    cache_dir: Option<&Path>,
    measures: bool,
    control: &Control,
) -> Result<DoctorReport> {
    if measures {
        let none = || Error::usage("no cache directory for the rates").advice("name one with --cache-dir");
        let cache = cache::cache_dir(cache_dir).ok_or_else(none)?;
        let work = work_dir.map_or_else(temporary_folder, Path::to_path_buf);
        measure(measured_scale(), &work, control)?.store(&cache)?;
    }
    Ok(survey(work_dir, cache_dir))
}
