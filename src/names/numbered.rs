//! Arcs whose names have numbers.

use std::mem::take;
use std::sync::Arc;

use super::run::{NameRun, damaged, read_arcs};
use trimill_graph::names::Names;
use trimill_input::ArcSink;
use trimill_input::arcs::{ArcSource, READ, SourceFacts};
use trimill_system::control::{Control, Unit};
use trimill_system::disk::{Overflow, WaitingBytes};
use trimill_system::{Bytes, Result, parallel};

const BATCH: usize = 1 << 14;

pub struct NumberedArcs<'a> {
    pub(super) source: &'a dyn ArcSource,
    pub(super) names: Arc<Names>,
    pub(super) arcs: u64,
    pub(super) runs: Vec<NameRun>,
    /// For each range of names the number of its first one, and the numbers of each run's names, counted from there.
    pub(super) numbers: Vec<(u32, Vec<Vec<WaitingBytes>>)>,
    pub(super) waiting: Overflow,
}

impl NumberedArcs<'_> {
    pub fn names(&self) -> &Arc<Names> {
        &self.names
    }

    pub fn bytes_written(&self) -> Bytes {
        let numbers = self.numbers.iter().flat_map(|(_, runs)| runs.iter().flatten());
        let arcs = self.runs.iter().flat_map(|run| &run.arcs);
        Bytes(arcs.chain(numbers).map(WaitingBytes::in_file).sum::<u64>() + self.names.bytes().get())
    }

    /// Writes arcs and numbers to disk, unless they take at most `most` of memory, and drops the names of runs, which are merged now.
    pub(super) fn hold_at_most(&mut self, most: Bytes) -> Result<()> {
        let Self { runs, numbers, waiting, .. } = self;
        runs.iter_mut().for_each(|run| drop(take(&mut run.pieces)));
        if waiting.limit.lower(most) {
            return Ok(());
        }
        let numbers = numbers.iter_mut().flat_map(|(_, runs)| runs.iter_mut().flatten());
        for bytes in runs.iter_mut().flat_map(|run| &mut run.arcs).chain(numbers) {
            if let WaitingBytes::Memory(held) = bytes {
                *bytes = waiting.write(held)?;
            }
        }
        Ok(())
    }

    fn numbers_of(&self, run: usize) -> Result<Vec<u32>> {
        let mut numbers = Vec::with_capacity(self.runs[run].names as usize);
        for (first, runs) in &self.numbers {
            let begin = numbers.len();
            runs[run].iter().try_for_each(|bytes| read_arcs(&self.waiting, bytes, &mut numbers))?;
            numbers[begin..].iter_mut().for_each(|number| *number += first);
        }
        if numbers.len() == self.runs[run].names as usize { Ok(numbers) } else { Err(damaged()) }
    }
}

impl ArcSource for NumberedArcs<'_> {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        let task = control.task(READ, Some(self.arcs), Unit::Arcs);
        parallel::try_each(0..self.runs.len(), |run| {
            let numbers = self.numbers_of(run)?;
            let number = |place: u32| numbers.get(place as usize).map(|&number| u64::from(number)).ok_or_else(damaged);
            let (mut places, mut batch) = (Vec::new(), Vec::with_capacity(BATCH));
            for bytes in &self.runs[run].arcs {
                places.clear();
                read_arcs(&self.waiting, bytes, &mut places)?;
                for arcs in places.as_chunks().0.chunks(BATCH) {
                    control.check()?;
                    batch.clear();
                    for &[tail, head] in arcs {
                        batch.push((number(tail)?, number(head)?));
                    }
                    sink.arcs(&batch)?;
                }
                task.advance(places.len() as u64 / 2);
            }
            Ok(())
        })?;
        Ok(self.arcs)
    }

    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most) = (Some(self.names.count()), self.arcs);
        SourceFacts { declared_vertices, arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    fn unchanged(&self) -> Result<()> {
        self.source.unchanged()
    }
}
