//! The formats of tables; the suffix of a name decides.

use std::path::Path;

use super::text::{Compress, TextTable};
use trimill_system::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    Text(TextTable),
    Npy,
    Parquet,
}

/// Suffixes of text; of text and Parquet; of all formats.
pub const TEXT: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst", ".csv", ".csv.gz", ".csv.zst"];

pub const COLUMNS: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst", ".csv", ".csv.gz", ".csv.zst", ".parquet"];

pub const ALL: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst", ".csv", ".csv.gz", ".csv.zst", ".npy", ".parquet"];

/// What `-` as a table's name stands for: text, separated by tabs.
pub const STANDARD_OUTPUT: &str = "/dev/stdout";

impl TableFormat {
    /// The format of a file that may have one of `suffixes`. Errors: `Kind::Usage` for another name, or a format that is not built in.
    pub fn of(path: &Path, suffixes: &[&str]) -> Result<Self> {
        let name = path.as_os_str().to_string_lossy();
        let refuse = |found: &str| Error::usage(found).at(path).expected(expected(suffixes));
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::Text(TextTable { compress: Compress::No, separator: b'\t' }));
        }
        match suffixes.iter().find(|suffix| name.ends_with(**suffix)) {
            Some(suffix) if TEXT.contains(suffix) => {
                let separator = if suffix.starts_with(".csv") { b',' } else { b'\t' };
                Ok(Self::Text(TextTable { compress: Compress::by_suffix(suffix), separator }))
            }
            Some(&".npy") => Ok(Self::Npy),
            Some(_) if cfg!(feature = "parquet") => Ok(Self::Parquet),
            Some(_) => Err(refuse("this build of trimill writes no Parquet files")
                .advice("install one that does: cargo install --path . --features parquet")),
            None => Err(refuse("the name says none of the formats that this file can have")),
        }
    }
}

fn expected(suffixes: &[&str]) -> String {
    let written = |suffix: &&str| cfg!(feature = "parquet") || *suffix != ".parquet";
    match suffixes.iter().copied().filter(written).collect::<Vec<_>>().as_slice() {
        [others @ .., last] => format!("a name that ends with {} or {last}", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_the_format() {
        let text =
            |compress, commas| TableFormat::Text(TextTable { compress, separator: if commas { b',' } else { b'\t' } });
        for (name, format) in [
            ("a.tsv", text(Compress::No, false)),
            ("dir.npy/a.tsv.gz", text(Compress::Gzip, false)),
            ("a.b.tsv.zst", text(Compress::Zstd, false)),
            ("a.csv", text(Compress::No, true)),
            ("a.tsv.csv.gz", text(Compress::Gzip, true)),
            ("/dev/stdout", text(Compress::No, false)),
            ("a.npy", TableFormat::Npy),
        ] {
            assert_eq!(TableFormat::of(Path::new(name), ALL).unwrap(), format);
        }
        for name in ["a", "a.txt", "a.tsv.bz2", "a.npy.gz", "tsv"] {
            let error = TableFormat::of(Path::new(name), ALL).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
            let all = match cfg!(feature = "parquet") {
                true => ".csv, .csv.gz, .csv.zst, .npy or .parquet",
                false => ".csv, .csv.gz, .csv.zst or .npy",
            };
            assert!(error.ends_with(all), "{error}");
        }
        let parquet = TableFormat::of(Path::new("a.parquet"), COLUMNS);
        match cfg!(feature = "parquet") {
            true => assert_eq!(parquet.unwrap(), TableFormat::Parquet),
            false => {
                let error = parquet.unwrap_err().to_string();
                assert!(error.contains(".csv, .csv.gz or .csv.zst; "), "{error}");
                assert!(error.contains("--features parquet"), "{error}");
            }
        }
        for (name, suffixes) in [("a.npy", COLUMNS), ("a.npy", TEXT), ("a.parquet", TEXT)] {
            let error = TableFormat::of(Path::new(name), suffixes).unwrap_err().to_string();
            assert!(error.contains(".tsv.gz"), "{error}");
        }
        assert!(TableFormat::of(Path::new("a.tsv"), TEXT).is_ok());
    }
}
