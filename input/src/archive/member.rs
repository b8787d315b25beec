//! Finds the graph in an archive. Input: its members, if it is not of GraphAr or Graphalytics. Output: the graph, by the first rule that applies:
//!
//! 1. Only plain files are eligible. Folders, links, hidden files (a part of the path begins with `.`) and `__MACOSX` do not.
//! 2. If there is only one file, it is the graph, under any name.
//! 3. KONECT: `out.NAME` with `meta.NAME` or `README.NAME` in the same folder.
//! 4. SuiteSparse: `NAME/NAME.mtx`, if all other files are in its folder and named `NAME_...`: vectors, coordinates and names.
//! 5. The file with the suffix of a format. Files called README, LICENSE and the like are texts about the graph.
//!
//! An archive with two files that may be the graph is refused, and so is one with none.

use std::collections::HashSet;
use std::path::Path;

use crate::detect;
use trimill_system::Error;
use trimill_system::text::{listed, shown};

const MOST_LISTED: usize = 8;

/// Prefixes of the names of files that describe a graph.
const ABOUT: [&str; 9] =
    ["readme", "license", "licence", "copying", "citation", "citing", "changelog", "authors", "copyright"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// The size of the contents, as the archive says.
    pub(crate) bytes: u64,
    pub(crate) plain: bool,
}

impl Member {
    fn split(&self) -> (&str, &str) {
        self.name.rsplit_once('/').unwrap_or(("", &self.name))
    }

    pub(crate) fn is_eligible(&self) -> bool {
        let hidden = |part: &str| (part.starts_with('.') && part != "." && part != "..") || part == "__MACOSX";
        self.plain && !self.name.split('/').any(hidden)
    }

    fn is_about(&self) -> bool {
        let name = self.split().1.to_ascii_lowercase();
        let first = name.split(['.', '_', '-']).next().unwrap_or_default();
        ABOUT.contains(&first)
    }
}

/// The index of the graph in `members`; the error does not name the archive.
pub(crate) fn graph(members: &[Member]) -> Result<usize, Error> {
    let files: Vec<usize> = (0..members.len()).filter(|&at| members[at].is_eligible()).collect();
    if let [only] = files[..] {
        return Ok(only);
    }
    let names: HashSet<(&str, &str)> = members.iter().map(Member::split).collect();
    let mut found: Vec<usize> = files.iter().copied().filter(|&at| is_of_konect(&members[at], &names)).collect();
    if found.is_empty() {
        found = files.iter().copied().filter(|&at| is_of_suitesparse(at, &files, members)).collect();
    }
    if found.is_empty() {
        let has_format = |member: &Member| !member.is_about() && detect::by_suffix(member.name.as_ref()).is_some();
        found = files.iter().copied().filter(|&at| has_format(&members[at])).collect();
    }
    match found[..] {
        [only] => Ok(only),
        [] => Err(Error::data("", format!("no graph among {}", named(members, &files)))
            .expected("one file with the suffix of a format, such as .mtx, .edges or .txt, or one file alone")
            .advice("unpack the archive and name the file of the graph")),
        _ => Err(Error::data("", format!("{} files that may be the graph: {}", found.len(), named(members, &found)))
            .expected("one")
            .advice("unpack the archive and name the file of the graph, or all files if they hold one graph together")),
    }
}

/// `names`: folder and name of each member.
fn is_of_konect(member: &Member, names: &HashSet<(&str, &str)>) -> bool {
    let (folder, name) = member.split();
    let Some(rest) = name.strip_prefix("out.") else { return false };
    [format!("meta.{rest}"), format!("README.{rest}")].iter().any(|about| names.contains(&(folder, about.as_str())))
}

fn is_of_suitesparse(at: usize, files: &[usize], members: &[Member]) -> bool {
    let (folder, name) = members[at].split();
    let matrix = folder.rsplit('/').next().unwrap_or_default();
    let beside = format!("{matrix}_");
    !matrix.is_empty()
        && name.strip_suffix(".mtx") == Some(matrix)
        && files.iter().filter(|&&other| other != at).all(|&other| {
            let (other_folder, other) = members[other].split();
            other_folder == folder && other.starts_with(&beside)
        })
}

fn named(members: &[Member], chosen: &[usize]) -> String {
    let names = chosen.iter().map(|&at| format!("'{}'", shown(Path::new(&members[at].name))));
    if chosen.is_empty() { "its members (no plain file)".into() } else { listed(names, MOST_LISTED) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str]) -> Result<String, String> {
        let members: Vec<Member> = names
            .iter()
            .map(|name| Member { name: (*name).into(), bytes: 1, plain: !name.ends_with('/') && !name.ends_with('@') })
            .collect();
        graph(&members).map(|at| members[at].name.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_graph_of_each_collection_is_found() {
        let musae = "git/musae_git_edges.csv";
        for (names, graph) in [
            // SuiteSparse
            (&["karate/karate.mtx"][..], "karate/karate.mtx"),
            (&["a/", "a/a.mtx", "a/a_b.mtx", "a/a_coord.mtx", "a/a_nodename.txt"], "a/a.mtx"),
            // KONECT
            (&["x/meta.x", "x/out.x", "x/README.x", "x/ent.x.name"], "x/out.x"),
            (&["x/out.x_rating.tsv", "x/meta.x_rating.tsv", "x/other.tsv"], "x/out.x_rating.tsv"),
            // Network Repository
            (&["soc-karate.mtx", "readme.html"], "soc-karate.mtx"),
            (&["readme.txt", "bn-mouse.edges", "bn-mouse.node_labels"], "bn-mouse.edges"),
            // SNAP
            (&["facebook_combined.txt"], "facebook_combined.txt"),
            (&["git/README.txt", "git/citing.txt", musae, "git/features.json"], musae),
            // Files added by desktop systems
            (&["g/", "g/edges.csv", "__MACOSX/g/._edges.csv", ".DS_Store"], "g/edges.csv"),
            (&["./data", "./link@"], "./data"),
            (&["g.mtx.gz", "notes.md"], "g.mtx.gz"),
        ] {
            assert_eq!(chosen(names).as_deref(), Ok(graph), "{names:?}");
        }
    }

    #[test]
    fn two_graphs_or_none_are_refused() {
        for (names, parts) in [
            (&["a.txt", "b.txt"][..], &["2 files that may be the graph: 'a.txt', 'b.txt'", "expected one"][..]),
            // The files may be the parts of one graph.
            (&["g/g.txt", "g/g_2.txt"], &["'g/g.txt', 'g/g_2.txt'"]),
            (&["a/a.mtx", "a/b.mtx"], &["'a/a.mtx', 'a/b.mtx'"]),
            (&["a/a.mtx", "a/a_b.mtx", "c.mtx"], &["3 files"]),
            (&["x/out.x", "x/meta.x", "y/out.y", "y/meta.y"], &["'x/out.x', 'y/out.y'"]),
            (&["a.html", "b.pdf"], &["no graph among 'a.html', 'b.pdf'", "one file with the suffix of a format"]),
            (&["README.txt", "LICENSE.txt"], &["no graph among"]),
            (&["g.mtx@", "d/"], &["no plain file"]),
            (&[], &["no plain file"]),
            (&["\u{1b}[2J.txt", "b.txt"], &["\\u{1b}[2J.txt"]),
        ] {
            let error = chosen(names).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{names:?}: {error}");
        }
        let many: Vec<String> = (0..20).map(|i| format!("{i}.txt")).collect();
        let error = chosen(&many.iter().map(String::as_str).collect::<Vec<_>>()).unwrap_err();
        assert!(error.contains("20 files") && error.contains("'7.txt', 12 more"), "{error}");
    }
}
