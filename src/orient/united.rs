//! Makes the rows of a directed graph symmetric: unites each row with the tails of the arcs that end at its vertex, and drops loops.
//!
//! Input: strictly ascending [`AdjacencyRows`]. Output: [`AdjacencyRows`] in which every arc has its reverse. The tails of all heads are found first
//! ([`super::tails`]), with the lengths of the united rows; a row is united whenever it is read. If the tails fit neither in memory nor on disk,
//! there are several bands of ids, and a band's tails are found again when its rows are to be read. Rows are not copied. Memory: the encoded
//! tails, 0.2 to 4 bytes each, within a share of the budget, and beyond it in a file; 12 bytes an id for lengths.

use std::ops::Range;
use std::path::Path;
use std::sync::RwLock;

use super::tails::{BandTails, RowsToReverse, read_tails};
use crate::clean::Shares;
use trimill_input::changed;
use trimill_input::rows::{AdjacencyRows, RowChunk};
use trimill_system::control::{Control, NOTE};
use trimill_system::mapped::zeros;
use trimill_system::{Result, unpoisoned};

pub(super) struct UnitedRows<'a> {
    /// What errors call the input.
    name: &'a Path,
    rows: RowsToReverse<'a>,
    lengths: Vec<u32>,
    bands: Vec<Range<usize>>,
    tails: RwLock<BandTails>,
    pub(super) loops: u64,
}

impl<'a> UnitedRows<'a> {
    /// `None`: the rows do not ascend, or there is too little memory to sort a bucket.
    pub(super) fn new(
        name: &'a Path,
        rows: Box<dyn AdjacencyRows + 'a>,
        given: Vec<u32>,
        shares: Shares<'a>,
        control: &Control,
    ) -> Result<Option<Self>> {
        let mut lengths: Vec<u32> = zeros(given.len());
        let rows = RowsToReverse::new(rows, given, shares);
        let (mut bands, mut loops, mut first) = (Vec::new(), 0, 0);
        loop {
            let begin = rows.chunks[first].whole.ids.start as usize;
            let Some(tails) = rows.tails(first..rows.chunks.len(), Some(&mut lengths[begin..]), control)? else {
                return Ok(None);
            };
            loops += tails.loops;
            first = tails.chunks.end;
            bands.push(tails.chunks.clone());
            if first == rows.chunks.len() {
                return Ok(Some(Self { name, rows, lengths, bands, tails: RwLock::new(tails), loops }));
            }
            if bands.len() == 1 {
                let end = rows.chunks[first].whole.ids.start;
                tracing::info!(
                    target: NOTE,
                    "the input is read again for each range of about {end} ids: their reversed arcs fit neither in memory (--host-memory) \
                     nor in half of the free space of the disk (--work-dir)"
                );
            }
        }
    }
}

impl AdjacencyRows for UnitedRows<'_> {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        Ok(Some(self.lengths.clone()))
    }

    fn starts(&self) -> Option<Vec<u64>> {
        Some(self.rows.chunks.iter().map(|chunk| chunk.whole.ids.start).collect())
    }

    fn bands(&self) -> usize {
        self.bands.len()
    }

    fn enter(&self, band: usize, control: &Control) -> Result<u64> {
        let chunks = &self.bands[band];
        let mut tails = unpoisoned(self.tails.write());
        if tails.chunks != *chunks {
            // Drops the old band first, whose memory the new one needs.
            *tails = BandTails::default();
            let found = self.rows.tails(chunks.clone(), None, control)?;
            *tails = found.ok_or_else(|| changed(self.name, "its rows differ"))?;
        }
        Ok(self.rows.chunks[chunks.start].whole.ids.start)
    }

    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        let chunks = &self.rows.chunks;
        let i = chunks.partition_point(|other| other.whole.ids.start <= chunk.ids.start).saturating_sub(1);
        let of_band = unpoisoned(self.tails.read());
        let mut bucket = of_band.buckets(i).start;
        let (mut bytes, mut at) = (of_band.of(bucket)?, 0);
        let (mut tails, mut united) = (Vec::new(), Vec::new());
        self.rows.each_row(&chunks[i], part, &mut |id, row| {
            if id == of_band.end_of(bucket) {
                bucket += 1;
                (bytes, at) = (of_band.of(bucket)?, 0);
            }
            at += read_tails(&bytes[at..], &mut tails)?;
            unite(row, &tails, id, &mut united);
            if united.is_empty() { Ok(true) } else { take(&mut united) }
        })
    }
}

fn unite(row: &[u32], tails: &[u32], id: u32, united: &mut Vec<u32>) {
    united.clear();
    united.resize(row.len() + tails.len(), 0);
    let (mut i, mut j, mut end) = (0, 0, 0);
    while i < row.len() && j < tails.len() {
        let (a, b) = (row[i], tails[j]);
        united[end] = a.min(b);
        // A loop is no tail, so only the row can have it.
        end += usize::from(a.min(b) != id);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    for &head in &row[i..] {
        united[end] = head;
        end += usize::from(head != id);
    }
    united[end..end + tails.len() - j].copy_from_slice(&tails[j..]);
    united.truncate(end + tails.len() - j);
}
