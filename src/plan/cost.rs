//! The cost model: how long jobs take on a machine, by its [`Rates`]. All estimated seconds come from here: of methods ([`super::choose`]), of both
//! modes ([`super::modes`]), and of partitions, to cut rank ranges and assign shards ([`super::costs`]). They only rank plans that give the same
//! count, so they need not be exact. Work that overlaps takes the longer of both times.

use super::sample::SampledWork;
use super::whole::WholeWork;
use crate::rates::Rates;
use trimill_system::Bytes;

/// Approximate bytes of an arc in a spill: more than most graphs take.
const SPILLED: f64 = 1.5;

/// Seconds of making, reading and removing a spill and its partition, however small: 0.6 to 1.4 ms for the 66,674 of cnr-2000 on a thread of an EPYC.
const SPILL: f64 = 1e-3;

/// Locals that a core looks up for a row block in a second. Not measured by `trimill doctor`, since it is hardly ever decisive.
const CORE_VISITS: f64 = 50e6;

/// What a method's kernels take, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// For each arc of the graph, once.
    pub arc: f64,
    /// For each probe; an arc's probes are the length of its successor's row.
    pub probe: f64,
    /// For each arc of a row block.
    pub streamed: f64,
    /// For each row block of a partition.
    pub pass: f64,
    /// For each local and row block.
    pub visit: f64,
}

/// `lstc` on an H200: each probe is a search in shared memory; each row block visits all locals. Measured on the standard graphs in one
/// partition (arcs and probes), and on GAP-kron 24 with budgets of 1/4 to 1/64 of its rows (the rest).
const LSTC: Speed = Speed { arc: 2e-10, probe: 5.5e-12, streamed: 0.0, pass: 2e-5, visit: 1.5e-9 };

/// `packed` on an H200: few instructions for many probes at once; for each row block a dozen kernels, which pack its rows and assign arcs,
/// and a read for each local. Measured on GAP-kron 27 with 2 GiB and 512 MiB, and row blocks of 8 to 128 MiB.
const PACKED: Speed = Speed { arc: 1e-10, probe: 1.2e-13, streamed: 1.4e-11, pass: 8.5e-5, visit: 2e-10 };

/// Seconds of a core for arcs, probes and streamed arcs. Fitted to 16 partitions of GAP-kron 22 on a server: each is within a fifth.
const CORE_NEAR: f64 = 1.7e-8;
const CORE_FAR: f64 = 3.0e-7;
const CORE_NEAR_PROBE: f64 = 1e-10;
const CORE_FAR_PROBE: f64 = 5e-10;
const CORE_READ: f64 = 5e-9;

/// Seconds of a core for [`WholeWork`], from sampled rows without the lengths of their heads' rows. Measured on Kronecker graphs, uniform
/// ones, a grid and crawls (docs/results/plan-cpu2.txt): each is within a factor of two.
const WHOLE_WORD: f64 = 2e-9;
const WHOLE_FAR: f64 = 1.8e-8;
const WHOLE_READ: f64 = 4e-9;

/// Seconds of handing a row block from the thread that reads it to those that count: 42 to 48 us for the 85,163 of GAP-kron 13 in 1,255 partitions.
const WHOLE_PASS: f64 = 4.5e-5;

/// Seconds of a core for an arc and a probe if no row was read: between graphs whose arcs go to hubs and those whose arcs go far.
const CORE_ARC: f64 = 3e-8;
const CORE_PROBE: f64 = 3e-10;

/// A GPU's seconds for an arc, with streaming, if there is no plan; and for its start.
const GPU_ARC: f64 = 3e-10;
pub const GPU_START: f64 = 0.4;

/// About how many bytes of a GPU an arc takes while a part of the graph is counted.
const RESIDENT_ARC: f64 = 10.0;

/// Edges peeled in a second by one core (four do twice as much), and by a GPU that holds them: within 0.5 to 2 times (docs/results/truss-h100.txt).
const PEELED: f64 = 1e6;
const PEELED_BY_GPU: f64 = 4e7;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PassingRows {
    pub(super) arcs: f64,
    pub(super) row_blocks: f64,
    /// How often a local is looked up for a row block.
    pub(super) visits: f64,
}

impl Speed {
    pub fn lstc(rates: &Rates) -> Self {
        LSTC.times(rates.lstc)
    }

    pub fn packed(rates: &Rates) -> Self {
        PACKED.times(rates.packed)
    }

    fn times(self, factor: f64) -> Self {
        let Self { arc, probe, streamed, pass, visit } = self;
        let [arc, probe, streamed, pass, visit] = [arc, probe, streamed, pass, visit].map(|seconds| seconds / factor);
        Self { arc, probe, streamed, pass, visit }
    }

    /// Seconds for a graph of `arcs` arcs and `probes` probes, in one partition.
    pub fn whole(&self, arcs: u64, probes: u64) -> f64 {
        self.kernels(arcs as f64, probes as f64, PassingRows::default())
    }

    /// Seconds of the kernels for resident arcs and their probes while the rows `past` are streamed.
    pub(super) fn kernels(&self, arcs: f64, probes: f64, past: PassingRows) -> f64 {
        self.arc * arcs
            + self.probe * probes
            + self.streamed * past.arcs
            + self.pass * past.row_blocks
            + self.visit * past.visits
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub rates: Rates,
    pub cores: usize,
    pub gpus: usize,
    /// Whether the graph's file fits the page cache.
    pub cached: bool,
}

impl Machine {
    fn cores(&self) -> f64 {
        self.cores as f64
    }

    /// Seconds of counting with roughly known probes. If a GPU's memory (`gpu`) holds only a part of the rows, each part streams all earlier rows.
    pub fn counting_about(&self, arcs: u64, probes: u64, gpu: Bytes) -> f64 {
        let m = arcs as f64;
        let parts = (RESIDENT_ARC * m / gpu.get().max(1) as f64).ceil();
        match self.gpus {
            0 => (CORE_ARC * m + CORE_PROBE * probes as f64) / (self.rates.bitmap * self.cores()),
            gpus if parts <= 1.0 => GPU_START + GPU_ARC * m / gpus as f64,
            gpus => GPU_START + (GPU_ARC * m).max((parts + 1.0) / 2.0 * m / self.rates.gpu_arcs) / gpus as f64,
        }
    }

    /// Seconds of `work` on the cores, and of reading `streamed` bytes of rows in row blocks.
    pub fn counting_on_cores(&self, work: &WholeWork, streamed: Bytes, row_blocks: u64) -> f64 {
        let arcs = streamed.get() as f64 / size_of::<u32>() as f64;
        let seconds = WHOLE_WORD * work.words + WHOLE_FAR * work.far + WHOLE_READ * arcs;
        (seconds / self.cores() + WHOLE_PASS * row_blocks as f64) / self.rates.bitmap
    }

    pub fn peeling(&self, edges: u64) -> f64 {
        edges as f64 / if self.gpus > 0 { PEELED_BY_GPU } else { PEELED * self.cores().sqrt() }
    }

    /// Seconds in which a GPU or a core counts the arcs of `work` while the rows `past` are streamed.
    pub(super) fn counting(&self, work: &SampledWork, past: PassingRows) -> f64 {
        let SampledWork { near, far, near_probes, far_probes, .. } = *work;
        if self.gpus == 0 {
            let arcs = CORE_NEAR * near + CORE_FAR * far + CORE_READ * past.arcs;
            return (arcs + CORE_NEAR_PROBE * near_probes + CORE_FAR_PROBE * far_probes) / self.rates.bitmap;
        }
        let kernels = Speed::packed(&self.rates).kernels(near + far, near_probes + far_probes, past);
        kernels.max(past.arcs / self.rates.gpu_arcs)
    }

    /// Seconds to read `bytes` of the graph's file, decode the rows, copy them to the devices, and look up locals.
    pub(super) fn streaming_graph(&self, arcs: f64, bytes: f64, visits: f64) -> f64 {
        let Rates { cpu, gpu, read_bytes, .. } = self.rates;
        let decoded = if self.gpus > 0 { gpu.graph } else { cpu.graph };
        self.streaming(arcs, decoded, if self.cached { 0.0 } else { bytes / read_bytes }, visits)
    }

    /// Seconds to size partitions, build those that keep `arcs` in total, write their spills, read and copy `streamed` arcs, and look up locals.
    pub(super) fn spilling(&self, edges: f64, arcs: f64, streamed: f64, visits: f64) -> f64 {
        let Rates { cpu, gpu, size_arcs, build_arcs, write_bytes, read_bytes, .. } = self.rates;
        let decoded = if self.gpus > 0 { gpu.spill } else { cpu.spill };
        let building = (arcs / (build_arcs * self.cores())).max(SPILLED * arcs / write_bytes);
        let streaming = self.streaming(streamed, decoded, SPILLED * streamed / read_bytes, visits);
        edges / (size_arcs * self.cores()) + building + streaming
    }

    pub(super) fn spills(&self, parts: u32) -> f64 {
        SPILL * f64::from(parts) / self.cores()
    }

    /// Reading, decoding and copying overlap; `decoded`: arcs that a core decodes in a second.
    fn streaming(&self, arcs: f64, decoded: f64, reading: f64, visits: f64) -> f64 {
        let gpus = self.gpus as f64;
        let (copying, visiting) = if self.gpus == 0 {
            (0.0, visits / (CORE_VISITS * self.cores()))
        } else {
            (arcs / (self.rates.gpu_arcs * gpus), visits * Speed::packed(&self.rates).visit / gpus)
        };
        (arcs / (decoded * self.cores())).max(copying).max(reading) + visiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds from docs/results/gapbs-cpu16.json.zst, for graphs whose arcs mostly lead to hubs, lead far, or stay near.
    #[test]
    fn counting_on_16_cores_is_within_a_factor_of_three_of_what_was_measured() {
        let machine = Machine { rates: Rates::default(), cores: 16, gpus: 0, cached: true };
        for (graph, edges, probes, measured) in [
            ("kron20", 15_699_687, 4_420_043_198, 0.093),
            ("kron22", 64_155_718, 28_922_159_592, 0.542),
            ("urand22", 67_108_598, 713_795_094, 0.309),
            ("crawl6", 98_602_884, 5_312_897_568, 0.111),
        ] {
            let ratio: f64 = machine.counting_about(edges, probes, Bytes(u64::MAX)) / measured;
            assert!((1.0 / 3.0..3.0).contains(&ratio), "{graph}: {ratio}");
        }
    }

    /// Seconds from docs/results/plan-cpu2.txt; for each arc its words, whether it leads far, and what is streamed.
    #[test]
    fn counting_a_whole_graph_on_a_core_is_within_a_factor_of_two_of_what_was_measured() {
        let machine = Machine { rates: Rates::default(), cores: 1, gpus: 0, cached: true };
        for (graph, arcs, [words, far, streamed], measured) in [
            ("kron18", 3_805_448.0, [13.45, 0.027, 1.14], 0.111),
            ("kron20", 15_699_687.0, [23.73, 0.134, 1.13], 0.802),
            ("urand18", 4_194_028.0, [10.06, 0.726, 1.19], 0.127),
            ("urand20", 16_776_968.0, [10.08, 0.924, 1.19], 0.605),
            ("kings", 8_991_002.0, [1.27, 0.001, 1.76], 0.0590),
            ("crawl3", 24_650_721.0, [3.48, 0.210, 1.12], 0.243),
            ("copies5", 13_694_845.0, [3.68, 0.249, 1.36], 0.200),
            ("slashdot", 504_230.0, [5.91, 0.017, 1.50], 0.0164),
        ] {
            let [words, far] = [words, far].map(|of_arc| of_arc * arcs);
            let work = WholeWork { words, far, ..WholeWork::default() };
            let ratio = machine.counting_on_cores(&work, Bytes((4.0 * streamed * arcs) as u64), 1) / measured;
            assert!((0.5..2.0).contains(&ratio), "{graph}: {ratio}");
        }
    }

    #[test]
    fn what_spills_take_grows_with_the_arcs_that_are_kept() {
        for gpus in [0, 1] {
            let machine = Machine { rates: Rates::default(), cores: 16, gpus, cached: true };
            let of = |kept| machine.spilling(80e6, kept, kept, 8000.0);
            let sizing = 80e6 / (16.0 * machine.rates.size_arcs);
            assert!(of(800e6) - sizing > 9.0 * (of(80e6) - sizing));
        }
    }

    #[test]
    fn the_slower_of_kernels_and_copies_decides() {
        let machine = Machine { rates: Rates::default(), cores: 1, gpus: 1, cached: true };
        let work = SampledWork { near: 1e9, ..SampledWork::default() };
        let of = |arcs| machine.counting(&work, PassingRows { arcs, ..PassingRows::default() });
        assert_eq!(of(0.0), 0.1);
        assert_eq!(of(8e12), 1000.0);
    }
}
