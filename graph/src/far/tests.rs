//! Oriented graphs of more than 2^32 arcs and bytes, and of more than 2^64 wedges: sparse files, which take no disk space.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::OrientedGraph;
use super::file::Layout;
use super::index::{BlockEntry, BlockIndex, DegreeRun};
use super::layout::{GraphSection, PAGE, ROWS};
use super::rows::tests::encoded;
use super::store::{BlockStore, GraphFile};
use trimill_counting::VertexSetBuilder;
use trimill_system::Kind;

/// The arcs of three rows that are holes in the file.
const HOLES: [u64; 3] = [(1 << 31) + 1, (1 << 31) + 2, 2];
const FAR: u64 = (1 << 32) + 5;

/// Writes the file of a graph whose ranks 3 to 8 are a clique after rows that are holes, and returns the graph as opened from it.
fn clique_behind_holes(path: &Path) -> OrientedGraph {
    let rows: Vec<Vec<u32>> = (3..9).map(|rank| (3..rank).collect()).collect();
    let clique = encoded(&rows);
    let (mut entries, mut arc, mut position) = (Vec::new(), 0, 0);
    for (rank, arcs) in (0..).zip(HOLES) {
        entries.push(BlockEntry { first_rank: rank, first_arc: arc, position, checksum: 1 });
        arc += arcs;
        position += arcs + 1;
    }
    assert_eq!(arc, FAR);
    entries.push(BlockEntry { first_rank: 3, first_arc: FAR, position, checksum: xxh3_64(&clique) });
    let block_bytes = position + clique.len() as u64;
    let rows = GraphSection { name: ROWS.into(), at: PAGE, bytes: block_bytes, checksum: None, needed: true };
    let layout = Layout {
        vertices: 9,
        edges: FAR + 15,
        longest_row: u32::MAX,
        blocks: 4,
        block_bytes,
        sections: vec![rows],
        ..Layout::default()
    };
    let file = File::create(path).unwrap();
    file.write_all_at(&clique, layout.range("rows").start + position).unwrap();
    let file = GraphFile { file: File::open(path).unwrap(), path: path.into(), checksum: 0, _temporary: None };
    OrientedGraph {
        index: BlockIndex::new(entries, &layout).unwrap(),
        degrees: Vec::new(),
        store: BlockStore::File { file, rows: layout.range("rows").start }.into(),
        layout,
        recent: Default::default(),
    }
}

#[test]
fn rows_past_2_to_the_32_arcs_and_bytes_are_found_and_read() {
    let dir = tempfile::tempdir().unwrap();
    let graph = clique_behind_holes(&dir.path().join("g"));
    assert_eq!((graph.edges(), graph.stored_bytes().get() > 1 << 32), (FAR + 15, true));
    assert_eq!(graph.csr_bytes().get(), 80 + 4 * (FAR + 15));
    for rank in 3..9u32 {
        let before: u64 = (0..u64::from(rank) - 3).sum();
        assert_eq!(graph.first_arc(rank).unwrap(), FAR + before);
        let (mut begins, mut row) = ([0u64; 2], vec![0; rank as usize - 3]);
        graph.read(rank..rank + 1, &mut begins, &mut row).unwrap();
        assert_eq!(row, (3..rank).collect::<Vec<_>>());
    }
    assert_eq!(graph.first_arc(9).unwrap(), FAR + 15);
    // Limits on arcs beyond 32 bits, at and within blocks.
    assert_eq!(graph.last_fitting(0, false, |_, arcs| arcs <= FAR).unwrap(), 4);
    assert_eq!(graph.last_fitting(0, false, |_, arcs| arcs <= FAR + 6).unwrap(), 7);
    assert_eq!(graph.last_fitting(2, false, |_, arcs| arcs <= 4).unwrap(), 5);
    // A hole cannot be read as rows: its checksum differs.
    let error = graph.read(2..4, &mut [0u64; 3], &mut [0; 2]).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
}

#[test]
fn wedges_pass_2_to_the_64() {
    let dir = tempfile::tempdir().unwrap();
    let graph = clique_behind_holes(&dir.path().join("g"));
    let degrees = vec![DegreeRun { degree: u32::MAX, vertices: 3 }, DegreeRun { degree: 1, vertices: 1 }];
    let graph = OrientedGraph { degrees, ..graph };
    assert_eq!(graph.wedges(), 3 * 9_223_372_030_412_324_865);
}

#[test]
fn sets_reach_to_the_last_vertex() {
    // The largest possible number of vertices.
    let len = u32::MAX - 1;
    let members = [0, 63, 64, 1 << 31, (1 << 31) + 1, len - 65, len - 64, len - 1];
    let marks = VertexSetBuilder::new(len);
    members.iter().for_each(|&i| marks.set(i));
    assert!(marks.contains(len - 1) && !marks.contains(len - 2));
    let bits = marks.finish();
    assert_eq!((bits.count(), bits.universe()), (8, len));
    for (rank, &i) in members.iter().enumerate() {
        assert!(bits.contains(i));
        assert_eq!((bits.rank(i), bits.rank(i + 1)), (rank as u32, rank as u32 + 1));
    }
    assert_eq!(bits.rank(len), 8);
    assert_eq!(bits.iter(0..64).collect::<Vec<_>>(), [0, 63]);
    assert_eq!(bits.iter(len - 66..len).collect::<Vec<_>>(), [len - 65, len - 64, len - 1]);
    assert_eq!(bits.iter(len - 1..u32::MAX).collect::<Vec<_>>(), [len - 1]);
}
