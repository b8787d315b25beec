//! Degrees in ranges, to plot their distribution: each one below 32 alone, larger ones in 16 [`DegreeBin`]s a doubling, at most 464 in all.

use serde::{Deserialize, Serialize};

use super::pairs;
use super::summary::OfDegree;
use trimill_graph::DegreeRun;

/// Degrees below this have a range each.
const ALONE: u32 = 32;

const FINE: u32 = 4;

/// The vertices whose degree is in a range.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DegreeBin {
    /// The lowest degree of the range.
    pub from: u32,
    /// The largest.
    pub to: u32,
    /// Vertices with such a degree; at least one.
    pub vertices: u64,
    /// The triangles at them, added up; null where they were not counted.
    pub triangles: Option<u128>,
    /// The average of their local clustering coefficients; null where triangles were not counted at vertices, and below degree 2.
    pub average_clustering: Option<f64>,
}

impl DegreeBin {
    /// The ranges of a graph whose triangles were not counted at vertices; `runs` are by falling degree.
    pub(crate) fn of_runs(runs: &[DegreeRun]) -> Vec<Self> {
        let of = |run: &DegreeRun| OfDegree { degree: run.degree, vertices: run.vertices.into(), triangles: 0 };
        let bins = Self::of_sums(&runs.iter().rev().map(of).collect::<Vec<_>>());
        bins.into_iter().map(|bin| Self { triangles: None, average_clustering: None, ..bin }).collect()
    }

    /// The ranges of a graph with triangles at vertices; `sums` are by ascending degree.
    pub(crate) fn of_sums(sums: &[OfDegree]) -> Vec<Self> {
        let mut bins: Vec<Self> = Vec::new();
        // Of the last range: the sum of coefficients, and the vertices that have one.
        let (mut local, mut with_pairs) = (0.0, 0);
        for of in sums {
            let (from, to) = range(of.degree);
            if bins.last().is_none_or(|last| last.from != from) {
                bins.push(Self { from, to, ..Self::default() });
                (local, with_pairs) = (0.0, 0);
            }
            if pairs(of.degree) > 0 {
                local += of.average_clustering() * of.vertices as f64;
                with_pairs += of.vertices;
            }
            if let Some(bin) = bins.last_mut() {
                bin.vertices += of.vertices;
                bin.triangles = Some(bin.triangles.unwrap_or_default() + of.triangles);
                bin.average_clustering = (with_pairs > 0).then(|| local / with_pairs as f64);
            }
        }
        bins
    }
}

fn range(degree: u32) -> (u32, u32) {
    if degree < ALONE {
        return (degree, degree);
    }
    let width = 1 << (degree.ilog2() - FINE);
    let from = degree / width * width;
    (from, from + (width - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_without_gaps() {
        let (mut next, mut ranges) = (1u64, 0);
        while next <= u64::from(u32::MAX) {
            let (from, to) = range(next as u32);
            assert_eq!((u64::from(from), range(to)), (next, (from, to)));
            next = u64::from(to) + 1;
            ranges += 1;
        }
        assert_eq!(ranges, 463);
    }

    #[test]
    fn vertices_and_triangles_add_up() {
        let degrees = [(1, 10, 0), (2, 4, 2), (64, 3, 300), (67, 1, 44), (68, 2, 8)];
        let sums = degrees.map(|(degree, vertices, triangles)| OfDegree { degree, vertices, triangles });
        let bins = DegreeBin::of_sums(&sums);
        let bounds: Vec<_> = bins.iter().map(|bin| (bin.from, bin.to, bin.vertices, bin.triangles)).collect();
        let expected = [(1, 1, 10, Some(0)), (2, 2, 4, Some(2)), (64, 67, 4, Some(344)), (68, 71, 2, Some(8))];
        assert_eq!(bounds, expected);
        assert_eq!((bins[0].average_clustering, bins[1].average_clustering), (None, Some(0.5)));
        // 100 triangles at each of three vertices with 2,016 pairs of neighbours, and 44 at one with 2,211.
        let local = (3.0 * 100.0 / 2016.0 + 44.0 / 2211.0) / 4.0;
        assert!(bins[2].average_clustering.is_some_and(|found| (found - local).abs() < 1e-12));

        let runs: Vec<DegreeRun> = degrees
            .iter()
            .rev()
            .map(|&(degree, vertices, _)| DegreeRun { degree, vertices: vertices as u32 })
            .collect();
        let without: Vec<DegreeBin> =
            bins.iter().map(|bin| DegreeBin { triangles: None, average_clustering: None, ..*bin }).collect();
        assert_eq!(DegreeBin::of_runs(&runs), without);
    }
}
