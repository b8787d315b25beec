//! The inner loops: what a row of successors, in any of its forms, shares with marks. Inlined for each kind of [`Corners`](super::vertices::Corners).

use std::ops::Range;

use bytemuck::cast_slice;

use super::pack;
use trimill_counting::planes::each_bit;

/// Words of a row, and their places: a word at place `i` is for the 64 numbers from `64 * i` on.
#[derive(Clone, Copy)]
pub(super) struct NonEmptyWords<'a> {
    pub(super) places: &'a [u16],
    pub(super) words: &'a [u64],
}

impl<'a> NonEmptyWords<'a> {
    #[inline(always)]
    pub(super) fn some(self, range: Range<usize>) -> Self {
        Self { places: &self.places[range.clone()], words: &self.words[range] }
    }
}

/// Whether a successor's row may have entries from `first` to `last`.
#[inline(always)]
pub(super) fn may_intersect(row: &[u32], first: u32, last: u32) -> bool {
    match (pack::words(row), row) {
        (Some(words), _) => words[0][0] <= last / 64 && words[words.len() - 1][0] >= first / 64,
        (None, [least, .., greatest]) => (*least <= last) & (*greatest >= first),
        (None, [only]) => (first..=last).contains(only),
        (None, []) => false,
    }
}

#[inline(always)]
pub(super) fn mark(row: &[u32], marks: &mut [u64]) {
    match pack::words(row) {
        Some(words) => words.iter().for_each(|word| marks[word[0] as usize] = pack::bits(word)),
        None => row.iter().for_each(|&c| marks[c as usize / 64] |= 1 << (c % 64)),
    }
}

#[inline(always)]
pub(super) fn unmark(row: &[u32], marks: &mut [u64]) {
    match pack::words(row) {
        Some(words) => words.iter().for_each(|word| marks[word[0] as usize] = 0),
        None => row.iter().for_each(|&c| marks[c as usize / 64] = 0),
    }
}

/// The first place in `row`, from `start` on, whose entry is not below `limit`.
#[inline(always)]
pub(super) fn before(row: &[u32], start: usize, limit: u32) -> usize {
    match &row[start..] {
        [first, ..] if *first >= limit => start,
        [.., last] if *last < limit => row.len(),
        rest => start + rest.partition_point(|&b| b < limit),
    }
}

/// Whether gather instructions are faster than single loads, so that loops should clamp an index without branching instead of checking it. True for
/// Intel's processors from Sapphire Rapids on, which alone have this feature; others take up to a seventh longer (docs/results/gathers-h200.txt).
#[inline(always)]
fn gathers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512fp16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The number of bits that the packed words share with `bits`. Two independent sums, since consecutive additions to one would be serialised.
#[inline(always)]
pub(super) fn common(row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
    if gathers() {
        let [count] = common_by_gathers(row, [bits]);
        return count;
    }
    let common = |place: u16, word: u64| u64::from((bits[usize::from(place)] & word).count_ones());
    let mut counts = [0; 2];
    let ((places, last_place), (words, last_word)) = (row.places.as_chunks::<2>(), row.words.as_chunks::<2>());
    for (places, words) in places.iter().zip(words) {
        counts[0] += common(places[0], words[0]);
        counts[1] += common(places[1], words[1]);
    }
    for (&place, &word) in last_place.iter().zip(last_word) {
        counts[0] += common(place, word);
    }
    counts[0] + counts[1]
}

/// As [`common`], for each of `four` bit rows of the same length; loads each word of `row` once for all four.
#[inline(always)]
pub(super) fn common_of_four(row: NonEmptyWords<'_>, four: [&[u64]; 4]) -> [u64; 4] {
    if gathers() {
        return common_by_gathers(row, four);
    }
    let mut counts = [0; 4];
    let four = four.map(|bits| &bits[..four[0].len()]);
    for (&place, word) in row.places.iter().zip(row.words) {
        let place = usize::from(place);
        for (count, bits) in counts.iter_mut().zip(four) {
            *count += u64::from((bits[place] & word).count_ones());
        }
    }
    counts
}

#[inline(always)]
fn common_by_gathers<const N: usize>(row: NonEmptyWords<'_>, some: [&[u64]; N]) -> [u64; N] {
    let mut counts = [0; N];
    let Some(last) = some[0].len().checked_sub(1) else { return counts };
    let some = some.map(|bits| &bits[..=last]);
    for (&place, &word) in row.places.iter().zip(row.words) {
        let place = usize::from(place).min(last);
        for (count, bits) in counts.iter_mut().zip(some) {
            *count += u64::from((bits[place] & word).count_ones());
        }
    }
    counts
}

#[inline(always)]
fn words_by_gathers(row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
    let mut found = 0;
    let Some(last) = bits.len().checked_sub(1) else { return found };
    for (i, (&place, &word)) in row.places.iter().zip(row.words).enumerate() {
        found |= u64::from(bits[usize::from(place).min(last)] & word != 0) << i;
    }
    found
}

/// For each of up to 64 words, a bit that tells whether it shares a bit with `bits`. Branchless, since most share nothing.
#[inline(always)]
pub(super) fn words_in_common(row: NonEmptyWords<'_>, bits: &[u64]) -> u64 {
    if gathers() {
        return words_by_gathers(row, bits);
    }
    let mut found = 0;
    let ((places, last_places), (words, last_words)) = (row.places.as_chunks::<8>(), row.words.as_chunks::<8>());
    let is_common = |place: u16, word: u64| u64::from(bits[usize::from(place)] & word != 0);
    for (k, (places, words)) in places.iter().zip(words).enumerate() {
        let mut eight = 0;
        for i in 0..8 {
            eight |= is_common(places[i], words[i]) << i;
        }
        found |= eight << (8 * k);
    }
    for (i, (&place, &word)) in (8 * places.len()..).zip(last_places.iter().zip(last_words)) {
        found |= is_common(place, word) << i;
    }
    found
}

#[inline(always)]
pub(super) fn probe_words(words: &[[u32; 3]], marks: &[u64]) -> u64 {
    let (pairs, rest) = words.as_chunks::<2>();
    let marked = |word: &[u32; 3]| u64::from((marks[word[0] as usize] & pack::bits(word)).count_ones());
    let mut counts = [0; 2];
    for [a, b] in pairs {
        counts[0] += marked(a);
        counts[1] += marked(b);
    }
    for word in rest {
        counts[0] += marked(word);
    }
    counts[0] + counts[1]
}

/// The marked bits of each word that has some, with the number of its lowest bit.
#[inline(always)]
pub(super) fn marked_words(words: &[[u32; 3]], marks: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    words.iter().map(|word| (64 * word[0], marks[word[0] as usize] & pack::bits(word))).filter(|(_, both)| *both != 0)
}

#[inline(always)]
pub(super) fn probe(row: &[u32], marks: &[u64]) -> u64 {
    let (marks, mut count) = (cast_slice(marks), 0);
    let Some(last) = marks.len().checked_sub(1) else { return 0 };
    for &c in row {
        count += is_marked(c, marks, last);
    }
    count.into()
}

#[inline(always)]
pub(super) fn each_marked(row: &[u32], marks: &[u64], mut act: impl FnMut(u32)) -> u64 {
    let mut count = 0;
    for entries in row.chunks(64) {
        let found = marked_of(entries, marks);
        count += u64::from(found.count_ones());
        each_bit(found, |i| act(entries[i]));
    }
    count
}

/// For each of up to 64 entries, a bit that tells whether it is marked. Branchless, since most are not.
#[inline(always)]
pub(super) fn marked_of(entries: &[u32], marks: &[u64]) -> u64 {
    let (marks, mut found) = (cast_slice(marks), 0);
    let Some(last) = marks.len().checked_sub(1) else { return 0 };
    for (i, &c) in entries.iter().enumerate() {
        found |= u64::from(is_marked(c, marks, last)) << i;
    }
    found
}

/// `marks` are the halves of words, the lower ones first, and `last` is the place of the last one.
#[inline(always)]
fn is_marked(c: u32, marks: &[u32], last: usize) -> u32 {
    marks[(c as usize / 32).min(last)] >> (c % 32) & 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests may run on a processor without fast gathers, so the loops are called directly.
    #[test]
    fn loops_by_gathers_find_what_the_others_find() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let rows: [Vec<u64>; 4] = std::array::from_fn(|_| (0..300).map(|_| next() & next()).collect());
        for many in (0..65).chain([64; 20]) {
            let mut places: Vec<u16> = (0..many).map(|_| (next() % 300) as u16).collect();
            places.sort_unstable();
            let words: Vec<u64> = (0..many).map(|_| 1 << (next() % 64) | 1 << (next() % 64)).collect();
            let row = NonEmptyWords { places: &places, words: &words };
            let shared = |bits: &Vec<u64>| -> Vec<u64> {
                places.iter().zip(&words).map(|(&place, word)| bits[usize::from(place)] & word).collect()
            };
            let ones = |bits: &Vec<u64>| shared(bits).iter().map(|both| u64::from(both.count_ones())).sum::<u64>();
            let counts = rows.each_ref().map(ones);
            let slices = rows.each_ref().map(Vec::as_slice);
            assert_eq!(common_by_gathers(row, slices), counts);
            assert_eq!(common_of_four(row, slices), counts);
            assert_eq!([common_by_gathers(row, [slices[1]])[0], common(row, slices[1])], [counts[1]; 2]);
            let mask = shared(&rows[2]).iter().rev().fold(0, |mask, &both| mask << 1 | u64::from(both != 0));
            assert_eq!([words_by_gathers(row, slices[2]), words_in_common(row, slices[2])], [mask; 2]);
            let entries: Vec<u32> = places.iter().zip(0..).map(|(&place, i)| 64 * u32::from(place) + i % 64).collect();
            let is_marked = |&c: &u32| rows[3][c as usize / 64] >> (c % 64) & 1;
            let marked = entries.iter().rev().fold(0, |mask, c| mask << 1 | is_marked(c));
            assert_eq!(marked_of(&entries, slices[3]), marked);
            assert_eq!(probe(&entries, slices[3]), u64::from(marked.count_ones()));
        }
    }
}
