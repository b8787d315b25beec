//! The plan of a run directory: `plan.json`, and the assignment beside it.
//!
//! Enters: a plan that was just made. Leaves: its assignment and frame size on a later start, so that partitions are the
//! same ones whatever the budgets are then. The assignment is the part of each vertex as `u32`, little-endian, compressed
//! by zstd: up to 4 bytes a vertex, next to nothing for runs of ids.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::sealed_file;
use crate::bytes::Bytes;
use crate::disk;
use crate::error::{Error, Result};
use crate::hex;
use crate::job::FrameKind;
use crate::partition::assignment::Assignment;
use crate::plan::{Plan, Settled};

/// What the record calls itself, and its version.
const KIND: &str = "trimill plan 1";
/// The name of the plan's file.
const NAME: &str = "plan.json";
/// The name of the assignment's file.
const ASSIGNMENT: &str = "assignment.zst";

/// What was settled when the job was planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanRecord {
    kind: String,
    /// Marks the partitions of the job.
    #[serde(with = "hex::of_u128")]
    pub fingerprint: u128,
    /// The number of parts, those included that were split.
    parts: u32,
    /// Which frames pass.
    frames: FrameKind,
    /// The most bytes of a frame.
    frame_bytes: Bytes,
    /// Vertices.
    vertices: u32,
    /// Of the assignment's file.
    #[serde(with = "hex::of_u64")]
    assignment_checksum: u64,
}

impl PlanRecord {
    /// Writes the plan.
    ///
    /// # Errors
    /// When the directory does not take it.
    pub(super) fn write(dir: &Path, fingerprint: u128, plan: &Plan) -> Result<()> {
        let path = dir.join(ASSIGNMENT);
        let part_of = plan.assignment.part_of();
        let Settled { parts, frame_limit, frames } = plan.settled();
        let packed = zstd::bulk::compress(bytemuck::cast_slice(part_of), 1).map_err(|e| Error::write(&path, e))?;
        disk::replace(&path, &packed)?;
        let record = Self {
            kind: KIND.into(),
            fingerprint,
            parts,
            frames,
            frame_bytes: frame_limit,
            vertices: part_of.len() as u32,
            assignment_checksum: xxh3_64(&packed),
        };
        sealed_file::write(&dir.join(NAME), &record)
    }

    /// The plan in `dir`, if there is one.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] where it is damaged.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(NAME);
        match sealed_file::read::<Self>(&path)? {
            Some(record) if record.kind != KIND => {
                Err(Error::data(path, format!("is a '{}'", record.kind)).expected(format!("a '{KIND}'")))
            }
            other => Ok(other),
        }
    }

    /// What was settled besides the assignment.
    pub fn settled(&self) -> Settled {
        Settled { parts: self.parts, frame_limit: self.frame_bytes, frames: self.frames }
    }

    /// Its assignment.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] where it is missing, damaged, or for a graph of other than `vertices` vertices.
    pub(super) fn assignment(&self, dir: &Path, vertices: u32) -> Result<Assignment> {
        let path = dir.join(ASSIGNMENT);
        let packed = std::fs::read(&path).map_err(|e| Error::read(&path, e))?;
        let damaged = || Error::data(&path, "is damaged").expected(format!("the parts of {vertices} vertices"));
        if xxh3_64(&packed) != self.assignment_checksum || self.vertices != vertices {
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
