//! Compares counting methods: every method on every graph, several times, in one run.
//!
//! Input: a [`BenchRequest`]. Output: a [`BenchReport`], also after each graph. The graph is prepared here, once, and is in the cache when
//! the methods begin. Each method counts in a child process of the same program (`worker`, [`child`]), so one that crashes, hangs or takes
//! too long affects no other. All children run at the same time, so that `rounds` can alternate between them; an idle child holds neither a
//! graph nor a device. The child's job measures times, without the start of processes and messages.

pub mod child;
mod contestants;
mod graph;
mod reference;
mod rounds;
mod worker;

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use crate::execute::survey::survey;
use crate::execute::verify;
use crate::job::file::{CacheTable, Tables};
use crate::job::{Backend, Job};
use crate::report::bench::{BenchMachine, BenchReport, BenchSettings, GraphReport, MethodName, MethodReport};
use crate::report::failure::Reason;
use crate::report::{SCHEMA_VERSION, VERSION};
use trimill_system::child::Helper;
use trimill_system::control::{Control, Unit};
use trimill_system::disk::{self, TemporaryDir};
use trimill_system::{Bytes, Error, Kind, Result, machine};

use rounds::RunLimits;
use worker::Workers;

/// Methods to be compared on graphs.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchRequest {
    /// The graphs.
    pub graphs: Vec<BenchGraph>,
    /// The methods as typed, `NAME` or `NAME@BACKEND`; empty: all that the machine can run.
    pub methods: Vec<String>,
    /// The method that the others are compared with, as typed.
    pub baseline: Option<String>,
    /// The backend of methods that are named without one.
    pub backend: Backend,
    /// Runs of each method on each graph, in addition to the one that warms up.
    pub runs: NonZeroU32,
    /// The most time for all runs of a method on a graph.
    pub timeout: Duration,
    /// Whether the slow verifier also counts.
    pub verify: bool,
}

/// A graph of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchGraph {
    /// The job that each method runs, but for its backend and method.
    pub tables: Tables,
    /// Its triangles, where they are known.
    pub expected: Option<u128>,
}

const BENCH_CHILD: &str = "bench-child";

/// Runs a comparison; the children run `program` (trimill), and `done` gets the report after each graph. Errors: a wrong name, contradictory
/// settings, a missing file, no program; a stop, whose answer is the report so far. Problems with a graph or method are part of the report.
pub fn bench(
    request: &BenchRequest,
    program: Option<&Path>,
    control: &Control,
    done: &mut dyn FnMut(&BenchReport),
) -> Result<BenchReport> {
    let program = program.ok_or_else(|| {
        Error::usage("a comparison runs each method in a child process, and no program for it was named")
            .advice("name the trimill program")
    })?;
    let program = &Helper { program: program.into(), arguments: vec![BENCH_CHILD.into(), "--quiet".into()] };
    let found = survey(None, None);
    let (methods, baseline) = contestants::select_methods(request, !found.gpus.is_empty())?;
    let job = |graph: &BenchGraph| Job::resolve(None, &graph.tables, Path::new(""));
    let jobs = request.graphs.iter().map(job).collect::<Result<Vec<_>>>()?;
    jobs.iter().try_for_each(|job| job.check_files().and_then(|()| job.check_is_graph()))?;
    let Tables { count, memory, partition, .. } = jobs.first().map(|job| job.settings.clone()).unwrap_or_default();
    let mut report = BenchReport {
        schema_version: SCHEMA_VERSION,
        version: VERSION.into(),
        machine: BenchMachine {
            processor: machine::processor(),
            cores: found.cores,
            memory: found.memory,
            gpus: found.gpus.into_iter().map(|gpu| gpu.name).collect(),
        },
        settings: BenchSettings {
            runs: request.runs.get(),
            timeout_seconds: Duration::as_secs_f64(&request.timeout),
            count,
            memory,
            partition,
        },
        baseline: baseline.clone(),
        graphs: Vec::new(),
    };
    let comparison = Comparison { request, methods: &methods, baseline: &baseline, program, control };
    for (graph, job) in request.graphs.iter().zip(jobs) {
        match comparison.on(graph, job) {
            Ok(compared) => report.graphs.push(compared),
            Err(stopped) if report.graphs.is_empty() => return Err(stopped),
            Err(stopped) => return Err(stopped.with_answer(report)),
        }
        done(&report);
    }
    Ok(report)
}

struct Comparison<'a> {
    request: &'a BenchRequest,
    methods: &'a [MethodName],
    baseline: &'a MethodName,
    program: &'a Helper,
    control: &'a Control,
}

impl Comparison<'_> {
    /// Compares on one graph. Only a stop is an error.
    fn on(&self, graph: &BenchGraph, job: Job) -> Result<GraphReport> {
        let title = job.title();
        match self.compare(graph, job) {
            Err(error) if error.kind() != Kind::Interrupted => {
                Ok(GraphReport { graph: title, problem: Some(Reason::from(&error)), ..GraphReport::default() })
            }
            other => other,
        }
    }

    fn compare(&self, graph: &BenchGraph, mut job: Job) -> Result<GraphReport> {
        let Self { methods, baseline, control, .. } = *self;
        let mut tables = graph.tables.clone();
        // Without the user's cache, a temporary one keeps the graph while it is counted.
        let own_cache = match job.settings.cache.enabled() {
            true => None,
            false => {
                let dir = job.settings.work.dir.clone().unwrap_or_else(disk::temporary_folder);
                disk::make_dir(&dir)?;
                Some(TemporaryDir::new(&dir, "trimill-bench-")?)
            }
        };
        if let Some(dir) = &own_cache {
            let (dir, max) = (Some(dir.path().to_path_buf()), Some(Bytes(u64::MAX)));
            let cache = CacheTable { enabled: Some(true), dir, max };
            tables.cache.clone_from(&cache);
            job.settings.cache = cache;
        }
        let mut report = graph::prepared(job.clone(), own_cache.is_some(), control)?;
        if let Some(triangles) = graph.expected {
            (report.triangles, report.reference) = (Some(triangles), Some("--expect".into()));
        }
        if self.request.verify {
            let triangles = verify::verify(job, control)?.triangles;
            (report.triangles, report.reference) = (Some(triangles), Some("trimill verify".into()));
        }
        let runs = self.request.runs.get();
        let task = control.task(&report.graph, Some((u64::from(runs) + 1) * methods.len() as u64), Unit::Runs);
        let mut workers = Workers::new(self.program, &tables, methods, control);
        let limits = RunLimits { runs, time: self.request.timeout };
        let rows = rounds::run(methods, limits, &mut |place, limit| workers.run(place, limit), &|| task.advance(1))?;
        report.methods = rows.into_iter().map(|row| row.complete(report.edges, report.probes)).collect();
        reference::judge(&mut report, baseline);
        compare_with(baseline, &mut report.methods);
        Ok(report)
    }
}

fn compare_with(baseline: &MethodName, methods: &mut [MethodReport]) {
    let base = methods.iter().find(|method| method.name() == *baseline).map(|base| (base.kernel_seconds, base.seconds));
    let Some((Some(kernel), Some(whole))) = base else { return };
    for method in methods {
        let ratio = |base: f64, own: f64| Some(base / own).filter(|ratio| ratio.is_finite());
        method.kernel_speedup = method.kernel_seconds.and_then(|own| ratio(kernel.median, own.median));
        method.speedup = method.seconds.and_then(|own| ratio(whole.median, own.median));
    }
}
