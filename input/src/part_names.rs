//! Names of files that are not part of a graph, or not whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
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

/// Refuses files named like unfinished downloads or, among several files, like copies: their edges would be there twice, or from before a change.
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
        has_suffix(file, &["bak", "old", "orig", "tmp", "swp"]) || file.as_os_str().as_encoded_bytes().ends_with(b"~")
    };
    match files.iter().find(is_copy).filter(|_| !files.iter().all(|file| is_copy(&file))) {
        Some(file) => Err(Error::data(public(file), "by its name a backup or temporary copy, among other files")
            .expected("each edge in one file")
            .advice("remove it; if it belongs to the graph, rename it, or name its --format")),
        None => Ok(()),
    }
}

/// Refuses the files of a directory if their names (`edges-00003-of-00008.txt`) say that another part belongs to them. Parts are numbered from
/// 0 or 1; empty ones, which are not among `files`, hold no edges.
pub(super) fn check_parts(files: &[PathBuf]) -> Result<()> {
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for file in files {
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let Some(at) = name.find("-of-").or_else(|| name.find("_of_")) else { continue };
        let begin = name[..at].trim_end_matches(|c: char| c.is_ascii_digit());
        let total = name[at + 4..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        if let (Ok(number), Ok(last)) = (name[begin.len()..at].parse::<u64>(), total.parse::<u64>())
            && number <= last
        {
            groups.entry((begin, last, total)).or_default().push((number, file, &name[at..], at - begin.len()));
        }
    }
    for ((begin, last, _), parts) in groups {
        let numbers: BTreeSet<u64> = parts.iter().map(|&(number, ..)| number).collect();
        let width = parts.iter().map(|&(.., width)| width).min().unwrap_or_default();
        let (_, file, rest, _) = parts[0];
        let name = |number: u64| format!("{begin}{number:0width$}{rest}");
        let is_missing = |number: &u64| !numbers.contains(number) && !file.with_file_name(name(*number)).exists();
        // Of whole files, either the first number or the last one is none.
        if let [first, second] = (0..=last).filter(is_missing).take(2).collect::<Vec<_>>()[..] {
            let from_one = numbers.contains(&last);
            let missing = name(if from_one && first == 0 { second } else { first });
            return Err(Error::data(file, format!("is one of {last} parts by its name, and there is no {missing}"))
                .expected("all parts")
                .advice("fetch those that are missing; to count only some, name the files: DIR/*"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_must_have_all_parts_that_its_names_announce() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("e-1-of-3"), "").unwrap();
        for (names, missing) in [
            (&["a-00000-of-00003.txt", "a-00002-of-00003.txt"][..], Some("no a-00001-of-00003.txt")),
            (&["a-00000-of-00003.txt"], Some("no a-00001-of-00003.txt")),
            (&["a-1-of-3", "a-3-of-3"], Some("no a-2-of-3")),
            (&["a-0-of-3", "a-1-of-3"], Some("no a-2-of-3")),
            (&["a-3-of-8.txt"], Some("no a-0-of-8.txt")),
            (&["a_2_of_3.gz", "a_3_of_3.gz"], Some("no a_1_of_3.gz")),
            (&["a-00000-of-00002-5e.pq", "b/a-00001-of-00002-7f.pq"], None),
            (&["a-1-of-3", "a-2-of-3", "a-3-of-3"], None),
            (&["e-0-of-3", "e-2-of-3"], None),
            (&["a-1-of-1.txt", "list-of-edges.txt", "4-of-3", "5-of-3"], None),
        ] {
            let files: Vec<PathBuf> = names.iter().map(|name| dir.path().join(name)).collect();
            let said = check_parts(&files).err().map(|error| error.to_string());
            assert_eq!(said.is_some(), missing.is_some(), "{names:?}: {said:?}");
            assert!(missing.is_none_or(|missing| said.unwrap_or_default().contains(missing)), "{names:?}");
        }
    }
}
