//! Measures the rates of this machine, for `trimill doctor --measure`. Generates a Kronecker graph in a directory and counts it in both modes on the
//! cores and, if there is one, on the first GPU; [`Rates`] follow from the stage times, the best of three runs. Writes and reads a file to measure
//! the disk. Rates that cannot be measured keep their defaults.

use std::path::Path;
use std::time::Instant;

use rustix::fs::{Advice, fadvise};

use super::count::count;
use super::graph::Prepared;
use super::session::{Purpose, Session};
use crate::job::Job;
use crate::job::parse::parse;
use crate::plan::cost::{Machine, Speed};
use crate::plan::whole::WholeWork;
use crate::rates::{ArcRates, Rates};
use crate::report::RunResult;
use trimill_generate::{Family, generate};
use trimill_system::control::{Control, Unit};
use trimill_system::disk::faults::hook;
use trimill_system::disk::{NewFile, PRIVATE, TemporaryDir, read_at, sweep};
use trimill_system::machine::cores;
use trimill_system::{Bytes, Error, Result};

const TIMES: usize = 3;

const PARTS: u32 = 8;

/// Steps of progress: the disk, three jobs on the cores, two on a GPU, and its two methods.
const STEPS: u64 = 8;

/// The size of the file that is written and read, less for tests with a graph of less than this scale.
const DISK_BYTES: u64 = 512 << 20;

const LEAST_SCALE: u32 = 19;

const STEP: usize = 4 << 20;

/// The environment variable that sets the scale of the graph, for tests.
const SCALE: &str = "TRIMILL_SCALE";

/// The scale of the graph: edges in proportion to the cores, so that every stage takes long enough to be measured.
pub(super) fn measured_scale() -> u32 {
    let of_test = hook(SCALE).and_then(|scale| scale.parse().ok());
    of_test.unwrap_or((LEAST_SCALE + cores().ilog2()).min(24))
}

/// Measures with a Kronecker graph of `2^scale` vertices, in a temporary directory in `work`.
pub(super) fn measure(scale: u32, work: &Path, control: &Control) -> Result<Rates> {
    sweep(work);
    let dir = TemporaryDir::new(work, "trimill-measure-")?;
    let task = control.task("measure", Some(STEPS), Unit::Runs);
    let graph = dir.path().join("graph.bin");
    generate(&Family::GapKron { scale }, None, &graph, &control.silent_part())?;
    let jobs = Jobs { dir: dir.path(), control };
    let mut rates = Rates::default();
    (rates.write_bytes, rates.read_bytes) = disk(dir.path(), DISK_BYTES >> LEAST_SCALE.saturating_sub(scale), control)?;
    task.advance(1);

    let best = |partitioner: &str, backend: &str| {
        let cut = format!("partition = {{ partitioner = '{partitioner}', parts = {PARTS} }}");
        jobs.best(&format!("{cut}\ncount.backend = '{backend}'"))
    };
    let cores = cores() as f64;
    let arcs = |of: &Best, rate: &mut ArcRates, graph: &Best| {
        rate.graph = graph.streamed / (graph.seconds(&["stream"]) * cores);
        rate.spill = of.kept / (of.seconds(&["stream"]) * cores);
    };
    let (spilled, ranged) = (best("contiguous", "cpu")?, best("rank", "cpu")?);
    arcs(&spilled, &mut rates.cpu, &ranged);
    rates.size_arcs = spilled.edges / (spilled.seconds(&["plan"]) * cores);
    rates.build_arcs = spilled.kept / (spilled.seconds(&["induce", "prune", "spill"]) * cores);
    task.advance(2);
    rates.bitmap = jobs.speed_of_cores()?;
    task.advance(1);
    if trimill_kernels::find().is_ok() {
        let (spilled, ranged) = (best("contiguous", "cuda")?, best("rank", "cuda")?);
        arcs(&spilled, &mut rates.gpu, &ranged);
        rates.gpu_arcs = ranged.streamed / ranged.seconds(&["copy"]);
        task.advance(2);
        let usual = Rates::default();
        rates.lstc = jobs.speed("lstc", Speed::lstc(&usual))?;
        rates.packed = jobs.speed("packed", Speed::packed(&usual))?;
        task.advance(2);
    }
    Ok(rates)
}

struct Jobs<'a> {
    dir: &'a Path,
    control: &'a Control,
}

struct Best {
    results: Vec<RunResult>,
    edges: f64,
    /// Arcs that the partitions of the spilled mode kept.
    kept: f64,
    streamed: f64,
}

impl Best {
    fn seconds(&self, stages: &[&str]) -> f64 {
        let of = |result: &RunResult| -> f64 {
            let some = result.stages.iter().filter(|stage| stages.contains(&stage.name.as_str()));
            some.map(|stage| stage.seconds).sum()
        };
        // At least the clock's resolution.
        self.results.iter().map(of).fold(f64::INFINITY, f64::min).max(1e-6)
    }
}

impl Jobs<'_> {
    fn job(&self, settings: &str) -> Result<Job> {
        let text = format!("input.path = 'graph.bin'\ncache.dir = 'cache'\nspill.dir = 'spills'\n{settings}");
        Job::resolve(None, &parse(&text, Path::new("what is measured"))?, self.dir)
    }

    fn best(&self, settings: &str) -> Result<Best> {
        let job = self.job(settings)?;
        let results: Vec<_> =
            (0..TIMES).map(|_| count(job.clone(), None, None, &self.control.silent_part())).collect::<Result<_>>()?;
        let first = &results[0];
        let bytes: u64 = first.partitions.iter().map(|part| part.stream_bytes.get()).sum();
        Ok(Best {
            edges: first.edges as f64,
            kept: first.partitions.iter().map(|part| part.arcs_kept as f64).sum(),
            streamed: bytes as f64 / 4.0,
            results,
        })
    }

    /// The counting speed of the cores, as a multiple of the default.
    fn speed_of_cores(&self) -> Result<f64> {
        const WHOLE: &str = "count.backend = 'cpu'\npartition.parts = 1";
        let session = Session::open(self.job(WHOLE)?, Purpose::Plan, None, &self.control.silent_part())?;
        let Prepared { session, graph, .. } = session.input(None)?.prepare()?;
        let usual = Machine { rates: Rates::default(), ..session.machine(0, true) };
        let work = WholeWork::of(&graph, self.control)?;
        Ok(usual.counting_on_cores(&work, Bytes::ZERO, 0) / self.best(WHOLE)?.seconds(&["count"]))
    }

    /// The speed of a method on the GPU, as a multiple of the `usual` speed.
    fn speed(&self, method: &str, usual: Speed) -> Result<f64> {
        let settings = format!("count = {{ backend = 'cuda', method = '{method}' }}");
        let session = Session::open(self.job(&settings)?, Purpose::Count, None, &self.control.silent_part())?;
        let size = session.input(None)?.graph(&mut Vec::new())?.0.size();
        Ok(usual.whole(size.edges, size.probes) / self.best(&settings)?.seconds(&["kernel", "preprocess"]))
    }
}

/// The disk's rates in bytes a second for writing a file of `size` bytes, and for reading it with a cold page cache.
fn disk(dir: &Path, size: u64, control: &Control) -> Result<(f64, f64)> {
    let mut bytes = vec![0x5a; STEP];
    let file = NewFile::create(dir, "trimill-disk-", PRIVATE)?;
    let start = Instant::now();
    for position in (0..size).step_by(STEP) {
        control.check()?;
        file.write_at(&bytes, position)?;
    }
    file.sync()?;
    let writing = start.elapsed().as_secs_f64();
    // If the system keeps the pages cached, memory is measured instead of the disk.
    let _ = fadvise(file.as_file(), 0, None, Advice::DontNeed);
    let start = Instant::now();
    for position in (0..size).step_by(STEP) {
        control.check()?;
        read_at(file.as_file(), &mut bytes, position).map_err(|error| Error::read(file.name(), error))?;
    }
    let reading = start.elapsed().as_secs_f64();
    Ok((size as f64 / writing, size as f64 / reading))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_measured_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let rates = measure(12, dir.path(), &Control::silent()).unwrap();
        let usual = Rates::default();
        let of = |rates: &Rates| {
            let Rates { size_arcs, build_arcs, write_bytes, read_bytes, cpu, bitmap, .. } = *rates;
            [size_arcs, build_arcs, write_bytes, read_bytes, cpu.graph, cpu.spill, bitmap]
        };
        let (measured, defaults) = (of(&rates), of(&usual));
        for (i, (measured, usual)) in measured.into_iter().zip(defaults).enumerate() {
            assert!(measured > 0.0 && measured.is_finite() && measured != usual, "{i}: {measured}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
        rates.store(dir.path()).unwrap();
        assert_eq!(Rates::measured(dir.path()), Some(rates));
    }
}
