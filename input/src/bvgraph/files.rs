//! The files of a BVGraph, and their names.

use std::path::{Path, PathBuf};

use crate::compression::{Compression, with_suffix};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BvGraphFiles {
    base: PathBuf,
    pub(crate) graph: PathBuf,
    pub(crate) properties: PathBuf,
    pub(super) offsets: PathBuf,
    pub(super) ef: PathBuf,
}

impl BvGraphFiles {
    /// The files of the graph that `path` names, by one of them or by `NAME`. The `.graph` may be compressed.
    pub(crate) fn of(path: &Path) -> Self {
        let is_packed = Compression::is_named(&path.to_string_lossy());
        let plain = if is_packed { path.with_extension("") } else { path.to_path_buf() };
        let suffix = plain.extension().and_then(|suffix| suffix.to_str());
        let base = match suffix {
            Some("graph") => plain.with_extension(""),
            Some("properties" | "offsets" | "ef") if !is_packed => plain.with_extension(""),
            _ => path.to_path_buf(),
        };
        let graph = match suffix {
            Some("graph") => path.to_path_buf(),
            _ => Compression::found(with_suffix(&base, ".graph")),
        };
        let [properties, offsets, ef] = [".properties", ".offsets", ".ef"].map(|suffix| with_suffix(&base, suffix));
        Self { base, graph, properties, offsets, ef }
    }

    /// Whether a file belongs to this graph, by its name: properties, offsets, sums, lists of URLs.
    pub(crate) fn is_beside(&self, file: &Path) -> bool {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let of_base = name(&self.base)
            .zip(name(file))
            .is_some_and(|(base, name)| name.strip_prefix(&base).is_some_and(|rest| rest.starts_with('.')));
        of_base && file != self.graph && file.parent() == self.base.parent()
    }

    /// The files that one input names, or `NAME.graph` and `NAME.properties` in different folders; the offsets are beside the `.graph`.
    pub(crate) fn of_inputs(inputs: &[PathBuf]) -> Option<Self> {
        let is = |path: &Path, suffix: &str| path.extension().is_some_and(|found| found == suffix);
        match inputs {
            [one] => Some(Self::of(one)),
            [graph, properties] | [properties, graph]
                if is(properties, "properties") && Self::of(graph).base.file_name() == properties.file_stem() =>
            {
                let found = Self { properties: properties.clone(), ..Self::of(graph) };
                (found.graph == *graph).then_some(found)
            }
            _ => None,
        }
    }
}

/// The files that are read together with `path` if that names a BVGraph, whether or not they exist.
pub fn companions(path: &Path) -> [PathBuf; 3] {
    let BvGraphFiles { graph, properties, offsets, .. } = BvGraphFiles::of(path);
    [graph, properties, offsets]
}

/// A name to use instead of one with a dot: other WebGraph programs take `crawl.2024` for `crawl`.
pub fn name_without_dots(base: &Path) -> Option<String> {
    let name = base.file_name().map(Path::new).filter(|name| name.extension().is_some())?;
    Some(name.to_string_lossy().replace('.', "-"))
}
