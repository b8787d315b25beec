//! Rows that are written to files, and faults in these files.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;

/// Rows as a METIS file, unchanged; `None` if they have an odd number of arcs.
pub(super) fn metis(rows: &[Vec<u64>]) -> Option<String> {
    let arcs: usize = rows.iter().map(Vec::len).sum();
    let line = |row: &Vec<u64>| row.iter().map(|head| format!("{} ", head + 1)).collect::<String>();
    let lines: Vec<String> = rows.iter().map(line).collect();
    arcs.is_multiple_of(2).then(|| format!("{} {}\n{}\n", rows.len(), arcs / 2, lines.join("\n")))
}

/// A simple definition of `clean`.
pub(super) fn is_clean(rows: &[Vec<u64>]) -> bool {
    let arcs: BTreeSet<(u64, u64)> = arcs_of(rows).collect();
    arcs.len() == arcs_of(rows).count() && arcs.iter().all(|&(u, v)| u != v && arcs.contains(&(v, u)))
}

pub(super) fn arcs_of(rows: &[Vec<u64>]) -> impl Iterator<Item = (u64, u64)> {
    rows.iter().enumerate().flat_map(|(tail, row)| row.iter().map(move |&head| (tail as u64, head)))
}

pub(super) fn rows_of(n: u64, edges: &[(u64, u64)]) -> Vec<Vec<u64>> {
    let mut rows = vec![BTreeSet::new(); n as usize];
    for &(u, v) in edges.iter().filter(|(u, v)| u != v) {
        rows[u as usize].insert(v);
        rows[v as usize].insert(u);
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

#[derive(Debug, Clone)]
pub(super) enum Fault {
    Nothing,
    Missing(Index),
    Twice(Index),
    Loop(Index),
    Swapped(Index),
    Other(Index, u64),
}

impl Fault {
    pub(super) fn any() -> impl Strategy<Value = Self> {
        prop_oneof![
            Just(Self::Nothing),
            any::<Index>().prop_map(Self::Missing),
            any::<Index>().prop_map(Self::Twice),
            any::<Index>().prop_map(Self::Loop),
            any::<Index>().prop_map(Self::Swapped),
            (any::<Index>(), 0..30u64).prop_map(|(at, head)| Self::Other(at, head)),
        ]
    }

    /// Introduces the fault into one row that is not empty, if there is one.
    pub(super) fn inject(&self, rows: &mut [Vec<u64>]) {
        let mut full: Vec<(usize, &mut Vec<u64>)> =
            rows.iter_mut().enumerate().filter(|(_, row)| !row.is_empty()).collect();
        let (Self::Missing(at) | Self::Twice(at) | Self::Loop(at) | Self::Swapped(at) | Self::Other(at, _)) = self
        else {
            return;
        };
        if full.is_empty() {
            return;
        }
        let which = at.index(full.len());
        let (tail, row) = &mut full[which];
        let place = at.index(row.len());
        match self {
            Self::Missing(_) => drop(row.remove(place)),
            Self::Twice(_) => row.insert(place, row[place]),
            Self::Loop(_) => {
                row.push(*tail as u64);
                row.sort_unstable();
            }
            Self::Swapped(_) => row.reverse(),
            Self::Other(_, head) => {
                row[place] = *head;
                row.sort_unstable();
                row.dedup();
            }
            Self::Nothing => {}
        }
    }
}
