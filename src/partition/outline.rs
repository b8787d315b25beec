//! What the sections of a partition will look like, from a sample of its rows.
//!
//! Enters: [`Sections`] and the partition's size. Leaves: an [`Outline`]: the lengths of all rows (of the locals as they
//! are; of the proxies from a sample, stretched to the number of arcs that is known), the frames that follow from them, and
//! any run of rows as it will stand in its section. Cost: the proxies' rows are what building a partition mostly reads, and
//! here every 32nd of them is; where there are few proxies, all. 4 bytes a local and a proxy.

use std::ops::Range;

use rayon::prelude::*;

use super::RUN;
use super::cuts::Cut;
use super::section::{FrameSize, Resident};
use super::sections::Sections;
use super::sizes::PartitionSize;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::error::Result;

/// Proxies are sampled by strata of so many, of which so many rows next to each other are read.
const STRATUM: usize = 512;
const READ: usize = 16;

/// With up to so many proxies all rows are read.
const FEW: usize = 1 << 14;

/// Sections in outline.
pub struct Outline<'s, 'p, 'g> {
    sections: &'s Sections<'p, 'g>,
    /// The length of each local's row.
    pub local_lengths: Vec<u32>,
    /// The length of each proxy's row.
    pub proxy_lengths: Vec<u32>,
    /// The frames.
    pub frames: Vec<FrameOutline>,
}

/// A frame in outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameOutline {
    /// The proxies whose rows it holds, counted from the first proxy of the partition.
    pub rows: Range<usize>,
    /// Its size.
    pub size: FrameSize,
}

impl<'s, 'p, 'g> Outline<'s, 'p, 'g> {
    /// The outline of `sections`, whose partition has this size, with frames of at most `limit`.
    ///
    /// # Errors
    /// Only when stopped.
    pub fn new(sections: &'s Sections<'p, 'g>, size: &PartitionSize, limit: Bytes, control: &Control) -> Result<Self> {
        let graph = sections.pruned.graph;
        let local_lengths = sections.locals.par_iter().map(|&number| graph.out_degree(number)).collect();
        let proxy_lengths = lengths(sections, size.arcs_kept - size.resident_arcs, control)?;
        let frames = sections
            .cuts(&proxy_lengths, limit)
            .into_iter()
            .map(|Cut { range, rows, arcs }| FrameOutline {
                size: FrameSize { range: range.len() as u32, rows: rows.len() as u64, arcs },
                rows,
            })
            .collect();
        Ok(Self { sections, local_lengths, proxy_lengths, frames })
    }

    /// The lengths of the rows of the first `most` local numbers.
    pub fn first_lengths(&self, most: u32) -> Vec<u32> {
        let Sections { locals, proxies, .. } = self.sections;
        let (mut local, mut proxy) = (0, 0);
        let next = || {
            let is_local = match (locals.get(local), proxies.get(proxy)) {
                (Some(local), Some(proxy)) => local < proxy,
                (local, _) => local.is_some(),
            };
            let (lengths, place) = match is_local {
                true => (&self.local_lengths, &mut local),
                false => (&self.proxy_lengths, &mut proxy),
            };
            let length = lengths.get(*place).copied();
            *place += 1;
            length
        };
        std::iter::from_fn(next).take(most as usize).collect()
    }

    /// The rows of some locals, as they will stand in the resident section.
    pub fn resident(&self, locals: Range<usize>) -> Resident {
        let (pruned, numbers) = (self.sections.pruned, &self.sections.locals[locals]);
        let mut rows = Resident { offsets: vec![0], ..Resident::default() };
        for &number in numbers {
            rows.numbers.push(pruned.kept.rank(number));
            rows.heads.extend(pruned.graph.row(number).iter().map(|&head| pruned.kept.rank(head)));
            rows.offsets.push(rows.heads.len() as u64);
        }
        rows
    }

    /// The rows of some proxies, as they will stand in a frame: where each begins, one more at the end, and the heads; and
    /// the number after the last row's own.
    pub fn in_frames(&self, proxies: Range<usize>) -> (Vec<u32>, Vec<u32>, u32) {
        let (pruned, numbers) = (self.sections.pruned, &self.sections.proxies[proxies]);
        let (mut offsets, mut heads) = (vec![0], Vec::new());
        for &number in numbers {
            let row = pruned.graph.row(number).iter().filter(|&&head| pruned.keeps_head(head));
            heads.extend(row.map(|&head| pruned.kept.rank(head)));
            offsets.push(heads.len() as u32);
        }
        (offsets, heads, numbers.last().map_or(0, |&number| pruned.kept.rank(number) + 1))
    }
}

/// The lengths of all proxies' rows: as they are where there are few, else those of a sample in place of their strata,
/// stretched so that they add up to `arcs`.
fn lengths(sections: &Sections<'_, '_>, arcs: u64, control: &Control) -> Result<Vec<u32>> {
    let (proxies, graph) = (&sections.proxies, sections.pruned.graph);
    let mut lengths = vec![0; proxies.len()];
    let all = proxies.len() <= FEW;
    lengths.par_chunks_mut(RUN as usize).zip(proxies.par_chunks(RUN as usize)).try_for_each(|(lengths, proxies)| {
        control.check()?;
        for (lengths, proxies) in lengths.chunks_mut(STRATUM).zip(proxies.chunks(STRATUM)) {
            let read = if all { proxies.len() } else { READ.min(proxies.len()) };
            let first = (proxies.len() - read) / 2;
            let (sample, rest) = lengths.split_at_mut(read);
            for (length, &number) in sample.iter_mut().zip(&proxies[first..]) {
                *length = sections.filtered_length(number);
            }
            rest.iter_mut().zip(sample.iter().cycle()).for_each(|(length, &like)| *length = like);
        }
        graph.relieve();
        Ok(())
    })?;
    let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    if sum != arcs && sum > 0 {
        // What rounding takes from one row, it gives to the next.
        let (mut end, mut given) = (0u64, 0u64);
        for length in &mut lengths {
            end += u64::from(*length);
            let stretched = (u128::from(end) * u128::from(arcs) / u128::from(sum)) as u64;
            *length = (stretched - given) as u32;
            given = stretched;
        }
    }
    Ok(lengths)
}
