//! From degrees to ranks.

use bytemuck::{Pod, Zeroable, cast_slice_mut};

use super::edges::{DeviceEdges, EdgePlace, bits_below};
use super::work::{PrepareSpace, SortBuffers, kept_per_vertex, temporary};
use crate::arena::padded;
use crate::engine::{Engine, Stream};
use crate::error::GpuResult;

/// Ranked vertices: position in falling degree order, ties by falling id.
pub struct RankedVertices<'e, E: Engine + ?Sized> {
    pub(super) edges: DeviceEdges<'e, E>,
    pub(super) vertices: u64,
    /// Keys in rank order: `most - degree`, and the vertex.
    pub(super) keys: u64,
    /// The largest degree, or a number above it.
    pub(super) most: u64,
    pub(super) lengths: u64,
    ids: u64,
    order: u64,
    runs: u64,
    /// Where the memory begins that is free once all of this was read.
    pub(super) begin: u64,
}

impl<'e, E: Engine + ?Sized> RankedVertices<'e, E> {
    pub fn new(mut edges: DeviceEdges<'e, E>) -> GpuResult<Self> {
        let (degrees, ids, work) = (edges.degrees, edges.ids, &mut edges.work);
        let vertices = match ids {
            0 => 0,
            _ => work.select("count_vertices", ids, &[degrees, ids], &[])?,
        };
        let kept = work.take(kept_per_vertex(vertices))?;
        let lengths = kept + padded(8 * vertices);
        // While vertices are sorted, the memory of the sorted arcs is free.
        let begin = work.next();
        let mut at = match edges.place {
            EdgePlace::Device { free, bytes, .. } if temporary(vertices) <= bytes => free,
            _ => work.take(temporary(vertices))?,
        };
        let mut piece = |bytes: u64| {
            at += padded(bytes);
            at - padded(bytes)
        };
        let (other, runs) = (piece(8 * vertices), piece(8 * vertices));
        let (list, order) = (piece(4 * vertices), piece(4 * vertices));
        let bits = bits_below(vertices);
        let most = (1u64 << bits) - 1;
        // The sorted keys are to be where they are kept.
        let buffers = match PrepareSpace::<E>::passes(bits).is_multiple_of(2) {
            true => SortBuffers { keys: kept, free: other },
            false => SortBuffers { keys: other, free: kept },
        };
        if vertices > 0 {
            let tiles = work.tiles;
            work.selecting("put_vertices", ids, &[degrees, ids, tiles, vertices, most, list, buffers.keys])?;
            let sorted = work.sort(buffers, vertices, 32, bits)?.keys;
            debug_assert_eq!(sorted, kept);
            work.for_each("assign_ranks", vertices, &[sorted, vertices, list, order, degrees])?;
        }
        Ok(Self { edges, vertices, keys: kept, most, lengths, ids: list, order, runs, begin })
    }

    /// The number of vertices, ids with an edge.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Reads the vertex of each rank. Vertices are numbered in the order of their ids.
    pub fn order(&mut self, order: &mut [u32]) -> GpuResult<()> {
        self.read(self.order, order)
    }

    /// Reads the ids of all vertices, ascending.
    pub fn ids(&mut self, ids: &mut [u32]) -> GpuResult<()> {
        self.read(self.ids, ids)
    }

    pub fn id(&mut self, vertex: u64) -> GpuResult<u32> {
        let mut id = [0u32];
        self.read(self.ids + 4 * vertex, &mut id)?;
        Ok(id[0])
    }

    /// Reads the distinct degrees, falling, each with the first rank that has it.
    pub fn degrees(&mut self) -> GpuResult<Vec<(u32, u32)>> {
        if self.vertices == 0 {
            return Ok(Vec::new());
        }
        let (keys, vertices, most, runs, work) = (self.keys, self.vertices, self.most, self.runs, &mut self.edges.work);
        let many = work.select("count_degrees", vertices, &[keys, vertices], &[])?;
        let tiles = work.tiles;
        work.selecting("put_degrees", vertices, &[keys, vertices, tiles, most, runs])?;
        let mut found = vec![0u64; many as usize];
        self.read(self.runs, &mut found)?;
        Ok(found.into_iter().map(|run| ((run >> 32) as u32, run as u32)).collect())
    }

    fn read<T: Pod + Zeroable>(&mut self, at: u64, into: &mut [T]) -> GpuResult<()> {
        self.edges.work.engine.read(Stream::Compute, at, cast_slice_mut(into))
    }
}
