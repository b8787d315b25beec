//! From clean rows to the oriented graph without sorting arcs, for inputs that list every edge from both ends. Input: [`AdjacencyRows`]. Output: the
//! same oriented graph as by cleaning and [`super::orient`], in a file or in memory; or `None` if the rows, which are checked while they are read
//! ([`row_pass`]), are not those of a clean graph. Degrees are the lengths of rows, so ranks are known before any arc is read. The rows of a directed
//! graph whose arcs do not fit in memory for sorting are first united with their reverse ([`united`]).
//!
//! Threads take chunks of rows. The successors of smaller rank in a row are sorted, encoded, and buffered in memory ([`waiting`]), since rows are
//! read in the order of ids and written in rank order. If not all fit, the input is read several times, so nothing is written but the graph.
//!
//! `O(arcs)` time for each pass, and a sort of each row that is kept. Memory: within the host's budget ([`crate::clean::workspace`]); a
//! thread reads 32,768 successors, or a row of a BVGraph, at a time.
//!
//! [`row_pass`]: super::row_pass
//! [`waiting`]: super::waiting
//! [`united`]: super::united

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use rayon::prelude::*;

use super::UsedIds;
use super::blocks::{BUCKET, BlockBuckets};
use super::in_rank_order::RowsInRankOrder;
use super::joined::BlocksInOrder;
use super::place::{Destination, MadeGraph, VertexSections, Write, make};
use super::row_pass::{RowInputs, random};
use super::united::UnitedRows;
use super::waiting::WaitingRows;
use crate::clean::workspace::{GraphToPrepare, IdCount, InputForm, ORIENT_ROWS, READ_ROWS_AGAIN, READER};
use crate::clean::{CleanReport, Shares, Workspace, is_sparse, needs};
use trimill_graph::file::Layout;
use trimill_graph::numbering::{ids_by_rank, numbers, order};
use trimill_input::arcs::ArcSource;
use trimill_input::rows::{AdjacencyRows, MappedRows, Symmetry};
use trimill_input::{MOST_VERTICES, changed};
use trimill_system::control::{Control, NOTE, Unit};
use trimill_system::mapped::trim_heap;
use trimill_system::{Bytes, Result};

/// Orients `source` if its rows are those of a clean graph. `note`, called when all was read, returns the input's identity.
pub fn orient_rows(
    source: &dyn ArcSource,
    note: &mut dyn FnMut() -> Result<String>,
    place: Destination<'_>,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Option<MadeGraph>> {
    // Arrays over all ids would be as long as the declared number; cleaning finds the ids that are used.
    let facts = source.facts();
    let Some(declared) = facts.declared_vertices else { return Ok(None) };
    if is_sparse(declared, facts.arcs_at_most) {
        return Ok(None);
    }
    // If arrays over all declared ids do not fit, those of cleaning may.
    let needs_as = |form: InputForm| {
        needs(IdCount::Plain(declared), facts.arcs_at_most / 2, space).array(form.more_per_id(), declared, "rows")
    };
    let Ok(shares) = space.beside(&needs_as(InputForm::SymmetricRows)) else { return Ok(None) };
    let start = Instant::now();
    let Some(rows) = source.rows(shares.rows(), control)? else { return Ok(None) };
    // Sorting the arcs takes less time, and 8 bytes for each.
    let unite = Bytes::of::<u64>(facts.arcs_at_most) > Bytes(shares.buckets());
    let Some(lengths) = rows.lengths(unite, control)? else { return Ok(None) };
    let arcs = sum(&lengths);
    let report = CleanReport { vertices_declared: declared, arcs, ..CleanReport::default() };
    let graph = |form, edges| GraphToPrepare { form, ids: declared, arcs, edges, row_bytes: None };
    let mut rows_to_orient = RowsToOrient { source, space, shares, beside_tails: false, place, control, report, start };
    let (rows, lengths) = match rows.symmetry() {
        Symmetry::Missing => (rows, lengths),
        Symmetry::Demanded | Symmetry::Unknown => {
            space.expect(&graph(InputForm::SymmetricRows, arcs / 2), control);
            match rows_to_orient.orient(rows, lengths, note)? {
                Ok(made) => return Ok(Some(made)),
                Err(unclean) => unclean,
            }
        }
    };
    if !unite || rows.symmetry() == Symmetry::Demanded {
        return Ok(None);
    }
    // Rows that are decoded, and what the allocator keeps of the many small pieces of reversed arcs.
    let reading = Bytes(2 * READER * space.memory.threads());
    let Ok(shares) = space.beside(&needs_as(InputForm::DirectedRows).fixed("rows that are read", reading)) else {
        return Ok(None);
    };
    (rows_to_orient.shares, rows_to_orient.beside_tails) = (shares, true);
    space.expect(&graph(InputForm::DirectedRows, arcs), control);
    // Each edge is there once or twice.
    let layout = Layout { edges: facts.arcs_at_least.div_ceil(2), ..Layout::default() };
    place.check_room(&layout, space.later_needs(0, layout.edges))?;
    let Some(rows) = UnitedRows::new(source.name(), rows, lengths, shares, control)? else { return Ok(None) };
    // Reversed arcs were in small pieces.
    trim_heap();
    let Some(lengths) = rows.lengths(true, control)? else { return Ok(None) };
    let report = CleanReport { loops_removed: rows.loops, ..rows_to_orient.report };
    rows_to_orient.report = report.cleaned(sum(&lengths), arcs - rows.loops, facts.symmetric);
    Ok(rows_to_orient.orient(Box::new(rows), lengths, note)?.ok())
}

fn sum(lengths: &[u32]) -> u64 {
    lengths.par_iter().map(|&length| u64::from(length)).sum()
}

struct RowsToOrient<'a> {
    source: &'a dyn ArcSource,
    space: Workspace<'a>,
    shares: Shares<'a>,
    /// Whether the rows are united with tails, which are in memory.
    beside_tails: bool,
    place: Destination<'a>,
    control: &'a Control,
    report: CleanReport,
    start: Instant,
}

/// The graph; or the rows and their lengths, if they are not those of a clean graph.
type Oriented<'r> = Result<MadeGraph, (Box<dyn AdjacencyRows + 'r>, Vec<u32>)>;

/// Rows that may be those of a clean graph, and data that follows from their lengths.
struct RowsWithRanks<'r> {
    rows: Box<dyn AdjacencyRows + 'r>,
    lengths: Vec<u32>,
    used: UsedIds<'static>,
    rank_of: Vec<u32>,
    layout: Layout,
}

impl RowsToOrient<'_> {
    fn orient<'r>(
        &self,
        rows: Box<dyn AdjacencyRows + 'r>,
        lengths: Vec<u32>,
        note: &mut dyn FnMut() -> Result<String>,
    ) -> Result<Oriented<'r>> {
        let Self { source, space, shares, place, control, report, .. } = self;
        let (declared, arcs) = (report.vertices_declared, sum(&lengths));
        let used = UsedIds::new(&lengths, None);
        let last = used.ends().map_or(0, |(_, last)| u64::from(last));
        if arcs == 0 || !arcs.is_multiple_of(2) || is_sparse(last, arcs) || last >= MOST_VERTICES {
            return Ok(Err((rows, lengths)));
        }
        let edges = arcs / 2;
        let (first_id, declared_lines) = (source.facts().first_id, Some(declared));
        let layout = Layout { first_id, declared_lines, report: report.clone(), ..used.layout(edges) };
        // Checked before all rows are read; there may be fewer edges if the rows are not clean.
        let least = edges.min(source.facts().arcs_at_least / 2);
        let later = space.later_needs(layout.vertices.into(), least);
        place.check_room(&Layout { edges: least, ..layout.clone() }, later)?;
        let rank_of = numbers(&lengths);
        // The mapped file and the ids by rank may take as much memory as rows that wait would.
        let most = shares.rows_that_wait(place.is_file(&layout)).get().saturating_sub(4 * u64::from(layout.vertices));
        let mapped = rows.mapped(Bytes(most), control)?;
        let of = RowsWithRanks { rows, lengths, used, rank_of, layout };
        match mapped {
            Some(mapped) => self.orient_mapped(mapped, of, note),
            None => self.orient_as_read(of, note),
        }
    }

    fn orient_mapped<'r>(
        &self,
        mapped: MappedRows,
        of: RowsWithRanks<'r>,
        note: &mut dyn FnMut() -> Result<String>,
    ) -> Result<Oriented<'r>> {
        let RowsWithRanks { rows, lengths, used, rank_of, layout } = of;
        let in_order = RowsInRankOrder {
            rows: mapped,
            rank_of: &rank_of,
            ids: ids_by_rank(&rank_of, &used.present),
            blocks: BlockBuckets::new(&lengths, layout.edges, &self.shares, BUCKET),
            edges: layout.edges,
            key: random(),
            hash: AtomicU64::new(0),
            unclean: AtomicBool::new(false),
        };
        let task = self.control.task(ORIENT_ROWS, Some(2 * layout.edges), Unit::Arcs);
        let sections = VertexSections {
            degrees: &in_order.blocks.degrees,
            order: order(&rank_of, &used.present),
            ids: Some(&used),
        };
        let made = make(self.place, layout, sections, note, |write| in_order.rows(write, &task));
        match in_order.is_unclean() {
            true => Ok(Err((rows, lengths))),
            false => made.map(Ok),
        }
    }

    fn orient_as_read<'r>(
        &self,
        of: RowsWithRanks<'r>,
        note: &mut dyn FnMut() -> Result<String>,
    ) -> Result<Oriented<'r>> {
        let Self { source, space, shares, beside_tails, place, control, report, start } = self;
        let RowsWithRanks { rows, lengths, used, rank_of, layout } = of;
        let (edges, arcs) = (layout.edges, 2 * layout.edges);
        // With several bands, tails are found again while rows are buffered.
        let to_file = place.is_file(&layout) && rows.bands() == 1;
        let share = if *beside_tails { shares.rows_beside_tails(to_file) } else { shares.rows_that_wait(to_file) };
        let mut waiting = WaitingRows::new(&lengths, edges, shares, share);
        let degrees = waiting.blocks.degrees.clone();
        let known = RowInputs { rows: &*rows, present: &used.present, lengths: &lengths, rank_of: &rank_of };
        let task = control.task(ORIENT_ROWS, Some(arcs + edges / 2), Unit::Arcs);
        let looking = start.elapsed();
        let kept = known.orient(&waiting, Some(random()), &task, control)?;
        let first_pass = start.elapsed() - looking;
        let Some(kept) = kept.filter(|&kept| kept == edges || waiting.has_left_out()) else {
            return Ok(Err((rows, lengths)));
        };
        let task = match waiting.has_left_out() {
            false => task,
            true => {
                // A pass takes one bucket at least.
                let passes = edges.div_ceil(kept.max(1)).clamp(2, waiting.blocks.len() as u64);
                tracing::info!(
                    target: NOTE,
                    "the input is read at least {passes} times: {share} of its encoded rows fit in memory at a time (--host-memory)"
                );
                let (form, row_bytes) = (InputForm::SymmetricRows, Some(Bytes(passes * share.get())));
                let graph = GraphToPrepare { form, ids: report.vertices_declared, arcs, edges, row_bytes };
                space.expect_after(ORIENT_ROWS, &graph, control);
                control.task(READ_ROWS_AGAIN, Some((passes - 1) * arcs + edges / 2), Unit::Arcs)
            }
        };
        let order = order(&rank_of, &used.present);
        let (present, mut left) = (&used.present, Some((rows, lengths, rank_of)));
        let rows = |write: &Write<'_>| {
            let (in_order, writing, mut passes) = (BlocksInOrder::default(), Instant::now(), 1);
            while waiting.has_left_out() {
                passes += 1;
                waiting.rows(&in_order, write, &task)?;
                waiting.begin_next_pass();
                if let Some((rows, lengths, rank_of)) = &left {
                    RowInputs { rows: &**rows, present, lengths, rank_of }.orient(&waiting, None, &task, control)?;
                }
            }
            // The last pass needs no memory for further reading of the input.
            left = None;
            waiting.rows(&in_order, write, &task)?;
            tracing::debug!(
                "the lengths of rows took {:.3} s, the first pass over them {:.3} s, writing and {} more passes {:.3} s",
                looking.as_secs_f64(),
                first_pass.as_secs_f64(),
                passes - 1,
                writing.elapsed().as_secs_f64()
            );
            match in_order.arcs() == edges {
                true => Ok(in_order.finish()),
                false => Err(changed(source.name(), "its rows differ")),
            }
        };
        let sections = VertexSections { degrees: &degrees, order, ids: Some(&used) };
        make(*place, layout, sections, note, rows).map(Ok)
    }
}
