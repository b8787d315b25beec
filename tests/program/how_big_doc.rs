//! `docs/how-big.md` agrees with the code: its tables are what the formula behind `plan` gives, and the formula is within a factor of
//! two of what was measured. So is the time left that a bar shows after a tenth of a job.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use crate::common::job::data;
use trimill::testing::clean::workspace::{GraphToPrepare, IdCount, InputForm};
use trimill::testing::clean::{Workspace, needs};
use trimill::testing::count::method::CudaMethod;
use trimill::testing::expected::{ExpectedStage, JobShare};
use trimill::testing::graph::GraphSize;
use trimill::testing::graph::file::Layout;
use trimill::testing::input::Source;
use trimill::testing::memory::{HostMemory, Needs};
use trimill::testing::plan::choose::{CountingEstimate, estimate};
use trimill::testing::plan::cost::{GPU_START, Machine};
use trimill::testing::plan::preparing::PreparingEstimate;
use trimill::testing::prepare::prepare;
use trimill::testing::rates::Rates;
use trimill::{Bytes, Control};
use trimill_kernels::{CountingMethod, Lstc, Packed, packed_takes};

const CORES: usize = 16;

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/how-big.md")).unwrap()
}

fn table(page: &str, first: &str) -> Vec<Vec<String>> {
    let rows = page.lines().skip_while(|line| !line.starts_with(first)).take_while(|line| line.starts_with('|'));
    let cells = |row: &str| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.skip(2).map(cells).collect()
}

fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap()
}

#[derive(Clone, Copy)]
struct KnownGraph {
    prepare: GraphToPrepare,
    size: GraphSize,
}

impl KnownGraph {
    fn new(form: InputForm, arcs: u64, size: GraphSize, bytes: f64) -> Self {
        let (edges, row_bytes) = (size.edges, Some(Bytes((bytes * size.edges as f64) as u64)));
        Self { prepare: GraphToPrepare { form, ids: size.vertices.into(), arcs, edges, row_bytes }, size }
    }

    /// The graphs of the first table of `page`, by name.
    fn listed(page: &str) -> Vec<(String, Self)> {
        let rows = table(page, "| graph | vertices |");
        let probes_of_edge = |row: &Vec<String>| 10.0 * number(&row[4]) as f64 / number(&row[3]) as f64;
        let usual = probes_of_edge(rows.iter().find(|row| row[0] == "uk-2007-05").unwrap());
        let of = |row: &Vec<String>| {
            let [vertices, arcs, edges] = [1, 2, 3].map(|cell| number(&row[cell]));
            let probes = if row[4].is_empty() { usual } else { probes_of_edge(row) };
            // No row is longer.
            let longest_row = (2 * edges).isqrt() as u32;
            let probes = (probes * edges as f64) as u64;
            let size = GraphSize { vertices: vertices as u32, edges, longest_row, probes };
            let form = if row[0] == "com-friendster" { InputForm::Arcs } else { InputForm::DirectedRows };
            (row[0].clone(), Self::new(form, arcs, size, row[5].parse().unwrap()))
        };
        rows.iter().map(of).collect()
    }

    fn preparing(&self, host: Bytes, gpu: Bytes) -> Option<PreparingEstimate> {
        let space = Workspace::new(HostMemory::new(host, CORES), Path::new("/"));
        // Rows for whose arrays there is too little memory are sorted as arcs.
        let forms = [self.prepare.form, InputForm::Arcs];
        let fitting = |form| Some((form, space.beside(&self.needs(form, space)).ok()?));
        let (form, shares) = forms.into_iter().find_map(fitting)?;
        Some(machine().preparing(&GraphToPrepare { form, ..self.prepare }, &shares, gpu))
    }

    fn needs(&self, form: InputForm, space: Workspace<'_>) -> Needs {
        let GraphToPrepare { ids, arcs, .. } = self.prepare;
        let is_rows = matches!(form, InputForm::SymmetricRows | InputForm::DirectedRows);
        needs(IdCount::Plain(ids), if is_rows { arcs / 2 } else { arcs }, space).array(form.more_per_id(), ids, "rows")
    }

    /// The estimate for the method that a job would choose with this GPU.
    fn counting(&self, gpu: Bytes) -> CountingEstimate {
        let rates = Rates::default();
        let choice = match packed_takes(self.size.vertices) {
            true => (CudaMethod::Packed, Packed.footprint()),
            false => (CudaMethod::Lstc, Lstc::default().footprint()),
        };
        let found = estimate(&self.size, &choice, &rates, gpu, Bytes(u64::MAX)).unwrap();
        CountingEstimate { seconds: found.seconds + GPU_START, ..found }
    }
}

fn machine() -> Machine {
    Machine { rates: Rates::default(), cores: CORES, gpus: 1, cached: true }
}

fn gib(many: u64) -> Bytes {
    Bytes(many << 30)
}

/// The bytes that a job takes of a GPU with `gigabytes` GB.
fn of_gpu(gigabytes: u64) -> Bytes {
    Bytes(gigabytes * 900_000_000)
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

fn expect_table(page: &str, title: &str, lines: &[String]) {
    let expected = lines.join("\n");
    assert!(page.contains(&expected), "docs/how-big.md, {title}, is to be:\n{expected}\n");
}

#[test]
fn what_preparing_takes_is_what_the_formula_gives() {
    let page = page();
    let budgets = [16, 32, 64, 128, 256, 512];
    let head = "| graph | graph file, about, at most | host memory, least | 16 GiB | 32 GiB | 64 GiB | 128 GiB \
                | 256 GiB | 512 GiB |\n| --- | --: | --: | --- | --- | --- | --- | --- | --- |";
    let mut lines = vec![head.to_owned()];
    for (name, graph) in KnownGraph::listed(&page) {
        let GraphToPrepare { edges, row_bytes, .. } = graph.prepare;
        let layout = Layout { vertices: graph.size.vertices, edges, has_ids: true, ..Layout::default() };
        let host = HostMemory::new(gib(1), CORES);
        let least = host.floor(&graph.needs(InputForm::Arcs, Workspace::new(host, Path::new("/")))).bytes;
        let of = |budget: u64| match graph.preparing(gib(budget), Bytes::ZERO) {
            None => "no".to_owned(),
            Some(taken) => format!("{}, {}, {}", taken.passes, taken.scratch, seconds(taken.seconds())),
        };
        let cells = budgets.map(of).join(" | ");
        let file = row_bytes.unwrap_or_default();
        lines.push(format!("| {name} | {file}, {} | {least} | {cells} |", layout.sections_at_most()));
    }
    expect_table(&page, "Preparing", &lines);
}

#[test]
fn what_counting_takes_is_what_the_formula_gives() {
    let page = page();
    let head = "| graph | no GPU | 24 GB | 48 GB | 80 GB | 141 GB |\n| --- | --: | --- | --- | --- | --- |";
    let mut lines = vec![head.to_owned()];
    for (name, graph) in KnownGraph::listed(&page) {
        let of = |gigabytes| {
            let CountingEstimate { parts, seconds: taken } = graph.counting(of_gpu(gigabytes));
            format!("{parts}, {}", seconds(taken))
        };
        let cores = Machine { gpus: 0, ..machine() }.counting_about(graph.size.edges, graph.size.probes, Bytes::ZERO);
        lines.push(format!("| {name} | {} | {} |", seconds(cores), [24, 48, 80, 141].map(of).join(" | ")));
    }
    expect_table(&page, "Counting", &lines);
}

/// The seconds of the tasks that prepare a job's graph; none of a cached graph.
type PreparingTasks = &'static [(&'static str, f64)];

/// A job that was measured on one H200, or H100, with 16 cores: its row of the page, and what that does not say.
struct MeasuredJob {
    row: Vec<String>,
    graph: KnownGraph,
    host: Bytes,
    gpu: Bytes,
    tasks: PreparingTasks,
}

impl MeasuredJob {
    fn preparing(&self) -> Option<PreparingEstimate> {
        Some(self.graph.preparing(self.host, self.gpu).unwrap()).filter(|_| !self.tasks.is_empty())
    }

    fn computed(&self) -> f64 {
        let preparing = self.preparing().map_or(0.0, |preparing| preparing.seconds());
        preparing + self.graph.counting(self.gpu).seconds
    }

    /// The stages that the job reports when it knows its graph.
    fn expected(&self) -> Vec<ExpectedStage> {
        let seconds = machine().counting_about(self.graph.size.edges, self.graph.size.probes, self.gpu);
        let preparing = self.preparing().map(|preparing| preparing.stages).unwrap_or_default();
        preparing.into_iter().chain([ExpectedStage::new("count", seconds)]).collect()
    }
}

/// Cnr-2000 blown up: `k` times its rows, `k^3` times its probes, and the bytes of its graph file.
fn blown_up(k: u64, form: InputForm, bytes: u64) -> KnownGraph {
    static CRAWL: LazyLock<GraphSize> = LazyLock::new(|| {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::open(&[data("cnr-2000.graph")], None, dir.path()).unwrap();
        let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir.path());
        prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap().size()
    });
    let size = GraphSize {
        vertices: CRAWL.vertices * k as u32,
        edges: CRAWL.edges * k * k,
        longest_row: CRAWL.longest_row * k as u32,
        probes: CRAWL.probes * k * k * k,
    };
    let arcs = if form == InputForm::SymmetricRows { 2 * size.edges } else { size.edges };
    KnownGraph::new(form, arcs, size, bytes as f64 / size.edges as f64)
}

fn kron27(form: InputForm) -> KnownGraph {
    // Probes grow 2.54 times from scale to scale: 4.4 billion at scale 20.
    let probes = (4.4e9 * 2.54f64.powi(7)) as u64;
    let size = GraphSize { vertices: 63_073_984, edges: 2_111_632_322, longest_row: 3000, probes };
    let mut graph = KnownGraph::new(form, 16 << 27, size, 1.57);
    graph.prepare.ids = 1 << 27;
    graph
}

/// The rows of the last table of `page`, in order, with the graph, the memory of host and GPU, and the tasks of each.
fn measured_jobs(page: &str) -> Vec<MeasuredJob> {
    let (host, gpu, on_gpu) = (Bytes((125 << 30) / 2), of_gpu(141), kron27(InputForm::ArcsOnGpu));
    let both = |k, bytes| [InputForm::SymmetricRows, InputForm::DirectedRows].map(|form| blown_up(k, form, bytes));
    let ([rows_of_x60, directed_x60], [rows_of_x191, directed_x191]) =
        (both(60, 1_460_341_225), both(191, 13_361_904_118));
    let jobs: [(KnownGraph, Bytes, Bytes, PreparingTasks); 11] = [
        (rows_of_x60, host, gpu, &[("orient rows", 17.46)]),
        (rows_of_x60, host, gpu, &[]),
        (directed_x60, host, gpu, &[("reverse arcs", 17.4), ("orient rows", 18.4)]),
        (rows_of_x191, host, gpu, &[("orient rows", 149.9)]),
        (rows_of_x191, host, gpu, &[]),
        (directed_x191, gib(110), gpu, &[("reverse arcs", 207.3), ("orient rows", 166.7)]),
        (on_gpu, host, gpu, &[("read", 1.34), ("orient", 3.68)]),
        (on_gpu, host, gpu, &[]),
        (on_gpu, host, gib(2), &[]),
        (kron27(InputForm::Arcs), gib(8), gpu, &[("read", 9.02), ("clean", 11.68), ("orient", 14.06)]),
        (on_gpu, gib(4), gib(1), &[("read", 2.94), ("orient", 10.29)]),
    ];
    let rows = table(page, "| job | measured |");
    assert_eq!(rows.len(), jobs.len(), "a row for each job");
    let job = |(row, (graph, host, gpu, tasks))| MeasuredJob { row, graph, host, gpu, tasks };
    rows.into_iter().zip(jobs).map(job).collect()
}

fn within_a_factor_of_two(found: f64, computed: f64) -> bool {
    (found / 2.0..=found * 2.0).contains(&computed)
}

#[test]
fn the_formula_is_within_a_factor_of_two_of_what_was_measured() {
    let page = page();
    let head =
        "| job | measured | computed | disk, measured | computed | source |\n| --- | --: | --: | --: | --: | --- |";
    let mut lines = vec![head.to_owned()];
    for job in measured_jobs(&page) {
        let (name, source) = (&job.row[0], job.row[5].split(['[', ']']).nth(1).unwrap());
        let (measured, disk) = (job.row[1].trim_end_matches(" s"), job.row[3].trim_end_matches(" GB"));
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results").join(source));
        let text = text.unwrap();
        assert!(text.contains(measured) && text.contains(disk), "{source}: {measured} {disk}");
        let computed = job.computed();
        assert!(within_a_factor_of_two(measured.parse().unwrap(), computed), "{name}: {computed}, not {measured}");
        let mut on_disk = "|".to_owned();
        if !disk.is_empty() {
            let computed = job.preparing().unwrap().scratch.get() as f64 / 1e9;
            assert!(within_a_factor_of_two(disk.parse().unwrap(), computed), "{name}: {computed}, not {disk}");
            on_disk = format!("{disk} GB | {computed:.1} GB");
        }
        let computed = seconds(computed);
        lines.push(format!("| {name} | {measured} s | {computed} | {on_disk} | [{source}](results/{source}) |"));
    }
    expect_table(&page, "The formula beside what was measured", &lines);
    let under = blown_up(60, InputForm::SymmetricRows, 1_460_341_225).counting(gib(8));
    expect_table(&page, "where it fails", &[format!("instead of the computed {}", seconds(under.seconds))]);
}

/// Replays the measured jobs with a clock of this test, on machines that are slower or faster in everything.
#[test]
fn the_time_left_after_a_tenth_of_a_job_is_within_a_factor_of_two() {
    for job in measured_jobs(&page()).into_iter().filter(|job| !job.tasks.is_empty()) {
        let all: f64 = job.row[1].trim_end_matches(" s").parse().unwrap();
        let before: f64 = job.tasks.iter().map(|(_, seconds)| seconds).sum();
        let tasks: Vec<_> = job.tasks.iter().copied().chain([("count", all - before)]).collect();
        let moments = |speed: f64| [0.1, 0.2, 0.3, 0.5, 0.7, 0.8].map(|at| (speed, at));
        for (speed, at) in [1.0, 0.2, 3.0].into_iter().flat_map(moments) {
            let mut share = JobShare::default();
            let after = |seconds: f64| Duration::from_secs_f64(seconds / speed);
            share.expect(&job.expected(), after(0.0));
            let (mut from, now, mut left) = (0.0, at * all, None);
            for &(task, seconds) in &tasks {
                if from < now {
                    share.begin(task, after(from));
                    left = share.time_left(task, ((now - from) / seconds).min(1.0), after(now));
                }
                from += seconds;
            }
            let left = left.unwrap().as_secs_f64();
            let right = (1.0 - at) * all / speed;
            assert!(within_a_factor_of_two(right, left), "{} at {at}: {left} s left, not {right}", job.row[0]);
        }
    }
}
