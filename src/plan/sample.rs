//! What the sections of planned partitions will be like, from a sample: their frames, and their bytes on disk.
//!
//! Enters: views of the partitions while they are sized ([`Look`]). Leaves: for every partition a [`Layout`]. Up to
//! `LOOKED_AT` partitions, evenly spread, are looked at in outline, and pieces of their blocks are encoded as the spill's
//! writer would. They are chosen in pieces at equal distances in bytes over all sections of a kind (module `walk`), the resident
//! ones apart from the frames, since the two compress differently. So every part of a section and every section is met in
//! proportion to its bytes, and the same plan always meets the same pieces. A section's ratio is that of its own pieces,
//! or where it has few of those nearest to it; a partition that was not looked at is like the nearest one that was.
//!
//! Cost: one in 32 of the rows is filtered and one in 128 of the bytes encoded, but at least 12 MiB of each kind, and twice as much again in whole blocks;
//! 9 bytes a vertex.

use std::ops::Range;

use rayon::prelude::*;

use super::ahead::Outlined;
use super::predict::Layout;
use super::walk::{Span, Walk};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::ByRows;
use crate::error::Result;
use crate::partition::outline::Outline;
use crate::partition::prune::Pruned;
use crate::partition::section::{FrameSize, ResidentSize};
use crate::partition::sections::Sections;
use crate::partition::sizes::{Look, PartitionSize};
use crate::spill::codec::{Encoder, Numbers, Offset, Rows};
use crate::spill::{BLOCK_BYTES, Codec, bytes_beside_blocks, cut, raw_bytes};

/// The most partitions that are looked at.
const LOOKED_AT: u32 = 128;

/// Raw bytes of a piece.
const PIECE: u64 = BLOCK_BYTES / 16;

/// How much is encoded.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// One in how many bytes.
    pub one_in: u64,
    /// But so much of each kind of section.
    pub least: Bytes,
}

impl Default for Share {
    fn default() -> Self {
        Self { one_in: 128, least: Bytes::mib(12) }
    }
}

/// Bytes of the arrays over a graph of `n` vertices that are needed beside those of sizing.
pub fn array_bytes(n: u32) -> Bytes {
    Bytes(9 * u64::from(n))
}

/// Looks at partitions while they are sized.
pub struct Sampler<'a> {
    stride: u32,
    groups: u64,
    limit: Bytes,
    share: Share,
    tables: Option<ByRows>,
    control: &'a Control,
    resident: Walk,
    frames: Walk,
    looked: Vec<Looked>,
}

/// A partition that was looked at.
struct Looked {
    part: u32,
    frames: Vec<FrameSize>,
    resident: Span,
    in_frames: Span,
    blocks: u64,
    overhead: Option<Bytes>,
}

impl<'a> Sampler<'a> {
    /// For `parts` partitions with frames of at most `limit`, and tables of the method that depend on the rows.
    pub fn new(parts: u32, limit: Bytes, share: Share, tables: Option<ByRows>, control: &'a Control) -> Self {
        Self {
            stride: parts.div_ceil(LOOKED_AT).max(1),
            groups: u64::from(parts.div_ceil(64)).max(1),
            limit,
            share,
            tables,
            control,
            resident: Walk::default(),
            frames: Walk::default(),
            looked: Vec::new(),
        }
    }

    fn look_at(&mut self, part: u32, size: &PartitionSize, pruned: &Pruned<'_>) -> Result<()> {
        let control = self.control;
        let _order = pruned.graph.any_order();
        let sections = Sections::new(pruned);
        let outline = Outline::new(&sections, size, self.limit, control)?;
        let local = |i: usize| u64::from(outline.local_lengths[i]);
        let proxy = |i: usize| u64::from(outline.proxy_lengths[i]);

        let resident_blocks = cut(true, BLOCK_BYTES, (0..outline.local_lengths.len()).map(local));
        let resident = meet(&mut self.resident, &resident_blocks, (true, &local), control, |encoder, rows| {
            let rows = outline.resident(rows);
            encode(encoder, Numbers::Each(&rows.numbers), &rows.offsets, &rows.heads)
        })?;
        let frame_blocks: Vec<_> =
            outline.frames.iter().flat_map(|frame| cut_within(&frame.rows, false, BLOCK_BYTES, &proxy)).collect();
        let in_frames = meet(&mut self.frames, &frame_blocks, (false, &proxy), control, |encoder, rows| {
            let (offsets, heads, end) = outline.in_frames(rows);
            encode(encoder, Numbers::Below(end), &offsets, &heads)
        })?;
        let whole = u64::from(pruned.graph.vertices()) == size.locals;
        let overhead = self.tables.map(|tables| {
            let ranges = outline.frames.iter().scan(0, |end, frame| {
                let start = *end;
                *end += frame.size.range;
                Some(start..*end)
            });
            // The graph as one partition passes in one frame.
            let frames = if whole { std::iter::once(0..sections.numbered()).collect() } else { ranges.collect() };
            let size = ResidentSize { locals: size.locals, arcs: size.resident_arcs };
            let lengths = outline.first_lengths(tables.hubs);
            (tables.overhead)(&tables, &Outlined { outline: &outline, size, frames, lengths })
        });
        pruned.graph.relieve();
        let frames = outline.frames.iter().map(|frame| frame.size).collect();
        let blocks = (resident_blocks.len() + frame_blocks.len()) as u64;
        self.looked.push(Looked { part, frames, resident, in_frames, blocks, overhead });
        Ok(())
    }

    /// What was found, for each of the partitions.
    pub fn layouts(&self, sizes: &[PartitionSize]) -> Vec<Layout> {
        let found: Vec<_> = self
            .looked
            .iter()
            .map(|looked| Found {
                ratios: [self.resident.ratio(&looked.resident), self.frames.ratio(&looked.in_frames)],
                looked,
            })
            .collect();
        let nearest = |part: u32| found.iter().min_by_key(|found| found.looked.part.abs_diff(part));
        (0..)
            .zip(sizes)
            .map(|(part, size)| match nearest(part) {
                Some(found) if found.looked.part == part => found.layout(sizes.len() == 1),
                Some(found) => found.like(size, self.limit),
                None => Layout::rough(size, self.limit),
            })
            .collect()
    }
}

impl Look for Sampler<'_> {
    fn wants(&self, part: u32) -> bool {
        part.is_multiple_of(self.stride)
    }

    fn look<'g>(&mut self, first: u32, sizes: &[PartitionSize], view: &dyn Fn(u32) -> Pruned<'g>) -> Result<()> {
        let raw = |parts: &mut dyn Iterator<Item = &PartitionSize>| {
            parts.map(raw).fold([0; 2], |sum, raw| [sum[0] + raw[0], sum[1] + raw[1]])
        };
        let all = raw(&mut sizes.iter());
        let wanted = (first..).zip(sizes).filter(|(part, _)| self.wants(*part)).collect::<Vec<_>>();
        let looked_at = raw(&mut wanted.iter().map(|(_, size)| *size));
        for (i, walk) in [&mut self.resident, &mut self.frames].into_iter().enumerate() {
            let sample = (all[i] / self.share.one_in).max(self.share.least.get() / self.groups);
            walk.pace(looked_at[i], sample, PIECE);
        }
        wanted.into_iter().try_for_each(|(part, size)| self.look_at(part, size, &view(part)))
    }
}

/// The raw bytes of the resident section and of the frames.
fn raw(size: &PartitionSize) -> [u64; 2] {
    [
        raw_bytes(true, size.locals, size.resident_arcs),
        raw_bytes(false, size.proxies_kept, size.arcs_kept - size.resident_arcs),
    ]
}

/// Cuts some rows of such lengths into runs of at most `most` bytes.
fn cut_within<'l>(
    rows: &Range<usize>,
    numbered: bool,
    most: u64,
    length: &'l (dyn Fn(usize) -> u64 + Sync),
) -> impl Iterator<Item = Range<usize>> + use<'l> {
    let first = rows.start;
    cut(numbered, most, rows.clone().map(length)).into_iter().map(move |run| first + run.start..first + run.end)
}

/// Walks over the blocks of a section, with and without numbers and of such lengths of rows, and encodes what is met.
fn meet(
    walk: &mut Walk,
    blocks: &[Range<usize>],
    (numbered, length): (bool, &(dyn Fn(usize) -> u64 + Sync)),
    control: &Control,
    encode: impl Fn(&mut Encoder, Range<usize>) -> Result<(u64, u64)> + Sync,
) -> Result<Span> {
    let most = if walk.meets_all() { BLOCK_BYTES } else { PIECE };
    let pieces_of = |block: usize| cut_within(&blocks[block], numbered, most, length).map(move |rows| (block, rows));
    let pieces: Vec<_> = (0..blocks.len()).into_par_iter().flat_map_iter(pieces_of).collect();
    let raw =
        |(_, rows): &(usize, Range<usize>)| raw_bytes(numbered, rows.len() as u64, rows.clone().map(length).sum());
    let (mut span, chosen) = walk.over(pieces.iter().map(raw));
    let encode_all = |runs: &[Range<usize>]| {
        let encoded = runs.par_iter().map_init(
            || None,
            |encoder, rows| {
                control.check()?;
                let encoder = match encoder {
                    Some(encoder) => encoder,
                    None => encoder.insert(Encoder::new()?),
                };
                encode(encoder, rows.clone())
            },
        );
        encoded.collect::<Result<Vec<_>>>()
    };
    let met: Vec<_> = chosen.iter().map(|chosen| pieces[chosen.piece].1.clone()).collect();
    walk.take(&mut span, &chosen, &encode_all(&met)?);
    for chosen in chosen.iter().filter(|chosen| chosen.whole) {
        let block = pieces[chosen.piece].0;
        let stored = |encoded: Vec<(u64, u64)>| encoded.iter().map(|&(_, stored)| stored).sum();
        let in_pieces: Vec<_> = pieces_of(block).map(|(_, rows)| rows).collect();
        walk.compare(stored(encode_all(&blocks[block..=block])?), stored(encode_all(&in_pieces)?));
    }
    Ok(span)
}

/// The raw and the stored bytes of a block.
fn encode<O: Offset>(
    encoder: &mut Encoder,
    numbers: Numbers<&[u32]>,
    offsets: &[O],
    heads: &[u32],
) -> Result<(u64, u64)> {
    let rows = Rows { numbers, offsets, heads };
    let mut stored = Vec::new();
    encoder.encode(Codec::default(), &rows, &mut stored)?;
    let numbered = matches!(numbers, Numbers::Each(_));
    Ok((raw_bytes(numbered, rows.rows() as u64, heads.len() as u64), stored.len() as u64))
}

/// The most that two buffers take through which frames pass by turns: as [`Frame::reset`] does, a buffer that held a long frame
/// keeps its words as long as these and what tells locals from proxies are no more than the largest frame so far.
///
/// [`Frame::reset`]: crate::partition::section::Frame::reset
fn two_buffers(frames: &[FrameSize]) -> Bytes {
    let (mut words, mut largest, mut held, mut most) = ([0; 2], [Bytes::ZERO; 2], [Bytes::ZERO; 2], Bytes::ZERO);
    for (i, frame) in frames.iter().enumerate() {
        let buffer = i % 2;
        let bits = frame.bytes().saturating_sub(Bytes::of::<u32>(frame.words()));
        largest[buffer] = largest[buffer].max(frame.bytes());
        if Bytes::of::<u32>(words[buffer]) + bits > largest[buffer] {
            words[buffer] = 0;
        }
        words[buffer] = frame.words().max(words[buffer]);
        held[buffer] = bits + Bytes::of::<u32>(words[buffer]);
        most = most.max(held[0] + held[1]);
    }
    most
}

/// A partition that was looked at, and what a raw byte of its resident section and of its frames takes.
struct Found<'l> {
    looked: &'l Looked,
    ratios: [f64; 2],
}

impl Found<'_> {
    fn layout(&self, whole: bool) -> Layout {
        let Looked { frames, resident, in_frames, blocks, overhead, .. } = self.looked;
        let spill = self.stored([resident.raw(), in_frames.raw()]) + bytes_beside_blocks(frames.len() as u64, *blocks);
        let layout = Layout {
            frames: frames.len() as u64,
            largest_frame: frames.iter().map(FrameSize::bytes).max().unwrap_or_default(),
            two_frames: two_buffers(frames),
            all_frames: frames.iter().map(FrameSize::bytes).sum(),
            spill: Bytes(spill),
            overhead: *overhead,
        };
        let whole = whole.then(|| Layout::whole(frames.iter().map(|frame| frame.range).sum(), layout.spill));
        whole.map_or(layout, |whole| Layout { overhead: *overhead, ..whole })
    }

    /// The layout of another partition, of such a size.
    fn like(&self, size: &PartitionSize, limit: Bytes) -> Layout {
        let rough = Layout::rough(size, limit);
        // Frames are as full as here.
        let here = self.looked.frames.len() as f64;
        let room = self.looked.frames.iter().map(FrameSize::bytes).sum::<Bytes>().get() as f64 / limit.get() as f64;
        let frames = if rough.frames > 1 && here > 1.0 {
            (rough.all_frames.get() as f64 / limit.get() as f64 * here / room).round().max(1.0) as u64
        } else {
            rough.frames
        };
        let raw = raw(size);
        let blocks = raw[0].div_ceil(BLOCK_BYTES) + raw[1].div_ceil(BLOCK_BYTES).max(frames);
        let spill = Bytes(self.stored(raw) + bytes_beside_blocks(frames, blocks));
        Layout { frames, spill, overhead: self.looked.overhead, ..rough }
    }

    fn stored(&self, raw: [u64; 2]) -> u64 {
        (raw[0] as f64 * self.ratios[0] + raw[1] as f64 * self.ratios[1]) as u64
    }
}
