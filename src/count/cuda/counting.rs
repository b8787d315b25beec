//! A partition that a GPU counts, by any method: what the host keeps of it and hands to the method.

use std::time::Duration;

use rayon::ThreadPool;
use trimill_kernels::{GpuCounter, ResidentRun, ResidentSlices, VertexCounters};

use super::into::ArcBounds;
use crate::count::slices::slices;
use crate::count::translated::translated;
use crate::count::{CounterMemory, Detail, DeviceTimes, PartitionCount, PartitionCounter, VertexCounts};
use crate::partition::numbers::NumberRuns;
use crate::partition::section::{Resident, RowBlockView};
use trimill_system::bytes::Bytes;
use trimill_system::error::{Error, Result};
use trimill_system::mapped::zeros;
use trimill_system::parallel;

impl ResidentRun for Resident {
    fn slices(&self) -> ResidentSlices<'_> {
        let compact = self.compact();
        let successors = if compact.is_some() { &[] } else { &self.successors[..] };
        ResidentSlices { offsets: &self.offsets, successors, compact }
    }
}

/// A partition that a GPU counts.
pub(super) struct CudaCounter<'a> {
    counter: Box<dyn GpuCounter<Resident> + 'a>,
    /// The locals' numbers so far: all that the host keeps of the resident section.
    numbers: NumberRuns,
    /// Arcs of the resident section so far.
    arcs: u64,
    /// How many of them lead into each range of numbers, for a method that needs this.
    into: Option<ArcBounds>,
    /// Whether the device counted these itself, in rows that it unpacked, and its counts were not fetched yet.
    binned: bool,
    /// What is set apart on the device in addition to what the method takes.
    apart: Bytes,
    /// The counters of vertices, where they are wanted.
    vertices: Option<VertexCounters>,
}

impl<'a> CudaCounter<'a> {
    /// `arcs_into`: the number of locals and proxies, if the method needs to know how many arcs lead into a range of them.
    pub(super) fn new(
        counter: Box<dyn GpuCounter<Resident> + 'a>,
        arcs_into: Option<u32>,
        apart: Bytes,
        detail: Detail,
    ) -> Self {
        let into = arcs_into.map(ArcBounds::new);
        let vertices = match detail {
            Detail::Vertices(counters) => Some(counters),
            Detail::Total | Detail::Edges => None,
        };
        Self { counter, numbers: NumberRuns::default(), arcs: 0, into, binned: false, apart, vertices }
    }
}

impl PartitionCounter for CudaCounter<'_> {
    fn resident(&mut self, mut run: Resident, pool: &ThreadPool) -> Result<Option<Resident>> {
        let base = self.arcs;
        self.arcs += run.size().arcs;
        if run.offsets.first().is_some_and(|&first| first != base) {
            // In this thread only, since those of the pool are reading the next run.
            run.offsets.iter_mut().for_each(|offset| *offset += base);
        }
        self.numbers.add(&run.numbers);
        match &mut self.into {
            Some(_) if run.compact().is_some() => self.binned = true,
            Some(into) => parallel::within(pool, || into.add(&run.successors)),
            None => {}
        }
        self.counter.resident(run).map_err(translated)
    }

    fn row_block(&mut self, row_block: &RowBlockView<'_>, pool: &ThreadPool) -> Result<()> {
        if std::mem::take(&mut self.binned)
            && let Some(into) = &mut self.into
        {
            into.add_bins(&self.counter.bins().map_err(translated)?);
        }
        let rows = Resident::rows_in(self.numbers.all(), row_block, Some(pool));
        let arcs_into = self.into.as_ref().map_or(u64::MAX, |into| into.most(&row_block.range));
        self.counter.row_block(&slices(&rows, row_block, arcs_into)).map_err(translated)
    }

    fn vertices(&mut self) -> Result<VertexCounts> {
        let of = self.vertices.take().ok_or_else(|| Error::defect("no counters of vertices"))?;
        let mut counts = zeros(of.held() as usize);
        self.counter.vertices(&mut counts).map_err(translated)?;
        Ok(VertexCounts { of, counts, locals: std::mem::take(&mut self.numbers) })
    }

    fn row_block_edges(&mut self, into: &mut [u32]) -> Result<()> {
        self.counter.row_block_edges(into).map_err(translated)
    }

    fn resident_edges(&mut self, first: u64, into: &mut [u32]) -> Result<()> {
        self.counter.resident_edges(first, into).map_err(translated)
    }

    fn finish(self: Box<Self>) -> Result<PartitionCount> {
        let counted = self.counter.finish().map_err(translated)?;
        let [kernels, copies, preprocessing] =
            [counted.kernel_seconds + counted.sum_seconds, counted.copy_seconds, counted.prepare_seconds]
                .map(Duration::from_secs_f64);
        Ok(PartitionCount {
            triangles: counted.triangles,
            device: Some(DeviceTimes { kernels, copies, preprocessing }),
        })
    }

    fn memory(&self) -> CounterMemory {
        CounterMemory::All(Bytes(self.counter.bytes()) + self.apart)
    }
}
