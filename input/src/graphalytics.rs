//! Graphs of the LDBC Graphalytics benchmark: `NAME.v` has the vertices' ids, `NAME.e` the ends of each edge, and `NAME.properties` says whether
//! edges have a direction (`graph.NAME.directed`) and where the other two are. Ids are any `u64`, and sparse; a vertex may have no edge. What follows
//! an edge's ends, such as its weight, is ignored. `.v` and `.e` may be compressed, and all three in one tar archive. Edges are read as an edge list
//! ([`super::text`]), vertices only when asked for ([`VertexList`]).

mod properties;
mod vertices;

use std::path::{Path, PathBuf};

use super::arcs::SourceFacts;
use super::compression::{Compression, with_suffix};
use super::file::InputFile;
use super::format::Format;
use super::header::Header;
use super::text::EdgeListText;
use super::{ArcSink, Reader};
use properties::GraphalyticsProperties;
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};
pub use vertices::VertexList;

const SUFFIXES: [&str; 3] = [".properties", ".v", ".e"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GraphalyticsFiles {
    pub(super) properties: PathBuf,
    pub(super) vertices: PathBuf,
    pub(super) edges: PathBuf,
}

impl GraphalyticsFiles {
    /// The files that `path` stands for, one of them or their base name. `None` if it is none and the user did not name the format.
    pub(super) fn of(path: &Path, named: bool) -> Option<Self> {
        let (base, suffix) = split(path);
        if suffix.is_none() && path.exists() && !named {
            return None;
        }
        let [properties, vertices, edges] = SUFFIXES.map(|suffix| Compression::found(with_suffix(&base, suffix)));
        // Vertices and edges without properties are an incomplete graph, not edge lists.
        let is_incomplete = || vertices.is_file() && edges.is_file() && !properties.exists();
        let Some(told) = GraphalyticsProperties::look(&properties) else {
            return (named || is_incomplete()).then_some(Self { properties, vertices, edges });
        };
        // The files are expected beside the properties, whatever folder these name.
        let in_folder =
            |named: Option<String>, usual| match named.as_deref().and_then(|named| Path::new(named).file_name()) {
                Some(name) => Compression::found(base.with_file_name(name)),
                None => usual,
            };
        Some(Self { vertices: in_folder(told.vertices, vertices), edges: in_folder(told.edges, edges), properties })
    }

    /// The files that inputs name: by one of the three, their base name, or all three. Errors, `Kind::Usage`: other inputs beside them.
    pub(super) fn among(inputs: &[PathBuf], format: Option<Format>) -> Result<Option<Self>> {
        let ([first, others @ ..], None | Some(Format::Graphalytics)) = (inputs, format) else { return Ok(None) };
        let of = |path: &PathBuf| Self::of(path, format.is_some()).filter(|_| path.as_os_str() != "-");
        let Some(files) = of(first) else { return Ok(None) };
        match others.iter().find(|path| of(path).as_ref() != Some(&files)) {
            Some(other) => Err(Error::usage(format!("{} and {}", first.display(), other.display()))
                .expected("one Graphalytics graph, whose three files are read together")),
            None => Ok(Some(files)),
        }
    }

    pub(super) fn paths(self) -> [PathBuf; 3] {
        [self.properties, self.vertices, self.edges]
    }

    pub(super) fn open(&self) -> Result<Vec<InputFile>> {
        let Self { properties, vertices, edges } = self;
        let open = |path: &Path, what: &str| {
            let expected =
                format!("{what} of a Graphalytics graph, which is three files: NAME.properties, NAME.v and NAME.e");
            if !path.exists() {
                return Err(Error::missing(path).expected(expected).advice(
                    "fetch it, too; to count the edges alone, copy the .e to a name that ends with .txt and count that",
                ));
            }
            InputFile::open(path)?.map_err(|_| Error::data(path, "is no regular file").expected(expected))
        };
        Ok(vec![open(properties, "the properties")?, open(vertices, "the vertices")?, open(edges, "the edges")?])
    }
}

pub(super) fn are_members(files: &[InputFile]) -> bool {
    let suffixes = files.iter().map(|file| file.member.as_deref().and_then(|name| split(name).1));
    suffixes.eq(SUFFIXES.map(Some))
}

/// The places of properties, vertices and edges among an archive's members, if it holds one such graph.
pub(super) fn member_of_each(names: &[&str]) -> Option<[usize; 3]> {
    let split: Vec<_> = names.iter().map(|name| split(Path::new(name))).collect();
    let mut bases = split.iter().filter(|(_, suffix)| *suffix == Some(SUFFIXES[1])).map(|(base, _)| base);
    let base = bases.next().filter(|_| bases.next().is_none())?;
    let [properties, vertices, edges] = SUFFIXES.map(|suffix| {
        let mut places = (0..split.len()).filter(|&place| split[place].0 == *base && split[place].1 == Some(suffix));
        places.next().filter(|_| places.next().is_none())
    });
    Some([properties?, vertices?, edges?])
}

/// The path without the suffix of one of the three files, and that suffix, if any.
fn split(path: &Path) -> (PathBuf, Option<&'static str>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = Compression::stripped(&name);
    let found = SUFFIXES.into_iter().find_map(|suffix| Some((plain.strip_suffix(suffix)?, suffix)));
    match found.filter(|(base, _)| !base.is_empty()) {
        Some((base, suffix)) => (path.with_file_name(base), Some(suffix)),
        None => (path.to_path_buf(), None),
    }
}

pub(super) struct Graphalytics {
    edges: EdgeListText,
    properties: PathBuf,
    declared_edges: Option<u64>,
    directed: bool,
    list: VertexList,
}

impl Graphalytics {
    /// `files`: properties, vertices, edges. Any other files, from an archive or of a format that the user named, are refused.
    pub(super) fn open(files: Vec<InputFile>, window: u64) -> Result<Self> {
        let files: Result<[InputFile; 3], _> = files.try_into();
        let [properties, vertices, edges] = files.map_err(|files: Vec<InputFile>| {
            let input = files.first().map(|file| file.path.clone()).unwrap_or_default();
            Error::usage("no Graphalytics graph")
                .at(&input)
                .expected("NAME, NAME.v, NAME.e or NAME.properties, or a tar archive of the three")
        })?;
        let told = GraphalyticsProperties::read(&properties)?;
        let (file, declared) = (vertices, told.declared_vertices);
        let list = VertexList { file, edges: edges.clone(), declared, window };
        let edges = EdgeListText::open(vec![edges], Some(Header::No), Some(Format::Graphalytics), window)?;
        let (declared_edges, directed) = (told.declared_edges, told.directed);
        Ok(Self { edges, properties: properties.path, declared_edges, directed, list })
    }
}

impl Reader for Graphalytics {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.declared_edges.unwrap_or(u64::MAX).min(self.edges.facts().arcs_at_most);
        SourceFacts { arcs_at_most, directed: Some(self.directed), ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let arcs = self.edges.scan(sink, control, task)?;
        match self.declared_edges.filter(|&declared| declared != arcs) {
            Some(declared) => Err(Error::data(&self.list.edges.path, format!("{arcs} edges"))
                .expected(format!("{declared}, as {} says with meta.edges", self.properties.display()))
                .advice("fetch the files again")),
            None => Ok(arcs),
        }
    }

    fn listed(&self) -> Option<&VertexList> {
        Some(&self.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_of_the_three_names_and_the_base_name_stand_for_all() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
        let of = |name: &str| GraphalyticsFiles::of(&at(name), false).map(GraphalyticsFiles::paths);
        write("a.v", "1\n");
        assert_eq!(of("a.v"), None);
        write("a.e.zst", "");
        let all = [at("a.properties"), at("a.v"), at("a.e.zst")];
        for name in ["a", "a.v", "a.e", "a.e.zst", "a.properties"] {
            // Without properties, the files are such a graph, too, and the error says what is missing.
            assert_eq!(of(name).as_ref(), Some(&all), "{name}");
        }
        write("a.properties", "nodes=1\narcs=0\n");
        assert_eq!(of("a.v"), None);
        write("a.properties", "graph.a.directed = true\ngraph.a.vertex-file = other.v\n");
        let all = [at("a.properties"), at("other.v"), at("a.e.zst")];
        assert_eq!(of("a").as_ref(), Some(&all));
        // A file of the base name is that file.
        write("a", "0 1\n");
        assert_eq!((of("a"), of("a.v").as_ref(), of("none.e")), (None, Some(&all), None));
    }

    #[test]
    fn an_archive_holds_one_graph_with_its_three_files() {
        let names = ["g/README", "g/x-LCC", "g/x.e", "g/x.properties", "g/x.v.zst"];
        assert_eq!(member_of_each(&names), Some([3, 4, 2]));
        let both_edges = ["x.e", "x.e.gz", "x.properties", "x.v"];
        let two_graphs = ["x.e", "x.v", "x.properties", "y.v"];
        for names in [&["x.e", "x.v"][..], &["x.e", "x.v", "y.properties"], &two_graphs, &both_edges] {
            assert_eq!(member_of_each(names), None);
        }
    }
}
