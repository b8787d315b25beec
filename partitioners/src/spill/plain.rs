//! Writes plain rows to a spill, for tests that make partitions by hand; jobs write encoded rows.

use super::coded::CodedRows;
use super::writer::SpillWriter;
use trimill_counting::{Resident, RowBlock};
use trimill_system::Result;

impl SpillWriter {
    pub fn resident(&mut self, rows: &Resident) -> Result<()> {
        let mut coded = CodedRows::default();
        let mut coder = coded.coder();
        for (i, number) in rows.numbers.iter().enumerate() {
            coder.push(number, rows.row(i), |_| true, |successor| successor);
        }
        self.resident_rows(coded.all())
    }

    pub fn row_block(&mut self, row_block: &RowBlock) -> Result<()> {
        let (view, mut coded) = (row_block.view(), CodedRows::default());
        let mut coder = coded.coder();
        for i in 0..view.offsets.len() - 1 {
            coder.push(row_block.range.end.saturating_sub(1), view.row(i), |_| true, |successor| successor);
        }
        self.row_block_rows(coded.all())?;
        self.end_row_block(row_block.range.end)
    }
}
