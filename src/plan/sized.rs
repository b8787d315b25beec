//! What the parts of an assignment take, with the frames that were asked for or that are faster.

use super::ahead::overhead_of_whole;
use super::frames::{self, Estimates};
use super::predict::{Layout, Prediction, predict};
use super::sample::{Sampler, Share};
use super::shared::Shared;
use super::{Limits, SharedPlan, shared};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::{Terms, Wish};
use crate::error::Result;
use crate::graph::OrientedGraph;
use crate::job::FrameKind;
use crate::partition::assignment::Assignment;
use crate::partition::section::ResidentSize;
use crate::partition::sizes::{PartitionSize, sizes, sizes_and_look};
use crate::shared::Frames;

/// What the parts of an assignment take with the frames that pass.
pub struct Sized {
    /// For each partition its sizes.
    pub sizes: Vec<PartitionSize>,
    /// For each partition what it will take.
    pub predictions: Vec<Prediction>,
    /// The shared frames, where these pass.
    pub shared: Option<SharedPlan>,
    /// What either kind would take, where there was a choice.
    pub estimates: Option<Estimates>,
}

/// Sizes the parts of an assignment, with own or shared frames of at most `frame_limit`. One part needs neither. Own
/// frames take readings of the graph to be sized; that is left out where shared ones are faster whatever the outcome. Of own
/// frames a sample is taken, of such a share, or they are taken to be even and their spills not compressed.
///
/// # Errors
/// Only when stopped.
pub fn sized(
    graph: &OrientedGraph,
    assignment: &Assignment,
    terms: &Terms,
    (limits, frame_limit): (&Limits, Bytes),
    sample: Option<Share>,
    control: &Control,
) -> Result<Sized> {
    let (n, m, rates) = (graph.vertices(), graph.edges(), &limits.rates);
    let own = || -> Result<(_, Vec<_>)> {
        let (sizes, layouts) = match sample {
            Some(share) => {
                let mut sampler = Sampler::new(assignment.parts(), frame_limit, share, terms.by_rows, control);
                let sizes = sizes_and_look(graph, assignment, limits.prune, Some(&mut sampler), control)?;
                let layouts = sampler.layouts(&sizes);
                (sizes, layouts)
            }
            None => {
                let sizes = sizes(graph, assignment, limits.prune, control)?;
                // As one partition, rows are where they will be, so tables are known without a sample.
                let tables = terms.by_rows.filter(|_| assignment.parts() == 1);
                let overhead = tables.map(|tables| overhead_of_whole(graph, &tables));
                let layout = |size| Layout { overhead, ..Layout::rough(size, frame_limit) };
                let layouts = sizes.iter().map(layout).collect();
                (sizes, layouts)
            }
        };
        let mut predictions: Vec<_> =
            sizes.iter().zip(&layouts).map(|(size, layout)| predict(size, terms, layout)).collect();
        for (size, predicted) in sizes.iter().zip(&mut predictions) {
            wish(predicted, size.resident_arcs, (size.locals + size.proxies_kept) as u32, terms, limits.device);
        }
        Ok((sizes, predictions))
    };
    if limits.frames == FrameKind::Own || assignment.parts() == 1 {
        let (sizes, predictions) = own()?;
        return Ok(Sized { sizes, predictions, shared: None, estimates: None });
    }
    let frames = Frames::new(graph, frame_limit);
    let in_memory = shared::fits(graph, &frames, limits.shared);
    let of_shared = |tables| shared::predictions(graph, assignment, &frames, terms, tables);
    let mut estimates = None;
    if limits.frames == FrameKind::Auto {
        let (sizes, predictions): (Vec<_>, Vec<_>) =
            of_shared(false).into_iter().map(|shared| (shared.size, shared.prediction)).unzip();
        let shared = frames::shared(rates, m, &sizes, &predictions, in_memory);
        let mut found = Estimates { own: frames::own_at_least(rates, n, m), sized: false, shared, in_memory };
        if shared > found.own {
            let (sizes, predictions) = own()?;
            found = Estimates { own: frames::own_sized(rates, &sizes, &predictions), sized: true, ..found };
            if found.own < shared {
                return Ok(Sized { sizes, predictions, shared: None, estimates: Some(found) });
            }
        }
        estimates = Some(found);
    }
    let taken = |shared: Shared| {
        let Shared { size, mut prediction, resident, numbered } = shared;
        let wish = Wish { resident, numbered, frame: prediction.largest_frame };
        prediction.peak = terms.taken(prediction.peak, limits.device, wish);
        (size, prediction)
    };
    let (sizes, predictions) = of_shared(sample.is_some()).into_iter().map(taken).unzip();
    Ok(Sized { sizes, predictions, shared: Some(SharedPlan { frames, in_memory }), estimates })
}

/// Makes the peak what a method takes that takes more where there is more.
fn wish(predicted: &mut Prediction, arcs: u64, numbered: u32, terms: &Terms, budget: Bytes) {
    // Locals that start no triangle may be left out.
    let locals = (predicted.resident.get() - terms.per_resident_arc * arcs) / terms.per_local.max(1);
    let resident = ResidentSize { locals, arcs };
    predicted.peak = terms.taken(predicted.peak, budget, Wish { resident, numbered, frame: predicted.largest_frame });
}
