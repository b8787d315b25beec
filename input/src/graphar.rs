//! Apache GraphAr: a directory with descriptions in YAML, and tables of the edges of each type in chunks, which are read as Parquet or CSV files.
//!
//! `NAME.graph.yml` lists the files `NAME.edge.yml`, one per type of edges. Such a file says where the edges are: once for each order, in
//! `PREFIX/ORDER/adj_list/partI/chunkJ`; one order is taken. `PREFIX/ORDER/edge_countI` has the number of edges of a part: it reveals a missing
//! chunk; the sum over all parts, compared with the edges read, a truncated one. Vertices of each type are numbered from 0, so edges between two
//! types are refused as ambiguous. Files are in a directory, in an archive or on a server ([`places`]), whose folders need not be listed:
//! `PREFIX/ORDER/vertex_count` and `src_chunk_size` give the parts, edge counts and `chunk_size` the chunks of each.

pub(super) mod places;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::java_properties::PropertyValues;
use places::GrapharFiles;
use trimill_system::text::{listed, plural};
use trimill_system::url::{is_url, public};
use trimill_system::{Error, Result};

const GRAPH: [&str; 2] = [".graph.yml", ".graph.yaml"];
const EDGES: [&str; 2] = [".edge.yml", ".edge.yaml"];

/// The file with the number of vertices, and the prefix of those with numbers of edges.
const VERTICES: &str = "vertex_count";
const COUNT: &str = "edge_count";

pub(super) const MOST_BYTES: u64 = 1 << 20;

/// The most parts, and the most chunks, if their numbers come from a file.
const MOST_CHUNKS: u64 = 1 << 20;

const MOST_LISTED: usize = 12;

/// Files of edges that one name stands for.
pub(super) struct NamedFiles {
    pub(super) files: Vec<PathBuf>,
    pub(super) vertices: Option<String>,
    pub(super) edges: Option<u64>,
}

impl From<Vec<PathBuf>> for NamedFiles {
    fn from(files: Vec<PathBuf>) -> Self {
        Self { files, vertices: None, edges: None }
    }
}

impl NamedFiles {
    pub(super) fn one(path: &Path) -> Self {
        vec![path.to_path_buf()].into()
    }

    /// The edges that `path`, a folder or a description of a graph or of a type of edges, stands for; `None` if it is none of these.
    pub(super) fn of(files: &dyn GrapharFiles, path: &Path) -> Result<Option<Self>> {
        if ends_with(path, GRAPH) {
            return Self::of_graph(files, path).map(Some);
        }
        if !ends_with(path, EDGES) {
            let entries = files.entries(path)?;
            return if entries.iter().any(|entry| is_named(entry)) {
                Self::of_described(files, path, &entries).map(Some)
            } else {
                Ok(None)
            };
        }
        // The graph that lists this type may say that its files are elsewhere.
        let dir = path.parent().unwrap_or(Path::new(""));
        for graph in files.entries(dir)?.into_iter().filter(|entry| ends_with(entry, GRAPH)) {
            let (root, edges) = graph_info(files, &graph)?;
            if edges.iter().any(|edge| edge.file_name() == path.file_name()) {
                return Self::of_type(files, &root, path).map(Some);
            }
        }
        Self::of_type(files, dir, path).map(Some)
    }

    /// The edges of the descriptions among `entries`, which are the files in `path`, a folder or archive.
    pub(super) fn of_described(files: &dyn GrapharFiles, path: &Path, entries: &[PathBuf]) -> Result<Self> {
        let of = |suffix| entries.iter().filter(|entry| ends_with(entry, suffix)).cloned().collect::<Vec<_>>();
        match (&of(GRAPH)[..], &of(EDGES)[..]) {
            ([], edges) => {
                let dir = edges.first().and_then(|edge| edge.parent()).unwrap_or(path);
                Self::of_one(files, path, dir, edges)
            }
            ([graph], _) => Self::of_graph(files, graph),
            (several, _) => Err(choose(path, "graphs", several)),
        }
    }

    fn of_graph(files: &dyn GrapharFiles, graph: &Path) -> Result<Self> {
        let (root, edges) = graph_info(files, graph)?;
        Self::of_one(files, graph, &root, &edges)
    }

    fn of_one(files: &dyn GrapharFiles, path: &Path, root: &Path, edges: &[PathBuf]) -> Result<Self> {
        match edges {
            [edge] => Self::of_type(files, root, edge),
            [] => Err(Error::data(path, "lists no edges").expected("a graph with edges of one type")),
            several => Err(choose(path, "types of edges", several)),
        }
    }

    /// The edges of the type that `edge` describes; `root` is the folder of the graph's files.
    fn of_type(files: &dyn GrapharFiles, root: &Path, edge: &Path) -> Result<Self> {
        let info = values(files, edge)?;
        let needed = |names: [&str; 2]| {
            let value = names.iter().find_map(|name| info.get(name));
            value.ok_or_else(|| Error::data(edge, format!("no '{}'", names[0])).expected("GraphAr's keys of edges"))
        };
        let [tails, heads] = [needed(["src_type", "src_label"])?, needed(["dst_type", "dst_label"])?];
        if tails != heads {
            return Err(Error::data(edge, format!("edges from '{tails}' to '{heads}', whose ids both begin with 0"))
                .expected("edges between vertices of one type"));
        }
        let size = |key: &str, of: &str| {
            let size = info.number(key).ok().flatten().filter(|&size| size > 0);
            size.ok_or_else(|| Error::data(edge, format!("no number '{key}'")).expected(format!("the {of}")))
        };
        let chunk = size("chunk_size", "edges of a chunk")?;
        let prefix = files.joined(edge, root, needed(["prefix", "prefix"])?)?;
        let (dir, part_size) = order(files, edge, &info, &prefix)?;
        let (chunks, edges) = match files.are_listed() {
            true => listed_chunks(files, &dir, chunk)?,
            false => derived_chunks(files, &dir, size(part_size, "vertices of a part")?, chunk)?,
        };
        match chunks.is_empty() {
            true => Err(Error::data(dir.join("adj_list"), "has no chunks").expected("partI/chunkJ")),
            false => Ok(Self { files: chunks, vertices: Some(tails.to_owned()), edges }),
        }
    }
}

fn graph_info(files: &dyn GrapharFiles, graph: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    let info = values(files, graph)?;
    let dir = graph.parent().unwrap_or(Path::new(""));
    let prefix = info.get("prefix").unwrap_or_default();
    if is_url(Path::new(prefix)) {
        return Err(Error::data(graph, format!("files at '{}'", public(Path::new(prefix)).display()))
            .expected("files beside this one")
            .advice("set 'prefix: ./', and name the description that is beside the files: on a server, its URL"));
    }
    let root = files.joined(graph, dir, prefix)?;
    if files.are_listed() && files.entries(&root)?.is_empty() {
        return Err(Error::data(graph, format!("files in '{prefix}', which is no directory or an empty one"))
            .expected("the directory of the graph's files")
            .advice("if they are beside this file, set 'prefix: ./'"));
    }
    let names = (0..).map_while(|number| info.get(&format!("edges/{number}")));
    Ok((root, names.map(|name| files.joined(graph, dir, name)).collect::<Result<_>>()?))
}

/// The folder of the first order whose chunks can be read, and the key for the number of vertices per part.
fn order(
    files: &dyn GrapharFiles,
    edge: &Path,
    info: &PropertyValues,
    prefix: &Path,
) -> Result<(PathBuf, &'static str)> {
    let mut found = Vec::new();
    for number in 0.. {
        let get = |key: &str| info.get(&format!("adj_lists/{number}/{key}"));
        let Some(format) = get("file_type") else { break };
        let ordered = if get("ordered").is_some_and(|ordered| ordered == "true") { "ordered" } else { "unordered" };
        let (by, part_size) = match get("aligned_by") {
            Some("dst") => ("dest", "dst_chunk_size"),
            _ => ("source", "src_chunk_size"),
        };
        let name = get("prefix").map_or_else(|| format!("{ordered}_by_{by}"), str::to_owned);
        let dir = files.joined(edge, prefix, &name)?;
        let adj_list = dir.join("adj_list");
        if matches!(format, "parquet" | "csv") && !(files.are_listed() && files.entries(&adj_list)?.is_empty()) {
            return Ok((dir, part_size));
        }
        found.push(format!("{} of format {format}", adj_list.display()));
    }
    let found = if found.is_empty() { "no 'adj_lists'".into() } else { format!("edges in {}", found.join(", ")) };
    Err(Error::data(edge, found).expected("a directory of chunks of format parquet or csv"))
}

type CountedChunks = (Vec<PathBuf>, Option<u64>);

fn listed_chunks(files: &dyn GrapharFiles, dir: &Path, size: u64) -> Result<CountedChunks> {
    let adj_list = dir.join("adj_list");
    let counts = numbered(files, dir, COUNT)?;
    // Parts without edges need no directory.
    let mut parts: BTreeMap<u64, PathBuf> =
        counts.iter().map(|&(number, _)| (number, adj_list.join(format!("part{number}")))).collect();
    parts.extend(numbered(files, &adj_list, "part")?);
    let paths: Vec<PathBuf> = counts.iter().map(|count| count.1.clone()).collect();
    let edges: BTreeMap<u64, u64> = counts.iter().map(|count| count.0).zip(numbers(files, &paths)?).collect();
    let mut all = Vec::new();
    for (number, part) in parts {
        let found = numbered(files, &part, "chunk")?;
        let expected = match edges.get(&number) {
            Some(edges) => edges.div_ceil(size),
            None if edges.is_empty() => found.len() as u64,
            None => return Err(Error::missing(dir.join(format!("{COUNT}{number}"))).expected("the edges of this part")),
        };
        if !found.iter().map(|chunk| chunk.0).eq(0..expected) {
            let numbers = listed(found.iter().map(|chunk| chunk.0.to_string()), MOST_LISTED);
            let (chunks, edges) = (plural(expected, "chunk", "chunks"), plural(size, "edge", "edges"));
            return Err(Error::data(&part, format!("{} (numbers {numbers})", plural(found.len(), "chunk", "chunks")))
                .expected(format!("{chunks} of {edges}, from chunk0 on"))
                .advice("fetch the graph again"));
        }
        all.extend(found.into_iter().map(|chunk| chunk.1));
    }
    Ok((all, (!edges.is_empty()).then(|| edges.values().sum())))
}

/// The chunks that must exist, by the numbers of vertices and edges.
fn derived_chunks(files: &dyn GrapharFiles, dir: &Path, part: u64, chunk: u64) -> Result<CountedChunks> {
    let too_many = |file: &Path, what: &str| {
        Error::data(file, format!("more than {MOST_CHUNKS} {what}")).expected("a graph in fewer files")
    };
    let vertices = dir.join(VERTICES);
    let parts = numbers(files, std::slice::from_ref(&vertices))?.iter().sum::<u64>().div_ceil(part);
    if parts > MOST_CHUNKS {
        return Err(too_many(&vertices, "parts"));
    }
    let counts: Vec<PathBuf> = (0..parts).map(|number| dir.join(format!("{COUNT}{number}"))).collect();
    let (mut all, mut sum) = (Vec::new(), 0u64);
    for (number, edges) in numbers(files, &counts)?.into_iter().enumerate() {
        sum = sum.saturating_add(edges);
        let chunks = edges.div_ceil(chunk);
        if chunks > MOST_CHUNKS - all.len() as u64 {
            return Err(too_many(&counts[number], "chunks"));
        }
        all.extend((0..chunks).map(|chunk| dir.join(format!("adj_list/part{number}/chunk{chunk}"))));
    }
    Ok((all, Some(sum)))
}

/// The entries of a folder called `name` and a number, sorted by the number.
fn numbered(files: &dyn GrapharFiles, dir: &Path, name: &str) -> Result<Vec<(u64, PathBuf)>> {
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(name)?.parse().ok();
    let entries = files.entries(dir)?.into_iter();
    let mut found: Vec<(u64, PathBuf)> = entries.filter_map(|path| Some((number(&path)?, path))).collect();
    found.sort_unstable();
    Ok(found)
}

fn numbers(files: &dyn GrapharFiles, paths: &[PathBuf]) -> Result<Vec<u64>> {
    let read = files.read(paths)?.into_iter().zip(paths);
    let number = |(bytes, path): (Vec<u8>, &PathBuf)| match <[u8; 8]>::try_from(&bytes[..]) {
        Ok(bytes) => Ok(u64::from_le_bytes(bytes)),
        Err(_) => Err(Error::data(path, format!("{} bytes", bytes.len())).expected("8, a number")),
    };
    read.map(number).collect()
}

fn values(files: &dyn GrapharFiles, path: &Path) -> Result<PropertyValues> {
    let text = files.read(&[path.to_path_buf()])?.concat();
    let expected = |found| Error::data(path, found).expected("a description of GraphAr in YAML");
    PropertyValues::of_yaml(&String::from_utf8_lossy(&text)).map_err(expected)
}

pub(super) fn is_about_edges(path: &Path) -> bool {
    is_named(path) || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(COUNT))
}

pub(super) fn is_named(path: &Path) -> bool {
    ends_with(path, GRAPH) || ends_with(path, EDGES)
}

fn ends_with(path: &Path, suffixes: [&str; 2]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

fn choose(path: &Path, what: &str, files: &[PathBuf]) -> Error {
    let names = listed(files.iter().map(|file| file.display().to_string()), MOST_LISTED);
    Error::data(path, format!("{} {what}: {names}", files.len()))
        .expected("one")
        .advice("name one of these files as the input; if they are in an archive, unpack it first")
}
