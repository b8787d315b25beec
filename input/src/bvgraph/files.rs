//! The files of a BVGraph, and their names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::compression::Compression;
use trimill_system::error::{Error, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BvGraphFiles {
    base: PathBuf,
    pub(crate) graph: PathBuf,
    pub(crate) properties: PathBuf,
    pub(super) offsets: PathBuf,
}

impl BvGraphFiles {
    /// The files meant by `NAME.graph`, `NAME.properties` or `NAME`.
    pub(crate) fn of(path: &Path) -> Self {
        let named = matches!(path.extension().and_then(|e| e.to_str()), Some("graph" | "properties"));
        let base = if named { path.with_extension("") } else { path.to_path_buf() };
        let with = |suffix: &str| {
            let mut name = OsString::from(&base);
            name.push(suffix);
            PathBuf::from(name)
        };
        Self { graph: with(".graph"), properties: with(".properties"), offsets: with(".offsets"), base }
    }

    /// The files meant by one input, or by `NAME.graph` and `NAME.properties` in different folders; the offsets are beside the `.graph`.
    pub(crate) fn of_inputs(inputs: &[PathBuf]) -> Option<Self> {
        let is = |path: &Path, suffix: &str| path.extension().is_some_and(|found| found == suffix);
        match inputs {
            [one] => Some(Self::of(one)),
            [graph, properties] | [properties, graph]
                if is(graph, "graph")
                    && is(properties, "properties")
                    && graph.file_stem() == properties.file_stem() =>
            {
                Some(Self { properties: properties.clone(), ..Self::of(graph) })
            }
            _ => None,
        }
    }

    /// Refuses a compressed `.graph`, whose name would be taken for a base name.
    pub(super) fn check_packed(&self) -> Result<()> {
        let name = self.base.to_string_lossy().to_ascii_lowercase();
        if !Compression::SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || !self.base.is_file() {
            return Ok(());
        }
        Err(Error::data(&self.base, "a compressed BVGraph")
            .expected("NAME.graph as it is, with NAME.properties beside it")
            .advice("decompress it first"))
    }

    pub(super) fn check_name(&self) -> Result<()> {
        let Some(better) = name_without_dots(&self.base) else { return Ok(()) };
        let name = self.base.file_name().unwrap_or_default().display();
        Err(Error::data(&self.graph, format!("the base name '{name}' has a dot"))
            .expected("a BVGraph's base name without dots, since what follows a dot is taken for a suffix")
            .advice(format!("rename both files to {better}.graph and {better}.properties")))
    }
}

/// The files that are read together with `path` if it names a BVGraph, whether or not they exist.
pub fn companions(path: &Path) -> [PathBuf; 3] {
    let BvGraphFiles { graph, properties, offsets, .. } = BvGraphFiles::of(path);
    [graph, properties, offsets]
}

/// Other WebGraph programs take `crawl.2024` for `crawl`. The name to take instead, if the name of a graph has a dot.
pub fn name_without_dots(base: &Path) -> Option<String> {
    let name = base.file_name().map(Path::new).filter(|name| name.extension().is_some())?;
    Some(name.to_string_lossy().replace('.', "-"))
}
