//! The files of counts at vertices, which users name; a name's suffix decides the format.

use std::path::{Path, PathBuf};

use super::compressed::Compress;
use super::order::InOrder;
use super::summary::OfDegree;
use super::{npy, tsv};
use crate::bytes::Bytes;
use crate::disk::{NewFile, Output, check_output};
use crate::error::{Error, Result};

/// The suffixes of text, and how each is compressed.
const TEXT: [(&str, Compress); 3] = [(".tsv", Compress::No), (".tsv.gz", Compress::Gzip), (".tsv.zst", Compress::Zstd)];

/// The suffix of NumPy arrays.
const NPY: &str = ".npy";

/// The suffix of Parquet files.
const PARQUET: &str = ".parquet";

/// A format of counts at vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text(Compress),
    Npy,
    Parquet,
}

impl Format {
    fn of(path: &Path) -> Result<Self> {
        let name = path.as_os_str().to_string_lossy();
        if let Some(compress) = text(&name) {
            return Ok(Self::Text(compress));
        }
        match name {
            name if name.ends_with(NPY) => Ok(Self::Npy),
            name if name.ends_with(PARQUET) && cfg!(feature = "parquet") => Ok(Self::Parquet),
            name if name.ends_with(PARQUET) => Err(Error::usage("this build of trimill writes no Parquet files")
                .at(path)
                .expected(expected())
                .advice("install one that does: cargo install --path . --features parquet")),
            _ => Err(Error::usage("the name says no format").at(path).expected(expected())),
        }
    }
}

fn text(name: &str) -> Option<Compress> {
    TEXT.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|&(_, compress)| compress)
}

fn expected() -> String {
    let text = TEXT.map(|(suffix, _)| suffix).join(", ");
    format!("a name that ends with {text}, {NPY} or {PARQUET}")
}

/// The files that a job asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The counts at each vertex.
    pub per_vertex: Option<PathBuf>,
    /// The sums of each degree.
    pub by_degree: Option<PathBuf>,
}

impl Asked {
    /// Bytes that each thread holds of the pieces that are being made, at most: two batches of two.
    pub fn bytes_per_thread(&self) -> Bytes {
        match self.per_vertex.as_deref().map(Format::of) {
            Some(Ok(Format::Parquet)) => Bytes::mib(24),
            _ => Bytes::mib(4),
        }
    }

    /// Their names.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.per_vertex.iter().chain(&self.by_degree)
    }

    /// Checks that the names have formats.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`].
    pub fn check_names(&self) -> Result<()> {
        self.per_vertex.as_deref().map_or(Ok(()), |path| Format::of(path).map(drop))?;
        self.by_degree.as_deref().map_or(Ok(()), |path| degree_format(path).map(drop))
    }

    /// Checks that the files can be written.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`], or [`crate::error::Kind::Usage`] for a directory.
    pub fn check_places(&self) -> Result<()> {
        self.paths().try_for_each(|path| check_output(path))
    }

    /// Checks that the formats can hold the ids of the graph.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`]: an array for ids with large gaps.
    pub fn check_ids(&self, array_len: Option<u64>) -> Result<()> {
        match self.per_vertex.as_deref().filter(|path| matches!(Format::of(path), Ok(Format::Npy))) {
            Some(path) => has_array(array_len, path).map(drop),
            None => Ok(()),
        }
    }

    /// Writes the files, of which each is there whole or not at all. Runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`]; when the graph or the sums cannot be read.
    pub fn write(&self, counts: &dyn InOrder, by_degree: &[OfDegree]) -> Result<()> {
        let vertices = self.per_vertex.as_deref().map(|path| vertices(path, counts)).transpose()?;
        let degrees = self.by_degree.as_deref().map(|path| degrees(path, by_degree)).transpose()?;
        vertices.into_iter().chain(degrees).try_for_each(Output::finish)
    }
}

fn degree_format(path: &Path) -> Result<Compress> {
    let suffixes = || format!("a name that ends with {}", TEXT.map(|(suffix, _)| suffix).join(", "));
    text(&path.as_os_str().to_string_lossy())
        .ok_or_else(|| Error::usage("counts by degree are text").at(path).expected(suffixes()))
}

/// The length of the array, where there may be one.
fn has_array(array_len: Option<u64>, path: &Path) -> Result<u64> {
    array_len.ok_or_else(|| {
        Error::usage("the ids of this graph have large gaps, so an array with a place for each would be mostly empty")
            .at(path)
            .expected(format!(
                "a format with a column of ids: {}, or {PARQUET}",
                TEXT.map(|(suffix, _)| suffix).join(", ")
            ))
    })
}

/// Writes everything but the name.
fn vertices(path: &Path, counts: &dyn InOrder) -> Result<Output> {
    let format = Format::of(path)?;
    let mut to = Output::create(path)?;
    match format {
        Format::Text(compress) => {
            tsv::write_head(&mut to, compress, &tsv::COLUMNS)?;
            counts.in_order(&mut |rows| tsv::write_rows(&mut to, compress, rows))?;
        }
        Format::Npy => {
            let mut array = npy::Array::begin(&mut to, has_array(counts.array_len(), path)?)?;
            counts.in_order(&mut |rows| array.rows(&mut to, rows))?;
            array.finish(&mut to)?;
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => {
            let mut table = super::parquet::Table::begin(&mut to)?;
            counts.in_order(&mut |rows| table.rows(rows))?;
            table.finish()?;
        }
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => return Err(Error::defect("a format that this build does not have")),
    }
    on_disk(to)
}

fn degrees(path: &Path, by_degree: &[OfDegree]) -> Result<Output> {
    let mut to = Output::create(path)?;
    tsv::write_degrees(&mut to, degree_format(path)?, by_degree)?;
    on_disk(to)
}

fn on_disk(to: Output) -> Result<Output> {
    to.new_file().map_or(Ok(()), NewFile::sync)?;
    Ok(to)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_the_format() {
        for (name, format) in [
            ("a.tsv", Format::Text(Compress::No)),
            ("dir.npy/a.tsv.gz", Format::Text(Compress::Gzip)),
            ("a.b.tsv.zst", Format::Text(Compress::Zstd)),
            ("a.npy", Format::Npy),
        ] {
            assert_eq!(Format::of(Path::new(name)).unwrap(), format);
        }
        for name in ["a", "a.csv", "a.tsv.bz2", "a.npy.gz", "tsv"] {
            let error = Format::of(Path::new(name)).unwrap_err().to_string();
            assert!(error.contains(".tsv.zst") && error.contains(".npy") && error.contains(name), "{error}");
        }
        let parquet = Format::of(Path::new("a.parquet"));
        match cfg!(feature = "parquet") {
            true => assert_eq!(parquet.unwrap(), Format::Parquet),
            false => assert!(parquet.unwrap_err().to_string().contains("--features parquet")),
        }
        assert!(degree_format(Path::new("a.npy")).is_err() && degree_format(Path::new("a.tsv")).is_ok());
    }
}
