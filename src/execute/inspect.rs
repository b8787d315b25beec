//! What `trimill inspect` does: reports what a spill, or a directory of spills, holds.

use std::path::Path;

use serde_json::{Value, json};

use crate::report::SCHEMA_VERSION;
use trimill_partitioners::spill::{Manifest, SpillReader};
use trimill_system::control::{Control, Unit};
use trimill_system::url::is_url;
use trimill_system::{Error, Result};

/// Inspects a spill, or all spills of a manifest, which are then compared with it.
pub fn inspect(path: &Path, verify: bool, control: &Control) -> Result<Value> {
    if is_url(path) {
        return Err(Error::usage("a URL").at(path).expected("the path of a spill; only inputs are on servers"));
    }
    if !path.is_dir() {
        let spill = SpillReader::open(path, None)?;
        if verify {
            spill.verify(control)?;
        }
        return value(&spill.report(), path, verify);
    }
    let manifest = Manifest::read(path)?;
    let task = control.task("inspect", Some(manifest.partitions.len() as u64), Unit::Partitions);
    for partition in &manifest.partitions {
        let spill = manifest.open(path, partition)?;
        if verify {
            spill.verify(control)?;
        }
        task.advance(1);
    }
    value(&manifest, path, verify)
}

fn value(report: &impl serde::Serialize, path: &Path, verified: bool) -> Result<Value> {
    let mut value = serde_json::to_value(report)
        .map_err(|e| Error::data(path, format!("its report cannot be written as JSON: {e}")))?;
    if let Value::Object(fields) = &mut value {
        fields.insert("schema_version".into(), json!(SCHEMA_VERSION));
        fields.insert("verified".into(), json!(verified));
    }
    Ok(value)
}
