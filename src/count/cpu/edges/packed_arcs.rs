//! Where most rows are packed ([`crate::count::cpu::pack`]): the counters of the arcs `b -> c`, head by head. By tail, for each `a -> b`, these
//! additions would go to arcs all over memory. Here the row of `b` is marked once, the words of all its tails' rows are intersected with the marks,
//! and what they share is added to bit planes in the cache.

use super::context::Around;
use super::own::Own;
use crate::count::cpu::pack;
use crate::count::cpu::postponed::PostponedArc;

/// Adds to the counters of the heads' arcs. Compiled for several instruction sets, see [`super::worker::count_run`].
#[multiversion::multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt", "x86_64+popcnt"))]
pub(super) fn count_part(own: &mut Own, first: u32, sorted: &[PostponedArc], around: &Around<'_>) {
    for arcs in sorted.chunk_by(|a, b| a.head == b.head) {
        let (row, first_of_head) = around.row_at(first + u32::from(arcs[0].head));
        if row.is_empty() {
            continue;
        }
        own.begin_marked(row);
        let mut found = 0;
        for arc in arcs {
            let row = around.successors.resident(arc.tail as usize);
            found |= match pack::words(row) {
                Some(words) => own.add_words(words),
                None => own.add_entries(&row[..usize::from(arc.len)]),
            };
        }
        let counts = own.finish();
        if found > 0 {
            around.counters.add(first_of_head, counts);
        }
    }
}
