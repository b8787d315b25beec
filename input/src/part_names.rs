//! Names of files that are not part of a graph, or not whole.

use std::path::Path;

use trimill_system::Error;

/// Whether a file is a note of the program that wrote the others; a directory named after a value of a column is none.
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

/// Whether programs give such a name to a file whose download has not finished.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase());
    suffix.is_some_and(|suffix| ["part", "partial", "crdownload", "filepart", "aria2"].contains(&&*suffix))
}
