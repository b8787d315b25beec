//! What is planned against what happens: partitions are planned, built, spilled, streamed and counted.
//!
//! Small graphs are met whole by the planner's sample, so nearly everything must be exact; a test of its own takes
//! a sample that is small against its graph.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::oriented;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use trimill::bytes::Bytes;
use trimill::clean::ids::mix;
use trimill::control::Control;
use trimill::count::cpu::Cpu;
use trimill::count::{Backend, CounterMemory, PartitionCounter, Tally, Terms};
use trimill::error::Result;
use trimill::generate::{Family, StarKind, generate, parse_leaves};
use trimill::graph::OrientedGraph;
use trimill::job::FrameKind;
use trimill::partition::assignment::Assignment;
use trimill::partition::prune::{Prune, prune};
use trimill::partition::section::{FrameView, Resident, ResidentSize};
use trimill::partition::sections::Sections;
use trimill::partition::sizes::PartitionSize;
use trimill::plan::frames::Rates;

use trimill::plan::sample::Share;
use trimill::plan::{Assign, BudgetFrom, Limits, Plan, floor, plan, sized};
use trimill::spill::{Codec, PartitionHeader, SpillReader, SpillSummary, SpillWriter};
use trimill::stream::source::{PartitionSource, Spilled, Whole};
use trimill::stream::{Counted, count_partition};

/// A case's own random numbers.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % end
    }

    /// Between the two, small ones more often.
    fn between(&mut self, least: Bytes, most: Bytes) -> Bytes {
        let share = self.below(1000) * self.below(1000);
        Bytes(least.get() + (u128::from(most.saturating_sub(least).get()) * u128::from(share) / 1_000_000) as u64)
    }
}

/// A partitioner of the crate `partitioners`.
struct Cut<'g> {
    graph: &'g OrientedGraph,
    way: u64,
    parts: Option<u32>,
}

impl Assign for Cut<'_> {
    fn assign(&self, parts: u32) -> Result<Assignment> {
        let n = self.graph.vertices();
        let part_of = match self.way {
            0 => trimill_partitioners::random(n, parts, 7),
            1 => trimill_partitioners::contiguous_vertices(n, parts),
            _ => {
                let weight = |id| 16 + 4 * u64::from(self.graph.out_degree(self.graph.rank_of(id)));
                trimill_partitioners::contiguous_by_weight(n, parts, weight)
            }
        };
        Ok(Assignment::new(part_of, parts))
    }
    fn is_cheap(&self) -> bool {
        true
    }
    fn parts(&self) -> Option<u32> {
        self.parts
    }
}

/// A device that holds the sections and nothing else.
#[derive(Default)]
struct Holder(Resident);

impl Backend for Holder {
    fn name(&self) -> &'static str {
        "holder"
    }
    fn method(&self) -> &'static str {
        "none"
    }
    fn terms(&self) -> Terms {
        Terms {
            per_resident_arc: 4,
            per_local: 12,
            tables: |_, _| Bytes::ZERO,
            workers: 1,
            slots: |frames| frames.min(2),
            by_rows: None,
            wish: None,
            fixed: Bytes(8),
        }
    }
    fn begin<'a>(&'a mut self, _: ResidentSize, _: u32, _: Bytes) -> Result<Box<dyn PartitionCounter + 'a>> {
        Ok(Box::new(Self::default()))
    }
}

impl PartitionCounter for Holder {
    fn resident(&mut self, run: Resident, _: &ThreadPool) -> Result<Option<Resident>> {
        self.0 = run;
        Ok(None)
    }
    fn frame(&mut self, _: &FrameView<'_>, _: &ThreadPool) -> Result<()> {
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<Tally> {
        Ok(Tally { triangles: 0, device: None })
    }
    fn memory(&self) -> CounterMemory {
        CounterMemory::BesidesSections(Bytes::ZERO)
    }
}

/// Builds a partition as a job does, and passes it through `backend`.
fn build_and_pass(
    graph: &OrientedGraph,
    locals: &[u32],
    (level, limit): (Prune, Bytes),
    size: &PartitionSize,
    backend: &mut dyn Backend,
) -> (SpillSummary, Counted) {
    let control = Control::silent();
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let pruned = prune(graph, locals, level, &control).unwrap();
    let sections = Sections::new(&pruned);
    let header = PartitionHeader {
        locals: locals.len() as u32,
        numbered: sections.numbered(),
        proxies_induced: size.proxies_induced,
        proxies_kept: size.proxies_kept,
        arcs_induced: size.arcs_induced,
        arcs_kept: size.arcs_kept,
        ..PartitionHeader::default()
    };
    let mut writer = SpillWriter::in_memory("part", header, Codec::default()).unwrap();
    sections.resident(&control, |chunk| writer.resident(&chunk)).unwrap();
    sections.frames(limit, &control, |frame| writer.frame(&frame)).unwrap();
    let spill = writer.finish().unwrap();
    let mut source: Box<dyn PartitionSource<'_>> = if locals.len() == graph.vertices() as usize {
        Box::new(Whole::new(graph))
    } else {
        Box::new(Spilled::new(SpillReader::reopen(&spill).unwrap()))
    };
    let counted = count_partition(source.as_mut(), backend, &pool, &control).unwrap();
    (spill, counted)
}

/// Whether `planned` is within 5% of `actual`.
fn near(planned: u64, actual: u64) -> bool {
    planned.abs_diff(actual) * 20 <= actual
}

fn graph_of(family: &Family, dir: &Path) -> OrientedGraph {
    let path = dir.join("graph.bin");
    generate(family, None, &path, &Control::silent()).unwrap();
    let id = |bytes: &[u8]| u64::from(u32::from_le_bytes(bytes.try_into().unwrap()));
    let arcs: Vec<_> =
        std::fs::read(&path).unwrap().chunks_exact(8).map(|pair| (id(&pair[..4]), id(&pair[4..]))).collect();
    oriented(&arcs, dir, Bytes::mib(64))
}

/// Pages that copy most of the links of a page shortly before them.
fn crawl(pages: u64, dir: &Path) -> OrientedGraph {
    let mut rows: Vec<Vec<u64>> = vec![vec![]];
    for page in 1..pages {
        let draw = |i: u64| mix(page << 8 | i);
        let model = &rows[(page - 1).saturating_sub(draw(255) % 16) as usize];
        let row = (0..4 + draw(254) % 28).map(|i| match draw(i) % 100 {
            0..75 if !model.is_empty() => model[draw(128 + i) as usize % model.len()],
            0..97 => page - 1 - draw(128 + i) % page.min(40),
            _ => draw(128 + i) % page,
        });
        rows.push(row.collect());
    }
    let arcs: Vec<_> = (0..).zip(rows).flat_map(|(page, row)| row.into_iter().map(move |head| (page, head))).collect();
    oriented(&arcs, dir, Bytes::mib(64))
}

fn graphs(dir: &Path) -> Vec<OrientedGraph> {
    let stars = Family::Stars { leaves: parse_leaves("3-4-5-9").unwrap(), kind: StarKind::B1k };
    let mut graphs: Vec<_> = [
        Family::GapKron { scale: 12 },
        Family::GapUrand { scale: 11 },
        Family::KingsGrid { rows: 60, columns: 90 },
        Family::RingLattice { vertices: 5000, k: 4 },
        stars,
    ]
    .iter()
    .map(|family| graph_of(family, dir))
    .collect();
    graphs.push(crawl(4000, dir));
    graphs
}

/// One random way to plan a graph: the plan is kept to.
fn check(case: u64, graphs: &[OrientedGraph]) {
    let draws = &mut Draws(case << 32);
    let graph = &graphs[case as usize % graphs.len()];
    let n = graph.vertices();
    let prune = [Prune::None, Prune::ZeroIndegree, Prune::Direct][draws.below(3) as usize];
    let counts = draws.below(2) == 0;
    let whole = Cpu::new(Bytes::ZERO, n).terms().resident(u64::from(n), graph.edges());
    let least = floor(graph, &if counts { Cpu::new(Bytes::ZERO, n).terms() } else { Holder::default().terms() });
    let device = draws.between(least.device, whole + whole);
    let mut backend: Box<dyn Backend> =
        if counts { Box::new(Cpu::new(device.saturating_sub(least.device), n)) } else { Box::new(Holder::default()) };
    let terms = backend.terms();
    let room = device.saturating_sub(terms.overhead(n)).saturating_sub(least.device);
    let frame = (draws.below(2) == 0).then(|| draws.between(least.frame, least.frame + Bytes(room.get() / 2)));
    let parts = (draws.below(3) == 0).then(|| 1 + draws.below(90) as u32);
    let way = draws.below(3);
    let limits = Limits {
        whole: None,
        spills_whole: true,
        device,
        device_from: BudgetFrom::Device,
        largest_frame: Bytes::mib(256),
        frame,
        prune,
        parts: 1,
        frames: FrameKind::Own,
        shared: Bytes::ZERO,
        rates: Rates::new(2, 0),
    };
    let cut = Cut { graph, way, parts };
    let told = format!("case {case}: {prune}, way {way}, parts {parts:?}, device {device}, frame {frame:?}");
    let Plan { assignment, frame_limit, sizes, predictions, .. } =
        plan(graph, &cut, &terms, limits, &Control::silent()).unwrap_or_else(|error| panic!("{told}: {error}"));
    // Of more partitions than that, some are only known by their sizes.
    let exact = assignment.parts() <= 128;
    let (mut planned, mut actual) = ([0; 4], [0; 4]);
    for (part, (size, predicted)) in (0..).zip(sizes.iter().zip(&predictions)) {
        let told = format!("{told}: part {part} of {}, {predicted:?}", assignment.parts());
        let (spill, counted) =
            build_and_pass(graph, assignment.locals(part), (prune, frame_limit), size, backend.as_mut());
        assert!(counted.peak <= device && predicted.peak <= device, "{told}: {} of {device}", counted.peak);
        let found = [counted.streamed, Bytes(counted.frames), counted.largest_frame];
        if exact {
            assert_eq!(found, [predicted.stream, Bytes(predicted.frames), predicted.largest_frame], "{told}");
            assert!(near(predicted.peak.get(), counted.peak.get()), "{told}: {}", counted.peak);
        }
        let sums = [
            (predicted.spill, Bytes(spill.bytes)),
            (predicted.stream, counted.streamed),
            (Bytes(predicted.frames), Bytes(counted.frames)),
            (predicted.peak, counted.peak),
        ];
        for (i, (p, a)) in sums.into_iter().enumerate() {
            planned[i] += p.get();
            actual[i] += a.get();
        }
    }
    for (i, what) in ["spill", "stream", "frames", "peak"].into_iter().enumerate() {
        assert!(near(planned[i], actual[i]), "{told}: {what} {} planned, {} found", planned[i], actual[i]);
    }
}

#[test]
fn two_hundred_random_plans_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let graphs = graphs(dir.path());
    (0..200).into_par_iter().for_each(|case| check(case, &graphs));
}

/// Larger graphs, of which one byte in eight is sampled: spills are estimated, and frames laid out from some of the rows.
#[test]
fn a_sample_tells_what_is_spilled() {
    let dir = tempfile::tempdir().unwrap();
    let control = Control::silent();
    let share = Some(Share { one_in: 8, least: Bytes::ZERO });
    let kron = graph_of(&Family::GapKron { scale: 17 }, dir.path());
    let crawl = crawl(120_000, dir.path());
    for (graph, way, parts, prune) in [
        (&kron, 0, 4, Prune::Direct),
        (&kron, 2, 3, Prune::ZeroIndegree),
        (&crawl, 1, 6, Prune::Direct),
        (&crawl, 0, 2, Prune::None),
    ] {
        let told = format!("{} edges, way {way}, {parts} parts, {prune}", graph.edges());
        let assignment = Cut { graph, way, parts: None }.assign(parts).unwrap();
        let limit = Bytes::mib(1);
        let limits = Limits {
            whole: None,
            spills_whole: true,
            device: Bytes::mib(1 << 10),
            device_from: BudgetFrom::Device,
            largest_frame: limit,
            frame: Some(limit),
            prune,
            parts: 1,
            frames: FrameKind::Own,
            shared: Bytes::ZERO,
            rates: Rates::new(2, 0),
        };
        let mut holder = Holder::default();
        let planned = sized(graph, &assignment, &holder.terms(), (&limits, limit), share, &control).unwrap();
        let (mut spills, mut frames) = ([0; 2], [0; 2]);
        for (part, (size, predicted)) in (0..).zip(planned.sizes.iter().zip(&planned.predictions)) {
            let (spill, counted) = build_and_pass(graph, assignment.locals(part), (prune, limit), size, &mut holder);
            let told = format!("{told}: part {part}: {predicted:?}");
            assert!(near(predicted.peak.get(), counted.peak.get()), "{told}: peak {}", counted.peak);
            assert!(near(predicted.stream.get(), counted.streamed.get()), "{told}: stream {}", counted.streamed);
            spills = [spills[0] + predicted.spill.get(), spills[1] + spill.bytes];
            frames = [frames[0] + predicted.frames, frames[1] + counted.frames];
        }
        assert!(near(frames[0], frames[1]), "{told}: frames {frames:?}");
        assert!(near(spills[0], spills[1]), "{told}: spills {spills:?}");
    }
}
