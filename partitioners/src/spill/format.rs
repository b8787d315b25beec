//! The header of a spill, and what all parts of the format share. 160 bytes, little-endian, first in the file; specified in `docs/spill-format.md`.
//! Written last, so valid only in a complete file.

use std::path::Path;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use super::codec::Codec;
use crate::partition::sizes::PartitionSize;
use trimill_system::{Error, Result, hex};

pub(super) const VERSION: u32 = 2;

pub(super) const MAGIC: [u8; 8] = *b"TRIMSPIL";

pub(super) const HEADER_BYTES: usize = 160;

const LONGS: usize = HEADER_BYTES / 8;

/// Where the header's own checksum is; it covers everything before it.
const CHECKSUM_AT: usize = HEADER_BYTES - 8;

pub(super) const REBUILD: &str = "remove the file, if it is there, and build it again, by the command that wrote it";

pub(super) fn damaged(path: &Path, found: impl Into<String>) -> Error {
    Error::data(path, found).advice(REBUILD)
}

/// What is known of a partition before its sections are written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PartitionHeader {
    #[serde(with = "hex")]
    pub fingerprint: u128,
    pub partition: u32,
    pub numbered: u32,
    #[serde(flatten)]
    pub size: PartitionSize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillHeader {
    pub codec: Codec,
    pub partition: PartitionHeader,
    pub row_blocks: u32,
    pub row_block_arcs: u64,
    /// Bytes of all values before coding: 4 for each rank, each local's number, each row's length and each successor.
    pub raw_bytes: u64,
    pub(super) index_offset: u64,
    pub(super) index_bytes: u64,
    pub(super) index_checksum: u64,
}

impl SpillHeader {
    pub(super) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let PartitionHeader { fingerprint, partition, numbered, size } = self.partition;
        let pairs = [[VERSION, self.codec as u32], [partition, size.locals as u32], [numbered, self.row_blocks]];
        let [form, part, vertices] = pairs.map(bytemuck::cast::<[u32; 2], u64>);
        let (magic, low, high) = (u64::from_le_bytes(MAGIC), fingerprint as u64, (fingerprint >> 64) as u64);
        let longs: [u64; LONGS] = [
            magic, form, low, high, part, vertices, size.resident_arcs, self.row_block_arcs, size.proxies_induced,
            size.proxies_kept, size.arcs_induced, size.arcs_kept, self.raw_bytes, self.index_offset, self.index_bytes,
            self.index_checksum, 0, 0, 0, 0,
        ];
        let mut header: [u8; HEADER_BYTES] = bytemuck::cast(longs);
        let checksum = checksum(&header);
        header[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// Reads a header: magic first, then version, then checksum, then the rest. Errors: not a spill, another version, or damaged.
    pub(super) fn parse(path: &Path, bytes: &[u8; HEADER_BYTES]) -> Result<Self> {
        if bytes[..8] != MAGIC {
            return Err(Error::data(path, "is not a spill: the magic is missing")
                .expected("'TRIMSPIL' at the start")
                .advice(
                    "name a file that 'trimill partition' wrote; if this is one, move it away and build it again",
                ));
        }
        let longs: [u64; LONGS] = bytemuck::cast(*bytes);
        let [_, form, low, high, part, vertices, resident_arcs, row_block_arcs, rest @ ..] = longs;
        let [proxies_induced, proxies_kept, arcs_induced, arcs_kept, raw_bytes, rest @ ..] = rest;
        let [index_offset, index_bytes, index_checksum, ..] = rest;
        let [[version, codec], [partition, locals], [numbered, row_blocks]] =
            [form, part, vertices].map(bytemuck::cast::<u64, [u32; 2]>);
        if version != VERSION {
            return Err(damaged(path, format!("a spill of version {version}")).expected(format!("version {VERSION}")));
        }
        if bytes[CHECKSUM_AT..] != checksum(bytes).to_le_bytes() {
            return Err(damaged(path, "header: the checksum does not match, so the header is damaged"));
        }
        let [codec, reserved @ ..] = codec.to_le_bytes();
        let Some(codec) = Codec::of_byte(codec) else {
            return Err(damaged(path, format!("header: codec {codec}")).expected("0 or 1"));
        };
        if reserved != [0; 3] {
            return Err(damaged(path, "header: reserved bytes are set"));
        }
        let (fingerprint, locals) = (u128::from(high) << 64 | u128::from(low), locals.into());
        let size = PartitionSize { locals, resident_arcs, proxies_induced, arcs_induced, proxies_kept, arcs_kept };
        let partition = PartitionHeader { fingerprint, partition, numbered, size };
        Ok(Self { codec, partition, row_blocks, row_block_arcs, raw_bytes, index_offset, index_bytes, index_checksum })
    }
}

/// The checksum of a header; through the index's checksum it covers the whole file.
pub(super) fn checksum(header: &[u8; HEADER_BYTES]) -> u64 {
    xxh3_64(&header[..CHECKSUM_AT])
}
