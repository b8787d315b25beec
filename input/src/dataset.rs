//! The files of an input: a directory stands for the files in it, a pattern for those whose paths it matches. Any other name is a file or a URL.
//!
//! Datasets are directories of part files, on one or several levels (`year=2024/part-00000.parquet`). Skipped: empty files, files that are not
//! regular, and names that begin with `.` or `_` (markers such as `_SUCCESS`), except column values (`_year=2024`). Tables with versions are refused:
//! some of their files may be old. In a GraphAr graph only chunks of edges are read. Files of a directory are sorted by path, those of a
//! [list](super::part_list) keep its order.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::bvgraph::BvGraphFiles;
use super::file::InputFile;
use super::format::Format;
use super::graphalytics::GraphalyticsFiles;
use super::graphar::NamedFiles;
use super::graphar::places::{LocalGraphar, sorted_entries};
use super::part_list;
use super::part_names::{check_parts, is_note, keeps_versions};
use super::stat::Watched;
use super::storage::NamedInput;
use trimill_system::url::{is_url, public};
use trimill_system::{Control, Error, Result};

/// The deepest level of directories; deeper nesting may be a link cycle.
const MOST_LEVELS: u32 = 32;

const EXPECTED: &str = "a directory with files of one graph, whose names do not begin with . or _";

/// The files that inputs stand for: several for a directory or pattern. A path that neither exists nor is a pattern with a match stays as it is:
/// opening it reports what is wrong. Errors, `Kind::Data`: a directory that has no files that could be a graph, or is unreadable.
pub fn files_of(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    expanded(inputs, |url| Ok(NamedFiles::one(url))).map(|(files, _)| files)
}

/// As [`files_of`], with URLs opened and the files that lists and descriptions name. `cloud`: whether to ask a metadata service for credentials;
/// `window`: bytes that a thread may fetch at once. Also returns the number of all edges, if known. Errors: also of lists and descriptions.
pub(super) fn named_inputs(
    inputs: &[PathBuf],
    cloud: bool,
    window: u64,
    control: &Control,
) -> Result<(Vec<NamedInput>, Option<u64>)> {
    let (files, edges) = expanded(inputs, |url| {
        #[cfg(feature = "remote")]
        if let Some(edges) = super::remote::graphar(url, cloud, window, control)? {
            return Ok(edges);
        }
        let mut found = NamedFiles::one(url);
        if part_list::is_named(url) {
            for list in opened(std::mem::take(&mut found.files), cloud, window, control)? {
                match list.object {
                    Some(object) => found.files.extend(part_list::parts(&InputFile::remote(object)?)?),
                    None => found.files.push(list.path),
                }
            }
        }
        Ok(found)
    })?;
    Ok((opened(files, cloud, window, control)?, edges))
}

fn files_at(path: &Path) -> Result<NamedFiles> {
    if let Some(edges) = NamedFiles::of(&LocalGraphar, path)? {
        return Ok(edges);
    }
    if part_list::is_named(path) && path.is_file() {
        return match InputFile::open(path)? {
            Ok(list) => Ok(part_list::parts(&list)?.into()),
            Err(_) => Ok(NamedFiles::one(path)),
        };
    }
    Ok(if path.is_dir() { files_in(path)?.into() } else { NamedFiles::one(path) })
}

/// `of_url` returns the files of a URL, an input or an entry of a local list. Returns all files, and their number of edges if known for each.
fn expanded(inputs: &[PathBuf], of_url: impl Fn(&Path) -> Result<NamedFiles>) -> Result<(Vec<PathBuf>, Option<u64>)> {
    let (mut files, mut vertices, mut all) = (Vec::with_capacity(inputs.len()), None::<String>, Some(0u64));
    let mut of_one_type = |path: &Path, NamedFiles { files, vertices: found, edges }: NamedFiles| {
        all = all.zip(edges).map(|(all, edges)| all.saturating_add(edges));
        if let Some(found) = found {
            let first = vertices.get_or_insert_with(|| found.clone());
            if *first != found {
                return Err(Error::data(public(path), format!("edges between vertices of type '{found}'"))
                    .expected(format!("'{first}', as of the input before: the ids of each type begin with 0")));
            }
        }
        Ok(files)
    };
    for input in inputs {
        for path in matching(input)? {
            let is_here = !is_url(&path);
            let found = if is_here { files_at(&path)? } else { of_url(&path)? };
            for file in of_one_type(&path, found)? {
                match is_here && is_url(&file) {
                    true => files.extend(of_one_type(&file, of_url(&file)?)?),
                    false => files.push(file),
                }
            }
        }
    }
    Ok((files, all))
}

impl NamedInput {
    /// `None` if it has no state that shows changes.
    pub(super) fn watched(&self) -> Option<Watched> {
        match &self.object {
            Some(object) => Watched::object(&**object),
            None => Watched::new(&self.path).ok().flatten(),
        }
    }
}

/// The inputs, with URLs opened; a build that does not read these refuses them.
fn opened(paths: Vec<PathBuf>, cloud: bool, window: u64, control: &Control) -> Result<Vec<NamedInput>> {
    match paths.iter().find(|path| is_url(path)) {
        None => Ok(paths.into_iter().map(|path| NamedInput { path, object: None }).collect()),
        #[cfg(feature = "remote")]
        Some(_) => super::remote::open(&paths, cloud, window, control),
        #[cfg(not(feature = "remote"))]
        Some(url) => {
            let _ = (cloud, window, control);
            Err(Error::usage("a URL, which this build does not read")
                .at(url)
                .advice("install one that does: cargo install --path . --features remote"))
        }
    }
}

/// Refuses objects of servers in formats that are read at scattered places, or from files beside them.
pub(super) fn check_remote(inputs: &[NamedInput], format: Format) -> Result<()> {
    match inputs.iter().find(|input| input.object.is_some()) {
        Some(input) if !format.comes_in_ranges() => Err(Error::usage(format!("a file of format {format} on a server"))
            .at(&input.path)
            .expected(format!("one of {}, which are read in long ranges", Format::names(Format::comes_in_ranges)))
            .advice("download it first")),
        _ => Ok(()),
    }
}

/// A path with `*`, `?` or `[...]` that is not the name of a file. Its leading directories that exist are taken literally.
pub struct InputPattern<'a> {
    dir: &'a str,
    pattern: &'a str,
}

impl<'a> InputPattern<'a> {
    /// `None` for any other path, and for a URL.
    pub fn of(input: &'a Path) -> Option<Self> {
        let is_pattern = |text: &&str| text.contains(['*', '?', '[']) && !is_url(input) && !input.exists();
        let text = input.to_str().filter(is_pattern)?;
        let dir = input.ancestors().find(|dir| dir.is_dir()).and_then(Path::to_str).unwrap_or_default();
        Some(Self { dir, pattern: text[dir.len()..].trim_start_matches('/') })
    }

    fn below(&self, dir: &str) -> String {
        format!("{}{}", glob::Pattern::escape(&Path::new(dir).join("").to_string_lossy()), self.pattern)
    }

    /// Whether an absolute path without links is or would be one of its files, or a directory of such files.
    pub fn matches(&self, path: &Path) -> bool {
        let dir = Path::new(".").join(self.dir).canonicalize().unwrap_or_default();
        let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
        glob::Pattern::new(&self.below(&dir.to_string_lossy()))
            .is_ok_and(|pattern| path.ancestors().any(|path| pattern.matches_path_with(path, options)))
    }
}

/// The paths that a pattern matches, sorted, without empty and hidden files; anything else, or a URL, unchanged.
fn matching(input: &Path) -> Result<Vec<PathBuf>> {
    let paths = InputPattern::of(input).and_then(|pattern| glob::glob(&pattern.below(pattern.dir)).ok());
    let found = paths.into_iter().flatten().collect::<Result<Vec<_>, _>>().map_err(|error: glob::GlobError| {
        let path = error.path().to_path_buf();
        Error::read(path, error.into())
    })?;
    let is_hidden = |path: &Path| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    let is_empty = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    let (left_out, meant): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| is_hidden(path) || is_empty(path));
    // If only hidden files match, they are taken.
    Ok(match (&meant[..], &left_out[..]) {
        ([], []) => vec![input.to_path_buf()],
        ([], _) => left_out,
        _ => meant,
    })
}

fn files_in(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    add_files(dir, MOST_LEVELS, &mut files)?;
    // Benchmark datasets keep results of algorithms beside the graph.
    let is_graphalytics = |file: &&PathBuf| {
        file.extension().is_some_and(|suffix| suffix == "properties") && GraphalyticsFiles::of(file, false).is_some()
    };
    if let [only] = files.iter().filter(is_graphalytics).collect::<Vec<_>>()[..] {
        return Ok(vec![only.clone()]);
    }
    // Beside a crawl are its properties, offsets, sums, and lists of URLs.
    let crawl = |file: &PathBuf| {
        let found = BvGraphFiles::of(file);
        (found.graph == *file && found.properties.is_file()).then_some(found)
    };
    let crawls: Vec<BvGraphFiles> = files.iter().filter_map(crawl).collect();
    let is_crawl = |file: &PathBuf| crawls.iter().any(|crawl| crawl.graph == *file);
    files.retain(|file| is_crawl(file) || !crawls.iter().any(|crawl| crawl.is_beside(file)));
    if files.is_empty() {
        return Err(Error::data(dir, "has no file that could be a graph").expected(EXPECTED));
    }
    check_parts(&files)?;
    Ok(files)
}

fn add_files(dir: &Path, levels: u32, files: &mut Vec<PathBuf>) -> Result<()> {
    if levels == 0 {
        return Err(Error::data(dir, format!("is more than {MOST_LEVELS} directories deep")).expected(EXPECTED));
    }
    let paths = sorted_entries(dir).map_err(|error| Error::read(dir, error))?;
    if let Some(error) = paths.iter().find_map(|path| keeps_versions(path)) {
        return Err(error);
    }
    for path in paths.into_iter().filter(|path| path.file_name().is_none_or(|name| !is_note(name.as_bytes()))) {
        let found = std::fs::metadata(&path).map_err(|error| Error::read(&path, error))?;
        if found.is_dir() {
            add_files(&path, levels - 1, files)?;
        } else if found.is_file() && found.len() > 0 {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_patterns_stand_for_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in [
            "b/y=2/1.txt", "b/y=1/0.txt.gz", "b/_SUCCESS", "b/.0.crc", "b/_notes/3.txt", "b/y=1/empty.txt", "c/g.graph",
        ] {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), if name.contains("empty") { "" } else { "0 1\n" }).unwrap();
        }
        let files = |inputs: &[&str]| files_of(&inputs.iter().map(|name| at(name)).collect::<Vec<_>>());
        let of = |names: &[&str]| names.iter().map(|name| at(name)).collect::<Vec<_>>();
        assert_eq!(files(&["b"]).unwrap(), of(&["b/y=1/0.txt.gz", "b/y=2/1.txt"]));
        assert_eq!(files(&["b/y=*/[01].*"]).unwrap(), of(&["b/y=1/0.txt.gz", "b/y=2/1.txt"]));
        assert_eq!(files(&["b/y=1/*"]).unwrap(), of(&["b/y=1/0.txt.gz"]));
        assert_eq!(files(&["b/y*", "b/_S*"]).unwrap(), of(&["b/y=1/0.txt.gz", "b/y=2/1.txt", "b/_SUCCESS"]));
        assert_eq!(files(&["b/y=1/empty*", "b/.0*"]).unwrap(), of(&["b/y=1/empty.txt", "b/.0.crc"]));
        assert_eq!(files(&["?"]).unwrap(), of(&["b/y=1/0.txt.gz", "b/y=2/1.txt", "c/g.graph"]));
        // An argument that is the name of a file is not a pattern; a file that is named is taken even if it begins with `_`.
        std::fs::write(at("b/y=*"), "0 1\n").unwrap();
        std::fs::create_dir_all(at("[ab]*")).unwrap();
        std::fs::write(at("[ab]*/3.txt"), "0 1\n").unwrap();
        assert_eq!(files(&["[ab]*/?.txt"]).unwrap(), of(&["[ab]*/3.txt"]));
        assert_eq!(files(&["b/y=*", "b/_SUCCESS", "nothing*"]).unwrap(), of(&["b/y=*", "b/_SUCCESS", "nothing*"]));
        // A list of files that were fetched beside it, into one folder or with their folders.
        std::fs::write(at("p.paths"), "\u{feff}b/y=1/0.txt.gz\r\n\nelsewhere/q.txt\nhttps://host/r.txt\n").unwrap();
        std::fs::write(at("q.txt"), "0 1\n").unwrap();
        let expected = [at("b/y=1/0.txt.gz"), at("q.txt"), "https://host/r.txt".into()];
        assert_eq!(files(&["p.paths"]).unwrap(), expected);
        for (lines, said) in [("\n", "names no files"), ("0 1\n1 2\n", "p.paths:1: a line of numbers")] {
            std::fs::write(at("p.paths"), lines).unwrap();
            let error = files(&["p.paths"]).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // Without properties, another file of the same base name is a file of its own.
        std::fs::write(at("c/g.offsets"), "0 1\n").unwrap();
        assert_eq!(files(&["c"]).unwrap().len(), 2);
        std::fs::write(at("c/g.properties"), "nodes=1\n").unwrap();
        assert_eq!(files(&["c"]).unwrap(), of(&["c/g.graph"]));
        std::fs::create_dir(at("d")).unwrap();
        for (name, text) in [("d/h.e", "0 1\n"), ("d/h.v", "0\n1\n"), ("d/h-LCC", "0 0\n1 0\n")] {
            std::fs::write(at(name), text).unwrap();
        }
        std::fs::write(at("d/h.properties"), "graph.h.directed = false\n").unwrap();
        assert_eq!(files(&["d"]).unwrap(), of(&["d/h.properties"]));
        std::fs::create_dir(at("empty")).unwrap();
        let error = files(&["c", "empty"]).unwrap_err().to_string();
        assert!(error.contains("empty: has no file that could be a graph"), "{error}");
        std::os::unix::fs::symlink(dir.path(), at("b/loop")).unwrap();
        assert!(files(&["b"]).unwrap_err().to_string().contains("directories deep"));
    }

    #[test]
    fn graphs_between_other_types_of_vertices_are_refused_also_in_a_list() {
        let dir = tempfile::tempdir().unwrap();
        // Each URL ends with its graph's type of vertices.
        let of_url = |url: &Path| {
            let vertices = url.file_name().map(|name| name.to_string_lossy().into_owned());
            Ok(NamedFiles { files: vec![url.to_path_buf()], vertices, edges: None })
        };
        let [one, same, other] = ["https://host/a/person", "https://host/b/person", "https://host/c/thing"];
        let list = |urls: &[&str]| {
            let list = dir.path().join(format!("{}.paths", urls.len()));
            std::fs::write(&list, urls.join("\n")).unwrap();
            vec![list]
        };
        let named = |urls: &[&str]| urls.iter().map(PathBuf::from).collect::<Vec<_>>();
        for urls in [named(&[one, same]), list(&[one, same])] {
            assert_eq!(expanded(&urls, of_url).unwrap(), (named(&[one, same]), None));
        }
        for urls in [named(&[one, other]), list(&[one, other]), [named(&[one]), list(&[other])].concat()] {
            let error = expanded(&urls, of_url).unwrap_err().to_string();
            assert!(error.contains("c/thing: edges between vertices of type 'thing'; expected 'person'"), "{error}");
        }
    }
}
