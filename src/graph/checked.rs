//! Checks a graph file in one reading: checksums, and whether the rows are those of an oriented graph.
//!
//! Enters: a file whose offsets and degrees were checked. Leaves: nothing, or an error about the data. Then each row ascends
//! strictly and ends below its vertex's own rank, so every head is a vertex, and input ids ascend. Nobody who reads rows has to
//! ask again. What is not checked is whether degrees are those of the rows; nothing indexes by them.
//!
//! A window of the file is mapped, hashed, and its rows looked at while they lie in the processor's cache, so the second check
//! costs no second reading.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

use super::layout::{Layout, PAGE, REMAKE};
use crate::error::{Error, Result};
use crate::mapped::{MappedFile, Window};

/// Bytes under one checksum.
const BLOCK: u64 = 16 << 20;
/// Bytes that a thread maps at a time to check them; a part of a block.
const WINDOW: u64 = 1 << 20;

/// The xxh3 of each block of the sections, which end at `end`.
pub(super) fn checksums(file: &File, path: &Path, end: u64) -> Result<Vec<u64>> {
    blocks(end).map(|block| checksum(file, path, block, |_, _| Ok(()))).collect()
}

/// Checks the sections of `file`, mapped as `mapped`, against their `checksums` and what an oriented graph is.
pub(super) fn checked(file: &File, mapped: &MappedFile, layout: &Layout, checksums: &[u64]) -> Result<()> {
    let path = mapped.path();
    let damaged = |block: usize| {
        Err(Error::data(path, format!("block {block} is damaged (its checksum differs)")).advice(REMAKE))
    };
    let rows = Rows { mapped, layout };
    let blocks = blocks(layout.end());
    if blocks.len() != checksums.len() {
        return damaged(checksums.len().min(blocks.len()));
    }
    blocks.zip(checksums).enumerate().try_for_each(|(i, (block, &expected))| {
        let found = checksum(file, path, block.clone(), |range, window| rows.check(range, window));
        rows.release(&block);
        // Damage is the simpler story where a row is wrong as well.
        match found {
            Ok(found) if found == expected => Ok(()),
            Err(error) if self::checksum(file, path, block, |_, _| Ok(()))? == expected => Err(error),
            _ => damaged(i),
        }
    })
}

fn blocks(end: u64) -> impl IndexedParallelIterator<Item = Range<u64>> {
    let count = (end - PAGE.min(end)).div_ceil(BLOCK) as usize;
    (0..count).into_par_iter().map(move |block| {
        let start = PAGE + block as u64 * BLOCK;
        start..end.min(start + BLOCK)
    })
}

/// The xxh3 of a block; `look` is lent each of its windows, with the page before it.
fn checksum(
    file: &File,
    path: &Path,
    block: Range<u64>,
    look: impl Fn(Range<u64>, &[u8]) -> Result<()>,
) -> Result<u64> {
    let mut hash = Xxh3Default::new();
    for start in (block.start..block.end).step_by(WINDOW as usize) {
        let end = block.end.min(start + WINDOW);
        let window = Window::new(file, path, start - PAGE..end)?;
        hash.update(&window[PAGE as usize..]);
        look(start..end, &window)?;
    }
    Ok(hash.digest())
}

struct Rows<'a> {
    mapped: &'a MappedFile,
    layout: &'a Layout,
}

impl Rows<'_> {
    /// Looks at bytes `range` of the file; `window` begins a page before them.
    fn check(&self, range: Range<u64>, window: &[u8]) -> Result<()> {
        let contradicts = |what: &str| Err(Error::data(self.mapped.path(), what).advice(REMAKE));
        if let Some((first, before, heads)) = part::<u32>(&range, self.layout.heads(), window)
            && !self.are_rows(first, before, heads)
        {
            return contradicts("its rows do not ascend to smaller ranks");
        }
        if let Some((_, before, ids)) = self.layout.ids().and_then(|ids| part::<u64>(&range, ids, window))
            && !(before.is_none_or(|before| before < ids[0]) && ids.is_sorted_by(|a, b| a < b))
        {
            return contradicts("its ids do not ascend");
        }
        Ok(())
    }

    /// Whether `heads`, which are those from `first` on and follow `before`, ascend in each row and end below its own number.
    fn are_rows(&self, first: u64, before: Option<u32>, heads: &[u32]) -> bool {
        let offsets: &[u64] = self.mapped.slice(self.layout.offsets());
        let (mut at, end) = (first, first + heads.len() as u64);
        let Some(mut rank) = offsets.partition_point(|&offset| offset <= at).checked_sub(1) else { return false };
        let mut before = before.filter(|_| offsets[rank] < at);
        while at < end {
            let Some(&row_end) = offsets.get(rank + 1) else { return false };
            let until = row_end.min(end);
            let row = &heads[(at - first) as usize..(until - first) as usize];
            if let (Some(&head), Some(&last)) = (row.first(), row.last()) {
                let ascends = row.windows(2).fold(true, |ascends, pair| ascends & (pair[0] < pair[1]));
                let follows = before.take().is_none_or(|before| before < head);
                if !ascends || !follows || (until == row_end && last as usize >= rank) {
                    return false;
                }
            }
            (at, rank) = (until, rank + 1);
        }
        true
    }

    /// Gives the pages of the offsets back that checking `block` touched.
    fn release(&self, block: &Range<u64>) {
        let (section, heads) = (self.layout.offsets(), self.layout.heads());
        let arcs = |at: u64| at.clamp(heads.start as u64, heads.end as u64) - heads.start as u64;
        let offsets: &[u64] = self.mapped.slice(section.clone());
        let place = |at: u64| section.start + 8 * offsets.partition_point(|&offset| offset * 4 < arcs(at));
        self.mapped.release(place(block.start)..place(block.end));
    }
}

/// What of `section` lies in `range`: the place of its first value in the section, the value before it, and the values.
fn part<'w, T: bytemuck::Pod>(
    range: &Range<u64>,
    section: Range<usize>,
    window: &'w [u8],
) -> Option<(u64, Option<T>, &'w [T])> {
    let (start, size) = ((range.start - PAGE) as usize, size_of::<T>());
    let (from, to) = (section.start.max(range.start as usize), section.end.min(range.end as usize));
    if from >= to {
        return None;
    }
    let values = |from: usize, to: usize| bytemuck::cast_slice::<u8, T>(&window[from - start..to - start]);
    let before = (from > section.start).then(|| values(from - size, from)[0]);
    Some((((from - section.start) / size) as u64, before, values(from, to)))
}
