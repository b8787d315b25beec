//! The summary of a batch of jobs.

use super::table::{TableColumn, grid, or_dash, thousands};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummaryLine {
    pub(crate) job: String,
    /// Triangles, edges, parts, where it was counted.
    pub(crate) counted: Option<(u128, u64, u32)>,
    pub(crate) seconds: f64,
    /// `done`, or what went wrong.
    pub(crate) outcome: String,
}

pub(crate) fn summary(lines: &[SummaryLine]) -> String {
    const COLUMNS: [TableColumn<SummaryLine>; 6] = [
        TableColumn { heading: "job", cell: |l| l.job.clone() },
        TableColumn { heading: "triangles", cell: |l| or_dash(l.counted, |(triangles, ..)| thousands(triangles)) },
        TableColumn { heading: "edges", cell: |l| or_dash(l.counted, |(_, edges, _)| thousands(edges)) },
        TableColumn { heading: "parts", cell: |l| or_dash(l.counted, |(.., parts)| thousands(parts)) },
        TableColumn { heading: "seconds", cell: |l| format!("{:.3}", l.seconds) },
        TableColumn { heading: "outcome", cell: |l| l.outcome.clone() },
    ];
    grid(&COLUMNS, lines, None)
}
