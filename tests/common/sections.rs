//! Builds the sections of a partition from all rows of the graph and what pruning kept, row by row.

use trimill::Bytes;
use trimill::testing::partition::assignment::Assignment;
use trimill::testing::partition::cuts::RowBlockCuts;
use trimill::testing::partition::kept::Kept;
use trimill_counting::{NumberRuns, Resident, RowBlock};

/// The rows of locals in full, and those of proxies, in row blocks of at most `limit` bytes.
pub(crate) fn sections(rows: &[Vec<u32>], kept: &Kept, locals: &Assignment, limit: Bytes) -> (Resident, Vec<RowBlock>) {
    let number = |&rank: &u32| kept.kept.rank(rank);
    let (mut resident, mut numbers) = (Resident { offsets: vec![0], ..Resident::default() }, Vec::new());
    let (mut cuts, mut proxies) = (RowBlockCuts::new(limit), Vec::new());
    for (place, rank) in (0..).zip(kept.kept.iter(0..rows.len() as u32)) {
        let row = rows[rank as usize].iter();
        if locals.part(rank) == kept.part {
            numbers.push(place);
            resident.successors.extend_from_slice(&row.map(number).collect::<Vec<u32>>());
            resident.offsets.push(resident.successors.len() as u64);
        } else {
            let row: Vec<u32> = row.filter(|&&successor| kept.keeps(successor)).map(number).collect();
            cuts.row(place, row.len() as u32);
            proxies.push((place, row));
        }
    }
    resident.numbers = NumberRuns::of(numbers);
    let (mut start, mut rest) = (0, proxies.into_iter().peekable());
    let row_blocks = cuts.finish(kept.kept.count()).into_iter().map(|end| {
        let (mut ends, mut successors) = (vec![0], Vec::new());
        while let Some((_, row)) = rest.next_if(|(place, _)| *place < end) {
            successors.extend(row);
            ends.push(successors.len() as u32);
        }
        RowBlock::of(std::mem::replace(&mut start, end)..end, &ends, &successors).unwrap()
    });
    (resident, row_blocks.collect())
}
