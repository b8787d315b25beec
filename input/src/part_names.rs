//! Names of files that are not part of a graph, or not whole.

use std::path::{Path, PathBuf};

use trimill_system::url::public;
use trimill_system::{Error, Result};

/// Whether a file is a marker of the program that wrote the others (`_SUCCESS`); a directory named after a column value is not.
pub(super) fn is_note(name: &[u8]) -> bool {
    name.starts_with(b".") || name.starts_with(b"_") && !name.contains(&b'=')
}

/// The error if `path` is the log of a table's versions: the table's folder may also have files with removed rows.
pub(super) fn keeps_versions(path: &Path) -> Option<Error> {
    let kind = match path.file_name()?.to_str()? {
        "_delta_log" => "Delta Lake",
        ".hoodie" => "Apache Hudi",
        name if name.ends_with(".metadata.json") && path.parent()?.ends_with("metadata") => "Apache Iceberg",
        _ => return None,
    };
    Some(
        Error::data(path, format!("is of a table of {kind}, whose folder may also have files with removed rows"))
            .expected("a directory with files of one graph")
            .advice("write the table's current rows to other files, and name these"),
    )
}

/// Refuses files with the names that programs give to downloads that have not finished and, of several files, to copies: their edges would be there
/// twice, or from before a change.
pub(super) fn check_whole(files: &[PathBuf]) -> Result<()> {
    let has_suffix = |file: &PathBuf, suffixes: &[&str]| {
        file.extension().is_some_and(|suffix| suffixes.iter().any(|other| suffix.eq_ignore_ascii_case(other)))
    };
    let is_unfinished = |file: &&PathBuf| has_suffix(file, &["part", "partial", "crdownload", "filepart", "aria2"]);
    if let Some(file) = files.iter().find(is_unfinished) {
        return Err(Error::data(public(file), "by its name a download that has not finished")
            .expected("a whole file")
            .advice("finish the download; if the file is whole, rename it, or name its --format"));
    }
    let is_copy = |file: &&PathBuf| {
        has_suffix(file, &["bak", "orig", "tmp", "swp"]) || file.as_os_str().as_encoded_bytes().ends_with(b"~")
    };
    match files.iter().find(is_copy).filter(|_| files.len() > 1) {
        Some(file) => Err(Error::data(public(file), "by its name a backup or temporary copy, among other files")
            .expected("each edge in one file")
            .advice("remove it; if it belongs to the graph, rename it, or name its --format")),
        None => Ok(()),
    }
}
