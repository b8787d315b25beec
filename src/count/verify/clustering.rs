//! The summary of the triangles at all vertices, by definition: values are sorted. Checks [`crate::vertices::summary`]; only types are shared.

use std::collections::BTreeMap;

use super::{VerifiedVertices, sort};
use crate::vertices::summary::{Clustering, OfDegree, Quantile};
use trimill_system::{Control, Result};

impl VerifiedVertices {
    /// The summary, and the sums of each degree, ascending.
    pub fn clustering(&self, control: &Control) -> Result<(Clustering, Vec<OfDegree>)> {
        let pairs = |degree: u32| u128::from(degree) * u128::from(degree - 1) / 2;
        let both = || self.degrees.iter().copied().zip(self.triangles.iter().copied());
        // All values are non-negative, so their bit patterns have the same order.
        let mut local: Vec<u64> = both()
            .filter(|(degree, _)| *degree > 1)
            .map(|(degree, triangles)| (triangles as f64 / pairs(degree) as f64).to_bits())
            .collect();
        sort(&mut local, control)?;
        let local: Vec<f64> = local.into_iter().map(f64::from_bits).collect();
        let mut triangles = self.triangles.clone();
        sort(&mut triangles, control)?;
        let (n, n2, sum) =
            (self.ids.len() as f64, local.len() as f64, local.iter().fold(0.0, |sum, value| sum + value));
        let corners: u128 = triangles.iter().map(|&triangles| u128::from(triangles)).sum();
        let wedges: u128 = self.degrees.iter().map(|&degree| pairs(degree)).sum();
        let largest = both().zip(&self.ids).max_by_key(|((degree, triangles), id)| (*triangles, *degree, **id));
        let average = |values: f64| if values == 0.0 { 0.0 } else { sum / values };
        let at = |share: f64, values: usize| ((share * values as f64).ceil() as usize).clamp(1, values.max(1)) - 1;
        let quantile = |share| Quantile {
            share,
            triangles: triangles.get(at(share, triangles.len())).copied().unwrap_or(0),
            local: local.get(at(share, local.len())).copied().unwrap_or(0.0),
        };
        let mut by_degree = BTreeMap::<u32, (u64, u128)>::new();
        for (degree, triangles) in both() {
            let sums = by_degree.entry(degree).or_default();
            *sums = (sums.0 + 1, sums.1 + u128::from(triangles));
        }
        let summary = Clustering {
            average_clustering_of_degree_2: average(n2),
            average_clustering: average(n),
            global: if wedges == 0 { 0.0 } else { corners as f64 / wedges as f64 },
            vertices_of_degree_2: local.len() as u64,
            vertices_in_triangles: triangles.iter().filter(|&&triangles| triangles > 0).count() as u64,
            most_triangles: largest.map_or(0, |((_, triangles), _)| triangles),
            most_triangles_vertex: largest.filter(|((_, triangles), _)| *triangles > 0).map(|(_, &id)| id),
            most_triangles_name: None,
            quantiles: [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(quantile).to_vec(),
            lcc: None,
        };
        let of = |(degree, (vertices, triangles))| OfDegree { degree, vertices, triangles };
        Ok((summary, by_degree.into_iter().map(of).collect()))
    }
}
