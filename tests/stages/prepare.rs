//! Graphs prepared on a device: the same files as on the CPU, to the byte. Kernels run on the host here; `scripts/gpu-check` compares on a GPU.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::common::job::data;
use crate::common::{complete, rows_of};
use crate::readers::support::{failed, open, write_bvgraph};
use trimill::testing::clean::Workspace;
use trimill::testing::input::ArcSink;
use trimill::testing::input::arcs::{ArcList, ArcSource, SourceFacts};
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::starting::StartingDevice;
use trimill::testing::prepare::{OnDevice, Preparation};
use trimill::{Bytes, Control, Kind, Result};
use trimill_generate::{Family, GeneratedFile, RowArcs, generate, generate_file};
use trimill_kernels::engine::Engine;
use trimill_kernels::padded;
use trimill_kernels::prepare::{ids_within, needed};
use trimill_kernels::testing::{Double, Pace, has_compiler};

/// A device that reports `questions` times that it has not started, and after that that it has started.
struct Slow {
    double: Option<Double>,
    questions: AtomicU32,
}

impl StartingDevice for Slow {
    fn has_started(&self) -> bool {
        self.questions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }

    fn engine(&mut self) -> Option<&mut dyn Engine> {
        self.double.as_mut().map(|double| double as &mut dyn Engine)
    }
}

fn slow(arena: u64, questions: u32) -> Slow {
    Slow { double: Double::new(arena, Pace::Random(u64::from(questions))), questions: questions.into() }
}

/// A graph: its sizes, degrees, order and rows; and the bytes of its file, if it has one.
#[derive(Debug, PartialEq)]
struct Prepared {
    contents: String,
    file: Option<Vec<u8>>,
}

/// `required`: the device must have made it; `most`: the most bytes of a graph in memory.
fn prepared(source: &dyn ArcSource, device: Option<&mut Slow>, required: bool, most: Bytes) -> Result<Prepared> {
    let dir = tempfile::tempdir().unwrap();
    Ok(prepared_within(Workspace { graph: most, ..workspace(dir.path()) }, source, device, required)?.0)
}

fn workspace(dir: &Path) -> Workspace<'_> {
    Workspace::new(HostMemory::new(Bytes::mib(400), 2), dir)
}

/// Returns how many stages ran, too.
fn prepared_within(
    space: Workspace<'_>,
    source: &dyn ArcSource,
    device: Option<&mut Slow>,
    required: bool,
) -> Result<(Prepared, usize)> {
    let device = device.map(|device| OnDevice { device, required });
    let (control, mut stages) = (Control::silent(), Vec::new());
    let preparation = Preparation { device, source, origin: None, doubled: None, space, control: &control };
    let graph = preparation.prepare(None, &mut stages)?;
    let known = (graph.size(), graph.report(), graph.degree_runs(), graph.first_declared_id(), graph.declared_lines());
    let contents = format!("{known:?} {:?} {:?} {:?}", graph.order()?, graph.ids()?, rows_of(&graph));
    Ok((Prepared { contents, file: graph.path().map(|path| fs::read(path).unwrap()) }, stages.len()))
}

/// CPU and device make the same graph, and the same bytes of a file; the device has started after `questions` questions ([`Slow`]).
fn same(source: &dyn ArcSource, questions: u32, what: &str) {
    let arena = padded(needed(source.facts().arcs_at_most + 10, (1 << 18) + 16 * source.facts().arcs_at_most));
    let on_cpu = prepared(source, None, false, Bytes::ZERO).unwrap();
    assert!(on_cpu.file.is_some());
    let in_file = prepared(source, Some(&mut slow(arena, questions)), true, Bytes::ZERO).unwrap();
    assert!(in_file == on_cpu, "{what}: {} and {}", in_file.contents, on_cpu.contents);
    let in_memory = prepared(source, Some(&mut slow(arena, 2)), true, Bytes::mib(64)).unwrap();
    assert!(in_memory.file.is_none());
    assert!(in_memory.contents == on_cpu.contents, "{what}: {} and {}", in_memory.contents, on_cpu.contents);
}

fn list(arcs: Vec<(u64, u64)>, declared: Option<u64>) -> ArcList {
    ArcList { arcs, declared }
}

#[test]
fn what_a_device_does_not_hold_at_once_is_the_same_to_the_byte() {
    let Some(()) = has_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.bin");
    generate(&Family::GapUrand { scale: 13 }, None, &path, &Control::silent()).unwrap();
    let (source, ids) = (open(&path).unwrap(), 1 << 13);
    // There are two runs of arcs, and two ranges of rows, with several file blocks.
    let arena = padded(needed(105_000, 1) + 40 * ids);
    let on_cpu = prepared(&source, None, false, Bytes::ZERO).unwrap();
    let on_device = prepared(&source, Some(&mut slow(arena, 3)), true, Bytes::ZERO).unwrap();
    assert!(on_device == on_cpu);
    // A graph of any size stays in the memory that the runs leave free.
    let in_memory = prepared(&source, Some(&mut slow(arena, 3)), true, Bytes(1)).unwrap();
    assert!(in_memory.file.is_none() && in_memory.contents == on_cpu.contents);
    // With little host memory, runs are in files, and none of them is left at the end.
    let within = |dir: &Path| {
        let little = Workspace { graph: Bytes::ZERO, buckets: Some(Bytes(1 << 19)), ..workspace(dir) };
        prepared_within(little, &source, Some(&mut slow(arena, 3)), true)
    };
    assert!(within(folder.path()).unwrap().0 == on_cpu);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the graph");
    let error = within(&folder.path().join("missing")).unwrap_err().to_string();
    assert!(error.contains("missing") && error.contains("cannot be written"), "{error}");
    // Runs that were not stored because the job was stopped are no failure of the device.
    let stopped = prepared(&StoppedWhenRead(&source), Some(&mut slow(arena, 3)), true, Bytes::ZERO).unwrap_err();
    assert_eq!(stopped.kind(), Kind::Interrupted, "{stopped}");
}

/// Stops the job when all arcs were read.
struct StoppedWhenRead<'a>(&'a dyn ArcSource);

impl ArcSource for StoppedWhenRead<'_> {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        self.0.scan(sink, control).inspect(|_| control.stop())
    }
    fn facts(&self) -> SourceFacts {
        self.0.facts()
    }
}

#[test]
fn rows_that_a_device_does_not_hold_are_oriented_as_they_are_unless_they_are_directed() {
    let Some(()) = has_compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (ids, family) = (1 << 12, Family::GapUrand { scale: 12 });
    for (name, arcs, on_device) in [
        ("both.graph", RowArcs::Both, false),
        ("both.sg", RowArcs::Both, false),
        ("up.graph", RowArcs::Up, true),
        ("down.sg", RowArcs::Down, true),
    ] {
        let path = folder.path().join(name);
        let file = GeneratedFile { path: &path, arcs, force: false, control: &Control::silent() };
        generate_file(&family, None, &file).unwrap();
        let source = open(&path).unwrap();
        // Two runs of the arcs that are there once, or more.
        let mut device = slow(padded(needed(52_500, 1) + 40 * ids), 3);
        let made_on = |device: Option<&mut Slow>| {
            let dir = tempfile::tempdir().unwrap();
            prepared_within(workspace(dir.path()), &source, device, false).unwrap()
        };
        let (made, stages) = made_on(Some(&mut device));
        assert_eq!(stages, if on_device { 3 } else { 1 }, "{name}");
        assert!(made == made_on(None).0, "{name}");
    }
}

#[test]
fn inputs_of_every_kind_are_the_same_to_the_byte() {
    let Some(()) = has_compiler() else { return };
    let cases = [
        ("none", list(vec![], None)),
        ("loops only", list(vec![(9, 9), (4, 4), (9, 9)], None)),
        ("loops beside edges", list(vec![(9, 9), (4, 4), (7, 5), (5, 7), (5, 7), (12, 9), (3, 3)], None)),
        ("declared", list(vec![(0, 1), (1, 2), (1, 1)], Some(100))),
        ("gaps", list((0..500).map(|i| (i * i % 613 * 300, i * 301)).collect(), None)),
        ("both directions", list((0..400).flat_map(|i| [(i, i * 7 % 401), (i * 7 % 401, i)]).collect(), None)),
        ("long rows", list(complete(300).collect(), None)),
        ("a batch of many", list((0..40_000).map(|i| (i % 211, i * i % 20_011)).collect(), None)),
    ];
    for (what, source) in &cases {
        same(source, 0, what);
        same(source, 1000, what);
    }
    for name in ["delaunay_n15.graph", "bcsstk13.mtx", "as20000102.txt"] {
        same(&open(&data(name)).unwrap(), 3, name);
    }
    // Rows with loops at their beginning, end and middle, alone, and in every row; a row longer than a buffer.
    let folder = tempfile::tempdir().unwrap();
    let loops = (0..900).map(|v| (v, v));
    let rows = (0..900u64).flat_map(|u| (0..u % 40).map(move |i| (u, (u * 7 + i * i) % 900)));
    let long = (0..5000).map(|v| (40, v)).chain([(4999, 4999), (4998, 0), (0, 4999)]);
    let arcs: std::collections::BTreeSet<_> = loops.chain(rows).chain(long).collect();
    write_bvgraph(&folder.path().join("loops"), &arcs.into_iter().collect::<Vec<_>>());
    let source = open(&folder.path().join("loops.graph")).unwrap();
    same(&source, 0, "rows with loops");
    same(&source, 3, "rows with loops, late");
}

#[test]
fn what_a_device_cannot_prepare_is_prepared_on_the_cpu_or_refused() {
    let Some(()) = has_compiler() else { return };
    let few = list(vec![(0, 1), (1, 2), (0, 2)], None);
    let sparse = list((0..2000).map(|i| (i << 40, (i + 1) << 40)).collect(), None);
    let wide = list(vec![(0, 1 << 31)], Some(1 << 32));
    let no_device = || Slow { double: None, questions: 0.into() };
    for (source, mut device) in
        [(&few, no_device()), (&few, slow(1 << 16, 0)), (&sparse, slow(8 << 20, 0)), (&wide, slow(8 << 20, 3))]
    {
        failed(prepared(source, Some(&mut device), true, Bytes::ZERO), Kind::Resource, &["--prepare"]);
        let (on_device, on_cpu) =
            (prepared(source, Some(&mut device), false, Bytes::ZERO), prepared(source, None, false, Bytes::ZERO));
        match (on_device, on_cpu) {
            (Ok(a), Ok(b)) => assert!(a == b),
            (a, b) => assert_eq!(a.unwrap_err().to_string(), b.unwrap_err().to_string()),
        }
    }
}

/// Arcs that can be read once, as from a pipe, and the bytes that were read.
struct Once(ArcList, AtomicU64);

impl ArcSource for Once {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        assert_eq!(self.1.swap(8 * self.0.arcs.len() as u64, Ordering::Relaxed), 0, "read once");
        self.0.scan(sink, control)
    }
    fn facts(&self) -> SourceFacts {
        SourceFacts { arcs_at_most: u64::MAX, is_read_once: true, ..SourceFacts::default() }
    }
    fn bytes(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }
}

fn once(arcs: Vec<(u64, u64)>) -> Once {
    Once(list(arcs, None), AtomicU64::new(0))
}

/// Arcs of an input whose identity cannot be computed, due to a defect.
struct Unidentified(ArcList);

impl ArcSource for Unidentified {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        self.0.scan(sink, control)
    }
    fn facts(&self) -> SourceFacts {
        self.0.facts()
    }
    fn unchanged(&self) -> Result<()> {
        panic!("a simulated panic")
    }
}

#[test]
fn a_panic_while_a_device_prepares_ends_the_job() {
    let Some(()) = has_compiler() else { return };
    let source = Unidentified(list(vec![(0, 1), (1, 9), (0, 9)], None));
    let prepare = || prepared(&source, Some(&mut slow(padded(8 << 20), 0)), true, Bytes::ZERO);
    assert!(catch_unwind(AssertUnwindSafe(prepare)).is_err());
}

#[test]
fn a_pipe_ends_at_an_id_whose_degree_has_no_room() {
    let Some(()) = has_compiler() else { return };
    let arena = padded(8 << 20);
    let end = ids_within(arena);
    let arcs = |largest| vec![(0, 1), (1, largest), (0, largest)];
    let on_device = |largest| prepared(&once(arcs(largest)), Some(&mut slow(arena, 0)), false, Bytes::ZERO);
    // The error comes with the id, before the whole input is read.
    let error = on_device(end).unwrap_err().to_string();
    assert!(error.contains(&format!("id {end}, where memory has room for ids below {end}")), "{error}");
    assert!(error.contains("--prepare cpu"), "{error}");
    let on_cpu = prepared(&list(arcs(end - 1), None), None, false, Bytes::ZERO).unwrap();
    assert!(on_device(end - 1).unwrap().contents == on_cpu.contents);
}

#[test]
fn a_pipe_is_left_to_the_cores_if_a_device_has_no_room_for_a_run() {
    let Some(()) = has_compiler() else { return };
    let (arena, arcs) = (padded(1 << 20), vec![(0, 1), (1, 9), (0, 9)]);
    assert_eq!(ids_within(arena), 0);
    let on_cpu = prepared(&list(arcs.clone(), None), None, false, Bytes::ZERO).unwrap();
    let left = prepared(&once(arcs.clone()), Some(&mut slow(arena, 0)), false, Bytes::ZERO).unwrap();
    assert!(left.contents == on_cpu.contents);
    let refused = prepared(&once(arcs), Some(&mut slow(arena, 0)), true, Bytes::ZERO).unwrap_err().to_string();
    assert!(refused.contains("too little device memory") && refused.contains("--prepare auto"), "{refused}");
}
