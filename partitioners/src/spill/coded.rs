//! Filtered rows that are not yet in a block: numbers and lengths as plain values, successors encoded. Output: the bytes of a block
//! ([`super::block`]). Encoded rows take 1 to 2 bytes per arc, so rows are encoded where they are filtered, and only these bytes are moved.

use trimill_graph::leb128::{BATCH_BYTES, SOME, put_batch};

/// Rows in ascending order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodedRows {
    numbers: Vec<u32>,
    lengths: Vec<u32>,
    arcs: u64,
    /// LEB128: for each row the first successor, then the distance of each from the one before, less 1.
    successors: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct RowMark {
    rows: usize,
    arcs: u64,
    bytes: usize,
}

/// Adds rows to [`CodedRows`]; has buffers for some successors.
pub struct Coder<'a> {
    rows: &'a mut CodedRows,
    /// The number of the last successor before the current chunk, then those of the chunk.
    places: [u32; SOME + 1],
    bytes: [u8; BATCH_BYTES],
}

/// Some consecutive rows of [`CodedRows`].
#[derive(Debug, Clone, Copy)]
pub struct CodedSlice<'a> {
    /// The local number of each row's vertex.
    pub numbers: &'a [u32],
    pub lengths: &'a [u32],
    pub arcs: u64,
    pub(super) successors: &'a [u8],
}

impl CodedRows {
    pub fn coder(&mut self) -> Coder<'_> {
        Coder { rows: self, places: [0; SOME + 1], bytes: [0; BATCH_BYTES] }
    }

    pub(super) fn append(&mut self, rows: CodedSlice<'_>) {
        self.numbers.extend_from_slice(rows.numbers);
        self.lengths.extend_from_slice(rows.lengths);
        self.arcs += rows.arcs;
        self.successors.extend_from_slice(rows.successors);
    }

    pub fn clear(&mut self) {
        self.numbers.clear();
        self.lengths.clear();
        self.successors.clear();
        self.arcs = 0;
    }

    pub fn bytes(&self) -> u64 {
        (8 * self.lengths.len() + self.successors.len()) as u64
    }

    pub fn mark(&self) -> RowMark {
        RowMark { rows: self.lengths.len(), arcs: self.arcs, bytes: self.successors.len() }
    }

    pub fn between(&self, from: RowMark, to: RowMark) -> CodedSlice<'_> {
        let rows = from.rows..to.rows;
        CodedSlice {
            numbers: &self.numbers[rows.clone()],
            lengths: &self.lengths[rows],
            arcs: to.arcs - from.arcs,
            successors: &self.successors[from.bytes..to.bytes],
        }
    }

    pub fn all(&self) -> CodedSlice<'_> {
        self.between(RowMark::default(), self.mark())
    }
}

impl Coder<'_> {
    /// Adds the row of vertex `number`: the `successors` that `keep` accepts, numbered by `place`, which keeps their order. A chunk is filtered, then
    /// numbered, then encoded, so no step has unpredictable branches. Panics unless the row ascends strictly, below `number`.
    #[inline(always)]
    pub fn push(&mut self, number: u32, successors: &[u32], keep: impl Fn(u32) -> bool, place: impl Fn(u32) -> u32) {
        let Self { rows, places, bytes } = self;
        // The first distance is from -1, so that it is the successor itself.
        places[0] = u32::MAX;
        let (mut length, mut sum) = (0, 0);
        for some in successors.chunks(SOME) {
            let mut many = 0;
            for &successor in some {
                places[1 + many] = successor;
                many += usize::from(keep(successor));
            }
            places[1..=many].iter_mut().for_each(|successor| *successor = place(*successor));
            let mut distances = [0; SOME];
            for (distance, pair) in distances[..many].iter_mut().zip(places.windows(2)) {
                *distance = pair[1].wrapping_sub(pair[0]).wrapping_sub(1);
            }
            sum += distances[..many].iter().map(|&distance| u64::from(distance) + 1).sum::<u64>();
            let end = put_batch(&distances[..many], bytes);
            rows.successors.extend_from_slice(&bytes[..end]);
            length += many as u32;
            places[0] = places[many];
        }
        // The sum of the distances exceeds the last successor only if one of them wrapped.
        let ascend = sum == if length == 0 { 0 } else { u64::from(places[0]) + 1 };
        assert!(ascend && sum <= u64::from(number), "rows ascend below their own number");
        rows.numbers.push(number);
        rows.lengths.push(length);
        rows.arcs += u64::from(length);
    }
}

impl CodedSlice<'_> {
    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn weight(&self) -> u64 {
        self.rows() as u64 + self.arcs
    }

    /// Splits after the first `rows` rows. Takes `O(1)` if there are no more rows, else time proportional to the bytes of the first ones.
    #[must_use]
    pub fn split_at(&self, rows: usize) -> (Self, Self) {
        let (numbers, numbers_after) = self.numbers.split_at(rows);
        let (lengths, lengths_after) = self.lengths.split_at(rows);
        let arcs = match rows == self.rows() {
            true => self.arcs,
            false => lengths.iter().map(|&length| u64::from(length)).sum(),
        };
        let (successors, successors_after) = self.successors.split_at(self.bytes_of(arcs));
        (
            Self { numbers, lengths, arcs, successors },
            Self {
                numbers: numbers_after,
                lengths: lengths_after,
                arcs: self.arcs - arcs,
                successors: successors_after,
            },
        )
    }

    fn bytes_of(&self, arcs: u64) -> usize {
        const STEP: usize = 256;
        if arcs == self.arcs {
            return self.successors.len();
        }
        let ends = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte < 0x80)).sum::<u64>();
        let (mut at, mut left) = (0, arcs);
        while let Some(step) = self.successors.get(at..at + STEP) {
            let found = ends(step);
            if found >= left {
                break;
            }
            (at, left) = (at + STEP, left - found);
        }
        // The last step goes byte by byte, to end right after the last number.
        while left > 0 {
            left -= u64::from(self.successors[at] < 0x80);
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn coded(rows: &[Vec<u32>]) -> CodedRows {
        let mut coded = CodedRows::default();
        let mut coder = coded.coder();
        (0..).zip(rows).for_each(|(i, row)| coder.push(1 << 30 | i, row, |_| true, |successor| successor));
        coded
    }

    proptest! {
        #[test]
        fn rows_are_split_and_joined_again(
            rows in prop::collection::vec(prop::collection::btree_set(0u32..1 << 29, 0..200), 0..40),
            at in any::<prop::sample::Index>(),
        ) {
            let rows: Vec<Vec<u32>> = rows.into_iter().map(|row| row.into_iter().collect()).collect();
            let at = at.index(rows.len() + 1);
            let all = coded(&rows);
            let (first, second) = all.all().split_at(at);
            prop_assert_eq!(first.successors, &coded(&rows[..at]).successors[..]);
            prop_assert_eq!(first.arcs, rows[..at].iter().map(|row| row.len() as u64).sum::<u64>());
            prop_assert_eq!((first.rows(), first.rows() + second.rows()), (at, rows.len()));
            let mut joined = CodedRows::default();
            joined.append(first);
            joined.append(second);
            prop_assert_eq!(joined, all);
        }
    }
}
