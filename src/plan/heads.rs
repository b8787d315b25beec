//! Cuts rank ranges into pieces by ranges of heads, so that many shards read less.
//!
//! With P ranges, the last shard of P reads the whole graph, and all of them together (P + 1) / 2 times the graph. A range is read again
//! by each of its pieces, but its row blocks are divided among them. With T even ranges and as many pieces of each as there are ranges
//! below it, or about that, S = T (T + 1) / 2 shards read 2 / T of the graph each: T / (2 S) of what P = S ranges read, for which the last
//! shard reads 1. The price is that T ranges need more memory of a device than S.

use std::ops::Range;

use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::partition::ranks::Ranks;

/// Ranges and their pieces consist of whole file blocks where there are at least this many for each.
pub(super) const BLOCKS: u64 = 16;

/// The number of ranges for so many shards: the least T with T (T + 1) / 2 pieces or more.
pub(super) fn ranges_for(shards: u32) -> u32 {
    let mut ranges = 1u32;
    while u64::from(ranges) * (u64::from(ranges) + 1) / 2 < u64::from(shards) {
        ranges += 1;
    }
    ranges
}

/// Cuts `ranges` into at least `shards` pieces, if there are fewer of them: the one that reads the most arcs is cut further, and the
/// pieces of a range read about as many arcs each. Where there are many file blocks, pieces begin with one.
///
/// # Errors
/// When rows cannot be read.
pub(super) fn cut(graph: &OrientedGraph, ranges: Vec<Range<u32>>, shards: u32) -> Result<Vec<Ranks>> {
    let first_arcs = ranges.iter().map(|range| graph.first_arc(range.start)).collect::<Result<Vec<_>>>()?;
    let ends = first_arcs.iter().copied().skip(1).chain([graph.edges()]);
    // Arcs that are resident, and arcs of the rows below them.
    let arcs: Vec<(u64, u64)> = first_arcs.iter().zip(ends).map(|(&first, end)| (end - first, first)).collect();
    let mut pieces = vec![1u64; ranges.len()];
    let reads = |i: usize, pieces: u64| arcs[i].0 + arcs[i].1 / pieces;
    while pieces.iter().sum::<u64>() < u64::from(shards) {
        let further = (0..ranges.len()).filter(|&i| pieces[i] < arcs[i].1);
        let Some(largest) = further.max_by_key(|&i| reads(i, pieces[i])) else { break };
        pieces[largest] += 1;
    }
    let mut all = Vec::new();
    for ((locals, (_, below)), pieces) in ranges.into_iter().zip(arcs).zip(pieces) {
        let mut begin = 0;
        for piece in 1..=pieces {
            let end = match piece == pieces {
                true => locals.end,
                false => {
                    let upto = below / pieces * piece;
                    let before = graph.first_arc(begin)?;
                    let fits = |_, arcs| before + arcs <= upto;
                    let end = match graph.blocks() as u64 >= BLOCKS * pieces {
                        true => graph.last_fitting_block(begin, fits)?,
                        false => graph.last_fitting(begin, fits)?,
                    };
                    end.min(locals.start)
                }
            };
            if begin < end || pieces == 1 {
                all.push(Ranks { locals: locals.clone(), heads: begin..end });
            }
            begin = end;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_a_piece_for_each_shard() {
        for (shards, ranges) in [(1, 1), (2, 2), (3, 2), (4, 3), (6, 3), (7, 4), (16, 6), (64, 11), (256, 23)] {
            assert_eq!(ranges_for(shards), ranges, "{shards}");
        }
    }
}
