//! What the methods take, as a planner needs it: linear in the size of a partition, and never less than what is taken.

use super::polak::Preprocess;
use super::{Method, polak, radix_binning, skiff};
use crate::arena::ALIGNMENT;

/// Bytes of device memory besides row blocks. A partition passes through one row block at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaperTerms {
    /// For each resident arc.
    pub per_resident_arc: u64,
    /// For each local.
    pub per_local: u64,
    /// For each local or proxy.
    pub per_numbered: u64,
    /// Whatever the partition.
    pub fixed: u64,
}

/// Paddings, scratch of scans whose values are few, the rounding of tiles.
const ROUNDING: u64 = 32 << 10;

impl Method {
    /// What it takes; with the options that are best where there is room, unless they say otherwise.
    pub fn terms(&self) -> PaperTerms {
        let terms = |per_resident_arc, per_local, per_numbered, fixed| PaperTerms {
            per_resident_arc,
            per_local,
            per_numbered,
            fixed: fixed + ROUNDING,
        };
        match self {
            // Two buffers of keys, half a byte a key for the counts of the sort.
            Self::Polak(options) => match options.preprocess {
                Preprocess::Gpu => terms(34, 4, 0, polak::FIXED),
                Preprocess::Auto | Preprocess::Cpu => terms(17, 4, 0, polak::FIXED),
            },
            Self::ReverseEdge(_) => terms(12, 8, 0, 0),
            // With the tries of all resident rows, and room for the longest one that any row could have.
            Self::Skiff(_) => terms(17, 28 + skiff::NODE, skiff::PER_NUMBERED, skiff::FIXED),
            // With the batch that is chosen by itself, up to four candidates an edge.
            Self::RadixBinning(_) => terms(116, 13, 0, radix_binning::FIXED),
        }
    }

    /// The same method with what is left open settled for a graph of so many vertices and edges, under a budget.
    pub fn settled(self, vertices: u32, edges: u64, budget: u64) -> Self {
        let Self::Polak(options) = self else { return self };
        if options.preprocess != Preprocess::Auto {
            return self;
        }
        let with = |preprocess| Self::Polak(polak::Options { preprocess, ..options });
        let PaperTerms { per_resident_arc, per_local, fixed, .. } = with(Preprocess::Gpu).terms();
        let needed = per_resident_arc * edges + per_local * u64::from(vertices) + fixed;
        with(if needed <= budget / ALIGNMENT * ALIGNMENT { Preprocess::Gpu } else { Preprocess::Cpu })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lstc::sections::Size;
    use crate::papers::reverse_edge;
    use crate::papers::skiff::Organisation;

    #[test]
    fn terms_cover_what_is_taken_and_not_much_more() {
        let polak = |preprocess| Method::Polak(polak::Options { preprocess, ..polak::Options::default() });
        let skiff = |organisation| Method::Skiff(skiff::Options { organisation, ..skiff::Options::default() });
        for method in [
            polak(Preprocess::Gpu),
            polak(Preprocess::Cpu),
            Method::ReverseEdge(reverse_edge::Options::default()),
            skiff(Organisation::BlockDegree),
            skiff(Organisation::WarpIndex),
            Method::RadixBinning(radix_binning::Options::default()),
        ] {
            for (locals, arcs) in [(0u64, 0), (1, 0), (10, 45), (1000, 100_000), (1 << 20, 1 << 24), (1 << 24, 1 << 28)]
            {
                for proxies in [0, 1000, 1 << 20] {
                    let proxies = if method.whole() { 0 } else { proxies };
                    for row_block_limit in [16, 1 << 20, 256 << 20] {
                        let size = Size { locals, arcs, numbered: (locals + proxies) as u32, row_block_limit };
                        let PaperTerms { per_resident_arc, per_local, per_numbered, fixed } = method.terms();
                        let promised = per_resident_arc * arcs
                            + per_local * locals
                            + per_numbered * (locals + proxies)
                            + fixed
                            + if method.whole() { 0 } else { row_block_limit };
                        let taken = method.device_bytes(&size);
                        assert!(taken <= promised, "{method:?} {size:?}: {taken} of {promised}");
                        // Tries of all rows are promised, that of one is what it does not begin without.
                        let tries = match method {
                            Method::Skiff(_) => 13 * arcs + 132 * locals + per_numbered * (locals + proxies),
                            _ => 0,
                        };
                        assert!(
                            promised - tries <= taken / 20 * 21 + fixed,
                            "{method:?} {size:?}: {taken} of {promised}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn polak_prepares_on_the_gpu_where_that_fits() {
        let auto = Method::Polak(polak::Options::default());
        let preprocess = |budget| match auto.settled(1000, 100_000, budget) {
            Method::Polak(options) => options.preprocess,
            _ => Preprocess::Auto,
        };
        assert_eq!(preprocess(1 << 30), Preprocess::Gpu);
        assert_eq!(preprocess(6 << 20), Preprocess::Cpu);
    }
}
