//! Checks all of a spill. Input: an open [`SpillReader`]. Output: nothing, or what is wrong. Beyond the checks of every reading (checksums, rows
//! strictly ascending, resident successors below their own number, row blocks' successors below their range's end), each proxy's successors are
//! compared with its own number, and each row block must have one row per proxy of its range. Memory: 4 bytes per vertex, some MiB per thread.

use super::format::damaged;
use super::reader::SpillReader;
use trimill_counting::{Resident, RowBlock, VertexSetBuilder};
use trimill_system::Result;
use trimill_system::control::{Control, Unit};

impl SpillReader {
    pub fn verify(&self, control: &Control) -> Result<()> {
        let task = control.task("verify", Some(self.summary.bytes), Unit::Bytes);
        let at_once = 2 * rayon::current_num_threads().max(1);
        self.ranks()?;
        task.advance(self.index.stored(self.index.ranks()));
        let locals = VertexSetBuilder::new(self.header().numbered);
        let mut last = None;
        let mut run = Resident::default();
        for start in self.resident_blocks().step_by(at_once) {
            control.check()?;
            let blocks = start..self.resident_blocks().end.min(start + at_once);
            self.read_resident_run(blocks.clone(), false, &mut run)?;
            if run.numbers.iter().next().is_some_and(|first| last.is_some_and(|last| last >= first)) {
                return Err(damaged(self.path(), "resident section: its numbers do not ascend strictly"));
            }
            run.numbers.iter().for_each(|number| {
                locals.set(number);
                last = Some(number);
            });
            task.advance(self.index.stored(blocks));
        }
        drop(run);
        let mut run = RowBlock::default();
        for (i, info) in self.index.row_blocks.iter().enumerate() {
            let mut proxies = info.range.clone().filter(|&number| !locals.contains(number));
            let mut start = info.blocks.start;
            while start < info.blocks.end {
                control.check()?;
                let blocks = start..info.blocks.end.min(start + at_once);
                self.read_blocks(i, blocks.clone(), false, &mut run)?;
                let rows = run.view();
                for row in 0..rows.offsets.len() - 1 {
                    let own = proxies.next();
                    if own.is_none() || rows.row(row).last().copied() >= own {
                        let own = own.map_or_else(|| "of no proxy".into(), |own| format!("of proxy {own}"));
                        return Err(damaged(self.path(), format!("row block {i}: the row {own} reaches too far")));
                    }
                }
                start = blocks.end;
                task.advance(self.index.stored(blocks));
            }
            if let Some(own) = proxies.next() {
                return Err(damaged(self.path(), format!("row block {i}: proxy {own} has no row")));
            }
        }
        Ok(())
    }
}
