//! The file of an oriented graph: as it is, and made of a footer and sections with right checksums.
//!
//! The bytes are the footer without its checksums, a zero byte, and the sections without the gaps between them.

use trimill::graph::file::{Layout, Place as FilePlace, open, read_layout};

use super::{Place, before_zero, clean, is_told, seal};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    file(place, bytes);
    let (footer, sections) = before_zero(bytes);
    file(place, &seal::graph(footer, &spread(footer, sections)));
}

/// Sections at the places where the footer wants them, if that is near.
fn spread(footer: &[u8], mut bytes: &[u8]) -> Vec<u8> {
    let Ok(layout) = serde_json::from_slice::<Layout>(footer) else { return bytes.to_vec() };
    if layout.edges > 1 << 16 || layout.vertices > 1 << 16 {
        return bytes.to_vec();
    }
    let mut sections = Vec::new();
    for range in [Some(layout.offsets()), Some(layout.heads()), Some(layout.degrees()), layout.ids()] {
        let Some(range) = range else { continue };
        let (mine, rest) = bytes.split_at(range.len().min(bytes.len()));
        sections.resize(range.start - 4096, 0);
        sections.extend(mine);
        sections.resize(range.end - 4096, 0);
        bytes = rest;
    }
    sections
}

fn file(place: &Place, bytes: &[u8]) {
    let path = place.write("g.trimgraf", bytes);
    let layout = read_layout(&path);
    let graph = match open(FilePlace::Cached(path.clone())) {
        Ok(graph) => graph,
        Err(error) => return is_told(&error, &path),
    };
    assert_eq!(layout.expect("its footer").edges, graph.edges());
    let (n, rows) = (graph.vertices(), (0..graph.vertices()).map(|rank| graph.row(rank)));
    assert_eq!(rows.map(|row| row.len() as u64).sum::<u64>(), graph.edges());
    assert_eq!((0..n).map(|id| u64::from(graph.out_degree(id))).sum::<u64>(), graph.edges());
    assert!((0..n).all(|id| graph.degrees()[id as usize] < n.max(1)));
    for id in 0..n {
        graph.original_id(id);
    }
    graph.vertex_of(u64::MAX);
    graph.wedges();
    graph.csr_bytes();
    for id in 0..n {
        let row = graph.row(id);
        assert!(row.is_sorted_by(|a, b| a < b), "row {id}");
        assert!(row.last().is_none_or(|&last| last < graph.numbering().number_of[id as usize]), "row {id}");
        assert!(id == 0 || graph.original_id(id - 1) < graph.original_id(id), "id {id}");
    }
    if n == 0 || graph.original_id(n - 1) < u64::MAX {
        let edges = clean::edges(&graph);
        clean::is_cleaned(place, edges.into_iter().collect());
    }
}
