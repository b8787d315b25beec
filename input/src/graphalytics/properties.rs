//! The `.properties` of a Graphalytics graph: where its vertices and edges are, how many there are, whether edges have a direction.

use std::path::Path;

use crate::file::InputFile;
use crate::java_properties::PropertyValues;
use trimill_system::{Error, Result};

/// The most bytes of a properties file; usual ones have about a thousand.
const MOST_BYTES: u64 = 1 << 20;

/// A file with one of these keys, after `graph.NAME`, describes a Graphalytics graph.
const KEYS: [&str; 5] = [".vertex-file", ".edge-file", ".directed", ".meta.vertices", ".meta.edges"];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GraphalyticsProperties {
    /// File names in the same folder.
    pub(super) vertices: Option<String>,
    pub(super) edges: Option<String>,
    pub(super) directed: bool,
    pub(super) declared_vertices: Option<u64>,
    pub(super) declared_edges: Option<u64>,
}

impl GraphalyticsProperties {
    /// The properties at `path`, if the file exists and describes such a graph; only the files' names if anything else is wrong.
    pub(super) fn look(path: &Path) -> Option<Self> {
        let text = std::fs::metadata(path).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES);
        let values = PropertyValues::of(&String::from_utf8_lossy(&text.and_then(|_| std::fs::read(path).ok())?));
        // If the properties are of several graphs, reading them reports that.
        let Ok(name) = name(&values).transpose()? else { return Some(Self::default()) };
        Some(Self::of(&values, &name).unwrap_or_else(|_| Self::files(&values, &name)))
    }

    pub(super) fn read(file: &InputFile) -> Result<Self> {
        let values = PropertyValues::of(&String::from_utf8_lossy(&file.head(MOST_BYTES)?));
        let named = name(&values).and_then(|name| name.ok_or_else(|| "no 'graph.NAME.directed'".into()));
        named.and_then(|name| Self::of(&values, &name)).map_err(|found| {
            Error::data(&file.path, found)
                .expected("the properties of one Graphalytics graph, such as 'graph.NAME.directed = true'")
                .advice("fetch the file again; of a graph without such a file, count the edges as an edge list, with --format text")
        })
    }

    fn of(values: &PropertyValues, name: &str) -> Result<Self, String> {
        let key = |rest: &str| format!("graph.{name}.{rest}");
        let directed = match values.get(&key("directed")) {
            Some("true") => true,
            Some("false") => false,
            Some(other) => return Err(format!("'{}' is '{other}', not 'true' or 'false'", key("directed"))),
            None => return Err(format!("no '{}'", key("directed"))),
        };
        let number = |rest: &str| values.number(&key(rest));
        let (declared_vertices, declared_edges) = (number("meta.vertices")?, number("meta.edges")?);
        Ok(Self { directed, declared_vertices, declared_edges, ..Self::files(values, name) })
    }

    fn files(values: &PropertyValues, name: &str) -> Self {
        let file = |rest: &str| values.get(&format!("graph.{name}.{rest}")).map(str::to_owned);
        Self { vertices: file("vertex-file"), edges: file("edge-file"), ..Self::default() }
    }
}

fn name(values: &PropertyValues) -> Result<Option<String>, String> {
    let of_key = |key: &str| {
        let rest = key.strip_prefix("graph.")?;
        KEYS.iter().find_map(|end| rest.strip_suffix(end)).map(str::to_owned)
    };
    let mut names: Vec<String> = values.names().filter_map(of_key).collect();
    names.sort_unstable();
    names.dedup();
    match &mut names[..] {
        [] => Ok(None),
        [name] => Ok(Some(std::mem::take(name))),
        [first, second, ..] => Err(format!("properties of several graphs, '{first}' and '{second}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<GraphalyticsProperties>, String> {
        let values = PropertyValues::of(text);
        name(&values)?.map(|name| GraphalyticsProperties::of(&values, &name)).transpose()
    }

    #[test]
    fn properties_are_those_of_the_one_graph() {
        let text = "# Filenames\ngraph.dg-7.5-fb.vertex-file = dg.v\ngraph.dg-7.5-fb.edge-file = dg.e\n\n\
             graph.dg-7.5-fb.meta.vertices = 10\ngraph.dg-7.5-fb.meta.edges = 17\ngraph.dg-7.5-fb.directed = true\n\
             graph.dg-7.5-fb.edge-properties.names = weight\ngraph.dg-7.5-fb.algorithms = bfs, lcc\n";
        let expected = GraphalyticsProperties {
            vertices: Some("dg.v".into()),
            edges: Some("dg.e".into()),
            directed: true,
            declared_vertices: Some(10),
            declared_edges: Some(17),
        };
        assert_eq!(read(text), Ok(Some(expected)));
        assert_eq!(read("nodes=5\narcs=20\ngraphclass=it.unimi.dsi.webgraph.BVGraph\n"), Ok(None));
        for (text, named) in [
            ("graph.a.directed=true\ngraph.b.directed=true", "'a' and 'b'"),
            ("graph.a.vertex-file=a.v", "no 'graph.a.directed'"),
            ("graph.a.directed=yes", "'yes', not 'true' or 'false'"),
            ("graph.a.directed=true\ngraph.a.meta.edges=many", "'many', no number"),
        ] {
            assert!(read(text).unwrap_err().contains(named), "{text}");
        }
    }

    #[test]
    fn files_that_lack_a_key_or_have_two_graphs_are_no_other_format() {
        let dir = tempfile::tempdir().unwrap();
        let look = |text: &str| {
            let path = dir.path().join("g.properties");
            std::fs::write(&path, text).unwrap();
            GraphalyticsProperties::look(&path)
        };
        assert_eq!(look("\u{feff}graph.a.meta.vertices = 3\n"), Some(GraphalyticsProperties::default()));
        assert_eq!(look("graph.a.directed=true\ngraph.b.directed=true"), Some(GraphalyticsProperties::default()));
        assert_eq!(look("nodes=5\narcs=20\n"), None);
    }
}
