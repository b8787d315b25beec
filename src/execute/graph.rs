//! From a job's input to its oriented graph.

use std::path::Path;

use super::setup::Setup;
use crate::cache::Origin;
use crate::clean::most_ids;
use crate::graph::OrientedGraph;
use crate::job::{Job, Prepare};
use crate::prepare::device::is_worthwhile;
use crate::prepare::{OnDevice, Preparation};
use crate::report::Stage;
use trimill_input::Source;
use trimill_input::arcs::{ArcSource, EdgeSource, checked};
use trimill_system::bytes::Bytes;
use trimill_system::control::Control;
use trimill_system::disk;
use trimill_system::error::{Kind, Result};
use trimill_system::lock;
use trimill_system::mapped::trim_heap;
use trimill_system::parallel;

/// Bytes of a device that are enough for each arc of an input, for each id, and in addition, to prepare and count its graph in one piece.
/// What counting takes is known exactly once the graph is there.
const PER_ARC: u64 = 64;
const PER_ID: u64 = 64;
const FIXED: Bytes = Bytes::mib(1 << 10);

/// An open input, and what identifies it.
pub struct Input<'a> {
    source: Box<dyn ArcSource + Send + 'a>,
    bytes: Bytes,
    /// None where the input is not a file.
    pub origin: Option<Origin>,
}

impl<'a> Input<'a> {
    /// Opens the input of `job`: detects formats and reads headers.
    ///
    /// # Errors
    /// Errors in the files; when stopped.
    pub fn open(job: &Job, setup: &Setup, control: &Control) -> Result<Self> {
        parallel::within(&setup.pool, || {
            let source = Source::open_within(&job.inputs, job.reading(), &setup.work_dir, setup.preparing, control)?;
            let (format, header, columns) = (source.format(), source.header(), source.columns().cloned());
            let origin = source.identity()?.map(|identity| Origin { format, header, columns, identity });
            let bytes = Bytes(source.bytes());
            Ok(Self { source: Box::new(source), bytes, origin })
        })
    }

    /// `edges`, or if there are none the input of `job`.
    ///
    /// # Errors
    /// As [`Self::open`]; impossibly many edges.
    pub fn of(edges: Option<&'a dyn EdgeSource>, job: &Job, setup: &Setup, control: &Control) -> Result<Self> {
        match edges {
            Some(edges) => {
                let edges = checked(edges)?;
                Ok(Self { source: Box::new(edges), bytes: Bytes(edges.bytes()), origin: None })
            }
            None => Self::open(job, setup, control),
        }
    }

    /// An estimate of the most bytes that a device needs to prepare and count this graph, if its ids are not sparse.
    pub fn device_bytes_at_most(&self) -> Bytes {
        let arcs = self.source.arcs_at_most();
        let ids = self.source.declared_vertices().unwrap_or_else(|| most_ids(arcs));
        Bytes(PER_ARC.saturating_mul(arcs).saturating_add(PER_ID.saturating_mul(ids))) + FIXED
    }

    /// Reads, cleans and orients the input, or takes the graph from the cache. Also returns what identifies the input; where
    /// there is a cache, a hash of the contents is part of it.
    ///
    /// # Errors
    /// Errors in the input; directories that cannot be written.
    pub fn graph(
        &self,
        setup: &Setup,
        control: &Control,
        stages: &mut Vec<Stage>,
    ) -> Result<(OrientedGraph, Option<Origin>)> {
        parallel::within(&setup.pool, || {
            let mut origin = self.origin.clone();
            let (bytes, cache) = (self.bytes, setup.cache.as_ref());
            let space = setup.workspace();
            let kept = origin.as_mut().filter(|_| cache.is_some());
            let mut gpus = lock(&setup.gpus);
            let device = gpus.as_mut().and_then(|device| match device.prepare {
                Prepare::Gpu => Some(OnDevice { device, required: true }),
                Prepare::Auto if is_worthwhile(self.source.arcs_at_most(), rayon::current_num_threads()) => {
                    Some(OnDevice { device, required: false })
                }
                _ => None,
            });
            let source: &dyn ArcSource = &*self.source;
            let preparation = Preparation { device, source, input_bytes: bytes, origin: kept, space, control };
            let graph = preparation.prepare(cache, stages)?;
            trim_heap();
            Ok((graph, origin))
        })
    }
}

/// Removes a graph file (`path`) that turned out to be damaged when its rows were read, so that the next start makes it again.
pub(super) fn unless_graph_damaged<T>(outcome: Result<T>, path: Option<&Path>) -> Result<T> {
    outcome.map_err(|error| match path {
        Some(path) if error.kind() == Kind::Data && error.path() == Some(path) && disk::remove(path).is_ok() => {
            error.advice("it was removed: start again, and it is made again")
        }
        _ => error,
    })
}
