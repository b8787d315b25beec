//! From an input to its oriented graph: cached, or cleaned and oriented now. Only if the input is unchanged
//! once all is read, its graph is cached, with a hash of the contents.

mod collect;
pub mod device;
mod device_blocks;
mod runs;
pub mod starting;

use std::time::Instant;

use crate::cache::{Cache, Origin};
use crate::clean::{self, Workspace};
use crate::directions::DoubledGraph;
use crate::names;
use crate::orient::rows::orient_rows;
use crate::orient::{Destination, MadeGraph, orient};
use crate::report::Stage;
use device::{PreparedOnDevice, ReadOnDevice};
use starting::{StartingDevice, Stop};
use trimill_graph::OrientedGraph;
use trimill_graph::file::open_temporary;
use trimill_input::arcs::ArcSource;
use trimill_system::{Bytes, Control, Error, Kind, Result};

/// Prepares a graph on the CPU, without a cache.
#[cfg(feature = "testing")]
pub fn prepare(
    source: &dyn ArcSource,
    space: Workspace<'_>,
    control: &Control,
    stages: &mut Vec<Stage>,
) -> Result<OrientedGraph> {
    Preparation { device: None, source, origin: None, doubled: None, space, control }.prepare(None, stages)
}

/// The graph of a list of arcs, for unit tests. Its file is read by its handle, so its directory may be gone.
#[cfg(test)]
pub(crate) fn graph_of(arcs: Vec<(u64, u64)>) -> OrientedGraph {
    let (source, dir) = (trimill_input::arcs::ArcList { arcs, declared: None }, tempfile::tempdir().unwrap());
    let space = Workspace::new(trimill_system::memory::HostMemory::new(Bytes::mib(256), 2), dir.path());
    prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap()
}

pub struct OnDevice<'a> {
    pub device: &'a mut (dyn StartingDevice + 'a),
    /// Whether the job fails if the device cannot prepare the graph; else the CPU does.
    pub required: bool,
}

pub struct Preparation<'a, 'd> {
    pub device: Option<OnDevice<'d>>,
    pub source: &'a dyn ArcSource,
    /// Identifies the input, and gets the hashes of its files' contents. Without it the cache is not used.
    pub origin: Option<&'a mut Origin>,
    /// If set, makes this doubled graph; `source` is then the input of the graph that it doubles.
    pub doubled: Option<DoubledGraph<'a>>,
    pub space: Workspace<'a>,
    pub control: &'a Control,
}

impl Preparation<'_, '_> {
    /// Takes the graph from the cache, or cleans and orients the input, on a device if there is one. Appends the stages that ran to `stages`.
    pub fn prepare(mut self, cache: Option<&Cache>, stages: &mut Vec<Stage>) -> Result<OrientedGraph> {
        let Some((cache, origin)) = cache.zip(self.origin.as_deref_mut()) else { return self.graph(None, stages) };
        let start = Instant::now();
        if let Some(graph) = cache.find(origin, self.control)? {
            if let Some(path) = graph.path() {
                tracing::info!("the graph is in the cache: {}", path.display());
            }
            stages.push(Stage::since("cached", start, graph.csr_bytes(), Bytes::ZERO, self.control));
            return Ok(graph);
        }
        match cache.check_writable() {
            Err(error) if cache.continues_without(&error) => return self.graph(None, stages),
            writable => writable?,
        }
        let before = stages.len();
        match self.graph(Some(cache), stages) {
            // Work files have no names, so their errors name the folder. Without the cache, they would not fit either.
            Err(error) if error.path() != Some(self.space.dir) && cache.continues_without(&error) => {
                stages.truncate(before);
                self.graph(None, stages)
            }
            other => other,
        }
    }

    fn graph(&mut self, cache: Option<&Cache>, stages: &mut Vec<Stage>) -> Result<OrientedGraph> {
        let Self { source, space, control, .. } = *self;
        let place = match cache {
            Some(cache) => Destination { option: cache.option(), ..Destination::file(cache.dir()) },
            None => Destination::memory(space.graph, space.dir),
        };
        if let Some(of) = self.doubled {
            let made = of.make(source, place, &mut || self.finish_reading(), control);
            let (graph, _) = self.made(made.map_err(|error| self.prefer_changed(error))?, cache)?;
            return Ok(graph);
        }
        if !source.facts().has_names {
            return self.graph_at(place, cache, stages);
        }
        let start = Instant::now();
        let numbered = names::number(source, space, control).map_err(|error| self.prefer_changed(error))?;
        stages.push(Stage::since("names", start, Bytes(source.bytes()), numbered.bytes_written(), control));
        let place = Destination { names: Some(numbered.names()), ..place };
        let (device, origin) = (self.device.take(), self.origin.as_deref_mut());
        let mut of_numbers = Preparation { device, source: &numbered, origin, doubled: None, space, control };
        let graph = of_numbers.graph_at(place, cache, stages);
        // Kept to make the graph again without the cache, if using the cache failed.
        self.device = of_numbers.device;
        graph
    }

    fn graph_at(
        &mut self,
        place: Destination<'_>,
        cache: Option<&Cache>,
        stages: &mut Vec<Stage>,
    ) -> Result<OrientedGraph> {
        let Self { source, space, control, .. } = *self;
        let start = Instant::now();
        // Rows with random access are oriented without sorting arcs, which is faster than a device that cannot hold them all.
        if let Some(prepared) = self.on_device(place, source.facts().has_rows)? {
            return self.prepared(prepared, start, cache, stages);
        }
        let rows = orient_rows(source, &mut || self.finish_reading(), place, space, control);
        if let Some(made) = rows.map_err(|error| self.prefer_changed(error))? {
            let (graph, written) = self.made(made, cache)?;
            stages.push(Stage::since("orient", start, Bytes(source.bytes()), written, control));
            return Ok(graph);
        }
        if source.facts().has_rows
            && let Some(prepared) = self.on_device(place, false)?
        {
            return self.prepared(prepared, start, cache, stages);
        }
        // Time spent on rows that turned out not to be clean counts as reading.
        let looking = start.elapsed();
        control.did_stage_for("input", start, looking);
        let start = Instant::now();
        let read = clean::read(source, space, control).map_err(|error| self.prefer_changed(error))?;
        let (origin, cleaned) = rayon::join(|| self.finish_reading(), || read.clean(space, control));
        let (origin, cleaned) = (origin?, cleaned?);
        let cleaning = start.elapsed().saturating_sub(cleaned.reading);
        control.did_stage_for("input", start, cleaned.reading);
        control.did_stage_for("clean", start + cleaned.reading, cleaning);
        let arcs = Bytes::of::<u64>(cleaned.facts.arcs - cleaned.facts.loops);
        stages.push(Stage::new("input", looking + cleaned.reading, Bytes(source.bytes()), cleaned.bytes_distributed));
        stages.push(Stage::new("clean", cleaning, arcs, cleaned.bytes_written));
        let start = Instant::now();
        let pairs = Bytes::of::<u64>(cleaned.edges);
        let (made, bucket_bytes) = orient(cleaned, &origin, place, space, control)?;
        let (graph, written) = self.made(made, cache)?;
        stages.push(Stage::since("orient", start, pairs, bucket_bytes + written, control));
        Ok(graph)
    }

    fn prepared(
        &self,
        prepared: PreparedOnDevice,
        start: Instant,
        cache: Option<&Cache>,
        stages: &mut Vec<Stage>,
    ) -> Result<OrientedGraph> {
        let PreparedOnDevice { made, arcs, edges, reading, cleaning, orienting } = prepared;
        let (graph, written) = self.made(made, cache)?;
        self.control.did_stage_for("input", start, reading);
        self.control.did_stage_for("clean", start + reading, cleaning);
        self.control.did_stage("orient", start + reading + cleaning);
        stages.push(Stage::new("input", reading, Bytes(self.source.bytes()), Bytes::ZERO));
        stages.push(Stage::new("clean", cleaning, Bytes::of::<u64>(arcs), Bytes::ZERO));
        stages.push(Stage::new("orient", orienting, Bytes::of::<u64>(edges), written));
        Ok(graph)
    }

    /// The graph made by the device. `None`: the CPU must make it; `device_only`: arcs beyond device memory are left to the CPU if it may be used.
    fn on_device(&mut self, place: Destination<'_>, device_only: bool) -> Result<Option<PreparedOnDevice>> {
        let Some(OnDevice { device, required }) = self.device.take() else { return Ok(None) };
        let Self { source, space, control, .. } = *self;
        let device_only = device_only && !required;
        let outcome = ReadOnDevice::read(device, source, space, device_only, control)
            .and_then(|read| read.prepare(&mut || self.finish_reading(), place, control));
        let stopped = match outcome {
            Err(Stop::Unfit(reason)) if !device_only => reason,
            made => {
                // Keeps the device for making the graph again without the cache, if using the cache fails.
                self.device = Some(OnDevice { device, required });
                return match made {
                    Ok(prepared) => Ok(Some(prepared)),
                    Err(Stop::Unfit(_)) => Ok(None),
                    Err(Stop::Failed(error)) => Err(self.prefer_changed(error)),
                };
            }
        };
        // After a stop, runs are not stored, which looks like a failure of the device: reports the stop instead.
        control.check()?;
        if source.facts().is_read_once && source.bytes() > 0 {
            return Err(stopped
                .while_doing("preparing the graph on the GPU")
                .advice("a pipe cannot be read again: use --prepare cpu, or write the arcs to a file"));
        }
        if required {
            return Err(stopped.while_doing("preparing the graph on the GPU").advice("use --prepare auto, or cpu"));
        }
        tracing::info!("the graph is prepared on the CPU: {stopped}");
        Ok(None)
    }

    /// A finished graph, and the bytes written to its file.
    fn made(&self, made: MadeGraph, cache: Option<&Cache>) -> Result<(OrientedGraph, Bytes)> {
        let file = match made {
            MadeGraph::File(file) => file,
            MadeGraph::Memory(graph) => return Ok((*graph, Bytes::ZERO)),
        };
        let written = file.bytes();
        let graph = match cache.zip(self.origin.as_deref()) {
            Some((cache, origin)) => cache.store(origin, file)?,
            None => open_temporary(file)?,
        };
        Ok((graph, written))
    }

    /// Called when all was read: the text of the origin, with the hashes of what was read.
    fn finish_reading(&mut self) -> Result<String> {
        self.source.unchanged()?;
        match &mut self.origin {
            Some(origin) => {
                origin.identity.hash_what_was_read(self.control)?;
                origin.to_text()
            }
            None => Ok(String::new()),
        }
    }

    /// `error`, or an error that says that the input changed, if that explains wrong data.
    fn prefer_changed(&self, error: Error) -> Error {
        match self.source.unchanged() {
            Err(changed) if error.kind() == Kind::Data => changed,
            _ => error,
        }
    }
}
