//! The files of `--output DIR`: `result.json` and `partitions.tsv`; either both are written or neither.

use std::path::Path;

use serde::Serialize;

use super::RunResult;
use super::partitions::{PartitionFigures, TableOfPartitions, columns};
use crate::job::Mode;
use trimill_system::disk::{self, NewFile};
use trimill_system::{Error, Result};

/// The names of the files.
pub const NAMES: [&str; 2] = [PARTITIONS, RESULT];
const RESULT: &str = "result.json";
const PARTITIONS: &str = "partitions.tsv";

/// Makes `dir` and checks that it can be written, so that a long job does not fail at its end.
pub fn prepare(dir: &Path) -> Result<()> {
    disk::make_dir(dir)?;
    NewFile::create(dir, ".trimill-", disk::PRIVATE).map(drop)
}

/// Makes `dir` and checks that a result can be written into it.
pub fn prepare_result(dir: &Path) -> Result<()> {
    disk::make_dir(dir)?;
    NAMES.into_iter().try_for_each(|name| disk::check_output(&dir.join(name)))
}

/// Writes both files, or neither, into `dir`, which is made if missing. Errors: `Kind::Resource`; older files then stay as they were.
pub fn write(dir: &Path, result: &RunResult) -> Result<()> {
    disk::make_dir(dir)?;
    let (tsv, json) = (dir.join(PARTITIONS), dir.join(RESULT));
    let (partitions, whole) = (partitions_tsv(&result.partitions), pretty(&json, result)?);
    disk::write_outputs(&[(&tsv, partitions.as_bytes()), (&json, whole.as_bytes())])
}

/// Indented JSON; `file` is named in errors.
pub fn pretty(file: &Path, report: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Error::write(file, error.into()))?;
    Ok(text + "\n")
}

fn partitions_tsv(partitions: &[PartitionFigures]) -> String {
    let of_file = || columns(TableOfPartitions::File, Mode::Spilled);
    let line = |cells: Vec<String>| cells.join("\t") + "\n";
    let row = |partition| line(of_file().map(|column| (column.cell)(partition).plain()).collect());
    line(of_file().map(|column| column.name.to_owned()).collect()) + &partitions.iter().map(row).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::result::example::example;
    use trimill_system::error::Kind;

    #[test]
    fn the_columns_are_the_fields_of_the_json() {
        let result = example(2);
        let tsv = partitions_tsv(&result.partitions);
        let lines: Vec<Vec<&str>> = tsv.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), 3);
        for (line, partition) in lines[1..].iter().zip(&result.partitions) {
            let fields: Vec<String> =
                lines[0].iter().zip(line).map(|(name, value)| format!("\"{name}\":{value}")).collect();
            let json = serde_json::to_string(partition).unwrap();
            // Both formats write 0.5 alike; whole seconds have `.0` in JSON only, hence the example's quarters.
            assert_eq!(format!("{{{}}}", fields.join(",")), json);
        }
    }

    #[test]
    fn a_directory_that_is_a_file_is_a_resource_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(write(file.path(), &example(1)).unwrap_err().kind(), Kind::Resource);
        assert_eq!(prepare(file.path()).unwrap_err().kind(), Kind::Resource);
    }
}
