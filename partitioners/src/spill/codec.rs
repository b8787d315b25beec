//! How the bytes of a block are stored. A spill in memory has uncompressed blocks, one on disk zstd frames of level 1: on a crawl, whose rows
//! resemble each other, these take a third of the bytes. Measurements are in docs/spill-format.md.

use std::sync::Arc;

use serde::Serialize;
use zstd::bulk::{Compressor, Decompressor};

use trimill_system::parallel::IdleValues;
use trimill_system::{Error, Result};

/// Level 3 saves 4% on a crawl, nothing on R-MAT graphs, and encodes a third slower.
const LEVEL: i32 = 1;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    Plain = 0,
    #[default]
    Zstd = 1,
}

impl Codec {
    pub(super) const fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Plain),
            1 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// What a thread reads blocks with.
pub(super) struct DecodeSlot {
    pub(super) decoder: Decompressor<'static>,
    pub(super) stored: Vec<u8>,
    pub(super) block: Vec<u8>,
    pub(super) lengths: Vec<u32>,
}

impl DecodeSlot {
    pub(super) fn new() -> Result<Self> {
        let decoder = Decompressor::new().map_err(no_zstd)?;
        Ok(Self { decoder, stored: Vec::new(), block: Vec::new(), lengths: Vec::new() })
    }
}

/// Decompresses `stored` into `block`, of the right length. Errors: what is wrong with the bytes; `block` is then not valid.
pub(super) fn decompress(decoder: &mut Decompressor<'_>, stored: &[u8], block: &mut [u8]) -> Result<(), String> {
    match decoder.decompress_to_buffer(stored, block) {
        Ok(found) if found == block.len() => Ok(()),
        Ok(found) => Err(format!("{found} bytes instead of {}", block.len())),
        Err(error) => Err(format!("zstd cannot decompress it: {error}")),
    }
}

fn no_zstd(error: std::io::Error) -> Error {
    Error::resource(format!("zstd does not work: {error}")).advice("free some memory")
}

/// Encoders that all writers and clones share: only as many as are used at the same time, however many spills are written.
#[derive(Clone, Default)]
pub(crate) struct Encoders(Arc<IdleValues<Compressor<'static>>>);

impl Encoders {
    pub(super) fn encode(&self, block: &[u8]) -> Result<Vec<u8>> {
        let new = || Compressor::new(LEVEL).map_err(no_zstd);
        self.0.try_with(new, |encoder| encoder.compress(block).map_err(no_zstd))
    }
}
