//! The inner loops: common entries of a row of successors and what is marked, in each of the forms that a row has. They are inlined where
//! they are called, once for each kind of [`Corners`].

use super::pack;
use super::vertices::Corners;

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

/// Marks the entries of a row.
#[inline(always)]
pub(super) fn mark(row: &[u32], marks: &mut [u64]) {
    match pack::words(row) {
        Some(words) => words.iter().for_each(|word| marks[word[0] as usize] = pack::bits(word)),
        None => row.iter().for_each(|&c| marks[c as usize / 64] |= 1 << (c % 64)),
    }
}

/// Clears the marks of a row.
#[inline(always)]
pub(super) fn unmark(row: &[u32], marks: &mut [u64]) {
    match pack::words(row) {
        Some(words) => words.iter().for_each(|word| marks[word[0] as usize] = 0),
        None => row.iter().for_each(|&c| marks[c as usize / 64] = 0),
    }
}

/// The position in `row`, from `start` on, of the first entry that is not below `limit`.
#[inline(always)]
pub(super) fn before(row: &[u32], start: usize, limit: u32) -> usize {
    match &row[start..] {
        [first, ..] if *first >= limit => start,
        [.., last] if *last < limit => row.len(),
        rest => start + rest.partition_point(|&b| b < limit),
    }
}

/// How many bits the packed words have in common with `bits`.
///
/// Two words an iteration, with a sum for each: fewer instructions a word, and no addition waits for the one before.
#[inline(always)]
pub(super) fn common<C: Corners>(places: &[u16], packed: &[u64], bits: &[u64], corners: &mut C) -> u64 {
    let mut common = |place: u16, word: u64| {
        let both = bits[usize::from(place)] & word;
        corners.word(u32::from(place) * 64, both);
        u64::from(both.count_ones())
    };
    let mut counts = [0; 2];
    let ((places, last_place), (words, last_word)) = (places.as_chunks::<2>(), packed.as_chunks::<2>());
    for (places, words) in places.iter().zip(words) {
        counts[0] += common(places[0], words[0]);
        counts[1] += common(places[1], words[1]);
    }
    for (&place, &word) in last_place.iter().zip(last_word) {
        counts[0] += common(place, word);
    }
    counts[0] + counts[1]
}

/// How many bits of the words are marked.
#[inline(always)]
pub(super) fn probe_words<C: Corners>(words: &[[u32; 3]], marks: &[u64], corners: &mut C) -> u64 {
    let (pairs, rest) = words.as_chunks::<2>();
    let mut marked = |word: &[u32; 3]| {
        let both = marks[word[0] as usize] & pack::bits(word);
        corners.word(word[0] * 64, both);
        u64::from(both.count_ones())
    };
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

#[inline(always)]
pub(super) fn probe<C: Corners>(row: &[u32], marks: &[u64], corners: &mut C) -> u64 {
    let (fours, rest) = row.as_chunks::<4>();
    let mut counts = [0; 4];
    let mut probe = |c: u32| {
        let marked = marks[c as usize / 64] >> (c % 64) & 1;
        corners.smallest(c, marked);
        marked
    };
    for four in fours {
        for (count, &c) in counts.iter_mut().zip(four) {
            *count += probe(c);
        }
    }
    for (count, &c) in counts.iter_mut().zip(rest) {
        *count += probe(c);
    }
    counts[0] + counts[1] + counts[2] + counts[3]
}
