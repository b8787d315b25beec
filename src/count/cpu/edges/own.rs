//! The row being counted: entries as marks, triangles on its arcs as bit planes or, for sparse words, whose planes would fill the cache, as counters.

use crate::count::cpu::pack;
use crate::count::cpu::probe::marked_of;
use trimill_counting::planes::{self, FULL, Planes};
use trimill_system::Bytes;

/// The fewest entries a word, on average, for a row to have planes.
const DENSE: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Own {
    /// A bit for each number of the numbering; all zero between rows.
    marks: Vec<u64>,
    /// For each word of `marks` with marks, its index in the arrays below.
    slots: Vec<u32>,
    /// For each word with marks: its number, its marks, the entries of the row before it and, in a dense row, its planes.
    words: Vec<u32>,
    bits: Vec<u64>,
    before: Vec<u32>,
    planes: Vec<Planes>,
    /// Triangles on each arc, except those still in the planes.
    counts: Vec<u32>,
    dense: bool,
    /// Successors added to the planes since they were last emptied.
    added: u32,
}

impl Own {
    /// Bytes for a numbering of `numbered` numbers, without the bytes that depend on the longest row.
    pub(super) const fn bytes_for(numbered: u32) -> Bytes {
        Bytes(12 * (numbered as u64).div_ceil(64))
    }

    pub(super) const PER_ENTRY: Bytes = Bytes((2 * size_of::<(Planes, u64, [u32; 3])>()) as u64);

    pub(super) fn new(numbered: u32) -> Self {
        let words = (numbered as usize).div_ceil(64);
        Self { marks: vec![0; words], slots: vec![0; words], ..Self::default() }
    }

    pub(super) fn bytes(&self) -> Bytes {
        let of_row = [&self.slots, &self.words, &self.before, &self.counts];
        Bytes::of::<u64>((self.marks.capacity() + self.bits.capacity()) as u64)
            + Bytes::of::<u32>(of_row.iter().map(|array| array.capacity() as u64).sum())
            + Bytes::of::<Planes>(self.planes.capacity() as u64)
    }

    #[inline(always)]
    pub(super) fn begin(&mut self, arcs: usize) {
        self.counts.clear();
        self.counts.resize(arcs, 0);
    }

    #[inline(always)]
    pub(super) fn mark(&mut self, row: &[u32]) {
        for (before, &c) in (0..).zip(row) {
            let word = (c / 64) as usize;
            if self.marks[word] == 0 {
                self.slots[word] = self.words.len() as u32;
                self.words.push(word as u32);
                self.before.push(before);
            }
            self.marks[word] |= 1 << (c % 64);
        }
        self.bits.extend(self.words.iter().map(|&word| self.marks[word as usize]));
        self.dense = DENSE * self.words.len() <= row.len();
        self.planes.resize(if self.dense { self.words.len() } else { 0 }, planes::EMPTY);
    }

    #[inline(always)]
    pub(super) fn mark_words(&mut self, words: &[[u32; 3]]) {
        let mut before = 0;
        for (slot, word) in (0..).zip(words) {
            let (place, bits) = (word[0] as usize, pack::bits(word));
            (self.marks[place], self.slots[place]) = (bits, slot);
            self.words.push(word[0]);
            self.before.push(before);
            before += bits.count_ones();
        }
        self.dense = true;
        self.planes.resize(words.len(), planes::EMPTY);
    }

    #[inline(always)]
    pub(super) fn begin_marked(&mut self, row: &[u32]) {
        match pack::words(row) {
            Some(words) => {
                self.begin(words.iter().map(|word| pack::bits(word).count_ones() as usize).sum());
                self.mark_words(words);
            }
            None => {
                self.begin(row.len());
                self.mark(row);
            }
        }
    }

    /// Adds 1 for each of the entries that is marked; returns how many are.
    #[inline(always)]
    pub(super) fn add_entries(&mut self, entries: &[u32]) -> u32 {
        let mut found = 0;
        for entries in entries.chunks(64) {
            let marked = marked_of(entries, &self.marks);
            found += marked.count_ones();
            planes::each_bit(marked, |i| self.add(entries[i] as usize / 64, 1 << (entries[i] % 64)));
        }
        self.end_successor();
        found
    }

    /// Adds 1 for each entry that a packed row shares with the marks; returns how many these are.
    #[inline(always)]
    pub(super) fn add_words(&mut self, words: &[[u32; 3]]) -> u32 {
        let Some(&last) = self.words.last() else { return 0 };
        let mut found = 0;
        if self.dense {
            let (marks, slots, planes) = (&self.marks[..], &self.slots[..], &mut self.planes[..]);
            for word in words.iter().take_while(|word| word[0] <= last) {
                let both = marks[word[0] as usize] & pack::bits(word);
                if both != 0 {
                    planes::add(&mut planes[slots[word[0] as usize] as usize], both);
                    found += both.count_ones();
                }
            }
        } else {
            for word in words.iter().take_while(|word| word[0] <= last) {
                let both = self.marks[word[0] as usize] & pack::bits(word);
                self.add(word[0] as usize, both);
                found += both.count_ones();
            }
        }
        self.end_successor();
        found
    }

    /// The marks, for other uses between rows; the user must leave them all zero.
    #[inline(always)]
    pub(super) fn all_marks(&mut self) -> &mut [u64] {
        &mut self.marks
    }

    #[inline(always)]
    pub(super) fn marks(&self, word: usize) -> u64 {
        self.marks[word]
    }

    /// Adds 1 for each bit of `both`, which are marks of this word.
    #[inline(always)]
    pub(super) fn add(&mut self, word: usize, both: u64) {
        let place = self.slots[word] as usize;
        if self.dense {
            return planes::add(&mut self.planes[place], both);
        }
        let mut left = both;
        while left != 0 {
            let below = self.bits[place] & ((left & left.wrapping_neg()) - 1);
            self.counts[(self.before[place] + below.count_ones()) as usize] += 1;
            left &= left - 1;
        }
    }

    #[inline(always)]
    pub(super) fn add_to(&mut self, arc: usize, triangles: u32) {
        self.counts[arc] += triangles;
    }

    #[inline(always)]
    pub(super) fn end_successor(&mut self) {
        self.added += u32::from(self.dense);
        if self.added == FULL {
            self.empty();
        }
    }

    fn empty(&mut self) {
        self.added = 0;
        for ((word, before), planes) in self.words.iter().zip(&self.before).zip(&mut self.planes) {
            planes::take(planes, self.marks[*word as usize], &mut self.counts[*before as usize..]);
        }
    }

    #[inline(always)]
    pub(super) fn finish(&mut self) -> &[u32] {
        if self.added > 0 {
            self.empty();
        }
        self.words.drain(..).for_each(|word| self.marks[word as usize] = 0);
        self.before.clear();
        self.bits.clear();
        self.planes.clear();
        self.dense = false;
        &self.counts
    }
}
