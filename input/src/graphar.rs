//! Apache GraphAr: a directory with descriptions in YAML, and tables of the edges of each type in chunks.
//!
//! `NAME.graph.yml` lists the files `NAME.edge.yml`, one for each type of edges. That says where the edges are: once for each way to order
//! them, in `PREFIX/ORDER/adj_list/partI/chunkJ`, of which one is taken. `PREFIX/ORDER/edge_countI` has the edges of a part, so a chunk
//! that is missing is an error. Vertices of each type are numbered from 0, so edges between two types are refused: their ids would be mixed
//! up. Chunks are then read as the files of any dataset, Parquet or CSV.

use std::path::{Path, PathBuf};

use super::java_properties::PropertyValues;
use trimill_system::error::{Error, Result};

const GRAPH: [&str; 2] = [".graph.yml", ".graph.yaml"];
const EDGES: [&str; 2] = [".edge.yml", ".edge.yaml"];

/// The most bytes of a description.
const MOST_BYTES: u64 = 1 << 20;

/// The most files that an error lists.
const MOST_LISTED: usize = 12;

/// The chunks with the edges of one type.
pub(super) struct GrapharEdges {
    pub(super) chunks: Vec<PathBuf>,
    /// The type of the vertices at both ends.
    pub(super) vertices: String,
}

impl GrapharEdges {
    /// Those that a directory, the description of a graph, or that of a type of edges stands for; `None` if it is none of these.
    pub(super) fn of(path: &Path) -> Result<Option<Self>> {
        if path.is_dir() {
            let of = |suffix| -> Result<Vec<PathBuf>> {
                Ok(entries(path)?.into_iter().filter(|entry| ends_with(entry, suffix)).collect())
            };
            return match (&of(GRAPH)?[..], &of(EDGES)?[..]) {
                ([], []) => Ok(None),
                ([], edges) => Self::of_one(path, path, edges).map(Some),
                ([graph], _) => Self::of_graph(graph).map(Some),
                (several, _) => Err(choose(path, "graphs", several)),
            };
        }
        if ends_with(path, GRAPH) {
            return Self::of_graph(path).map(Some);
        }
        if !ends_with(path, EDGES) {
            return Ok(None);
        }
        // The graph that lists it may say that its files are elsewhere.
        let dir = path.parent().unwrap_or(Path::new(""));
        for graph in entries(dir)?.into_iter().filter(|entry| ends_with(entry, GRAPH)) {
            let (root, edges) = graph_info(&graph)?;
            if edges.iter().any(|edge| edge.file_name() == path.file_name()) {
                return Self::of_type(&root, path).map(Some);
            }
        }
        Self::of_type(dir, path).map(Some)
    }

    fn of_graph(graph: &Path) -> Result<Self> {
        let (root, edges) = graph_info(graph)?;
        Self::of_one(graph, &root, &edges)
    }

    fn of_one(path: &Path, root: &Path, edges: &[PathBuf]) -> Result<Self> {
        match edges {
            [edge] => Self::of_type(root, edge),
            [] => Err(Error::data(path, "lists no edges").expected("a graph with edges of one type")),
            several => Err(choose(path, "types of edges", several)),
        }
    }

    /// Of the type that `edge` describes; `root` is where the files of the graph are.
    fn of_type(root: &Path, edge: &Path) -> Result<Self> {
        let info = values(edge)?;
        let needed = |names: [&str; 2]| {
            let value = names.iter().find_map(|name| info.get(name));
            value.ok_or_else(|| Error::data(edge, format!("no '{}'", names[0])).expected("GraphAr's keys of edges"))
        };
        let [tails, heads] = [needed(["src_type", "src_label"])?, needed(["dst_type", "dst_label"])?];
        if tails != heads {
            return Err(Error::data(edge, format!("edges from '{tails}' to '{heads}', whose ids both begin with 0"))
                .expected("edges between vertices of one type"));
        }
        let size = info.number("chunk_size").ok().flatten().filter(|&size| size > 0);
        let size = size.ok_or_else(|| Error::data(edge, "no number 'chunk_size'").expected("the edges of a chunk"))?;
        let prefix = root.join(needed(["prefix", "prefix"])?);
        let dir = order(edge, &info, &prefix)?;
        Ok(Self { chunks: chunks(&dir, size)?, vertices: tails.to_owned() })
    }
}

/// The root of a graph's files, and the descriptions of its edges.
fn graph_info(graph: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
    let info = values(graph)?;
    let dir = graph.parent().unwrap_or(Path::new(""));
    let prefix = info.get("prefix").unwrap_or_default();
    if prefix.contains("://") {
        return Err(Error::data(graph, format!("files at '{prefix}'"))
            .expected("a directory")
            .advice("copy the graph, and set 'prefix: ./'"));
    }
    let root = dir.join(prefix);
    if !root.is_dir() && !root.as_os_str().is_empty() {
        return Err(Error::data(graph, format!("files in '{prefix}', which is no directory"))
            .expected("the directory of the graph's files")
            .advice("if they are beside this file, set 'prefix: ./'"));
    }
    let edges = (0..).map_while(|number| info.get(&format!("edges/{number}"))).map(|name| dir.join(name)).collect();
    Ok((root, edges))
}

/// The directory of edges in some order whose chunks can be read.
fn order(edge: &Path, info: &PropertyValues, prefix: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for number in 0.. {
        let get = |key: &str| info.get(&format!("adj_lists/{number}/{key}"));
        let Some(format) = get("file_type") else { break };
        let ordered = if get("ordered").is_some_and(|ordered| ordered == "true") { "ordered" } else { "unordered" };
        let by = if get("aligned_by") == Some("dst") { "dest" } else { "source" };
        let name = get("prefix").map_or_else(|| format!("{ordered}_by_{by}"), str::to_owned);
        let dir = prefix.join(&name);
        if matches!(format, "parquet" | "csv") && dir.join("adj_list").is_dir() {
            return Ok(dir);
        }
        found.push(format!("{} of format {format}", dir.join("adj_list").display()));
    }
    let found = if found.is_empty() { "no 'adj_lists'".into() } else { format!("edges in {}", found.join(", ")) };
    Err(Error::data(edge, found).expected("a directory of chunks of format parquet or csv"))
}

/// The chunks in a directory of edges, all of them.
fn chunks(dir: &Path, size: u64) -> Result<Vec<PathBuf>> {
    let adj_list = dir.join("adj_list");
    let mut parts = numbered(&adj_list, "part")?;
    let counts = numbered(dir, "edge_count")?;
    // Parts without edges need no directory.
    parts.extend(counts.iter().map(|&(number, _)| (number, adj_list.join(format!("part{number}")))));
    parts.sort_unstable();
    parts.dedup_by_key(|part| part.0);
    let mut all = Vec::new();
    for (number, part) in parts {
        let found = if part.is_dir() { numbered(&part, "chunk")? } else { Vec::new() };
        let count = counts.iter().find(|count| count.0 == number);
        let expected = match count {
            Some((_, path)) => edge_count(path)?.div_ceil(size),
            None => found.len() as u64,
        };
        if !found.iter().map(|chunk| chunk.0).eq(0..expected) {
            let numbers: Vec<String> = found.iter().take(MOST_LISTED).map(|chunk| chunk.0.to_string()).collect();
            return Err(Error::data(&part, format!("{} chunks (numbers {})", found.len(), numbers.join(", ")))
                .expected(format!("{expected} chunks of {size} edges, from chunk0 on"))
                .advice("fetch the graph again"));
        }
        all.extend(found.into_iter().map(|chunk| chunk.1));
    }
    if all.is_empty() {
        return Err(Error::data(&adj_list, "has no chunks").expected("partI/chunkJ"));
    }
    Ok(all)
}

/// The entries of a directory that are called `name` and a number, in the order of their numbers.
fn numbered(dir: &Path, name: &str) -> Result<Vec<(u64, PathBuf)>> {
    let number = |path: &Path| path.file_name()?.to_str()?.strip_prefix(name)?.parse().ok();
    let mut found: Vec<(u64, PathBuf)> =
        entries(dir)?.into_iter().filter_map(|path| Some((number(&path)?, path))).collect();
    found.sort_unstable();
    Ok(found)
}

/// The number in a file of eight bytes.
fn edge_count(path: &Path) -> Result<u64> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    match <[u8; 8]>::try_from(&bytes[..]) {
        Ok(bytes) => Ok(u64::from_le_bytes(bytes)),
        Err(_) => Err(Error::data(path, format!("{} bytes", bytes.len())).expected("8, the number of a part's edges")),
    }
}

fn values(path: &Path) -> Result<PropertyValues> {
    let length = std::fs::metadata(path).map_err(|error| Error::read(path, error))?.len();
    if length > MOST_BYTES {
        return Err(Error::data(path, format!("{length} bytes")).expected(format!("at most {MOST_BYTES}")));
    }
    let text = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    let expected = |found| Error::data(path, found).expected("a description of GraphAr in YAML");
    PropertyValues::of_yaml(&String::from_utf8_lossy(&text)).map_err(expected)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error| Error::read(dir, error);
    let here = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let entries =
        std::fs::read_dir(here).map_err(unreadable)?.map(|entry| entry.map(|entry| dir.join(entry.file_name())));
    let mut paths = entries.collect::<std::io::Result<Vec<_>>>().map_err(unreadable)?;
    paths.sort_unstable();
    Ok(paths)
}

/// Whether an input is called like a description.
pub(super) fn is_named(path: &Path) -> bool {
    ends_with(path, GRAPH) || ends_with(path, EDGES)
}

fn ends_with(path: &Path, suffixes: [&str; 2]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// The error for several files of which one is to be named.
fn choose(path: &Path, what: &str, files: &[PathBuf]) -> Error {
    let mut listed: Vec<String> = files.iter().take(MOST_LISTED).map(|file| file.display().to_string()).collect();
    if files.len() > MOST_LISTED {
        listed.push(format!("{} more", files.len() - MOST_LISTED));
    }
    Error::data(path, format!("{} {what}: {}", files.len(), listed.join(", ")))
        .expected("one")
        .advice("name one of these files as the input")
}
