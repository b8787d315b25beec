//! A summary of the triangles at all vertices: averages, the largest, quantiles, clustering by degree. The vertices of a degree are consecutive in
//! rank order and have equally many pairs of neighbours, so their coefficients add up to a quotient of integers, and averages do not depend on the
//! order of additions. Quantiles are exact: of `n` ascending values the quantile `q` is number `ceil(q n)`, found by radix selection with histograms
//! of digits, in constant memory. Time: a pass over the sums, and one for each digit of quantiles.

use std::ops::Range;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{coefficient, pairs};
use crate::sums::{ByRank, Sums};
use trimill_graph::{DegreeRun, OrientedGraph};
use trimill_system::{Error, Result, lock};

/// The shares whose quantiles are reported.
const SHARES: [f64; 7] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];

/// The summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Clustering {
    /// The average of the local clustering coefficients over the vertices of degree 2 and more.
    pub average_clustering_of_degree_2: f64,
    /// The average of the local clustering coefficients over all vertices with an edge; those of degree 1 have 0.
    pub average_clustering: f64,
    /// `3 * triangles / wedges`; 0 without wedges.
    pub global: f64,
    /// Vertices of degree 2 and more.
    pub vertices_of_degree_2: u64,
    /// Vertices with a triangle.
    pub vertices_in_triangles: u64,
    /// The most triangles at a vertex.
    pub most_triangles: u64,
    /// The vertex that has them, by the input's id; of several the one of the largest degree, then of the largest id. Null without triangles.
    pub most_triangles_vertex: Option<u64>,
    /// Its name, where the input's ids are names; then it has no other id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_triangles_name: Option<String>,
    /// Quantiles; none where the counts are asked for as arrays alone.
    pub quantiles: Vec<Quantile>,
    /// The summary of the file of all vertices' coefficients; null without that file.
    pub lcc: Option<LccSummary>,
}

/// The file of the local clustering coefficients of all vertices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LccSummary {
    /// Whether arcs were counted by direction.
    pub directed: bool,
    /// Vertices of the input, also those without an edge.
    pub vertices: u64,
    /// The average over all of them.
    pub average: f64,
}

/// A quantile of the triangles at all vertices, and of the local clustering coefficients at those of degree 2 and more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Quantile {
    /// At least this share of the vertices has no larger value.
    pub share: f64,
    /// Triangles.
    pub triangles: u64,
    /// The local clustering coefficient.
    pub local: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfDegree {
    pub degree: u32,
    pub vertices: u64,
    pub triangles: u128,
}

impl OfDegree {
    /// The average of their local clustering coefficients.
    pub fn average_clustering(&self) -> f64 {
        match pairs(self.degree) {
            0 => 0.0,
            pairs => self.triangles as f64 / (pairs as f64 * self.vertices as f64),
        }
    }
}

/// The sums of all degrees, ascending, and the summary without [`quantiles`]. `triangles` are the graph's.
pub fn summarised(
    graph: &OrientedGraph,
    totals: &Sums<ByRank>,
    triangles: u128,
) -> Result<(Vec<OfDegree>, Clustering)> {
    let degrees = DegreeFinder::of(graph);
    let blocks = totals.each_block(|first, sums| Ok(BlockSummary::of(&degrees, first as u32, sums)))?;
    let mut by_degree: Vec<OfDegree> = Vec::with_capacity(graph.degree_runs().len());
    let (mut in_triangles, mut most, mut first) = (0, 0, None);
    for block in &blocks {
        in_triangles += block.in_triangles;
        if block.most.0 > most {
            (most, first) = (block.most.0, Some(block.most.1));
        }
        for of in &block.by_degree {
            match by_degree.last_mut().filter(|last| last.degree == of.degree) {
                Some(last) => {
                    last.vertices += of.vertices;
                    last.triangles += of.triangles;
                }
                None => by_degree.push(*of),
            }
        }
    }
    by_degree.reverse();
    let sum: u128 = by_degree.iter().map(|of| of.triangles).sum();
    if sum != 3 * triangles {
        return Err(Error::defect(format!("{sum} corners of {triangles} triangles")));
    }
    let with_pairs: u64 = by_degree.iter().filter(|of| of.degree > 1).map(|of| of.vertices).sum();
    let local: f64 = by_degree.iter().map(|of| of.average_clustering() * of.vertices as f64).sum();
    let average = |vertices: u64| if vertices == 0 { 0.0 } else { local / vertices as f64 };
    let all = u64::from(graph.vertices());
    let (mut vertex, mut name) = (None, None);
    if let Some(rank) = first {
        let ids = graph.ids()?;
        let id = ids.original(graph.order()?[rank as usize]);
        match ids.names() {
            Some(names) => name = Some(String::from_utf8_lossy(names.reader().name(id)?).into_owned()),
            None => vertex = Some(id),
        }
    }
    Ok((
        by_degree,
        Clustering {
            average_clustering_of_degree_2: average(with_pairs),
            average_clustering: average(all),
            global: crate::report::transitivity(triangles, graph.wedges()),
            vertices_of_degree_2: with_pairs,
            vertices_in_triangles: in_triangles,
            most_triangles: most,
            most_triangles_vertex: vertex,
            most_triangles_name: name,
            quantiles: Vec::new(),
            lcc: None,
        },
    ))
}

pub struct DegreeFinder<'a> {
    runs: &'a [DegreeRun],
    ends: Vec<u32>,
}

impl<'a> DegreeFinder<'a> {
    pub fn of(graph: &'a OrientedGraph) -> Self {
        let runs = graph.degree_runs();
        let ends = runs.iter().scan(0, |end, run| {
            *end += run.vertices;
            Some(*end)
        });
        Self { runs, ends: ends.collect() }
    }

    /// The degrees of a range of ranks, each with its part of the range.
    pub fn of_ranks(&self, ranks: Range<u32>) -> impl Iterator<Item = (u32, Range<u32>)> {
        let mut next = ranks.start;
        let first = self.ends.partition_point(|&end| end <= next);
        self.runs[first..].iter().zip(&self.ends[first..]).map_while(move |(run, &end)| {
            let part = next..end.min(ranks.end);
            next = part.end;
            (!part.is_empty()).then_some((run.degree, part))
        })
    }
}

struct BlockSummary {
    by_degree: Vec<OfDegree>,
    in_triangles: u64,
    /// The most triangles, and the first rank that has them.
    most: (u64, u32),
}

impl BlockSummary {
    fn of(degrees: &DegreeFinder<'_>, first: u32, sums: &[u64]) -> Self {
        let by_degree = degrees.of_ranks(first..first + sums.len() as u32).map(|(degree, ranks)| {
            let own = &sums[(ranks.start - first) as usize..(ranks.end - first) as usize];
            OfDegree {
                degree,
                vertices: ranks.len() as u64,
                triangles: own.iter().map(|&triangles| u128::from(triangles)).sum(),
            }
        });
        let larger = |most: (u64, u32), (rank, &triangles): (u32, &u64)| {
            if triangles > most.0 { (triangles, rank) } else { most }
        };
        Self {
            by_degree: by_degree.collect(),
            in_triangles: sums.iter().filter(|&&triangles| triangles > 0).count() as u64,
            most: (first..).zip(sums).fold((0, first), larger),
        }
    }
}

pub fn quantiles(graph: &OrientedGraph, totals: &Sums<ByRank>, summary: &Clustering) -> Result<Vec<Quantile>> {
    let (degrees, all) = (DegreeFinder::of(graph), u64::from(graph.vertices()));
    let triangles = select(totals, places(all), summary.most_triangles, |counts, _, sums| counts.add(sums))?;
    let locals = select(totals, places(summary.vertices_of_degree_2), 1f64.to_bits(), |counts, first, sums| {
        let mut keys = [0; AT_A_TIME];
        let with_degrees = degrees.of_ranks(first..first + sums.len() as u32);
        for (degree, ranks) in with_degrees.filter(|(degree, _)| *degree > 1) {
            for own in sums[(ranks.start - first) as usize..(ranks.end - first) as usize].chunks(AT_A_TIME) {
                for (key, &triangles) in keys.iter_mut().zip(own) {
                    // Non-negative floating-point numbers sort as their bits.
                    *key = coefficient(degree, triangles).to_bits();
                }
                counts.add(&keys[..own.len()]);
            }
        }
    })?;
    let quantile = |(i, &share)| Quantile {
        share,
        triangles: triangles.get(i).copied().unwrap_or(0),
        local: locals.get(i).copied().map_or(0.0, f64::from_bits),
    };
    Ok(SHARES.iter().enumerate().map(quantile).collect())
}

/// The indices of the quantiles of `n` values; none without values.
fn places(n: u64) -> Vec<u64> {
    let place = |share: f64| ((share * n as f64).ceil() as u64).clamp(1, n) - 1;
    if n == 0 { Vec::new() } else { SHARES.map(place).to_vec() }
}

/// Bits of a digit, and the values of it.
const DIGIT: u32 = 8;
const VALUES: usize = 1 << DIGIT;

const AT_A_TIME: usize = 512;

/// Histograms of the keys' next digit, one for each sought value.
#[derive(Debug)]
struct DigitCounts {
    /// The known digits of each value, in ascending order.
    sought: Vec<u64>,
    shift: u32,
    counts: Vec<[u64; VALUES]>,
}

impl DigitCounts {
    /// Counts of no keys yet; `found` has the values as far as they are known, ascending, and zeros from the digit at `shift` on.
    fn new(found: &[u64], shift: u32) -> Self {
        let mut sought: Vec<u64> = found.iter().map(|value| before(*value, shift)).collect();
        sought.dedup();
        Self { counts: vec![[0; VALUES]; sought.len()], sought, shift }
    }

    fn add(&mut self, keys: &[u64]) {
        let Self { sought, shift, counts } = self;
        for &key in keys {
            let before = before(key, *shift);
            if let Some(i) = sought.iter().position(|&sought| sought == before) {
                counts[i][(key >> *shift) as usize % VALUES] += 1;
            }
        }
    }

    /// Counts of no keys, to be merged with these later.
    fn none(&self) -> Self {
        Self { sought: self.sought.clone(), counts: vec![[0; VALUES]; self.counts.len()], ..*self }
    }

    fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().flatten().zip(other.counts.iter().flatten()).for_each(|(sum, other)| *sum += other);
    }
}

#[inline(always)]
fn before(key: u64, shift: u32) -> u64 {
    key.checked_shr(shift + DIGIT).unwrap_or(0)
}

/// The values at these ascending indices of all keys, which are at most `largest`. `count` gets the first of some ranks, and counts their keys.
fn select(
    totals: &Sums<ByRank>,
    mut places: Vec<u64>,
    largest: u64,
    count: impl Fn(&mut DigitCounts, u32, &[u64]) + Sync,
) -> Result<Vec<u64>> {
    let mut found = vec![0u64; places.len()];
    for shift in (0..u64::BITS - largest.leading_zeros()).step_by(DIGIT as usize).rev() {
        let all = Mutex::new(DigitCounts::new(&found, shift));
        totals.each_block(|first, sums| {
            let mut counts = lock(&all).none();
            count(&mut counts, first as u32, sums);
            lock(&all).merge(&counts);
            Ok(())
        })?;
        let all = lock(&all);
        for (value, place) in found.iter_mut().zip(&mut places) {
            let Some(i) = all.sought.iter().position(|&sought| sought == before(*value, shift)) else { continue };
            let mut digit = 0;
            while digit + 1 < VALUES && *place >= all.counts[i][digit] {
                *place -= all.counts[i][digit];
                digit += 1;
            }
            *value |= (digit as u64) << shift;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sums::CountedKeys;

    proptest! {
        #[test]
        fn selected_values_are_those_of_the_sorted_keys(
            keys in prop::collection::vec(prop_oneof![0..5u64, any::<u64>(), (0..1000u64).prop_map(|i| (i as f64 / 999.0).to_bits())], 1..300),
        ) {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            let places = places(keys.len() as u64);
            let expected: Vec<u64> = places.iter().map(|&place| sorted[place as usize]).collect();
            let largest = sorted[sorted.len() - 1];
            let sums = Sums::<ByRank>::in_memory(keys.len() as u64);
            sums.add(CountedKeys::From(0), &keys).unwrap();
            let found = select(&sums, places, largest, |counts, _, sums| counts.add(sums));
            prop_assert_eq!(found.unwrap(), expected);
        }
    }

    #[test]
    fn places_are_nearest_ranks() {
        assert_eq!(places(1), [0; 7]);
        assert_eq!(places(100), [0, 9, 24, 49, 74, 89, 98]);
        assert_eq!(places(10), [0, 0, 2, 4, 7, 8, 9]);
        assert!(places(0).is_empty());
    }
}
