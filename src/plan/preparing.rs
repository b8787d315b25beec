//! What preparing a graph takes: seconds of stages, passes over the input, bytes that wait on disk. Input: bounds of the graph, and how the host's
//! memory is divided ([`crate::clean::workspace`]). Output: an estimate, from rates of one core measured on an H200 with 16 cores
//! (docs/results/sequences-h200.md, waiting-arcs-h200.md, directed-h100.txt), to weigh a job's stages; docs/how-big.md compares it with measurements.
//! Bounds of bytes, by which jobs are refused, are where the bytes are written.

use super::cost::Machine;
use crate::clean::Shares;
use crate::clean::workspace::{GraphToPrepare, InputForm, ORIENT_ROWS, READ_ROWS_AGAIN};
use trimill_input::arcs::READ;
use trimill_system::Bytes;
use trimill_system::expected::ExpectedStage;

/// Arcs of rows that a core orients and encodes in a second: measured on 9.9 and 99.9 billion edges, from both ends.
const ORIENTED: f64 = 75e6;

/// Arcs of rows that a core reads in a second in a further pass, in which most rows are not wanted.
const READ_AGAIN: f64 = 250e6;

/// Arcs of directed rows that a core reverses in a second: reading them twice, sorting and encoding their tails.
const REVERSED: f64 = 32e6;

/// Arcs that a core reads into buckets, cleans, and orients in a second.
const DISTRIBUTED: f64 = 42e6;
const CLEANED: f64 = 16e6;
const RANKED: f64 = 16e6;

/// Arcs copied to a GPU in a second, and edges that it makes rows of: if its memory holds all arcs, and if sorted runs wait elsewhere.
const ON_GPU: [f64; 2] = [1.6e9, 0.6e9];
const BEYOND_GPU: [f64; 2] = [0.8e9, 0.45e9];

/// Bytes of an encoded arc: while it waits to be sorted, and in a row, with the ends of blocks.
const SORTED: f64 = 3.7;
const IN_ROW: f64 = 1.6;

#[derive(Debug, Clone, PartialEq)]
pub struct PreparingEstimate {
    /// How often the input is read.
    pub passes: u64,
    /// The most bytes of temporary files at a time.
    pub scratch: Bytes,
    pub stages: Vec<ExpectedStage>,
}

impl PreparingEstimate {
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|stage| stage.seconds).sum()
    }
}

impl Machine {
    pub fn preparing(&self, graph: &GraphToPrepare, shares: &Shares<'_>, gpu: Bytes) -> PreparingEstimate {
        let &GraphToPrepare { form, ids, arcs, edges, row_bytes } = graph;
        let (n, m) = (arcs as f64, edges as f64);
        let per_core = |many: f64, rate: f64| many / (rate * self.cores as f64);
        let written = |bytes: f64| bytes / self.rates.write_bytes;
        let stage = ExpectedStage::new;
        let beyond = |bytes: f64, memory: u64| (bytes - memory as f64).max(0.0);
        // Rows are kept until the last pass, and then written.
        let rows = row_bytes.map_or(IN_ROW * m, |bytes| bytes.get() as f64);
        let passes = (rows / shares.rows_that_wait(true).get().max(1) as f64).ceil().max(1.0);
        let further = Some(passes - 1.0).filter(|further| *further > 0.0);
        let again = further.map(|further| stage(READ_ROWS_AGAIN, further * per_core(2.0 * m, READ_AGAIN)));
        let orient = stage(ORIENT_ROWS, per_core(2.0 * m, ORIENTED) + written(rows));
        let orient = std::iter::once(orient).chain(again);
        let (passes, scratch, stages) = match form {
            InputForm::SymmetricRows => (passes, 0.0, orient.collect()),
            InputForm::DirectedRows => {
                let lists = rows / m.max(1.0) * n;
                let scratch = beyond(lists, shares.reversed_arcs()).max(beyond(lists, shares.tails()));
                let reverse = per_core(n, REVERSED) + 2.0 * written(scratch);
                (passes + 2.0, scratch, std::iter::once(stage("reverse arcs", reverse)).chain(orient).collect())
            }
            InputForm::Arcs => {
                let sets = [n, m, m].map(|keys| beyond(SORTED * keys, shares.buckets()));
                let disk = |read: f64, write: f64| read / self.rates.read_bytes + written(write);
                let stages = vec![
                    stage(READ, per_core(n, DISTRIBUTED) + disk(0.0, sets[0])),
                    stage("clean", per_core(n, CLEANED) + disk(sets[0], sets[1])),
                    stage("orient", per_core(m, RANKED) + disk(sets[1] + sets[2], sets[2] + rows)),
                ];
                (1.0, sets[0].max(sets[1]), stages)
            }
            InputForm::ArcsOnGpu => {
                let ([reading, rate], scratch) = match trimill_kernels::prepare::needed(arcs, ids) <= gpu.get() {
                    true => (ON_GPU, 0.0),
                    false => (BEYOND_GPU, beyond(SORTED * n, 2 * shares.buckets())),
                };
                // Runs are written and read while the GPU works.
                let disk = 2.0 * written(scratch) + 2.0 * scratch / self.rates.read_bytes;
                let orient = (m / rate).max(disk) + written(rows);
                (1.0, scratch, vec![stage(READ, (n / reading).max(written(scratch))), stage("orient", orient)])
            }
        };
        PreparingEstimate { passes: passes as u64, scratch: Bytes(scratch as u64), stages }
    }
}
