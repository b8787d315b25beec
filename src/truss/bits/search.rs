//! The triangles of falling edges, if rows are bits. As in [`crate::truss::triangles`], but each end counts only for edges of its own row,
//! however long the other is: reading a row is cheap, and the counts of a word are added to at once.

use std::sync::atomic::Ordering::Relaxed;

use super::{BitRowView, NeighbourBits, larger};
use crate::truss::ends::{FallingEnd, vertex};
use crate::truss::falling::{EdgeValues, TOGETHER, TakenTriangles};
use trimill_counting::planes::{self, FULL, Planes, each_bit};
use trimill_system::mapped::{prefetch, zeros};

/// A row less than `MUCH_LONGER` times as long as the row in the table is read whole; longer ones are searched for the table's words.
const MUCH_LONGER: usize = 4;

/// The number of words that are put into the table in the time of one search.
const WORDS_PER_SEARCH: usize = 4;

#[derive(Default)]
pub(in crate::truss) struct BitScratch {
    /// For each word over all vertices: the neighbours of the vertex in the table, and the word's index in its row.
    marks: Vec<u64>,
    places: Vec<u32>,
    counts: TriangleCounts,
}

impl BitScratch {
    pub(in crate::truss) fn bytes(vertices: u64) -> u64 {
        (8 + 4 + size_of::<Planes>() as u64) * vertices.div_ceil(64) + vertices.div_ceil(64 * 8)
    }
}

#[derive(Default)]
struct TriangleCounts {
    planes: Vec<Planes>,
    /// A bit for each word that has any.
    touched: Vec<u64>,
}

#[derive(Clone, Copy)]
struct InRow<'a> {
    vertex: u32,
    row: &'a BitRowView<'a>,
    word: usize,
}

/// The edges of `own` that lose a triangle each at the bits that both words share, by the rules of [`crate::truss::triangles`].
#[inline(always)]
fn taken(own: InRow<'_>, other: InRow<'_>, both: u64) -> u64 {
    let takes_from = larger(own.vertex, own.row.columns[own.word]) | !other.row.falling[other.word].load(Relaxed);
    both & !own.row.falling[own.word].load(Relaxed) & takes_from
}

/// Calls `found` with the indices of words that share bits, and these bits. Each word of the first row is searched in the second one.
#[inline(always)]
fn each_common(row: &BitRowView<'_>, in_row: &BitRowView<'_>, mut found: impl FnMut(usize, usize, u64) -> bool) {
    let mut place = 0;
    for (word, (&column, bits)) in row.columns.iter().zip(row.present).enumerate() {
        let bits = bits.load(Relaxed);
        if bits == 0 {
            continue;
        }
        place = in_row.search(place, column);
        let Some(&at) = in_row.columns.get(place) else { return };
        let both = bits & in_row.present[place].load(Relaxed);
        if at == column && both != 0 && found(word, place, both) {
            return;
        }
    }
}

/// Lowers the values of a vertex's edges by the triangles of its falling edges. Compiled for several instruction sets.
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(in crate::truss) fn take_group(
    rows: &NeighbourBits,
    ends: &[FallingEnd],
    values: EdgeValues<'_>,
    scratch: &mut BitScratch,
    all_taken: &mut TakenTriangles,
) {
    let vertex = vertex(ends[0]);
    let own = rows.row(vertex);
    let words = own.columns.len();
    let BitScratch { marks, places, counts } = scratch;
    if counts.planes.len() < words {
        counts.planes.resize(words, planes::EMPTY);
        counts.touched.resize(words.div_ceil(64), 0);
    }
    // Whether the row of `b` is read as a whole if the own row is in the table.
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
    let (mut place_of_b, mut added) = (0, 0);
    let mut triangles = [0; TOGETHER];
    for ends in ends.chunks(TOGETHER) {
        for (&end, edge) in ends.iter().zip(&mut triangles) {
            let b = end as u32;
            place_of_b = own.search(place_of_b, b / 64);
            *edge = own.edge_at(own.place(place_of_b, b % 64));
            prefetch(values.values, *edge as usize);
            rows.prefetch(b);
        }
        for edge in &mut triangles[..ends.len()] {
            *edge = values.of_falling(*edge);
        }
        for (&end, mut missing) in ends.iter().zip(triangles) {
            let b = end as u32;
            let other = rows.row(b);
            let mut add = |word: usize, place: usize, both: u64| {
                let of_other = InRow { vertex: b, row: &other, word: place };
                let taken = taken(InRow { vertex, row: &own, word }, of_other, both);
                if taken != 0 {
                    planes::add(&mut counts.planes[word], taken);
                    counts.touched[word / 64] |= 1 << (word % 64);
                }
                missing -= both.count_ones();
                missing == 0
            };
            if in_table && is_read(b) {
                for (place, (&column, bits)) in other.columns.iter().zip(other.present).enumerate() {
                    let both = marks[column as usize] & bits.load(Relaxed);
                    if both != 0 && add(places[column as usize] as usize, place, both) {
                        break;
                    }
                }
            } else if (own.is_dense, words) > (other.is_dense, other.columns.len()) {
                each_common(&other, &own, |place, word, both| add(word, place, both));
            } else {
                each_common(&own, &other, add);
            }
        }
        added += ends.len();
        if added + TOGETHER > FULL as usize {
            lower(&own, values, counts, all_taken);
            added = 0;
        }
    }
    lower(&own, values, counts, all_taken);
    if in_table {
        own.columns.iter().for_each(|&column| marks[column as usize] = 0);
    }
}

/// Subtracts the counts from the values of a row's edges, and zeroes them.
#[inline(always)]
fn lower(row: &BitRowView<'_>, values: EdgeValues<'_>, counts: &mut TriangleCounts, taken: &mut TakenTriangles) {
    for (first, touched) in (0..).step_by(64).zip(&mut counts.touched) {
        each_bit(std::mem::take(touched), |word| {
            let word = first + word;
            let planes = &mut counts.planes[word];
            let bits = planes.iter().fold(0, |bits, plane| bits | plane);
            let (mut of_bits, mut i) = ([0; 64], 0);
            planes::take(planes, bits, &mut of_bits);
            each_bit(bits, |bit| {
                taken.take_from(row.edge_at(row.place(word, bit as u32)), of_bits[i]);
                i += 1;
            });
            taken.lower_edges(values, false);
        });
    }
    taken.lower_edges(values, true);
}
