//! Reads an input's arcs into buckets. Ids index arrays if not too sparse; else a first pass collects the distinct ids, whose positions replace them.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::buckets::bytes_on_disk;
use super::classes::ArcClasses;
use super::distribute::Distribute;
use super::ids::Distinct;
use super::pair_hash::PairHash;
use super::ranges::{BySmallerId, IdRanges};
use super::unite::ArcsRead;
#[cfg(feature = "testing")]
use super::unite::CleanGraph;
use super::workspace::{GraphToPrepare, IdCount, InputForm, PER_ID, PER_VERTEX, Workspace, needs};
use trimill_input::arcs::{ArcSource, READ};
use trimill_input::{MOST_VERTICES, changed};
use trimill_system::disk::check_room;
use trimill_system::memory::Needs;
use trimill_system::{Bytes, Control, Error, Result};

pub(crate) const BEYOND_MEMORY: &str = "the arcs that do not fit in memory while they are sorted";

#[cfg(feature = "testing")]
pub fn clean(source: &dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<CleanGraph> {
    read(source, space, control)?.clean(space, control)
}

/// Reads the arcs of `source` into buckets. Refuses more than 2^32 - 2 vertices.
pub fn read(source: &dyn ArcSource, space: Workspace<'_>, control: &Control) -> Result<ArcsRead> {
    let facts = source.facts();
    if let Some(n) = facts.declared_vertices.filter(|&n| n > MOST_VERTICES) {
        return Err(too_many(source, n));
    }
    let start = Instant::now();
    // Memory is divided as for an empty graph, since the numbers of ids and arcs are not known yet.
    let Ok(shares) = space.beside(&needs(IdCount::Plain(0), 0, space)) else {
        // Reads the arcs without keeping them, for the error that names a sufficient budget.
        let distinct = Distinct::new(SAMPLE);
        let arcs = source.scan(&distinct, control)?;
        return Err(refused_ids(source, space, arcs, &distinct));
    };
    let estimate = facts.arcs_at_most;
    let on_disk = |arcs| bytes_on_disk(arcs, shares.buckets());
    let ([least, _], [_, most]) = (on_disk(facts.arcs_at_least), on_disk(estimate));
    let most = if facts.is_read_once { least } else { most };
    check_room([shares.on_disk(BEYOND_MEMORY, [least, most])])?;
    if !facts.is_read_once {
        let ids = facts.declared_vertices.unwrap_or_default();
        let (form, arcs, edges) = (InputForm::Arcs, estimate, estimate);
        space.expect(&GraphToPrepare { form, ids, arcs, edges, row_bytes: None }, control);
    }
    let many = shares.class_count(estimate);
    let classes = match id_ranges(source, many, space, control)? {
        Some(ranges) => ArcClasses::Ranges(ranges),
        None => ArcClasses::Hash(PairHash::new(many)),
    };
    let buckets = classes.buckets(estimate, &shares);
    let plain = Distribute::new(classes, buckets, Some, plain_ids(source, shares.left));
    let scanned = source.scan(&plain, control);
    if !plain.overflow.load(Ordering::Relaxed) {
        let (arcs, ids) = (scanned?, plain.found.end());
        let by_id = IdCount::Plain(ids);
        let fits = |ids| space.memory.left(&needs(ids, arcs, space)).is_ok();
        let are_sparse = is_sparse(ids.saturating_sub(1), arcs);
        // The ids of an input that cannot be read again index arrays, however sparse they are. A table of any size takes at least as many buffers.
        if !fits(by_id) && (facts.is_read_once || !are_sparse && !fits(IdCount::Ranked(0))) {
            return Err(refused(space, arcs, [by_id; 2]));
        }
        if facts.is_read_once {
            // The size of the graph in a pipe was not known before.
            let graph = GraphToPrepare { form: InputForm::Arcs, ids, arcs, edges: arcs, row_bytes: None };
            space.expect_after(READ, &graph, control);
        }
        // A table takes less memory than arrays if most ids are missing.
        if fits(by_id) && (facts.is_read_once || !are_sparse) {
            return plain.finish(facts, arcs, start);
        }
    }
    if facts.is_read_once {
        let ids = plain_ids(source, shares.left);
        return Err(Error::resource(format!("an id of {ids} or more from a pipe, which cannot be read again"))
            .expected("ids for which the host's budget has arrays")
            .advice("raise --host-memory, or write the arcs to a file: its ids may be anything"));
    }
    drop(plain);
    read_by_table(source, space, control, shares.left, start)
}

/// Reads arcs, and replaces ids by their indices in a table of all distinct ids, which a first pass collects in `left` bytes.
fn read_by_table(
    source: &dyn ArcSource,
    space: Workspace<'_>,
    control: &Control,
    left: Bytes,
    start: Instant,
) -> Result<ArcsRead> {
    let distinct = Distinct::new(left.get() / PER_VERTEX);
    let arcs = source.scan(&distinct, control)?;
    let many = distinct.at_most();
    if distinct.is_full() || space.memory.left(&needs(IdCount::Ranked(many), arcs, space)).is_err() {
        return Err(refused_ids(source, space, arcs, &distinct));
    }
    let table = distinct.finish();
    let n = table.len() as u64;
    if n > MOST_VERTICES {
        return Err(too_many(source, n));
    }
    let shares = space.beside(&needs(IdCount::Ranked(n), arcs, space))?;
    let rank = |id| table.binary_search(&id).ok().map(|i| i as u64);
    let facts = source.facts();
    let classes = ArcClasses::Hash(PairHash::new(shares.class_count(facts.arcs_at_most)));
    let buckets = classes.buckets(arcs, &shares);
    let ranked = Distribute::new(classes, buckets, rank, MOST_VERTICES);
    let scanned = source.scan(&ranked, control);
    if ranked.overflow.load(Ordering::Relaxed) {
        return Err(changed(source.name(), "it has other ids"));
    }
    let read = ranked.finish(facts, scanned?, start)?;
    Ok(ArcsRead { table: Some(table), ..read })
}

fn refused_ids(source: &dyn ArcSource, space: Workspace<'_>, arcs: u64, distinct: &Distinct) -> Error {
    let (last, ranked) = (distinct.largest(), IdCount::Ranked(distinct.at_most()));
    match !is_sparse(last, arcs) && last < plain_ids(source, Bytes(u64::MAX)) {
        true => refused(space, arcs, [IdCount::Plain(last + 1), ranked]),
        false => refused(space, arcs, [ranked, ranked]),
    }
}

/// The error of the way of handling ids that needs the smaller budget; names that budget.
fn refused(space: Workspace<'_>, arcs: u64, ways: [IdCount; 2]) -> Error {
    let [one, other] = ways.map(|ids| (needs(ids, arcs, space), ids));
    let floor = |needs: &Needs| space.memory.floor(needs).bytes;
    let (needs, ids) = if floor(&other.0) < floor(&one.0) { other } else { one };
    space.memory.refused(&needs, space.enough(ids, arcs))
}

/// The most ids of the sample that estimates the number of distinct ids.
const SAMPLE: u64 = 1 << 16;

/// About `buckets` ranges of ids, if the input comes in the order of ids and each range can be sorted at once.
fn id_ranges(
    source: &dyn ArcSource,
    buckets: usize,
    space: Workspace<'_>,
    control: &Control,
) -> Result<Option<IdRanges>> {
    let facts = source.facts();
    let Some(ids) = facts.declared_vertices.filter(|_| source.is_ordered()) else { return Ok(None) };
    let Ok(shares) = space.beside(&needs(IdCount::Plain(ids), facts.arcs_at_most, space)) else { return Ok(None) };
    let counted = BySmallerId::new(ids);
    source.scan(&counted, control)?;
    Ok(counted.ranges(buckets, shares.keys_at_once()))
}

/// The smallest id that is too large to index arrays, at which the first pass ends; the factor allows for low estimates of arcs. Arrays of more ids
/// would not fit in `left` bytes.
pub(crate) fn plain_ids(source: &dyn ArcSource, left: Bytes) -> u64 {
    let wanted = source.facts().arcs_at_most.saturating_mul(64).clamp(ALWAYS_PLAIN, MOST_VERTICES);
    wanted.min((left.get() / PER_ID).max(1 << 16))
}

/// Ids below this are never sparse.
const ALWAYS_PLAIN: u64 = 1 << 22;

/// Whether ids up to `last` are looked up in a table: an array over all of them pays off while it is not much longer than the list of arcs.
pub(crate) const fn is_sparse(last: u64, arcs: u64) -> bool {
    last >= ALWAYS_PLAIN && last / 8 > arcs
}

/// The most ids, up to `MOST_VERTICES`, that are not sparse for `arcs` arcs.
pub(crate) fn most_ids(arcs: u64) -> u64 {
    arcs.saturating_add(1).saturating_mul(8).clamp(ALWAYS_PLAIN, MOST_VERTICES)
}

fn too_many(source: &dyn ArcSource, n: u64) -> Error {
    Error::data(source.name(), format!("{n} vertices"))
        .expected(format!("at most {MOST_VERTICES}: vertices are numbered in 32 bits"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use trimill_input::ArcSink;
    use trimill_input::arcs::SourceFacts;
    use trimill_system::Kind;
    use trimill_system::memory::HostMemory;

    /// An arc whose head is another id in each pass, too large to index arrays.
    struct Changing(AtomicU64);

    impl ArcSource for Changing {
        fn facts(&self) -> SourceFacts {
            SourceFacts { arcs_at_most: 1, ..SourceFacts::default() }
        }

        fn scan(&self, sink: &dyn ArcSink, _: &Control) -> Result<u64> {
            sink.arcs(&[(0, 1 << 40 | self.0.fetch_add(1, Ordering::Relaxed))])?;
            Ok(1)
        }
    }

    #[test]
    fn an_id_that_only_a_later_pass_has_is_a_change_of_the_input() {
        let dir = tempfile::tempdir().unwrap();
        let space = Workspace::new(HostMemory::new(Bytes::mib(64), 1), dir.path());
        let error = read(&Changing(AtomicU64::new(0)), space, &Control::silent()).map(drop).unwrap_err();
        assert_eq!(error.kind(), Kind::Data);
        assert!(error.to_string().starts_with("input: changed while it was read"), "{error}");
    }
}
