//! Planning: how many partitions, how large their frames, what each will take, and whether it fits.
//!
//! Enters: an oriented graph, how to assign its vertices, what the counting method takes and the budget. Leaves: a
//! [`Plan`] whose partitions all fit, before any is built.
//!
//! ```text
//! device bytes = resident arcs x 4 + locals x (number, offset, cursor) + 2 x frame + tables of the method
//! ```
//!
//! A partition is never loaded whole: its resident section stays and the proxies' rows pass in frames, so only the
//! resident section depends on the number of partitions. Any subset of a part's locals is a valid partition, so a part
//! that is too big is split. The floor is a partition of one vertex, the one with the longest row, which must also fit
//! into each of two frames; every graph fits every budget above it.
//!
//! Frames are the partitions' own or shared by all ([`frames`] says which are faster); the parts are the same.

mod again;
mod ahead;
pub mod auto;
pub mod choose;
pub mod frames;
pub mod predict;
pub mod sample;
pub mod shared;
mod sized;
mod space;
mod walk;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::Serialize;

use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::Terms;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::FrameKind;
use crate::partition::assignment::Assignment;
use crate::partition::prune::Prune;
use crate::partition::section::smallest_frame_limit;
use crate::partition::sizes::PartitionSize;
use crate::shared::Frames;
pub use again::{Settled, again};
use frames::{Estimates, Rates};
use predict::Prediction;
use sample::Share;
pub use sized::{Sized, sized};
use space::Space;

/// The largest frame that is chosen by itself: larger ones are no faster to pass.
const LARGEST_FRAME: Bytes = Bytes::mib(256);

/// Where a device's budget comes from: the setting that raises it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetFrom {
    /// Its own setting, or what is free on it.
    Device,
    /// Half of the host's budget, where the host counts.
    Host,
}

impl BudgetFrom {
    /// What to do for a budget of at least `bytes`.
    fn advice(self, bytes: Bytes) -> String {
        match self {
            Self::Device => format!("raise --device-memory to {} or more", bytes.get()),
            Self::Host => {
                format!("raise --host-memory to {} or more, of which counting may take half", 2 * bytes.get())
            }
        }
    }

    /// The setting.
    fn flag(self) -> &'static str {
        match self {
            Self::Device => "--device-memory",
            Self::Host => "--host-memory",
        }
    }
}

/// What a plan must keep to.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of the device.
    pub device: Bytes,
    /// Where they come from.
    pub device_from: BudgetFrom,
    /// The largest frame that is chosen where the user chose none: two of them pass through the host's memory.
    pub largest_frame: Bytes,
    /// Bytes of a frame, where the user chose them.
    pub frame: Option<Bytes>,
    /// What is pruned.
    pub prune: Prune,
    /// The least number of partitions where it is free: one for each device.
    pub parts: u32,
    /// Which frames pass.
    pub frames: FrameKind,
    /// Bytes of the host's memory that the rows of shared frames may take.
    pub shared: Bytes,
    /// What the machine does in a second.
    pub rates: Rates,
    /// The name of the method, where it needs the whole graph as one partition.
    pub whole: Option<&'static str>,
    /// Whether one partition that is the whole graph is spilled: else nobody asks what its spill takes.
    pub spills_whole: bool,
}

impl Limits {
    /// How much is encoded to know the spills of so many parts.
    fn share(&self, parts: u32) -> Option<Share> {
        (parts > 1 || self.spills_whole).then(Share::default)
    }
}

/// The shared frames of a plan.
pub struct SharedPlan {
    /// The rows, cut.
    pub frames: Frames,
    /// Whether they fit the host's memory.
    pub in_memory: bool,
}

/// Assigns vertices to so many parts.
pub trait Assign: Sync {
    /// The assignment to `parts` parts.
    ///
    /// # Errors
    /// What the partitioner reports.
    fn assign(&self, parts: u32) -> Result<Assignment>;

    /// Whether asking again for another number of parts is cheap (METIS and files are asked once; what does not fit
    /// is split).
    fn is_cheap(&self) -> bool;

    /// The number of parts, where it is given and not to be chosen.
    fn parts(&self) -> Option<u32>;
}

/// One part, for a method that needs the whole graph.
struct Undivided<'a>(&'a dyn Assign);

impl<'a> Undivided<'a> {
    /// # Errors
    /// [`crate::error::Kind::Usage`] when more parts were asked for.
    fn new(assign: &'a dyn Assign, method: &str) -> Result<Self> {
        match assign.parts() {
            Some(parts) if parts > 1 => {
                Err(Error::usage(format!("{parts} parts for method {method}, which counts whole graphs only"))
                    .advice("leave --parts out or take another --method"))
            }
            _ => Ok(Self(assign)),
        }
    }
}

impl Assign for Undivided<'_> {
    fn assign(&self, parts: u32) -> Result<Assignment> {
        self.0.assign(parts)
    }

    fn is_cheap(&self) -> bool {
        self.0.is_cheap()
    }

    fn parts(&self) -> Option<u32> {
        Some(1)
    }
}

/// Partitions that fit, and what each will take.
pub struct Plan {
    /// Who is local where.
    pub assignment: Assignment,
    /// The most bytes of a frame.
    pub frame_limit: Bytes,
    /// For each partition its sizes.
    pub sizes: Vec<PartitionSize>,
    /// For each partition what it will take.
    pub predictions: Vec<Prediction>,
    /// How long assigning took, and how long sizing the partitions.
    pub times: [Duration; 2],
    /// Parts before those that did not fit were split.
    pub parts_asked: u32,
    /// The shared frames, where these pass and not the partitions' own.
    pub shared: Option<SharedPlan>,
    /// What either kind would take, where there was a choice.
    pub estimates: Option<Estimates>,
}

impl Plan {
    /// What later starts on the same run directory keep to, besides the assignment.
    pub fn settled(&self) -> Settled {
        Settled { parts: self.assignment.parts(), frame_limit: self.frame_limit, frames: self.frames() }
    }

    /// Which frames pass: never `auto`.
    pub fn frames(&self) -> FrameKind {
        if self.shared.is_some() { FrameKind::Shared } else { FrameKind::Own }
    }
}

/// The smallest budgets that work.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Floor {
    /// The smallest device budget.
    pub device: Bytes,
    /// The smallest frame.
    pub frame: Bytes,
}

/// The floor of a graph under a method.
pub fn floor(graph: &OrientedGraph, terms: &Terms) -> Floor {
    let longest = longest_row(graph);
    let frame = smallest_frame_limit(longest);
    let least = Terms { workers: 1, ..*terms };
    let frames = Bytes(frame.get() * space::passing(terms));
    let device = least.resident(1, u64::from(longest)) + least.overhead(graph.vertices()) + frames;
    Floor { device, frame }
}

fn longest_row(graph: &OrientedGraph) -> u32 {
    graph.offsets().windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0) as u32
}

/// Plans.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when the budget or the frame is below the floor, which the message names; what the
/// partitioner reports.
pub fn plan(
    graph: &OrientedGraph,
    assign: &dyn Assign,
    terms: &Terms,
    limits: Limits,
    control: &Control,
) -> Result<Plan> {
    let Floor { device: least, frame: least_frame } = floor(graph, terms);
    let Limits { device, largest_frame, frame, parts: least_parts, whole: whole_for, .. } = limits;
    if device < least {
        return Err(Error::resource(format!("a device budget of {device} ({} bytes)", device.get()))
            .expected(format!("at least {} bytes ({least}) for this graph and method", least.get()))
            .advice(limits.device_from.advice(least)));
    }
    if let Some(frame) = frame.filter(|&frame| frame < least_frame || frame > Bytes(8 << 30)) {
        return Err(Error::resource(format!("frames of {} bytes", frame.get()))
            .expected(format!("between {} bytes, which hold the longest row, and 8 GiB", least_frame.get()))
            .advice("change --frame-bytes or leave it out"));
    }
    let weight = |id: u32| terms.resident(1, u64::from(graph.out_degree(graph.rank_of(id)))).get();
    let size = (graph.vertices(), graph.edges(), longest_row(graph));
    let space = Space::new(size, terms, device, largest_frame);
    let (whole, whole_fits, overhead) = (space.whole, space.whole_fits(), space.overhead);
    let frame_limit = frame.unwrap_or(space.frame);
    if frame_limit > space.for_frame {
        return Err(Error::resource(format!("two frames of {frame_limit} under a device budget of {device}"))
            .expected(format!("frames of at most {} bytes", space.for_frame.get()))
            .advice(format!("lower --frame-bytes or raise {}", limits.device_from.flag())));
    }
    let most = space.most(frame_limit);
    let assign: &dyn Assign = match whole_for {
        None => assign,
        Some(method) if whole_fits => &Undivided::new(assign, method)?,
        Some(method) => {
            let needed = whole + overhead;
            return Err(Error::resource(format!(
                "method {method} counts whole graphs only; this one takes {} bytes ({needed}) at once, and the device budget is \
                 {device}",
                needed.get(),
            ))
            .advice(format!("{}, or take a method that counts partitions", limits.device_from.advice(needed))));
        }
    };

    let start = Instant::now();
    let assignment = match assign.parts() {
        Some(parts) => assign.assign(parts)?,
        None if whole_fits && least_parts <= 1 => assign.assign(1)?,
        None => fewest(assign, (whole, most), least_parts, &weight, control)?,
    };
    let parts_asked = assignment.parts();
    let bound = if assignment.parts() == 1 && whole_fits { whole } else { most };
    let assignment = assignment.split(bound.get(), weight);
    let assigning = start.elapsed();
    let start = Instant::now();
    let share = limits.share(assignment.parts());
    let sized = sized(graph, &assignment, terms, (&limits, frame_limit), share, control)?;
    let Sized { sizes, predictions, shared, estimates } = sized;
    let times = [assigning, start.elapsed()];
    Ok(Plan { assignment, frame_limit, sizes, predictions, times, parts_asked, shared, estimates })
}

/// The fewest parts whose resident sections fit `most`; asks a cheap partitioner until they do.
fn fewest(
    assign: &dyn Assign,
    (whole, most): (Bytes, Bytes),
    least: u32,
    weight: &(impl Fn(u32) -> u64 + Sync),
    control: &Control,
) -> Result<Assignment> {
    let mut parts = whole.get().div_ceil(most.get().max(1)).clamp(u64::from(least.max(1)), u64::from(u32::MAX)) as u32;
    loop {
        control.check()?;
        let assignment = assign.assign(parts)?;
        let weigh = |part| assignment.locals(part).par_iter().map(|&id| weight(id)).sum::<u64>();
        let heaviest = (0..assignment.parts()).into_par_iter().map(weigh).max().unwrap_or(0);
        if heaviest <= most.get() || !assign.is_cheap() {
            return Ok(assignment);
        }
        // Parts shrink about in proportion; past a few thousand, splitting the heavy ones is as good.
        let next = (u64::from(parts) * heaviest).div_ceil(most.get()).max(u64::from(parts) + 1);
        if next > 4096 {
            return Ok(assignment);
        }
        parts = next as u32;
    }
}
