//! The plan of a run directory, so that partitions stay the same on later starts even if budgets change: `plan.json`, with rank ranges; for other
//! partitions, `locals.zst` beside it has the part of each rank, as little-endian `u32` compressed by zstd: up to 4 bytes a vertex.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::sealed_file;
use crate::job::Mode;
use crate::plan::{GraphCut, Plan};
use trimill_partitioners::partition::assignment::Assignment;
use trimill_partitioners::partition::ranks::LocalsAndHeads;
use trimill_system::{Bytes, Error, Result, disk, hex};

const KIND: &str = "trimill plan 3";
const NAME: &str = "plan.json";
const LOCALS: &str = "locals.zst";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(Default))]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    kind: String,
    #[serde(with = "hex")]
    pub fingerprint: u128,
    pub parts: u32,
    pub mode: Mode,
    pub block_bytes: Bytes,
    vertices: u32,
    /// The ranks of each partition; empty if partitions are not rank ranges.
    ranges: Vec<LocalsAndHeads>,
    /// Of `locals.zst`; 0 without it.
    #[serde(with = "hex")]
    locals_checksum: u64,
}

impl PlanRecord {
    #[cfg(test)]
    pub(super) fn of(parts: u32, mode: Mode, block_bytes: Bytes) -> Self {
        Self { parts, mode, block_bytes, ..Self::default() }
    }

    pub fn write(dir: &Path, fingerprint: u128, plan: &Plan) -> Result<()> {
        let (vertices, ranges, locals_checksum) = match &plan.cut {
            GraphCut::Ranges(ranges) => (ranges.last().map_or(0, |ranks| ranks.locals.end), ranges.clone(), 0),
            GraphCut::Sets(locals) => {
                let (path, part_of) = (dir.join(LOCALS), locals.part_of());
                let packed =
                    zstd::bulk::compress(bytemuck::cast_slice(part_of), 1).map_err(|e| Error::write(&path, e))?;
                disk::replace(&path, &packed)?;
                (part_of.len() as u32, Vec::new(), xxh3_64(&packed))
            }
        };
        let (kind, block_bytes) = (KIND.into(), plan.row_block_limit);
        let (parts, mode) = (plan.parts(), plan.cut.mode());
        let record = Self { kind, fingerprint, parts, mode, block_bytes, vertices, ranges, locals_checksum };
        sealed_file::write(&dir.join(NAME), &record)
    }

    pub(super) fn path(dir: &Path) -> PathBuf {
        dir.join(NAME)
    }

    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        sealed_file::read_kind::<Self>(&dir.join(NAME), KIND, |record| &record.kind)
    }

    /// The plan's partitions, which must belong to a graph of `vertices` vertices, if given.
    pub(super) fn cut(&self, dir: &Path, vertices: Option<u32>) -> Result<GraphCut> {
        let vertices = vertices.unwrap_or(self.vertices);
        match self.mode {
            Mode::InPlace => self.ranges(dir, vertices).map(GraphCut::Ranges),
            Mode::Spilled => self.locals(dir, vertices).map(GraphCut::Sets),
        }
    }

    fn ranges(&self, dir: &Path, vertices: u32) -> Result<Vec<LocalsAndHeads>> {
        if LocalsAndHeads::tile(&self.ranges, vertices) && self.ranges.len() == self.parts as usize {
            return Ok(self.ranges.clone());
        }
        Err(Error::data(dir.join(NAME), "its rank ranges are damaged")
            .expected(format!("the ranks of {vertices} vertices")))
    }

    fn locals(&self, dir: &Path, vertices: u32) -> Result<Assignment> {
        let path = dir.join(LOCALS);
        let packed = std::fs::read(&path).map_err(|e| Error::read(&path, e))?;
        let damaged = || Error::data(&path, "is damaged").expected(format!("the parts of {vertices} vertices"));
        if xxh3_64(&packed) != self.locals_checksum || self.vertices != vertices {
            return Err(damaged());
        }
        let bytes = zstd::bulk::decompress(&packed, vertices as usize * size_of::<u32>()).map_err(|_| damaged())?;
        let part_of: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        if part_of.len() != vertices as usize || part_of.iter().any(|&part| part >= self.parts) {
            return Err(damaged());
        }
        Ok(Assignment::new(part_of, self.parts))
    }
}
