//! The parts of a graph file that stay in memory: which rows each file block has, and how many vertices have each degree. Invariants of a
//! [`BlockIndex`]: blocks tile the ranks and the arcs; each has a row, and a bit or more per row and arc, so no buffer is larger than the file
//! allows. Of runs of degrees: degrees descend strictly, from below `n` to 1 or more; the runs have `n` vertices and `2 m` ends of edges; there are
//! none if ranks do not follow degrees. Memory: 32 bytes per block, 8 per run.

use std::ops::Range;

use super::layout::Layout;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEntry {
    pub first_rank: u64,
    /// The number of arcs in all rows before it.
    pub first_arc: u64,
    pub position: u64,
    /// The xxh3 of its bytes.
    pub checksum: u64,
}

impl BlockEntry {
    pub(super) fn stored(self) -> [u64; 4] {
        [self.first_rank, self.first_arc, self.position, self.checksum]
    }

    pub(super) fn of([first_rank, first_arc, position, checksum]: [u64; 4]) -> Self {
        Self { first_rank, first_arc, position, checksum }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegreeRun {
    pub degree: u32,
    pub vertices: u32,
}

#[derive(Debug, Clone)]
pub(super) struct BlockIndex {
    /// The last entry only marks the end of the last block.
    entries: Vec<BlockEntry>,
}

impl BlockIndex {
    /// `None` if the entries contradict each other or the counts of `layout`.
    pub(super) fn new(mut entries: Vec<BlockEntry>, layout: &Layout) -> Option<Self> {
        let end = BlockEntry {
            first_rank: layout.vertices.into(),
            first_arc: layout.edges,
            position: layout.block_bytes,
            checksum: 0,
        };
        entries.push(end);
        let starts = entries[0].first_rank == 0 && entries[0].first_arc == 0 && entries[0].position == 0;
        let follows = |pair: &[BlockEntry]| {
            let [a, b] = pair else { return None };
            let (rows, arcs) = (b.first_rank.checked_sub(a.first_rank)?, b.first_arc.checked_sub(a.first_arc)?);
            let least_bits = rows.checked_add(arcs)?;
            let is_long_enough = least_bits.div_ceil(8) <= b.position.checked_sub(a.position)?;
            Some(rows > 0 && arcs <= u64::from(u32::MAX) && is_long_enough && a.first_rank <= u64::from(u32::MAX))
        };
        (starts && entries.windows(2).all(|pair| follows(pair) == Some(true))).then_some(Self { entries })
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - 1
    }

    pub(super) fn blocks(&self) -> &[BlockEntry] {
        &self.entries[..self.len()]
    }

    pub(super) fn ranks(&self, i: usize) -> Range<u32> {
        self.entries[i].first_rank as u32..self.entries[i + 1].first_rank as u32
    }

    pub(super) fn arcs(&self, i: usize) -> Range<u64> {
        self.entries[i].first_arc..self.entries[i + 1].first_arc
    }

    /// The byte range of block `i` among all blocks.
    pub(super) fn bytes(&self, i: usize) -> Range<u64> {
        self.entries[i].position..self.entries[i + 1].position
    }

    pub(super) fn checksum(&self, i: usize) -> u64 {
        self.entries[i].checksum
    }

    pub(super) fn block_of(&self, rank: u32) -> usize {
        self.entries.partition_point(|entry| entry.first_rank <= u64::from(rank)) - 1
    }

    /// The last block from `first` on whose first rank and first arc `holds` accepts; it must accept those of `first`.
    pub(super) fn last_where(&self, first: usize, holds: impl Fn(u32, u64) -> bool) -> usize {
        let rest = &self.entries[first + 1..self.len()];
        first + rest.partition_point(|entry| holds(entry.first_rank as u32, entry.first_arc))
    }
}

/// `None` if the runs contradict each other or the counts of `layout`.
pub(super) fn checked_runs(runs: Vec<DegreeRun>, layout: &Layout) -> Option<Vec<DegreeRun>> {
    if !layout.ranks_follow_degrees() && runs.is_empty() {
        return Some(runs);
    }
    let falls = runs.windows(2).all(|pair| pair[0].degree > pair[1].degree);
    let ends_in_range =
        runs.first().is_none_or(|run| run.degree < layout.vertices) && runs.last().is_none_or(|run| run.degree > 0);
    let sum = |of: fn(&DegreeRun) -> u128| runs.iter().map(of).sum::<u128>();
    let vertices = sum(|run| u128::from(run.vertices));
    let ends = sum(|run| u128::from(run.vertices) * u128::from(run.degree));
    let counts = vertices == u128::from(layout.vertices) && ends == 2 * u128::from(layout.edges);
    let nonempty = runs.iter().all(|run| run.vertices > 0);
    (falls && ends_in_range && counts && nonempty).then_some(runs)
}
