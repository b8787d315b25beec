//! The codecs of blocks.
//!
//! Enters: a run of rows ([`Rows`]). Leaves: its stored bytes, and back. A block is coded alone, so blocks are coded in
//! parallel.
//!
//! - [`Codec::Raw`]: numbers, lengths and heads as little-endian `u32`. For tests, and where the disk is faster than zstd.
//! - [`Codec::Planes`]: the strictly ascending numbers, and each row's strictly ascending heads, become gaps less one
//!   (from -1, so the first value is itself); lengths stay. Each of the three is split into byte planes (module `planes`),
//!   all-zero planes left out, and the planes together become one zstd frame of level 1.
//!
//! Invariants: what an encoder accepts, a decoder gives back; a decoder accepts only rows that are strictly ascending and
//! below their bound, whatever the bytes. Cost, measured on one core: 0.8 to 0.9 GB/s of `u32` to encode, 1.7 (crawl,
//! short rows) to 2.2 (R-MAT) to decode, at 3.8 and 8.5 bits an arc. Two thirds of decoding is zstd, one third the prefix sums.
//! Memory: the raw bytes of a block once more, each way.

use serde::{Serialize, Serializer};
use zstd::bulk::{Compressor, Decompressor};

pub use super::block::{Numbers, Offset, Rows, RowsMut};
use super::planes;
use crate::error::{Error, Result};

/// The level of zstd. Level 3 saves 4% on a crawl, nothing on R-MAT graphs, and encodes a third slower.
const LEVEL: i32 = 1;

/// Bytes before the zstd frame: the number of planes of numbers, lengths and gaps, and a zero.
const PREFIX: usize = 4;

/// How rows are turned into stored bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Little-endian `u32`, not compressed.
    Raw,
    /// Gaps, byte planes, zstd.
    #[default]
    Planes,
}

impl Codec {
    /// The byte that names the codec in a header.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Planes => 1,
        }
    }

    /// The codec that a byte names.
    pub const fn of_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Raw),
            1 => Some(Self::Planes),
            _ => None,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Planes => "planes",
        }
    }
}

impl Serialize for Codec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Encodes blocks, one at a time; keeps its buffers.
pub struct Encoder {
    zstd: Compressor<'static>,
    values: Vec<u32>,
    planes: Vec<u8>,
}

impl Encoder {
    /// An encoder.
    ///
    /// # Errors
    /// When zstd gets no memory.
    pub fn new() -> Result<Self> {
        Ok(Self { zstd: Compressor::new(LEVEL).map_err(no_zstd)?, values: Vec::new(), planes: Vec::new() })
    }

    /// Replaces `out` by the stored bytes of `rows`.
    ///
    /// # Errors
    /// When zstd gets no memory.
    ///
    /// # Panics
    /// When the rows are not what [`Rows`] promises: not strictly ascending, or not below their bound.
    pub fn encode<O: Offset>(&mut self, codec: Codec, rows: &Rows<'_, O>, out: &mut Vec<u8>) -> Result<()> {
        assert!(rows.bounded().all(|(bound, row)| is_ascending_below(row, bound)), "rows ascend below their number");
        if let Numbers::Each(numbers) = rows.numbers {
            assert_eq!(numbers.len(), rows.rows(), "each row has a number");
            assert!(is_ascending_below(numbers, u32::MAX), "numbers ascend");
        }
        out.clear();
        match codec {
            Codec::Raw => {
                let numbers = if let Numbers::Each(numbers) = rows.numbers { numbers } else { &[] };
                out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
                out.extend(rows.lengths().flat_map(|length| (length as u32).to_le_bytes()));
                out.extend(rows.heads.iter().flat_map(|head| head.to_le_bytes()));
                Ok(())
            }
            Codec::Planes => self.encode_planes(rows, out),
        }
    }

    fn encode_planes<O: Offset>(&mut self, rows: &Rows<'_, O>, out: &mut Vec<u8>) -> Result<()> {
        let Self { zstd, values, planes } = self;
        planes.clear();
        let mut prefix = [0; PREFIX];
        if let Numbers::Each(numbers) = rows.numbers {
            values.clear();
            values.extend(gaps(numbers));
            prefix[0] = planes::split(values, planes);
        }
        values.clear();
        values.extend(rows.lengths().map(|length| length as u32));
        prefix[1] = planes::split(values, planes);
        values.clear();
        for (_, row) in rows.bounded() {
            values.extend(gaps(row));
        }
        prefix[2] = planes::split(values, planes);
        out.extend(prefix);
        if !planes.is_empty() {
            out.resize(PREFIX + zstd::zstd_safe::compress_bound(planes.len()), 0);
            let stored = zstd.compress_to_buffer(planes, &mut out[PREFIX..]).map_err(no_zstd)?;
            out.truncate(PREFIX + stored);
        }
        Ok(())
    }
}

/// Decodes blocks, one at a time; keeps its buffers.
pub struct Decoder {
    zstd: Decompressor<'static>,
    planes: Vec<u8>,
    lengths: Vec<u32>,
}

impl Decoder {
    /// A decoder.
    ///
    /// # Errors
    /// When zstd gets no memory.
    pub fn new() -> Result<Self> {
        Ok(Self { zstd: Decompressor::new().map_err(no_zstd)?, planes: Vec::new(), lengths: Vec::new() })
    }

    /// Decodes `stored` into its place; the numbers of rows and heads are those of `into`.
    ///
    /// # Errors
    /// What is wrong with the bytes, in words. What `into` holds is then of no use.
    pub fn decode<O: Offset>(&mut self, codec: Codec, stored: &[u8], into: RowsMut<'_, O>) -> Result<(), String> {
        let RowsMut { mut numbers, ends, heads, base } = into;
        match codec {
            Codec::Raw => self.decode_raw(stored, &mut numbers, ends.len(), heads)?,
            Codec::Planes => self.decode_planes(stored, &mut numbers, ends.len(), heads)?,
        }
        let total = self.lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        if total != heads.len() as u64 {
            return Err(format!("its rows hold {total} arcs, but the index says {}", heads.len()));
        }
        let mut end = base;
        for (slot, &length) in ends.iter_mut().zip(&self.lengths) {
            end += u64::from(length);
            *slot = O::of(end);
        }
        let in_order = match (codec, numbers) {
            (Codec::Planes, Numbers::Below(end)) => {
                let bound = end.saturating_sub(1);
                rows_of(&self.lengths, heads).fold(true, |good, row| good & undo_gaps(row, bound))
            }
            (Codec::Planes, Numbers::Each(numbers)) => {
                undo_gaps(numbers, u32::MAX)
                    & rows_of(&self.lengths, heads)
                        .zip(numbers.iter())
                        .fold(true, |good, (row, &bound)| good & undo_gaps(row, bound))
            }
            (Codec::Raw, Numbers::Below(end)) => {
                rows_of(&self.lengths, heads).all(|row| is_ascending_below(row, end.saturating_sub(1)))
            }
            (Codec::Raw, Numbers::Each(numbers)) => {
                is_ascending_below(numbers, u32::MAX)
                    && rows_of(&self.lengths, heads)
                        .zip(numbers.iter())
                        .all(|(row, &bound)| is_ascending_below(row, bound))
            }
        };
        if in_order { Ok(()) } else { Err("its rows are not strictly ascending below their own numbers".into()) }
    }

    /// Fills numbers, lengths and heads with values as they are stored.
    fn decode_raw(
        &mut self,
        stored: &[u8],
        numbers: &mut Numbers<&mut [u32]>,
        rows: usize,
        heads: &mut [u32],
    ) -> Result<(), String> {
        let mut none = [];
        let numbers = if let Numbers::Each(numbers) = numbers { &mut **numbers } else { &mut none[..] };
        let expected = 4 * (numbers.len() + rows + heads.len());
        if stored.len() != expected {
            return Err(format!("{} bytes instead of {expected}", stored.len()));
        }
        self.lengths.resize(rows, 0);
        let (words, _) = stored.as_chunks::<4>();
        let places = numbers.iter_mut().chain(&mut self.lengths).chain(heads);
        for (place, &word) in places.zip(words) {
            *place = u32::from_le_bytes(word);
        }
        Ok(())
    }

    /// Fills lengths, and numbers and heads with gaps.
    fn decode_planes(
        &mut self,
        stored: &[u8],
        numbers: &mut Numbers<&mut [u32]>,
        rows: usize,
        heads: &mut [u32],
    ) -> Result<(), String> {
        let mut none = [];
        let numbers = if let Numbers::Each(numbers) = numbers { &mut **numbers } else { &mut none[..] };
        let Some((counts, frame)) = stored.split_first_chunk::<PREFIX>() else {
            return Err(format!("{} bytes, too few for the numbers of planes", stored.len()));
        };
        if counts.iter().any(|&count| count > 4) || counts[3] != 0 {
            return Err(format!("{counts:?} is not a list of numbers of planes"));
        }
        let cut = |count: u8, values: usize| usize::from(count) * values;
        let (a, b, c) = (cut(counts[0], numbers.len()), cut(counts[1], rows), cut(counts[2], heads.len()));
        let expected = a + b + c;
        // Asked before anything is allocated: a frame written here says how much it holds.
        let told = zstd::zstd_safe::get_frame_content_size(frame);
        if !frame.is_empty() && !matches!(told, Ok(Some(told)) if told == expected as u64) {
            return Err(format!("its zstd frame does not announce {expected} bytes of planes"));
        }
        self.planes.resize(expected, 0);
        let found = match frame {
            [] => 0,
            _ => self
                .zstd
                .decompress_to_buffer(frame, &mut self.planes[..])
                .map_err(|error| format!("zstd cannot decompress it: {error}"))?,
        };
        if found != expected {
            return Err(format!("{found} bytes of planes instead of {expected}"));
        }
        self.lengths.resize(rows, 0);
        planes::merge(counts[0], &self.planes[..a], numbers);
        planes::merge(counts[1], &self.planes[a..a + b], &mut self.lengths);
        planes::merge(counts[2], &self.planes[a + b..], heads);
        Ok(())
    }
}

fn no_zstd(error: std::io::Error) -> Error {
    Error::resource(format!("zstd does not work: {error}")).advice("free some memory")
}

/// The gaps of a strictly ascending list, each less one; the value before the first is -1.
fn gaps(values: &[u32]) -> impl Iterator<Item = u32> + '_ {
    let mut before = u32::MAX;
    values.iter().map(move |&value| {
        let gap = value.wrapping_sub(before).wrapping_sub(1);
        before = value;
        gap
    })
}

/// Turns gaps into values, and says whether all of them are below `bound`. They ascend strictly by construction: the
/// sum is kept in 64 bits, where no list of `u32` can wrap.
#[inline]
fn undo_gaps(values: &mut [u32], bound: u32) -> bool {
    let mut next = 0u64;
    for value in values {
        let sum = next + u64::from(*value);
        *value = sum as u32;
        next = sum + 1;
    }
    next <= u64::from(bound)
}

/// Whether the values ascend strictly and are all below `bound`.
fn is_ascending_below(values: &[u32], bound: u32) -> bool {
    let mut next = 0u64;
    let mut good = true;
    for &value in values {
        good &= u64::from(value) >= next;
        next = u64::from(value) + 1;
    }
    good && next <= u64::from(bound)
}

/// Splits heads into rows. The lengths must add up to at most the number of heads.
fn rows_of<'a>(lengths: &'a [u32], heads: &'a mut [u32]) -> impl Iterator<Item = &'a mut [u32]> {
    let mut rest = heads;
    lengths.iter().map(move |&length| {
        let (row, after) = std::mem::take(&mut rest).split_at_mut(length as usize);
        rest = after;
        row
    })
}
