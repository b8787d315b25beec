//! What `trimill doctor` does: surveys the machine, and measures its rates if asked to.

use std::path::PathBuf;

use super::directories::default_cache_dir;
use super::measure::{measure, measured_scale};
use super::survey::survey;
use crate::report::DoctorReport;
use trimill_system::disk::temporary_folder;
use trimill_system::{Control, Error, Result};

/// What `trimill doctor` is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorRequest {
    /// The directory that a job would work in, and where spills go while rates are measured.
    pub work_dir: Option<PathBuf>,
    /// The directory of the cache.
    pub cache_dir: Option<PathBuf>,
    /// Whether rates are to be measured.
    pub measure: bool,
}

/// Surveys the machine; with `measure` a graph is counted in several ways, and the rates are stored in the cache directory.
pub fn doctor(request: &DoctorRequest, control: &Control) -> Result<DoctorReport> {
    if request.measure {
        let cache = request.cache_dir.clone().or_else(default_cache_dir);
        let cache = cache
            .ok_or_else(|| Error::usage("no cache directory for the rates").advice("name one with --cache-dir"))?;
        let work = request.work_dir.clone().unwrap_or_else(temporary_folder);
        measure(measured_scale(), &work, control)?.store(&cache)?;
    }
    Ok(survey(request.work_dir.as_deref(), request.cache_dir.as_deref()))
}
