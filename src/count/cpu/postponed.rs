//! Arcs to hubs are buffered with the packed words of their tail's row, then sorted by head, so that a hub's row is cached once for many arcs.

use std::ops::Range;

use super::probe::NonEmptyWords;
use trimill_system::Bytes;
use trimill_system::machine::largest_cache;
use trimill_system::mapped::{self, with_capacity};

/// The most arcs of the buffer, and the fewest that pay off. With a large buffer, more arcs use a hub's row each time it is loaded; a small one stays
/// in the core's own cache. The small one takes a fifth less time if hubs' rows come from the last-level cache (GAP-kron 20, Xeon with 300 MB), and a
/// third more if they do not (GAP-kron 21, EPYC with 32 MiB): docs/results/postponed-arcs-h200.txt.
const MOST_ARCS: usize = 1 << 19;
const MOST_ARCS_IN_CACHE: usize = 1 << 17;
const LEAST_ARCS: usize = 1 << 10;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PostponedArc {
    /// Where the words of its tail's row begin; for an arc that is counted by head ([`super::by_head`]), the tail.
    pub(super) tail: u32,
    /// The number of these words; for an arc that is counted by head, the number of entries before the head in its tail's row.
    pub(super) len: u16,
    pub(super) head: u16,
}

impl PostponedArc {
    pub(super) fn packed(self) -> u64 {
        u64::from(self.tail) | u64::from(self.len) << 32 | u64::from(self.head) << 48
    }

    pub(super) fn of(packed: u64) -> Self {
        Self { tail: packed as u32, len: (packed >> 32) as u16, head: (packed >> 48) as u16 }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Capacity {
    pub(super) arcs: usize,
    pub(super) words: usize,
    pub(super) first: u32,
    pub(super) heads: usize,
    /// Whether triangles are counted at vertices: then each row's local and its count take memory, too.
    pub(super) vertices: bool,
}

impl Capacity {
    /// The largest useful capacity for arcs to `hubs` within `share`, but never less than one row needs.
    pub(super) fn new(hubs: Range<u32>, share: Bytes, vertices: bool) -> Self {
        let of = |arcs| Self::holding(hubs.clone(), arcs, vertices);
        if hubs.is_empty() {
            return of(0);
        }
        std::iter::successors(Some(MOST_ARCS), |&arcs| Some(arcs / 2))
            .take_while(|&arcs| arcs >= LEAST_ARCS)
            .map(of)
            .find(|room| room.bytes() <= share)
            .unwrap_or(of(0))
    }

    /// Capacity for `arcs` arcs to `hubs`, and for half as many words besides those of the longest row.
    pub(super) fn holding(hubs: Range<u32>, arcs: usize, vertices: bool) -> Self {
        let words = arcs / 2 + (hubs.end as usize).div_ceil(64);
        Self { arcs, words, first: hubs.start, heads: hubs.len(), vertices }
    }

    pub(super) const fn bytes(&self) -> Bytes {
        let arcs = self.arcs * size_of::<PostponedArc>();
        let locals = if self.vertices { 2 * size_of::<u32>() } else { 0 };
        let words = self.words * (size_of::<u64>() + size_of::<u16>() + locals);
        Bytes((arcs + words) as u64 + SortedArcs::bytes_for(self.arcs, self.heads).get())
    }
}

#[derive(Debug)]
pub(super) struct PostponedArcs {
    pub(super) room: Capacity,
    /// Non-empty words of rows, and their places. All arrays are empty until [`Self::allocate`].
    bits: Vec<u64>,
    places: Vec<u16>,
    arcs: Vec<PostponedArc>,
    pub(super) sorted: SortedArcs,
}

impl PostponedArcs {
    pub(super) fn new(room: Capacity) -> Self {
        Self { room, bits: Vec::new(), places: Vec::new(), arcs: Vec::new(), sorted: SortedArcs::default() }
    }

    /// Allocates the arrays, which a graph without hubs does not need; `hubs` is the size of the hubs' rows.
    pub(super) fn allocate(&mut self, hubs: Bytes) {
        if self.sorted.is_allocated() {
            return;
        }
        let Capacity { arcs, first, heads, vertices, .. } = self.room;
        // An eighth is left for other data that is read with the hubs' rows.
        if arcs > MOST_ARCS_IN_CACHE && hubs.get() <= largest_cache().get() / 8 * 7 {
            self.room = Capacity::holding(first..first + heads as u32, MOST_ARCS_IN_CACHE, vertices);
        }
        self.bits = with_capacity(self.room.words);
        self.places = with_capacity(self.room.words);
        self.arcs = with_capacity(self.room.arcs);
        self.sorted = SortedArcs::new(self.room.arcs, self.room.heads);
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes::of::<u64>(self.bits.capacity() as u64)
            + Bytes::of::<u16>(self.places.capacity() as u64)
            + Bytes::of::<PostponedArc>(self.arcs.capacity() as u64)
            + self.sorted.bytes()
    }

    pub(super) fn len(&self) -> usize {
        self.arcs.len()
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.arcs.len() == self.room.arcs
    }

    /// Whether there is room for `words` more words. There always is for one row if no arc is buffered.
    #[inline(always)]
    pub(super) fn has_room_for(&self, words: usize) -> bool {
        self.bits.len() + words.min(self.room.words) <= self.room.words
    }

    #[inline(always)]
    pub(super) fn next_word(&self) -> usize {
        self.bits.len()
    }

    #[inline(always)]
    pub(super) fn push_word(&mut self, place: u32, bits: u64) {
        debug_assert!(self.bits.len() < self.room.words, "the arrays do not grow");
        self.places.push(place as u16);
        self.bits.push(bits);
    }

    #[inline(always)]
    pub(super) fn truncate_words(&mut self, first: usize) {
        self.bits.truncate(first);
        self.places.truncate(first);
    }

    #[inline(always)]
    pub(super) fn push(&mut self, arc: PostponedArc) {
        debug_assert!(!self.is_full(), "the arrays do not grow");
        self.arcs.push(arc);
    }

    #[inline(always)]
    pub(super) fn places(&self) -> &[u16] {
        &self.places
    }

    #[inline(always)]
    pub(super) fn words(&self, words: Range<usize>) -> NonEmptyWords<'_> {
        NonEmptyWords { places: &self.places[words.clone()], words: &self.bits[words] }
    }

    #[inline(always)]
    pub(super) fn words_of(&self, arc: &PostponedArc) -> NonEmptyWords<'_> {
        self.words(arc.tail as usize..arc.tail as usize + usize::from(arc.len))
    }

    #[inline(always)]
    pub(super) fn prefetch_words(&self, arc: &PostponedArc) {
        let NonEmptyWords { places, words } = self.words_of(arc);
        mapped::prefetch_all(words);
        mapped::prefetch_all(places);
    }

    #[inline(always)]
    pub(super) fn sort(&mut self) {
        self.sorted.sort(self.arcs.iter().copied(), self.room.first);
    }

    #[inline(always)]
    pub(super) fn sorted(&self) -> &[PostponedArc] {
        &self.sorted.arcs[..self.arcs.len()]
    }

    #[inline(always)]
    pub(super) fn forget_arcs(&mut self) {
        self.arcs.clear();
    }

    /// Clears the buffer: then there is room for the words of any row.
    #[inline(always)]
    pub(super) fn forget(&mut self) {
        self.arcs.clear();
        self.truncate_words(0);
    }
}

#[derive(Debug, Default)]
pub(super) struct SortedArcs {
    arcs: Vec<PostponedArc>,
    ends: Vec<u32>,
}

impl SortedArcs {
    pub(super) fn new(arcs: usize, heads: usize) -> Self {
        let mut sorted = with_capacity(arcs);
        sorted.resize(arcs, PostponedArc::default());
        Self { arcs: sorted, ends: vec![0; heads + 1] }
    }

    pub(super) const fn bytes_for(arcs: usize, heads: usize) -> Bytes {
        Bytes((arcs * size_of::<PostponedArc>() + (heads + 1) * size_of::<u32>()) as u64)
    }

    pub(super) fn bytes(&self) -> Bytes {
        Self::bytes_for(self.arcs.capacity(), self.ends.capacity().saturating_sub(1))
    }

    pub(super) fn is_allocated(&self) -> bool {
        !self.ends.is_empty()
    }

    #[inline(always)]
    pub(super) fn sort(&mut self, arcs: impl Iterator<Item = PostponedArc> + Clone, first: u32) -> &[PostponedArc] {
        let Self { arcs: sorted, ends } = self;
        let place = |arc: PostponedArc| (u32::from(arc.head) - first) as usize;
        ends.fill(0);
        for arc in arcs.clone() {
            ends[place(arc)] += 1;
        }
        let mut sum = 0;
        for end in &mut *ends {
            sum += std::mem::replace(end, sum);
        }
        for arc in arcs {
            let next = &mut ends[place(arc)];
            sorted[*next as usize] = arc;
            *next += 1;
        }
        &sorted[..sum as usize]
    }
}
