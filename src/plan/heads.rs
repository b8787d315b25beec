//! Cuts rank ranges into chunks by ranges of heads, so that many shards read less and take equally long. With P ranges, the last of P shards reads
//! the whole graph, and all together (P + 1) / 2 times the graph. The chunks of one range all read its resident rows, but its row blocks are divided
//! among them: with T even ranges, and as many chunks of each as there are ranges below it, S = T (T + 1) / 2 shards read 2 / T of the graph each,
//! all together T times the graph. The price is that T ranges need more device memory than S.
//!
//! Chunks are cut for equal costs, by a sample of rows ([`super::cost`]), since most arcs lead to few heads.

use std::collections::BinaryHeap;
use std::num::NonZeroU32;
use std::ops::Range;

use super::cost::{Machine, PassingRows};
use super::sample::{SampledWork, add_to, sums};
use crate::shards::costliest;
use trimill_graph::OrientedGraph;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::{Bytes, Control, Result, first_where};

/// With at least this many file blocks each, ranges and chunks are whole file blocks, which are sent to a device as stored.
pub(super) const BLOCKS: u64 = 16;

/// Chunks are cut between bins of heads with about equal numbers of arcs.
const BINS: u64 = 1 << 9;

/// With more ranges than this, and than the shards need, there are fewer bins, so that the costs take no more memory.
const MOST_RANGES: u32 = 1 << 8;

/// Host memory for a chunk: in [`cut`] twice, with its cost, its places in a heap, and its shard; later in the plan, its record and its report.
const PER_CHUNK: u64 = 384;

/// The most chunks for each shard, if more chunks balance the shards better.
const MOST: usize = 3;

/// More chunks, which read more, are cut only if they reduce the costliest shard's time at least to this share.
const WORTH: f64 = 0.95;

/// The number of ranges for `shards` shards: the least T with T (T + 1) / 2 >= `shards`.
pub(super) fn ranges_for(shards: u32) -> u32 {
    let mut ranges = 1u32;
    while u64::from(ranges) * (u64::from(ranges) + 1) / 2 < u64::from(shards) {
        ranges += 1;
    }
    ranges
}

/// The most ranges, times bins and the end, for which costs are in memory.
fn most_cells(shards: u32) -> u64 {
    let ranges = ranges_for(shards).max(MOST_RANGES.min(MOST as u32 * shards));
    u64::from(ranges) * (u64::from(ranges) + BINS + 1)
}

/// Host memory for cutting a graph for several shards, besides the lengths of all rows.
pub(crate) fn bytes(shards: u32) -> Bytes {
    Bytes::of::<SampledWork>(most_cells(shards)) + Bytes(MOST as u64 * u64::from(shards) * PER_CHUNK)
}

#[derive(Debug, Clone)]
struct HeadRange {
    range: usize,
    bins: Range<usize>,
    seconds: f64,
}

/// Cuts `ranges` into `shards` chunks, or more if that balances shards better, by halving the costliest. In the current thread pool.
pub(super) fn cut(
    graph: &OrientedGraph,
    ranges: Vec<Range<u32>>,
    shards: u32,
    machine: &Machine,
    control: &Control,
) -> Result<Vec<LocalsAndHeads>> {
    // There are already as many chunks as are ever cut.
    if shards == 1 || ranges.len() >= MOST * shards as usize {
        return Ok(ranges.into_iter().map(LocalsAndHeads::of).collect());
    }
    let bounds = bounds(graph, &ranges, shards)?;
    let costs = Costs::new(graph, &ranges, &bounds, machine, control)?;
    let bins_of = |range: &Range<u32>| 0..bounds.partition_point(|&(rank, _)| rank < range.end);
    let chunk = |range, bins: Range<usize>| HeadRange { range, seconds: costs.seconds(range, &bins), bins };
    let mut chunks: Vec<HeadRange> = ranges.iter().map(bins_of).enumerate().map(|(i, bins)| chunk(i, bins)).collect();
    // A chunk's cost, as bits, which ascend with a number that is not negative; and its place: of equal costs, the last one is cut.
    let to_cut = |chunks: &[HeadRange], at: usize| {
        let HeadRange { bins, seconds, .. } = chunks.get(at)?;
        (bins.len() > 1).then_some((seconds.max(0.0).to_bits(), at))
    };
    let mut waiting: BinaryHeap<_> = (0..chunks.len()).filter_map(|at| to_cut(&chunks, at)).collect();
    let (wanted, of) = (shards as usize, NonZeroU32::new(shards).unwrap_or(NonZeroU32::MIN));
    // The costliest shard is found after every cut or, to save time, after every few: of many shards at most 512 times, of very many fewer times.
    let every = wanted.div_ceil(256).max((wanted * wanted) >> 22);
    let (mut best, mut next): (Option<(u128, Vec<HeadRange>)>, usize) = (None, wanted);
    while chunks.len() < MOST * wanted {
        control.check()?;
        if chunks.len() >= next {
            next = chunks.len() + every;
            let nanoseconds: Vec<u64> = chunks.iter().map(|chunk| (1e9 * chunk.seconds) as u64).collect();
            let costliest = costliest(&nanoseconds, of);
            if best.as_ref().is_none_or(|(least, _)| costliest as f64 <= WORTH * *least as f64) {
                best = Some((costliest, chunks.clone()));
            }
        }
        let Some((cost, largest)) = waiting.pop() else { break };
        // The chunk may have moved: another one is at its place now.
        if to_cut(&chunks, largest) != Some((cost, largest)) {
            continue;
        }
        let HeadRange { range, bins, .. } = chunks.swap_remove(largest);
        let halves = |middle: usize| [chunk(range, bins.start..middle), chunk(range, middle..bins.end)];
        // The first half's cost grows with the middle, the second half's shrinks.
        let middle = first_where(bins.start as u64 + 1..bins.end as u64 - 1, |middle| {
            let [first, second] = halves(middle as usize);
            first.seconds >= second.seconds
        });
        let halves_at = chunks.len();
        chunks.extend(halves(middle as usize));
        waiting.extend([largest, halves_at, halves_at + 1].iter().filter_map(|&at| to_cut(&chunks, at)));
    }
    let mut chunks = best.map_or(chunks, |(_, chunks)| chunks);
    chunks.sort_by_key(|chunk| (chunk.range, chunk.bins.start));
    let ranks = |HeadRange { range, bins, .. }: HeadRange| {
        let locals = ranges[range].clone();
        let end = if bins.end == bins_of(&locals).end { locals.end } else { bounds[bins.end].0 };
        LocalsAndHeads { heads: bounds[bins.start].0..end, locals }
    };
    Ok(chunks.into_iter().map(ranks).collect())
}

/// The first rank of each bin, and the arcs before it; bins begin where ranges do, too, unless these are too many.
fn bounds(graph: &OrientedGraph, ranges: &[Range<u32>], shards: u32) -> Result<Vec<(u32, u64)>> {
    let whole = graph.blocks() as u64 >= BLOCKS * u64::from(shards);
    let (many, cells) = (ranges.len() as u64, most_cells(shards));
    let (mut starts, bins): (Vec<u32>, u64) = match many * (many + BINS + 1) <= cells {
        true => (ranges.iter().map(|range| range.start).collect(), BINS),
        false => (vec![0], (cells / many).saturating_sub(1).clamp(1, BINS)),
    };
    for bin in 1..bins {
        let upto = (u128::from(graph.edges()) * u128::from(bin) / u128::from(bins)) as u64;
        let fits = |_, arcs| arcs <= upto;
        starts.push(graph.last_fitting(0, whole, fits)?);
    }
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|&rank| rank < graph.vertices() || rank == 0);
    starts.into_iter().map(|rank| Ok((rank, graph.first_arc(rank)?))).collect()
}

struct Costs<'a> {
    machine: &'a Machine,
    bounds: &'a [(u32, u64)],
    /// The arcs before the rows of each range, and in them.
    arcs: Vec<(u64, u64)>,
    /// For each range, and for each bin and the end: the work of the range's arcs to heads before it.
    before: Vec<SampledWork>,
}

impl<'a> Costs<'a> {
    fn new(
        graph: &OrientedGraph,
        ranges: &[Range<u32>],
        bounds: &'a [(u32, u64)],
        machine: &'a Machine,
        control: &Control,
    ) -> Result<Self> {
        let ends = bounds.len() + 1;
        let mut before = sums(graph, ranges.len() * ends, control, |sums, rank, row, lengths| {
            let range = ranges.partition_point(|range| range.end <= rank);
            let mut begin = 0;
            while begin < row.len() {
                let next = bounds.partition_point(|&(first, _)| first <= row[begin]);
                let past = bounds.get(next).map_or(u32::MAX, |&(first, _)| first);
                let end = begin + row[begin..].partition_point(|&b| b < past);
                add_to(sums, range * ends + next, SampledWork::of(row, begin..end, lengths));
                begin = end;
            }
        })?;
        let mut arcs = Vec::new();
        for (range, before) in ranges.iter().zip(before.chunks_mut(ends)) {
            let (first, end) = (graph.first_arc(range.start)?, graph.first_arc(range.end)?);
            let rows: f64 = before.iter().map(|work| work.rows).sum();
            let factor = if rows == 0.0 { 0.0 } else { (end - first) as f64 / rows };
            let mut sum = SampledWork::default();
            for work in before {
                sum = sum.and(*work);
                *work = sum.times(factor);
            }
            arcs.push((first, end - first));
        }
        Ok(Self { machine, bounds, arcs, before })
    }

    fn seconds(&self, range: usize, bins: &Range<usize>) -> f64 {
        let (first, resident) = self.arcs[range];
        let upto = |bin: usize| {
            // Only rows before the range are streamed.
            let streamed = self.bounds.get(bin).map_or(first, |&(_, arcs)| arcs.min(first));
            (self.before[range * (self.bounds.len() + 1) + bin], streamed)
        };
        let ((done, read), (past, all)) = (upto(bins.start), upto(bins.end));
        let streamed = PassingRows { arcs: (resident + all - read) as f64, ..PassingRows::default() };
        self.machine.counting(&past.and(done.times(-1.0)), streamed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::prepare::graph_of;
    use crate::rates::Rates;

    fn machine() -> Machine {
        Machine { rates: Rates::default(), cores: 1, gpus: 0, cached: true }
    }

    fn complete(n: u64) -> OrientedGraph {
        graph_of((0..n).flat_map(|u| (0..u).map(move |v| (u, v))).collect())
    }

    /// The chunks of ten ranges of a complete graph of 200 vertices, and the number of checks.
    fn chunks(shards: u32) -> (Vec<LocalsAndHeads>, u64) {
        let graph = complete(200);
        let checks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&checks);
        let control = Control::silent().watched(move || {
            counted.fetch_add(1, Relaxed);
        });
        let ranges = (0..10).map(|i| 20 * i..20 * (i + 1)).collect();
        let chunks = cut(&graph, ranges, shards, &machine(), &control).unwrap();
        assert!(LocalsAndHeads::tile(&chunks, 200), "{chunks:?}");
        (chunks, checks.load(Relaxed))
    }

    #[test]
    fn many_shards_are_cut_with_checks_on_the_way() {
        for shards in [50, 400] {
            let (chunks, checks) = chunks(shards);
            assert!(chunks.len() >= shards as usize, "{} chunks for {shards} shards", chunks.len());
            // A cut makes one chunk more.
            assert!(checks >= chunks.len() as u64 - 10, "{checks} checks for {} chunks", chunks.len());
        }
    }

    #[test]
    fn costs_of_many_ranges_take_no_more_memory_than_is_charged() {
        let (graph, shards) = (complete(600), 201);
        let ranges: Vec<Range<u32>> = (0..600).map(|rank| rank..rank + 1).collect();
        let bins = bounds(&graph, &ranges, shards).unwrap().len();
        assert!(bins > 200 && 600 * (bins as u64 + 1) <= most_cells(shards), "{bins} bins");
        let chunks = cut(&graph, ranges, shards, &machine(), &Control::silent()).unwrap();
        assert!(LocalsAndHeads::tile(&chunks, 600), "{chunks:?}");
    }
}
