//! Compares the CPU method `bitmap` with a plain sorted merge and with the crate `graph`, on generated graphs.
//!
//! All three count the same clean graph with the same number of threads, and their counts are compared. Criterion shows
//! the distribution of each; a table of ratios is printed at the end. 'orient' is the preparation: for `bitmap` the stage of
//! that name and the copy of the rows into the resident section, for `graph` its relabelling by degree, for the merge
//! nothing (it uses the rows of `bitmap`).
//!
//! `TRIMILL_BENCH_SCALE` (16) sets the binary logarithm of the number of vertices, `TRIMILL_BENCH_PAIRS` adds a
//! graph from a file of `u32` pairs. `RAYON_NUM_THREADS` does not limit the crate `graph`, which uses all cores.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::cell::RefCell;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use comfy_table::Table;
use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use graph::prelude::{CsrLayout, GraphBuilder, UndirectedCsrGraph, global_triangle_count, relabel_graph};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use trimill::testing::clean::Workspace;
use trimill::testing::count::cpu::Cpu;
use trimill::testing::graph::OrientedGraph;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::memory::HostMemory;
use trimill::testing::partition::ranks::LocalsAndHeads;
use trimill::testing::prepare::prepare;
use trimill::testing::stream::ranges::RankRange;
use trimill::testing::stream::row_blocks::RowBlocks;
use trimill::{Bytes, Control};
use trimill_counting::{CountBackend, Detail, EdgeShare, PartitionExtent, PartitionSource, Resident, RowBlockView};
use trimill_generate::{Family, generate};
use trimill_system::hash::mix;

fn main() {
    let scale = std::env::var("TRIMILL_BENCH_SCALE").map_or(16, |scale| scale.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let generated = |family: &Family, name: &str| {
        let path = dir.path().join(name).with_extension("bin");
        generate(family, None, &path, &Control::silent()).unwrap();
        pairs(&path)
    };
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut table = Table::new();
    table.set_header([
        "graph",
        "edges",
        "triangles",
        "count by",
        "orient, ms",
        "count, ms",
        "bitmap, times as fast",
        "with orient",
    ]);
    let mut one = |name: String, arcs: Vec<(u64, u64)>| compare(&mut criterion, &mut table, &name, arcs, dir.path());
    one(format!("kron{scale}"), generated(&Family::GapKron { scale }, "kron"));
    one(format!("crawl{scale}"), crawl(1 << scale));
    one(format!("urand{scale}"), generated(&Family::GapUrand { scale }, "urand"));
    if let Some(path) = std::env::var_os("TRIMILL_BENCH_PAIRS") {
        let path = Path::new(&path);
        one(path.file_stem().unwrap().to_string_lossy().into_owned(), pairs(path));
    }
    criterion.final_summary();
    println!("{table}");
}

/// Counts one graph in all ways and adds the rows of the table.
fn compare(criterion: &mut Criterion, table: &mut Table, name: &str, arcs: Vec<(u64, u64)>, dir: &Path) {
    let (oriented, orienting) = orient(arcs, dir);
    let start = Instant::now();
    let resident = resident(&oriented);
    let orienting = orienting + start.elapsed();
    let order = oriented.order().unwrap();
    let row = |rank: u32| resident.row(rank as usize).iter().map(move |&successor| (rank, successor));
    let edges = (0..oriented.vertices()).flat_map(row).map(|(u, v)| (order[u as usize], order[v as usize]));
    let mut theirs: UndirectedCsrGraph<u32> =
        GraphBuilder::new().csr_layout(CsrLayout::Deduplicated).edges(edges).build();
    let start = Instant::now();
    relabel_graph(&mut theirs);
    let relabelling = start.elapsed();

    let mut group = criterion.benchmark_group(name);
    let ours = measure(&mut group, "bitmap", || bitmap(&resident));
    let others = [
        ("merge", orienting, measure(&mut group, "merge", || timed(|| merge(&resident)))),
        ("graph 0.3", relabelling, measure(&mut group, "graph", || timed(|| global_triangle_count(&theirs)))),
    ];
    group.finish();
    let Some((triangles, counting)) = ours else { return };
    let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
    let edges = oriented.edges().to_string();
    table.add_row([name, &edges, &triangles.to_string(), "bitmap", &ms(orienting), &ms(counting), "", ""]);
    for (method, before, measured) in others {
        let Some((found, time)) = measured else { continue };
        assert_eq!(found, triangles, "{method} on {name}");
        let ratio = time.as_secs_f64() / counting.as_secs_f64();
        let whole = (before + time).as_secs_f64() / (orienting + counting).as_secs_f64();
        let ratios = [format!("{ratio:.2}"), format!("{whole:.2}")];
        table.add_row(["", "", "", method, &ms(before), &ms(time), &ratios[0], &ratios[1]]);
    }
}

fn timed(count: impl Fn() -> u64) -> (u64, Duration) {
    let start = Instant::now();
    (count(), start.elapsed())
}

/// The count, and the median of the times that criterion measured; `None` if a filter leaves it out.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    count: impl Fn() -> (u64, Duration),
) -> Option<(u64, Duration)> {
    let measured = RefCell::new((0, Vec::new()));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let mut measured = measured.borrow_mut();
            let mut taken = Duration::ZERO;
            for _ in 0..times {
                let (found, time) = count();
                measured.0 = found;
                taken += time;
            }
            measured.1.push(taken / times as u32);
            taken
        });
    });
    let (count, mut times) = measured.into_inner();
    times.sort_unstable();
    times.get(times.len() / 2).map(|&median| (count, median))
}

fn orient(arcs: Vec<(u64, u64)>, dir: &Path) -> (OrientedGraph, Duration) {
    let source = ArcList { arcs, declared: None };
    let space = Workspace::new(HostMemory::new(Bytes(8 << 30), rayon::current_num_threads()), dir);
    let mut stages = Vec::new();
    let graph = prepare(&source, space, &Control::silent(), &mut stages).unwrap();
    let seconds = stages.iter().filter(|stage| stage.name == "orient").map(|stage| stage.seconds).sum();
    (graph, Duration::from_secs_f64(seconds))
}

fn resident(graph: &OrientedGraph) -> Resident {
    let mut resident = Resident::default();
    let blocks = RowBlocks::default();
    let mut all = RankRange::new(graph, &blocks, &LocalsAndHeads::of(0..graph.vertices())).unwrap();
    assert!(!all.read_resident(None, &mut resident).unwrap(), "all rows in one run");
    resident
}

/// The time excludes the copy of the rows, which the counter takes ownership of.
fn bitmap(resident: &Resident) -> (u64, Duration) {
    let vertices = resident.numbers.len() as u32;
    // As many threads as the global pool, which the others use.
    static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().build().unwrap());
    let mut cpu = POOL.install(|| Cpu::new(Bytes(4 << 30), vertices));
    let copy = resident.clone();
    let start = Instant::now();
    let rows_of = copy.size();
    let size = PartitionExtent { locals: rows_of.locals, arcs: rows_of.arcs, numbered: vertices, row_block_limit: 0 };
    let mut counter = cpu.begin(size, EdgeShare::ALL, Detail::Total).unwrap();
    counter.resident(copy, &POOL).unwrap();
    counter
        .row_block(&RowBlockView { range: 0..vertices, offsets: &[0], successors: &[], encoded: None }, &POOL)
        .unwrap();
    (counter.finish().unwrap().triangles, start.elapsed())
}

/// Merges the rows of both ends of every arc, in parallel over tails.
fn merge(resident: &Resident) -> u64 {
    let common = |mut a: &[u32], mut b: &[u32]| {
        let mut count = 0;
        while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
            let order = x.cmp(y);
            count += u64::from(order == Ordering::Equal);
            if order != Ordering::Greater {
                a = a_rest;
            }
            if order != Ordering::Less {
                b = b_rest;
            }
        }
        count
    };
    let count = |tail: usize| {
        let row = resident.row(tail);
        row.iter().enumerate().map(|(k, &b)| common(&row[..k], resident.row(b as usize))).sum::<u64>()
    };
    (0..resident.numbers.len()).into_par_iter().with_max_len(64).map(count).sum()
}

fn pairs(path: &Path) -> Vec<(u64, u64)> {
    let id = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    std::fs::read(path).unwrap().chunks_exact(8).map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect()
}

/// A graph similar to a crawl: a page copies the links of a page shortly before it, which are mostly near; some links go
/// anywhere, more often to early pages than to late ones (the copying model of Kumar et al., FOCS 2000).
fn crawl(pages: u64) -> Vec<(u64, u64)> {
    let mut arcs = Vec::<(u64, u64)>::new();
    let mut starts = vec![0];
    for page in 1..pages {
        let draw = |i: u64| mix(page << 8 | i);
        let model = (page - 1).saturating_sub(draw(255) % 16) as usize;
        let copied = starts[model]..starts.get(model + 1).copied().unwrap_or(arcs.len());
        let links = 4 + draw(254) % 28;
        for i in 0..links {
            let kind = draw(i) % 100;
            let at = draw(128 + i);
            let successor = match kind {
                0..75 if !copied.is_empty() => arcs[copied.start + at as usize % copied.len()].1,
                0..97 => page - 1 - at % page.min(40),
                _ => (at % (page * page)).isqrt().abs_diff(page - 1),
            };
            arcs.push((page, successor));
        }
        starts.push(arcs.len() - links as usize);
    }
    arcs
}
