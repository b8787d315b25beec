//! Several devices, simulated by CPU counters, some of which fail.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rayon::ThreadPool;

use crate::common::job::{job, listing};
use crate::common::place::make_pipe;
use crate::common::{complete, pairs32};
use trimill::testing::count::cpu::Cpu;
use trimill::testing::execute::count::{count, count_on};
use trimill::testing::spill::Manifest;
use trimill::{Bytes, Control, Error, Kind, Observer, PartitionFigures, Result, RunResult, Unit};
use trimill_counting::{
    CountBackend, CounterMemory, Detail, Device, Footprint, PartitionCount, PartitionCounter, PartitionExtent,
    Resident, RowBlockView, VertexCounts,
};
use trimill_system::expected::ExpectedStage;
use trimill_system::lock;

/// How a simulated device behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Behaviour {
    Works,
    /// The device that takes the n-th of all partitions is lost when it begins to count it.
    LostAt(usize),
    /// This device is lost when it has counted n partitions and is asked for the count of the next one.
    FailsAfter(usize),
    /// The thread of the device that takes the n-th of all partitions panics.
    PanicsAt(usize),
}

struct Numbered {
    cpu: Cpu,
    ordinal: u32,
    behaviour: Behaviour,
    /// Partitions that were begun: by all devices, and by this one.
    begun: Arc<AtomicUsize>,
}

impl CountBackend for Numbered {
    fn name(&self) -> &'static str {
        "cpu"
    }
    fn method(&self) -> &'static str {
        "bitmap"
    }
    fn device(&self) -> Option<Device> {
        let name = format!("device {}", self.ordinal);
        Some(Device { ordinal: self.ordinal, name, budget: Bytes(1), context: Bytes(2), used: Bytes(3) })
    }
    /// Several windows of counters for each partition.
    fn footprint(&self) -> Footprint {
        Footprint { counters: 20, ..self.cpu.footprint() }
    }
    /// The cores peel; a device that was lost is not even asked.
    fn peels(&self, _: u64, _: u64) -> Option<u64> {
        let begun = self.begun.load(Ordering::Relaxed);
        assert!(!matches!(self.behaviour, Behaviour::FailsAfter(at) if begun > at), "a lost device is asked to peel");
        None
    }
    fn begin<'a>(&'a mut self, size: PartitionExtent, detail: Detail) -> Result<Box<dyn PartitionCounter + 'a>> {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let lost = || Error::resource("it is gone");
        let counter = self.cpu.begin(size, detail)?;
        match self.behaviour {
            Behaviour::LostAt(at) if begun == at => Err(lost()),
            Behaviour::FailsAfter(at) if begun >= at => Ok(Box::new(FailsToFinish { counter, error: lost() })),
            Behaviour::PanicsAt(at) if begun == at => panic!("a simulated panic"),
            _ => Ok(counter),
        }
    }
}

/// Counts a partition to the end, and then fails instead of returning the count.
struct FailsToFinish<'a> {
    counter: Box<dyn PartitionCounter + 'a>,
    error: Error,
}

impl PartitionCounter for FailsToFinish<'_> {
    fn resident(&mut self, run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        self.counter.resident(run, pool)
    }
    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        self.counter.row_block(row_block, pool)
    }
    fn vertices(&mut self) -> Result<VertexCounts> {
        self.counter.vertices()
    }
    fn row_block_edges(&mut self, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        self.counter.row_block_edges(into, pool)
    }
    fn resident_edges(&mut self, first: u64, into: &mut [u32], pool: &ThreadPool) -> Result<()> {
        self.counter.resident_edges(first, into, pool)
    }
    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        self.counter.finish()?;
        Err(self.error)
    }
    fn memory(&self) -> CounterMemory {
        self.counter.memory()
    }
}

const CLIQUES: std::ops::RangeInclusive<u64> = 5..=12;

const RANGES: &str = "partition.partitioner = 'rank'";
/// The triangles at each vertex, or on each edge, are counted, too.
const VERTICES: &str = "output.per_vertex = 'vertices.tsv'";
const EDGES: &str = "output.per_edge = 'edges.tsv'";
const TRUSS: &str = "output.truss = true";

fn edges_of_cliques() -> String {
    let (mut text, mut first) = (String::new(), 0);
    for n in CLIQUES {
        text.extend(complete(n).map(|(a, b)| format!("{} {}\n", first + a, first + b)));
        first += n;
    }
    text
}

fn sizes() -> Vec<u64> {
    CLIQUES.flat_map(|n| (0..n).map(move |_| n)).collect()
}

fn rows(file: &Path) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(file).unwrap();
    let row = |line: &str| line.split('\t').take(3).map(|cell| cell.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

/// Counts the cliques in 8 parts on devices with these behaviours. Counts at vertices and on edges must be those of complete graphs.
fn count_cliques(behaviours: &[Behaviour], more: &str, dir: &Path) -> Result<RunResult> {
    // A second start on the same directory finds the same file.
    if !dir.join("cliques.txt").exists() {
        std::fs::write(dir.join("cliques.txt"), edges_of_cliques()).unwrap();
    }
    std::fs::create_dir_all(dir.join("spill")).unwrap();
    let partitioner = if more.contains("partitioner") { "" } else { "partition.partitioner = 'contiguous-vertices'" };
    let text = format!(
        "input.path = 'cliques.txt'\npartition.parts = 8\n{partitioner}\n\
         cache.enabled = false\ncount.backend = 'cpu'\nspill.dir = 'spill'\n{more}"
    );
    let job = job(&text, dir)?;
    let on_edges = job.counts_edges();
    let begun = Arc::new(AtomicUsize::new(0));
    let result = count_on(job, |graph, pool| {
        let device = |(&behaviour, ordinal)| {
            let begun = if let Behaviour::FailsAfter(_) = behaviour { Arc::default() } else { Arc::clone(&begun) };
            let cpu = pool.install(|| match on_edges {
                true => Cpu::with_edges(Bytes::ZERO, graph.vertices(), graph.size().longest_row),
                false => Cpu::with_vertices(Bytes::ZERO, graph.vertices(), 2 * u64::from(graph.vertices())),
            });
            Box::new(Numbered { cpu, ordinal, behaviour, begun }) as Box<dyn CountBackend>
        };
        behaviours.iter().zip(0..).map(device).collect()
    })?;
    result.check(Path::new("test"))?;
    let (sizes, told) = (sizes(), format!("{behaviours:?} {more}"));
    if more.contains("per_vertex") {
        // Each vertex is in one triangle for each pair of its neighbours.
        let expected = sizes.iter().zip(0..).map(|(n, id)| vec![id, n - 1, (n - 1) * (n - 2) / 2]);
        assert!(rows(&dir.join("vertices.tsv")).into_iter().eq(expected), "{told}");
    }
    if more.contains("per_edge") {
        // Each edge is in a triangle with every other vertex.
        let found = rows(&dir.join("edges.tsv"));
        assert_eq!(found.len() as u64, CLIQUES.map(|n| n * (n - 1) / 2).sum::<u64>(), "{told}");
        assert!(found.iter().all(|row| row[2] == sizes[row[0] as usize] - 2), "{told}");
    }
    Ok(result)
}

/// Every partition was counted once, and the sum is the closed form of complete graphs.
fn assert_whole(results: &[PartitionFigures]) {
    let mut ids: Vec<u32> = results.iter().map(|result| result.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..8).collect::<Vec<_>>());
    let triangles: u128 = results.iter().map(|result| u128::from(result.counted().triangles)).sum();
    assert_eq!(triangles, CLIQUES.map(|n| u128::from(n * (n - 1) * (n - 2) / 6)).sum());
}

fn spills(dir: &Path) -> usize {
    listing(&dir.join("spill")).len()
}

#[test]
fn every_partition_is_counted_once_by_one_of_the_devices() {
    for (devices, more) in [
        (1, ""),
        (2, ""),
        (3, "spill.to = 'memory'"),
        (4, "memory.host = '64MiB'\nspill.to = 'memory'"),
        (1, RANGES),
        (3, RANGES),
        (1, VERTICES),
        (3, VERTICES),
        (1, EDGES),
        (3, EDGES),
        (2, "partition.partitioner = 'rank'\noutput.per_edge = 'edges.tsv'"),
        (2, "partition.partitioner = 'rank'\noutput.clustering = true"),
        (2, "partition.partitioner = 'rank'\nmemory = { host = '32MiB', device = '1MiB' }"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let RunResult { partitions, devices: shares, stages, .. } =
            count_cliques(&vec![Behaviour::Works; devices], more, dir.path()).unwrap();
        assert_whole(&partitions);
        // The results of devices agree with those of partitions.
        assert_eq!(shares.len(), devices);
        for share in &shares {
            assert_eq!(counted_by(&partitions, share.device), share.partitions as usize);
            let own = partitions.iter().filter(|result| result.counted().device == Some(share.device));
            assert_eq!(own.map(|result| u128::from(result.counted().triangles)).sum::<u128>(), share.triangles);
            assert_eq!((share.name.as_str(), share.context_bytes), (&*format!("device {}", share.device), Bytes(2)));
        }
        let made = if more.contains("rank") { "stream" } else { "spill" };
        assert!([made, "stream", "count"].iter().all(|name| stages.iter().any(|stage| stage.name == *name)));
        assert_eq!(spills(dir.path()), 0);
    }
}

#[test]
fn kept_spills_are_all_there_in_order() {
    let dir = tempfile::tempdir().unwrap();
    count_cliques(&[Behaviour::Works; 3], "spill.keep = true", dir.path()).unwrap();
    let manifest = Manifest::read(&dir.path().join("spill")).unwrap();
    assert_eq!(manifest.partitions.iter().map(|part| part.id).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(spills(dir.path()), 9);
}

fn counted_by(results: &[PartitionFigures], device: u32) -> usize {
    results.iter().filter(|result| result.counted().device == Some(device)).count()
}

#[test]
fn what_a_lost_device_held_is_counted_by_the_others() {
    for (more, lost) in
        [("", &[0, 3, 7][..]), ("spill.keep = true", &[2]), (RANGES, &[0, 5, 7]), (VERTICES, &[9]), (EDGES, &[3])]
    {
        for &at in lost {
            let dir = tempfile::tempdir().unwrap();
            let results = count_cliques(&[Behaviour::LostAt(at); 3], more, dir.path()).unwrap().partitions;
            assert_whole(&results);
            assert_eq!(spills(dir.path()), if more.contains("keep") { 9 } else { 0 }, "lost at {at}");
        }
    }
    // A partition that a device did not finish adds nothing to the count.
    let ranges_with = |more: &str| format!("{RANGES}\n{more}");
    for more in ["", RANGES, VERTICES, &ranges_with(VERTICES), EDGES, &ranges_with(EDGES), TRUSS] {
        for after in 0..4 {
            let dir = tempfile::tempdir().unwrap();
            let behaviours = [Behaviour::FailsAfter(after), Behaviour::Works, Behaviour::FailsAfter(0)];
            let results = count_cliques(&behaviours, more, dir.path()).unwrap().partitions;
            assert_whole(&results);
            assert!(counted_by(&results, 0) <= after && counted_by(&results, 2) == 0);
        }
    }
}

#[test]
fn when_the_last_device_is_lost_its_error_ends_the_job_and_nothing_is_left() {
    for (devices, more) in [(1, ""), (3, ""), (3, "spill.keep = true"), (1, RANGES), (3, RANGES)] {
        let dir = tempfile::tempdir().unwrap();
        let error = count_cliques(&vec![Behaviour::FailsAfter(2); devices], more, dir.path()).err().unwrap();
        assert_eq!(error.kind(), Kind::Resource, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("GPU ") && text.contains(" failed: partition "), "{text}");
        assert!(text.contains("(device ") && text.contains("it is gone"), "{text}");
        assert_eq!(spills(dir.path()), 0, "{devices} devices, {more}");
    }
}

#[test]
fn what_lost_devices_had_counted_is_not_counted_again() {
    for partitioner in ["contiguous-vertices", "rank"] {
        let dir = tempfile::tempdir().unwrap();
        let more = format!("partition.partitioner = '{partitioner}'\nrun.dir = 'run'");
        count_cliques(&[Behaviour::FailsAfter(2), Behaviour::FailsAfter(3)], &more, dir.path()).err().unwrap();
        let results = count_cliques(&[Behaviour::Works; 2], &more, dir.path()).unwrap().partitions;
        assert_whole(&results);
        assert_eq!(results.iter().filter(|result| result.counted().resumed).count(), 5);
    }
}

#[test]
fn a_thread_that_panics_stops_all_and_is_named() {
    for more in ["", RANGES] {
        for at in [0, 4] {
            let dir = tempfile::tempdir().unwrap();
            let error = count_cliques(&[Behaviour::PanicsAt(at); 2], more, dir.path()).err().unwrap();
            let text = error.to_string();
            assert!(text.starts_with("the thread that counts on GPU ") && text.contains("a simulated panic"), "{text}");
            assert_eq!((error.kind(), spills(dir.path())), (Kind::Defect, 0));
        }
    }
}

#[derive(Default)]
struct Recorded {
    tasks: Vec<(Option<u64>, Unit)>,
    reports: Vec<u64>,
    /// The expected stages, for each report of them.
    expected: Vec<Vec<&'static str>>,
}

#[derive(Default)]
struct Recorder(Mutex<Recorded>);

impl Observer for Recorder {
    fn expect(&self, stages: &[ExpectedStage]) {
        lock(&self.0).expected.push(stages.iter().map(|stage| stage.task).collect());
    }
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64 {
        if name != "count" {
            return 0;
        }
        lock(&self.0).tasks.push((total, unit));
        1
    }
    fn advance(&self, task: u64, units: u64) {
        if task == 1 && units > 0 {
            lock(&self.0).reports.push(units);
        }
    }
    fn end(&self, _: u64) {}
}

#[test]
fn the_progress_of_counting_on_the_cores_is_that_of_arcs() {
    let dir = tempfile::tempdir().unwrap();
    // Every vertex is adjacent to the next 40 along a ring.
    let n = 4000u64;
    let edges: String = (0..n).flat_map(|i| (1..=40).map(move |k| format!("{i} {}\n", (i + k) % n))).collect();
    std::fs::write(dir.path().join("ring.txt"), edges).unwrap();
    for partition in [
        "partition.parts = 1",
        "partition.parts = 3\npartition.partitioner = 'rank'",
        "partition.parts = 3\npartition.partitioner = 'random'",
    ] {
        let usual = "cache.enabled = false\ncount = { backend = 'cpu', threads = 2 }";
        let text = format!("input.path = 'ring.txt'\n{partition}\n{usual}");
        let recorder = Arc::new(Recorder::default());
        let control = Control::new(Arc::default(), recorder.clone());
        let result = count(job(&text, dir.path()).unwrap(), None, None, &control).unwrap();
        assert_eq!((result.edges, result.triangles), (40 * n, u128::from(n * 40 * 39 / 2)));
        let recorded = lock(&recorder.0);
        assert_eq!(recorded.tasks, [(Some(40 * n), Unit::Arcs)], "{partition}");
        let reports = &recorded.reports;
        // The fraction of an arc in a row block's share is rounded down.
        let reported = reports.iter().sum::<u64>();
        let rounded = 40 * n - reports.len() as u64..=40 * n;
        assert!(reports.len() > 4 && rounded.contains(&reported), "{partition}: {reports:?}");
    }
}

#[test]
fn what_follows_is_expected_once_a_pipe_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pairs");
    make_pipe(&pipe);
    let writer = std::thread::spawn(move || std::fs::write(pipe, pairs32(&complete(50).collect::<Vec<_>>())));
    let text = "input.path = 'pairs'\ninput.format = 'bin-u32'\ncount.backend = 'cpu'\ncache.enabled = false";
    let recorder = Arc::new(Recorder::default());
    let result = count(job(text, dir.path()).unwrap(), None, None, &Control::new(Arc::default(), recorder.clone()));
    writer.join().unwrap().unwrap();
    assert_eq!(result.unwrap().triangles, 50 * 49 * 48 / 6);
    assert_eq!(lock(&recorder.0).expected, [vec!["clean", "orient", "count"], vec!["count"]]);
}
