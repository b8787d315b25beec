//! The formats of tables; the suffix of a name decides.

use std::path::Path;

use super::text::Compress;
use trimill_system::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Lines of columns, separated by tabs.
    Text(Compress),
    Npy,
    Parquet,
}

/// The suffixes of text.
pub const TEXT: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst"];

/// Those of text and Parquet.
pub const COLUMNS: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst", ".parquet"];

/// Those of all formats.
pub const ALL: &[&str] = &[".tsv", ".tsv.gz", ".tsv.zst", ".npy", ".parquet"];

impl TableFormat {
    /// The format of a file that may have one of `suffixes`.
    ///
    /// # Errors
    /// [`trimill_system::error::Kind::Usage`] for another name, and where this build does not write the format.
    pub fn of(path: &Path, suffixes: &[&str]) -> Result<Self> {
        let name = path.as_os_str().to_string_lossy();
        let refuse = |found: &str| Error::usage(found).at(path).expected(expected(suffixes));
        match suffixes.iter().find(|suffix| name.ends_with(**suffix)) {
            Some(&".tsv") => Ok(Self::Text(Compress::No)),
            Some(&".tsv.gz") => Ok(Self::Text(Compress::Gzip)),
            Some(&".tsv.zst") => Ok(Self::Text(Compress::Zstd)),
            Some(&".npy") => Ok(Self::Npy),
            Some(_) if cfg!(feature = "parquet") => Ok(Self::Parquet),
            Some(_) => Err(refuse("this build of trimill writes no Parquet files")
                .advice("install one that does: cargo install --path . --features parquet")),
            None => Err(refuse("the name says none of the formats that this file can have")),
        }
    }
}

/// What a name with one of `suffixes` is called in errors: those that this build writes.
fn expected(suffixes: &[&str]) -> String {
    let written = |suffix: &&str| cfg!(feature = "parquet") || *suffix != ".parquet";
    match suffixes.iter().copied().filter(written).collect::<Vec<_>>().as_slice() {
        [others @ .., last] => format!("a name that ends with {} or {last}", others.join(", ")),
        [] => String::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_the_format() {
        for (name, format) in [
            ("a.tsv", TableFormat::Text(Compress::No)),
            ("dir.npy/a.tsv.gz", TableFormat::Text(Compress::Gzip)),
            ("a.b.tsv.zst", TableFormat::Text(Compress::Zstd)),
            ("a.npy", TableFormat::Npy),
        ] {
            assert_eq!(TableFormat::of(Path::new(name), ALL).unwrap(), format);
        }
        for name in ["a", "a.csv", "a.tsv.bz2", "a.npy.gz", "tsv"] {
            let error = TableFormat::of(Path::new(name), ALL).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
            let all = match cfg!(feature = "parquet") {
                true => ".tsv, .tsv.gz, .tsv.zst, .npy or .parquet",
                false => ".tsv, .tsv.gz, .tsv.zst or .npy",
            };
            assert!(error.ends_with(all), "{error}");
        }
        let parquet = TableFormat::of(Path::new("a.parquet"), COLUMNS);
        match cfg!(feature = "parquet") {
            true => assert_eq!(parquet.unwrap(), TableFormat::Parquet),
            false => {
                let error = parquet.unwrap_err().to_string();
                assert!(
                    error.contains("ends with .tsv, .tsv.gz or .tsv.zst; ") && error.contains("--features parquet"),
                    "{error}"
                );
            }
        }
        for (name, suffixes) in [("a.npy", COLUMNS), ("a.npy", TEXT), ("a.parquet", TEXT)] {
            let error = TableFormat::of(Path::new(name), suffixes).unwrap_err().to_string();
            assert!(error.contains(".tsv.gz"), "{error}");
        }
        assert!(TableFormat::of(Path::new("a.tsv"), TEXT).is_ok());
    }
}
