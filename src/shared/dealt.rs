//! The rows of the oriented graph in the order of numbers, by one sequential reading, in a temporary file.
//!
//! Enters: the graph, whose rows stand in the order of ids. Leaves: [`Dealt`], from which runs of numbers (*windows*) are read
//! one after another, in either direction, any number of times. The graph is read once, from its start to its end: each row is
//! dealt to the window of its number, and within a window rows stay in the order of ids; which order that is, and where a row
//! begins, follows from the numbering and the lengths, so nothing but heads is stored, and rows are found through an array
//! when a window is read.
//!
//! Cost: `4 m` bytes read from the graph, as many written, as many read by every pass; a pass sorts the ids of each window.
//! Memory: `4 n` bytes of offsets (twice that for a moment); while rows are dealt `memory` bytes, of which half are mapped
//! pages; while windows are read, a window's heads and 16 bytes for each of its rows. The file has no name and goes with the
//! job; each piece of it has an xxh3, checked whenever it is read, and what comes back damaged is gathered from the graph.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::frames::Frames;
use super::gather::{Piece, end_of_window, gather};
use crate::bytes::Bytes;
use crate::control::Control;
use crate::disk;
use crate::error::{Error, Result};
use crate::graph::OrientedGraph;

/// Rows that one thread deals at a time.
const RUN: usize = 1 << 14;

/// All rows, dealt to windows.
pub struct Dealt<'g> {
    graph: &'g OrientedGraph,
    windows: Frames,
    file: File,
    dir: PathBuf,
    /// What was written to each window, in order.
    pieces: Vec<Vec<Written>>,
    /// Bytes of mapped rows that may be resident when a window must be gathered.
    mapped: Bytes,
}

/// Heads that were written together.
#[derive(Clone, Copy)]
struct Written {
    arcs: usize,
    checksum: u64,
}

/// The rows of a run of numbers.
#[derive(Default)]
pub struct Window<'d> {
    /// The numbers.
    pub range: Range<u32>,
    /// Where each row begins and one more, if they stood in the order of numbers: their lengths.
    offsets: &'d [u32],
    /// Where each row begins among the heads.
    starts: Vec<u32>,
    heads: Vec<u32>,
}

impl Window<'_> {
    /// The row of `number`, which is in the range.
    #[inline]
    pub fn row(&self, number: u32) -> &[u32] {
        let i = (number - self.range.start) as usize;
        let start = self.starts[i] as usize;
        &self.heads[start..start + (self.offsets[i + 1] - self.offsets[i]) as usize]
    }
}

impl<'g> Dealt<'g> {
    /// Deals the rows of `graph` to windows of about `window` bytes, in a file of `dir`. Runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`] when the directory cannot be written or is full; when stopped.
    pub fn new(graph: &'g OrientedGraph, dir: &Path, window: Bytes, memory: Bytes, control: &Control) -> Result<Self> {
        let windows = Frames::of_lengths(&lengths(graph), window);
        let file =
            disk::anonymous(dir).map_err(|e| e.advice("name a directory that can be written with --work-dir"))?;
        let pieces = vec![Vec::new(); windows.count()];
        let mapped = Bytes(memory.get() / 2);
        let mut dealt = Self { graph, windows, file, dir: dir.to_path_buf(), pieces, mapped };
        let mut ends: Vec<u64> = (0..dealt.windows.count()).map(|i| dealt.windows.arcs(i).start).collect();
        let (mut next, mut heads) = (0, Vec::new());
        while next < graph.vertices() {
            control.check()?;
            let ids = next..end_of_window(graph.offsets(), next, mapped);
            dealt.deal(ids.clone(), &mut ends, &mut heads)?;
            graph.release();
            next = ids.end;
        }
        Ok(dealt)
    }

    /// Bytes on disk.
    pub fn disk(graph: &OrientedGraph) -> Bytes {
        Bytes::of::<u32>(graph.edges())
    }

    /// How many windows there are.
    pub fn count(&self) -> usize {
        self.windows.count()
    }

    /// Writes the rows of neighbouring ids to the ends of their windows.
    fn deal(&mut self, ids: Range<u32>, ends: &mut [u64], out: &mut Vec<u32>) -> Result<()> {
        let (offsets, heads) = (self.graph.offsets(), self.graph.heads());
        let ids = ids.start as usize..ids.end as usize;
        let number_of = &self.graph.numbering().number_of[ids.clone()];
        let windows = &self.windows;
        let length = |id: usize| (offsets[id + 1] - offsets[id]) as usize;
        let runs = || number_of.par_chunks(RUN).enumerate().map(|(run, numbers)| (ids.start + run * RUN, numbers));
        // Arcs from each run to each window.
        let counts: Vec<Vec<usize>> = runs()
            .map(|(first, numbers)| {
                let mut counts = vec![0; windows.count()];
                numbers.iter().zip(first..).for_each(|(&number, id)| counts[windows.frame_of(number)] += length(id));
                counts
            })
            .collect();
        // Places by windows, and by runs within a window.
        out.resize((offsets[ids.end] - offsets[ids.start]) as usize, 0);
        let mut places: Vec<Vec<&mut [u32]>> = counts.iter().map(|_| Vec::with_capacity(windows.count())).collect();
        let mut rest = &mut out[..];
        for window in 0..windows.count() {
            for (places, counts) in places.iter_mut().zip(&counts) {
                let (mine, after) = rest.split_at_mut(counts[window]);
                places.push(mine);
                rest = after;
            }
        }
        runs().zip(places).for_each(|((first, numbers), mut places)| {
            for (&number, id) in numbers.iter().zip(first..) {
                let place = &mut places[windows.frame_of(number)];
                let (mine, after) = std::mem::take(place).split_at_mut(length(id));
                mine.copy_from_slice(&heads[offsets[id] as usize..offsets[id + 1] as usize]);
                *place = after;
            }
        });
        let mut dealt = Vec::with_capacity(windows.count());
        let mut rest = &out[..];
        for (window, end) in ends.iter_mut().enumerate() {
            let (mine, after) = rest.split_at(counts.iter().map(|counts| counts[window]).sum());
            dealt.push((window, *end, mine));
            *end += mine.len() as u64;
            rest = after;
        }
        dealt.retain(|(_, _, heads)| !heads.is_empty());
        let written = dealt.par_iter().map(|&(window, at, heads)| {
            let bytes = bytemuck::cast_slice(heads);
            disk::write_at(&self.file, &self.dir, bytes, 4 * at)?;
            Ok((window, Written { arcs: heads.len(), checksum: xxh3_64(bytes) }))
        });
        for (window, written) in written.collect::<Result<Vec<_>>>()? {
            self.pieces[window].push(written);
        }
        Ok(())
    }

    /// Reads window `i`. Runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Data`] when the disk fails; when stopped.
    pub fn read<'d>(&'d self, i: usize, into: &mut Window<'d>, control: &Control) -> Result<()> {
        control.check()?;
        let (range, arcs) = (self.windows.range(i), self.windows.arcs(i));
        into.range = range.clone();
        into.offsets = self.windows.offsets(i);
        let Window { offsets, starts, heads, .. } = into;
        heads.resize((arcs.end - arcs.start) as usize, 0);

        let id_of = &self.graph.numbering().id_of[range.start as usize..range.end as usize];
        let keys = id_of.par_iter().enumerate().map(|(i, &id)| u64::from(id) << 32 | i as u64);
        let mut order: Vec<u64> = keys.collect();
        order.par_sort_unstable();
        starts.resize(order.len(), 0);
        let mut end = 0;
        for &key in &order {
            let i = key as u32 as usize;
            starts[i] = end;
            end += offsets[i + 1] - offsets[i];
        }

        let mut pieces = Vec::with_capacity(self.pieces[i].len());
        let (mut rest, mut at) = (&mut heads[..], arcs.start);
        for &written in &self.pieces[i] {
            let (mine, after) = rest.split_at_mut(written.arcs);
            pieces.push((at, mine, written.checksum));
            (rest, at) = (after, at + written.arcs as u64);
        }
        let whole = AtomicBool::new(true);
        pieces.into_par_iter().try_for_each(|(at, heads, checksum)| -> Result<()> {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(heads);
            disk::read_at(&self.file, bytes, 4 * at)
                .map_err(|e| Error::read(&self.dir, e).advice("see what the system says of this disk"))?;
            if xxh3_64(bytes) != checksum {
                whole.store(false, Ordering::Relaxed);
            }
            Ok(())
        })?;
        if !whole.into_inner() {
            tracing::warn!("{}: rows came back damaged; they are gathered again", self.dir.display());
            let ids: Vec<u32> = order.iter().map(|key| (key >> 32) as u32).collect();
            let mut offsets: Vec<u32> = order.iter().map(|&key| starts[key as u32 as usize]).collect();
            offsets.push(end);
            let mut pieces = Vec::new();
            Piece::cut(&ids, &offsets, heads, &mut pieces);
            gather(self.graph, pieces, self.mapped, control)?;
            self.graph.release();
        }
        Ok(())
    }

    /// Reads all windows, one while `each` is at work on the one before; ascending or `falling`.
    ///
    /// # Errors
    /// As [`Self::read`], or what `each` reports.
    pub fn pass(
        &self,
        falling: bool,
        control: &Control,
        mut each: impl FnMut(&Window<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let at = |i: usize| if falling { self.count() - 1 - i } else { i };
        let (mut now, mut next) = (Window::default(), Window::default());
        self.read(at(0), &mut now, control)?;
        for i in 1..=self.count() {
            let more = || if i < self.count() { self.read(at(i), &mut next, control) } else { Ok(()) };
            let (done, read) = rayon::join(|| each(&now), more);
            done.and(read)?;
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    }

    /// Changes a byte, as a failing disk might.
    #[cfg(test)]
    pub(super) fn damage(&self, at: u64) {
        use std::os::unix::fs::FileExt;
        let mut byte = [0];
        let _ = self.file.read_exact_at(&mut byte, at);
        let _ = self.file.write_all_at(&[byte[0] ^ 1], at);
    }
}

/// The lengths of all rows in the order of numbers; offsets are read as they stand.
fn lengths(graph: &OrientedGraph) -> Vec<u32> {
    let mut lengths = vec![0; graph.vertices() as usize];
    for (pair, &number) in graph.offsets().windows(2).zip(&graph.numbering().number_of) {
        lengths[number as usize] = (pair[1] - pair[0]) as u32;
    }
    lengths
}
