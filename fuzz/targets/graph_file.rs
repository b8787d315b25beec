//! Graph files: the bytes are a file; or a footer, a zero byte, and sections without gaps, made into a file with valid checksums.

use trimill::testing::bytes::Bytes;
use trimill::testing::control::Control;
use trimill::testing::error::{Error, Result};
use trimill::testing::graph::file::{GraphSection, Layout, open, read_layout};
use trimill::testing::graph::{Direction, OrientedGraph};

use super::{Place, before_zero, clean, is_told, seal};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    file(place, bytes);
    file(place, &sealed(bytes));
}

/// The file with valid checksums that the bytes encode.
pub(crate) fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (footer, sections) = before_zero(bytes);
    let layout = near(footer);
    let sections = spread(layout.as_ref(), sections);
    seal::graph(footer, layout, sections)
}

/// The layout that a footer describes, if the file is small enough.
fn near(footer: &[u8]) -> Option<Layout> {
    let layout: Layout = serde_json::from_slice(footer).ok()?;
    let Layout { vertices, edges, blocks, block_bytes, degree_runs, .. } = layout;
    let largest = u64::from(vertices).max(edges).max(blocks).max(block_bytes).max(degree_runs);
    let near = |section: &GraphSection| (4096..1 << 20).contains(&section.at) && section.bytes < 1 << 20;
    (largest <= 1 << 16 && layout.sections.iter().all(near)).then_some(layout)
}

/// Places the sections where the footer says.
fn spread(layout: Option<&Layout>, mut bytes: &[u8]) -> Vec<u8> {
    let Some(layout) = layout else { return bytes.to_vec() };
    let mut sections = Vec::new();
    for section in &layout.sections {
        let (mine, rest) = bytes.split_at((section.bytes as usize).min(bytes.len()));
        sections.resize(section.at as usize - 4096, 0);
        sections.extend(mine);
        sections.resize((section.at + section.bytes) as usize - 4096, 0);
        bytes = rest;
    }
    sections
}

fn file(place: &Place, bytes: &[u8]) {
    let path = place.write("g.trimgraf", bytes);
    let layout = read_layout(&path);
    let graph = match open(&path) {
        Ok(graph) => graph,
        Err(error) => return is_told(&error, &path),
    };
    assert_eq!(layout.expect("its footer").edges, graph.edges());
    let (n, runs) = (graph.vertices(), graph.degree_runs());
    assert!(runs.is_sorted_by(|a, b| a.degree > b.degree) && runs.iter().all(|run| (1..n).contains(&run.degree)));
    assert_eq!(runs.iter().map(|run| u64::from(run.vertices)).sum::<u64>(), u64::from(n));
    let ends = runs.iter().map(|run| u128::from(run.degree) * u128::from(run.vertices));
    assert_eq!(ends.sum::<u128>(), 2 * u128::from(graph.edges()));
    graph.wedges();
    graph.csr_bytes();
    let told = |error: Error| is_told(&error, &path);
    let ids = graph.ids().map_err(told);
    if let Ok(ids) = &ids {
        assert!((1..n).all(|vertex| ids.original(vertex - 1) < ids.original(vertex)), "ids that do not ascend");
        assert!((0..n).all(|vertex| ids.vertex_of(ids.original(vertex)) == Some(vertex)));
        let last = n.checked_sub(1).map(|vertex| ids.original(vertex));
        assert_eq!(ids.vertex_of(u64::MAX), (last == Some(u64::MAX)).then_some(n.wrapping_sub(1)));
    }
    let order = graph.order().map_err(told);
    if let Ok(order) = &order {
        let mut vertices = order.clone();
        vertices.sort_unstable();
        assert!(vertices.into_iter().eq(0..n), "an order that leaves vertices out");
    }
    let rows = rows(&graph, 1 << 20, Direction::Rising).map_err(told);
    match &rows {
        Ok(rows) => are_read_alike(&graph, rows),
        // The lengths of rows may be valid even if their successors are not.
        Err(()) => drop(graph.out_degrees().map_err(told)),
    }
    let (Ok(ids), Ok(_), Ok(_)) = (ids, order, rows) else { return };
    if n == 0 || ids.original(n - 1) < u64::MAX {
        let edges = clean::edges(&graph).expect("all of it was read before");
        clean::is_cleaned(place, edges.into_iter().collect());
    }
}

/// All rows in rank order, read in blocks of at most `block` bytes.
fn rows(graph: &OrientedGraph, block: u64, direction: Direction) -> Result<Vec<Vec<u32>>> {
    let mut rows = vec![Vec::new(); graph.vertices() as usize];
    graph.pass(Bytes(block), direction, &Control::silent(), |block| {
        // The file blocks of a row block cover its ranks exactly, and so do its runs of any size.
        assert!(block.file_blocks().flatten().eq(block.ranks()));
        for arcs in [1, 7, 1 << 20] {
            let runs = block.runs(arcs);
            assert!(runs.iter().all(|run| !run.is_empty()) && runs.into_iter().flatten().eq(block.ranks()));
        }
        block.ranks().for_each(|rank| rows[rank as usize] = block.row(rank).to_vec());
        Ok(())
    })?;
    Ok(rows)
}

/// Rows must be those of an oriented graph, and the same however they are read.
pub(crate) fn are_read_alike(graph: &OrientedGraph, rows: &[Vec<u32>]) {
    const READ: &str = "rows that were read before";
    let mut before = 0;
    for (rank, row) in (0..).zip(rows) {
        assert!(row.is_sorted_by(|a, b| a < b), "row {rank}");
        assert!(row.last().is_none_or(|&last| last < rank) && row.len() as u64 <= graph.size().longest_row.into());
        assert_eq!(graph.first_arc(rank).expect(READ), before, "row {rank}");
        before += row.len() as u64;
    }
    assert_eq!((before, graph.first_arc(graph.vertices()).expect(READ)), (graph.edges(), graph.edges()));
    assert!(graph.out_degrees().expect(READ).into_iter().eq(rows.iter().map(|row| row.len() as u32)));
    assert_eq!(self::rows(graph, 1, Direction::Falling).expect(READ), rows);
    // Some rows in the middle.
    let middle = rows.len() / 3..rows.len() - rows.len() / 4;
    let (mut begins, mut successors) = (vec![7u32; middle.len() + 1], vec![7u32; rows[middle.clone()].concat().len()]);
    graph.read(middle.start as u32..middle.end as u32, &mut begins, &mut successors).expect(READ);
    let read = begins.windows(2).map(|pair| &successors[pair[0] as usize..pair[1] as usize]);
    assert!(read.eq(rows[middle.clone()].iter().map(|row| &row[..])));
    if let Some(first) = rows.get(middle.start).filter(|_| !middle.is_empty()) {
        let (from, most) = (middle.start as u32, first.len() as u64 + 3);
        let end = graph.last_fitting(from, false, |_, arcs| arcs <= most).expect(READ);
        let arcs = |end: u32| rows[from as usize..end as usize].iter().map(|row| row.len() as u64).sum::<u64>();
        assert!(end > from && arcs(end) <= most && (end == graph.vertices() || arcs(end + 1) > most), "{from}..{end}");
    }
}
