//! Prepares a graph on a device: the same graph, to the byte, as by [`crate::clean`] and [`crate::orient`]. Arcs are copied to the device while they
//! are read ([`super::collect`]); it sorts them, counts degrees and, once vertices are ranked, makes the bytes of the rows
//! ([`trimill_kernels::prepare`]), which are written as file blocks here.
//!
//! Device memory: 16 bytes an arc and 4 an id ([`trimill_kernels::prepare::needed`]); with less, arcs are kept as sorted runs in host memory or on
//! disk, in 1 to 4 bytes each ([`super::runs`]). Other host memory: degrees and ranks, 8 bytes an id, then 12 a vertex; and buffers.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trimill_kernels::prepare::{DeviceArcs, RankedRows, ids_within};

use super::collect::Collect;
use super::device_blocks::write_all;
use super::runs::EncodedRuns;
use super::starting::{StartingDevice, Stop, unfit};
use crate::clean::ids::ArcFacts;
use crate::clean::workspace::{GraphToPrepare, IdCount, InputForm};
use crate::clean::{Workspace, is_sparse, needs, plain_ids};
use crate::orient::{Destination, MadeGraph, UsedIds, VertexSections, Write, block_starts, make};
use trimill_graph::numbering::{degree_runs, numbers, order};
use trimill_input::MOST_VERTICES;
use trimill_input::arcs::{ArcSource, READ};
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::zeros;
use trimill_system::{Bytes, Error, Result, lock};

/// Arcs that a CPU thread prepares while a device starts.
const MEANWHILE: u64 = 4 << 20;

/// Whether a device prepares `arcs` arcs sooner than `threads` threads, including its start.
pub fn is_worthwhile(arcs: u64, threads: usize) -> bool {
    arcs >= MEANWHILE * threads as u64
}

pub(super) struct PreparedOnDevice {
    pub(super) made: MadeGraph,
    pub(super) arcs: u64,
    pub(super) edges: u64,
    pub(super) reading: Duration,
    pub(super) cleaning: Duration,
    pub(super) orienting: Duration,
}

pub(super) struct ReadOnDevice<'a> {
    device: DeviceArcs<'a>,
    input: ReadInput,
}

impl<'a> ReadOnDevice<'a> {
    /// `device_only`: arcs that its memory does not hold are refused.
    pub(super) fn read(
        device: &'a mut dyn StartingDevice,
        source: &'a dyn ArcSource,
        space: Workspace<'_>,
        device_only: bool,
        control: &Control,
    ) -> Result<Self, Stop> {
        let facts = source.facts();
        if facts.declared_vertices.is_some_and(|n| n > MOST_VERTICES) {
            return Err(unfit("too many vertices"));
        }
        // Arcs of an input that is read once cannot be given to the cores later.
        let fitting_ids = match (facts.is_read_once, device.engine()) {
            (true, None) => return Err(unfit("it cannot be used")),
            (true, Some(engine)) => match ids_within(engine.layout().capacity()) {
                0 => return Err(unfit("too little device memory for arcs whose number is not known")),
                ids => ids,
            },
            (false, _) => u64::MAX,
        };
        let start = Instant::now();
        let left = space.beside(&needs(IdCount::Plain(0), 0, space))?.left;
        let expected = facts.arcs_at_most;
        if !facts.is_read_once {
            let ids = facts.declared_vertices.unwrap_or_default();
            let (form, arcs, edges) = (InputForm::ArcsOnGpu, expected, expected);
            space.expect(&GraphToPrepare { form, ids, arcs, edges, row_bytes: None }, control);
        }
        let beyond = (!device_only).then_some((space, control));
        let mut collect = Collect::new(device, plain_ids(source, left).min(fitting_ids), expected, left.get(), beyond);
        let scanned = source.scan(&collect, control);
        if *collect.refused.get_mut() {
            return Err(scanned.map_or_else(Stop::Unfit, |_| unfit("the device refused an arc")));
        }
        let found = std::mem::take(&mut collect.found).finish(facts, scanned?);
        let (arcs, ids) = (found.arcs, found.ids);
        if ids > 0 && is_sparse(ids - 1, arcs) && !facts.is_read_once {
            return Err(unfit("ids far below the largest are not used"));
        }
        let Ok(shares) = space.beside(&needs(IdCount::Plain(ids), arcs, space)) else {
            return Err(unfit("too little host memory for arrays over ids"));
        };
        collect.keep_within(shares.left, space)?;
        let (runs, left) = (collect.runs.clone(), shares.left);
        let device = collect.finish()?;
        let reading = start.elapsed();
        // The size of a pipe is known only now.
        if facts.is_read_once {
            let graph = GraphToPrepare { form: InputForm::ArcsOnGpu, ids, arcs, edges: arcs, row_bytes: None };
            space.expect_after(READ, &graph, control);
        }
        let input = ReadInput { facts: found, runs, left, reading };
        Ok(Self { device, input })
    }

    /// Makes the graph. `note` is called meanwhile; it returns the identity of the input.
    pub(super) fn prepare(
        self,
        note: &mut (dyn FnMut() -> Result<String> + Send),
        place: Destination<'_>,
        control: &Control,
    ) -> Result<PreparedOnDevice, Stop> {
        let Self { device, input } = self;
        // The input's identity is a hash of its contents, which the CPU computes while the device works.
        let (sent, identity) = sync_channel(1);
        let identity = Mutex::new(identity);
        let missing = || Error::defect("the identity is missing");
        let ((), made) = rayon::join(
            // The sender is moved here, so that nothing waits for it if `note` panics.
            move || {
                // Fails only if the device failed, so that nothing receives it.
                let _ = sent.send(note());
            },
            || {
                let identity = || lock(&identity).recv().unwrap_or_else(|_| Err(missing()));
                make_on(device, &input, identity, place, control)
            },
        );
        made
    }
}

struct ReadInput {
    facts: ArcFacts,
    runs: Option<Arc<EncodedRuns>>,
    /// Host memory besides arrays over ids.
    left: Bytes,
    reading: Duration,
}

/// Host memory that a graph in memory must leave if it takes more than its usual share: counting on GPUs takes less.
const FOR_COUNTING: Bytes = Bytes::mib(if cfg!(feature = "testing") { 1 } else { 4 << 10 });

impl ReadInput {
    /// As `place`, but a graph in memory may take all that is left except its runs and what counting takes.
    fn with_room<'p>(&self, place: Destination<'p>) -> Destination<'p> {
        let runs = self.runs.as_ref().map_or(Bytes::ZERO, |runs| runs.limit.held());
        let room = self.left.saturating_sub(runs).saturating_sub(FOR_COUNTING);
        Destination { memory: place.memory.map(|most| if most > Bytes::ZERO { most.max(room) } else { most }), ..place }
    }
}

/// Makes the graph of the arcs on the device; `identity` is the input's.
fn make_on(
    on_device: DeviceArcs<'_>,
    read: &ReadInput,
    identity: impl FnOnce() -> Result<String>,
    place: Destination<'_>,
    control: &Control,
) -> Result<PreparedOnDevice, Stop> {
    let start = Instant::now();
    let mut edges = on_device.clean(read.facts.ids)?;
    let (count, distinct) = (edges.edges, edges.distinct_arcs);
    control.check()?;
    let cleaning = start.elapsed();

    let start = Instant::now();
    let task = control.task("orient", Some(count), Unit::Arcs);
    let mut of_ids: Vec<u32> = zeros(read.facts.ids as usize);
    edges.degrees(&mut of_ids)?;
    let (used, degrees, rank_of) = (UsedIds::new(&of_ids, None), degree_runs(&of_ids), numbers(&of_ids));
    drop(of_ids);
    let order = order(&rank_of, &used.present);
    let layout = used.layout_of(&read.facts, count, distinct);
    let ranked = start.elapsed();
    let mut rows = RankedRows::new(edges, &rank_of, order.len() as u64)?;
    drop(rank_of);
    let starts = block_starts(&degrees, count);
    control.check()?;
    let sorted = start.elapsed();
    let sections = VertexSections { degrees: &degrees, order, ids: Some(&used) };
    let mut unfit = false;
    let write_rows = |write: &Write<'_>| {
        let written = write_all(&mut rows, &degrees, &starts, write, &task);
        unfit = matches!(written, Err(Stop::Unfit(_)));
        written.map_err(|(Stop::Unfit(error) | Stop::Failed(error))| error)
    };
    let place = read.with_room(place);
    let made = make(place, layout, sections, identity, write_rows);
    let made = made.map_err(|error| if unfit { Stop::Unfit(error) } else { Stop::Failed(error) })?;
    let orienting = start.elapsed();
    tracing::debug!(
        "the device cleaned arcs in {:.3} s, ranked vertices in {:.3} s, sorted rows in {:.3} s; they were written in {:.3} s",
        cleaning.as_secs_f64(),
        ranked.as_secs_f64(),
        (sorted - ranked).as_secs_f64(),
        (orienting - sorted).as_secs_f64()
    );
    let (arcs, reading) = (read.facts.arcs - read.facts.loops, read.reading);
    Ok(PreparedOnDevice { made, arcs, edges: count, reading, cleaning, orienting })
}
