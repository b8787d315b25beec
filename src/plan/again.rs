//! A plan of an earlier start, under the terms and budgets of this one.
//!
//! Enters: the assignment, and what else was settled then. Leaves: the same partitions, what each takes now, or the budget
//! that they need. Nothing is split or joined, or results of partitions that were counted would be lost.

use std::time::{Duration, Instant};

use super::{Limits, Plan, Sized, sized};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::Terms;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;
use crate::job::FrameKind;
use crate::partition::assignment::Assignment;

/// What a plan settled besides the assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The number of parts.
    pub parts: u32,
    /// The most bytes of a frame.
    pub frame_limit: Bytes,
    /// Which frames pass: never `auto`.
    pub frames: FrameKind,
}

/// Plans `assignment` as it was settled.
///
/// # Errors
/// [`crate::error::Kind::Resource`] when a partition does not fit; when stopped.
pub fn again(
    graph: &OrientedGraph,
    assignment: Assignment,
    settled: Settled,
    terms: &Terms,
    limits: Limits,
    control: &Control,
) -> Result<Plan> {
    let start = Instant::now();
    let Settled { frame_limit, frames, .. } = settled;
    let limits = Limits { frames, ..limits };
    let Sized { sizes, predictions, shared, estimates } =
        sized(graph, &assignment, terms, (&limits, frame_limit), limits.share(assignment.parts()), control)?;
    let largest = predictions.iter().map(|predicted| predicted.peak).max().unwrap_or_default();
    if largest > limits.device {
        // A quarter more than is missing: a method's tables may grow with the budget.
        let needed = Bytes(limits.device.get() + (largest - limits.device).get() * 5 / 4);
        return Err(Error::resource(format!("the largest partition of the recorded plan takes {largest}"))
            .expected(format!("at most {}", limits.device))
            .advice(format!("{}, or start anew in another --run-dir", limits.device_from.advice(needed))));
    }
    let (parts_asked, times) = (assignment.parts(), [Duration::ZERO, start.elapsed()]);
    Ok(Plan { assignment, frame_limit, sizes, predictions, times, parts_asked, shared, estimates })
}
