//! The triangles of edges that fall, where rows are bits. As in [`crate::truss::triangles`], but each end counts for the edges of its own
//! row only, however long the other one is: reading a row is cheap, and the counts of a word are added to at once.

use std::sync::atomic::Ordering::Relaxed;

use super::{BitRowView, NeighbourBits, larger};
use crate::planes::{self, FULL, Planes};
use crate::truss::falling::{EdgeValues, FallingEnd, Reached, vertex};
use trimill_system::mapped::zeros;

/// A row that is up to so many times as long as that in the table is read as a whole. In a longer one, the words of the other are searched.
const MUCH_LONGER: usize = 4;

/// Words that are put into the table in the time of one search.
const WORDS_PER_SEARCH: usize = 4;

/// How many values are collected before they are lowered, about.
const LOWERED: usize = 1 << 10;

/// The buffers of a thread: about a byte a vertex.
#[derive(Default)]
pub(in crate::truss) struct BitScratch {
    /// For each word over all vertices: the neighbours of the vertex in the table, zero if there is none, and the word's place in its row.
    marks: Vec<u64>,
    places: Vec<u32>,
    counts: TriangleCounts,
    lowered: Vec<(u32, u32)>,
}

/// How many triangles are to be taken from each edge of a row.
#[derive(Default)]
struct TriangleCounts {
    /// Of each word.
    planes: Vec<Planes>,
    /// A bit for each word that has any.
    touched: Vec<u64>,
}

impl TriangleCounts {
    /// Takes one triangle from the edge of `own` at each bit that is in both rows' words, as [`crate::truss::triangles`] has it.
    #[inline(always)]
    fn add(&mut self, own: InRow<'_>, other: InRow<'_>, both: u64) {
        let word = own.word;
        let takes_from = larger(own.vertex, own.row.columns[word]) | !other.row.falling[other.word].load(Relaxed);
        let taken = both & !own.row.falling[word].load(Relaxed) & takes_from;
        if taken != 0 {
            planes::add(&mut self.planes[word], taken);
            self.touched[word / 64] |= 1 << (word % 64);
        }
    }
}

/// A word of a vertex's row.
#[derive(Clone, Copy)]
struct InRow<'a> {
    vertex: u32,
    row: &'a BitRowView<'a>,
    word: usize,
}

/// Calls `found` with the places of the words of both rows that have bits in common, and these bits. Each word of the first row is searched
/// in the second one.
#[inline(always)]
fn each_common(row: &BitRowView<'_>, in_row: &BitRowView<'_>, mut found: impl FnMut(usize, usize, u64)) {
    let mut place = 0;
    for (word, (&column, bits)) in row.columns.iter().zip(row.present).enumerate() {
        let bits = bits.load(Relaxed);
        if bits == 0 {
            continue;
        }
        place = in_row.search(place, column);
        let Some(&at) = in_row.columns.get(place) else { return };
        let both = bits & in_row.present[place].load(Relaxed);
        if at == column && both != 0 {
            found(word, place, both);
        }
    }
}

/// Lowers the values of the edges at the vertex whose edges fall at these ends. Compiled for several instruction sets, as counting is.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(in crate::truss) fn take_group(
    rows: &NeighbourBits,
    ends: &[FallingEnd],
    values: EdgeValues<'_>,
    scratch: &mut BitScratch,
    reached: &mut Reached,
) {
    let vertex = vertex(ends[0]);
    let own = rows.row(vertex);
    let words = own.columns.len();
    let BitScratch { marks, places, counts, lowered } = scratch;
    if counts.planes.len() < words {
        counts.planes.resize(words, planes::EMPTY);
        counts.touched.resize(words.div_ceil(64), 0);
    }
    // Rows that are read as a whole, if the own one is in the table.
    let is_read = |b: u32| !own.is_dense && !rows.row(b).is_dense && rows.length(b) < MUCH_LONGER * words;
    let read: usize = ends.iter().map(|&end| end as u32).filter(|&b| is_read(b)).map(|b| rows.length(b)).sum();
    let in_table = WORDS_PER_SEARCH * read > words;
    if in_table {
        if marks.is_empty() {
            (*marks, *places) = (zeros(rows.words()), zeros(rows.words()));
        }
        for (place, (&column, bits)) in (0..).zip(own.columns.iter().zip(own.present)) {
            (marks[column as usize], places[column as usize]) = (bits.load(Relaxed), place);
        }
    }
    for ends in ends.chunks(FULL as usize) {
        for &end in ends {
            let b = end as u32;
            let other = rows.row(b);
            let mut add = |word: usize, place: usize, both: u64| {
                let of_other = InRow { vertex: b, row: &other, word: place };
                counts.add(InRow { vertex, row: &own, word }, of_other, both);
            };
            if in_table && is_read(b) {
                for (place, (&column, bits)) in other.columns.iter().zip(other.present).enumerate() {
                    let both = marks[column as usize] & bits.load(Relaxed);
                    if both != 0 {
                        add(places[column as usize] as usize, place, both);
                    }
                }
            } else if (own.is_dense, words) > (other.is_dense, other.columns.len()) {
                each_common(&other, &own, |place, word, both| add(word, place, both));
            } else {
                each_common(&own, &other, add);
            }
        }
        lower(&own, values, counts, lowered, reached);
    }
    if in_table {
        own.columns.iter().for_each(|&column| marks[column as usize] = 0);
    }
}

/// Takes what was counted from the values of a row's edges; then the counts are zeros again.
#[inline(always)]
fn lower(
    row: &BitRowView<'_>,
    values: EdgeValues<'_>,
    counts: &mut TriangleCounts,
    lowered: &mut Vec<(u32, u32)>,
    reached: &mut Reached,
) {
    for (first, touched) in (0..).step_by(64).zip(&mut counts.touched) {
        let mut touched = std::mem::take(touched);
        while touched != 0 {
            let word = first + touched.trailing_zeros() as usize;
            let planes = &mut counts.planes[word];
            let mut bits = planes.iter().fold(0, |bits, plane| bits | plane);
            let mut taken = [0; 64];
            planes::take(planes, bits, &mut taken);
            for by in taken.iter().take(bits.count_ones() as usize) {
                lowered.push((row.edge(word, bits.trailing_zeros()), *by));
                bits &= bits - 1;
            }
            touched &= touched - 1;
            if lowered.len() >= LOWERED {
                values.lower(lowered, reached);
                lowered.clear();
            }
        }
    }
    values.lower(lowered, reached);
    lowered.clear();
}
