//! The journal: the result of each counted partition, in its own file. A record identifies the partitioning and the graph that it belongs to, so it
//! can be written on one machine and added on another. It replaces an earlier record of the same partition, so counting again is idempotent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::sealed_file;
use crate::report::PartitionFigures;
use trimill_system::{Bytes, Error, Result, hex};

const KIND: &str = "trimill partition result 2";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionRecord {
    kind: String,
    #[serde(with = "hex")]
    pub fingerprint: u128,
    pub parts: u32,
    pub by: CountedBy,
    pub result: PartitionFigures,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedBy {
    pub backend: String,
    pub method: String,
    pub device_memory: Bytes,
}

fn path(dir: &Path, part: u32) -> PathBuf {
    dir.join(format!("part-{part:05}.json"))
}

#[derive(Debug)]
pub struct Journal {
    pub(super) dir: PathBuf,
    pub fingerprint: u128,
    pub(super) parts: u32,
}

impl Journal {
    pub fn counted(&self) -> Result<BTreeMap<u32, PartitionFigures>> {
        self.counted_of(0..self.parts, "is counted again")
    }

    /// The results of some partitions. A record that is damaged, or does not fit, counts as missing: the partition `then`, says a warning.
    pub fn counted_of(
        &self,
        parts: impl IntoIterator<Item = u32>,
        then: &str,
    ) -> Result<BTreeMap<u32, PartitionFigures>> {
        let mut counted = BTreeMap::new();
        for part in parts {
            let read = self.read(part);
            if let Some(record) = sealed_file::unless_damaged(read, &format!("partition {part} {then}"))? {
                counted.insert(part, record.result.resumed());
            }
        }
        Ok(counted)
    }

    /// Records a result; when this returns, it survives a loss of power.
    pub fn record(&self, result: &PartitionFigures, by: CountedBy) -> Result<()> {
        let Self { fingerprint, parts, .. } = *self;
        let record = PartitionRecord { kind: KIND.into(), fingerprint, parts, by, result: result.clone() };
        sealed_file::write(&path(&self.dir, result.id), &record)
    }

    /// Reads the record of `part`, which must belong to this partitioning; `None` if there is none.
    pub fn read(&self, part: u32) -> Result<Option<PartitionRecord>> {
        let Self { dir, fingerprint, parts } = self;
        let path = path(dir, part);
        let read = sealed_file::read_kind::<PartitionRecord>(&path, KIND, |record| &record.kind);
        let Some(record) = read? else { return Ok(None) };
        if record.result.counted.is_none() {
            return Err(
                Error::data(path, "is a partition without its triangles").expected("a partition that was counted")
            );
        }
        if (record.fingerprint, record.parts, record.result.id) != (*fingerprint, *parts, part) {
            let PartitionRecord { fingerprint: of, parts: among, result, .. } = record;
            return Err(Error::data(
                path,
                format!(
                    "belongs to another partition or another job: partition {} of {among}, fingerprint {of:032x}",
                    result.id
                ),
            )
            .expected(format!("partition {part} of {parts}, {fingerprint:032x}")));
        }
        Ok(Some(record))
    }
}
