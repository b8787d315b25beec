//! Published figures of the graphs of `tests/data`, and the table of its README.

use super::job::data;

/// A graph of `tests/data` with its published triangles.
pub(crate) type Known = (&'static str, u128);

pub(crate) const COLLABORATION: Known = ("ca-HepTh.txt", 28_339);
pub(crate) const FRIENDS: Known = ("soc-Slashdot0902.txt.gz", 602_592);
pub(crate) const ROUTERS: Known = ("as20000102.txt", 6_584);
/// A graph in a format that is read more than once.
pub(crate) const MESH: Known = ("delaunay_n15.graph", 65_872);
pub(crate) const VOTES: Known = ("wiki-Vote.txt", 608_389);

/// A graph of `tests/data` and its figures.
pub(crate) struct Published {
    pub(crate) name: String,
    pub(crate) arcs: u64,
    pub(crate) loops: u64,
    pub(crate) vertices: u64,
    pub(crate) edges: u64,
    pub(crate) triangles: u128,
    pub(crate) wedges: u128,
    /// The mean local clustering coefficient, to six digits.
    pub(crate) clustering: String,
    pub(crate) largest_degree: u64,
}

pub(crate) fn published() -> Vec<Published> {
    let readme = std::fs::read_to_string(data("README.md")).unwrap();
    let rows = readme.lines().skip_while(|line| !line.starts_with("| file | what it is |")).skip(2);
    let all: Vec<Published> = rows.take_while(|line| line.starts_with('|')).map(row).collect();
    assert_eq!(all.len(), 12);
    all
}

fn row(line: &str) -> Published {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [files, _, _, arcs, vertices, edges, triangles, wedges, clustering, degree] = cells[..] else {
        panic!("{line}");
    };
    // The number of loops follows that of arcs; some numbers are followed by who published them.
    let (arcs, loops) = arcs.split_once(" (").unwrap();
    Published {
        name: files.split('`').nth(1).unwrap().to_owned(),
        arcs: number(arcs),
        loops: number(loops.trim_end_matches(')')),
        vertices: number(vertices),
        edges: number(edges),
        triangles: number(triangles).into(),
        wedges: number(wedges).into(),
        clustering: clustering.to_owned(),
        largest_degree: number(degree),
    }
}

/// The number, written with separators, in front of a remark.
fn number(cell: &str) -> u64 {
    cell.split(' ').next().unwrap().replace(',', "").parse().unwrap()
}
