//! Rows that are written to files, and faults in these files.

use std::collections::BTreeSet;

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

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Nothing,
    Missing,
    Twice,
    Loop,
    Reversed,
    Other,
}

impl Fault {
    pub(super) const ALL: [Self; 6] =
        [Self::Nothing, Self::Missing, Self::Twice, Self::Loop, Self::Reversed, Self::Other];

    /// Introduces the fault into one row that is not empty, if there is one; `head` is what another head becomes.
    pub(super) fn inject(self, rows: &mut [Vec<u64>], at: Index, head: u64) {
        let mut full: Vec<(usize, &mut Vec<u64>)> =
            rows.iter_mut().enumerate().filter(|(_, row)| !row.is_empty()).collect();
        if full.is_empty() {
            return;
        }
        let (tail, row) = full.swap_remove(at.index(full.len()));
        let place = at.index(row.len());
        match self {
            Self::Nothing => {}
            Self::Missing => drop(row.remove(place)),
            Self::Twice => row.insert(place, row[place]),
            Self::Loop => {
                row.push(tail as u64);
                row.sort_unstable();
            }
            Self::Reversed => row.reverse(),
            Self::Other => {
                row[place] = head;
                row.sort_unstable();
                row.dedup();
            }
        }
    }
}
