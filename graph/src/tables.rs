//! The sections `order` and `ids`: numbers of all vertices, in chunks of 2^16, each a [sequence](crate::sequence). Among vertices of equal degree ids
//! descend, and the input's ids ascend; so differences are stored, about a byte per vertex.
//!
//! ```text
//! order  of each chunk, and of each run of equal degrees: the first vertex; then the distance to the one before, less 1
//! ids    of each chunk: the first id; then the distance from the one before, less 1. The low 32 bits, then the high ones
//! ```
//!
//! Input and output are in memory; the threads of the current pool encode and decode chunks.

use trimill_system::parallel;

use super::DegreeRun;
use super::sequence::{NumberSequence, Wrong, encode};

pub(super) const CHUNK: usize = 1 << 16;

/// The most bytes of a chunk: 33 control bits per number, 32 of data, and the headers and ends of two sequences.
pub(super) const CHUNK_BYTES: usize = CHUNK * 9 + 128;

pub(super) trait Table<T>: Sync {
    fn encode(&self, first: usize, chunk: &[T], out: &mut Vec<u8>);

    /// The sequences of a chunk of `many` numbers at the beginning of `bytes`, and the bytes after them.
    fn split<'a>(&self, bytes: &'a [u8], many: u64) -> Result<([NumberSequence<'a>; 2], &'a [u8]), Wrong>;

    fn decode(&self, sequences: [NumberSequence<'_>; 2], first: usize, chunk: &mut [T]) -> Result<(), Wrong>;

    /// Decodes the whole chunks at the beginning of `bytes`; `into` begins with number `first`. Returns their bytes and how many numbers.
    fn decode_all(&self, bytes: &[u8], first: usize, into: &mut [T]) -> Result<(usize, usize), Wrong>
    where
        T: Send,
    {
        let (mut rest, mut chunks) = (bytes, Vec::new());
        for chunk in into.chunks_mut(CHUNK) {
            match self.split(rest, chunk.len() as u64) {
                Ok((sequences, after)) => {
                    chunks.push((sequences, chunk));
                    rest = after;
                }
                Err(wrong) if chunks.is_empty() => return Err(wrong),
                Err(_) => break,
            }
        }
        let numbers = chunks.iter().map(|(_, chunk)| chunk.len()).sum();
        let decoded = parallel::map(chunks.into_iter().enumerate(), |(i, (sequences, chunk))| {
            self.decode(sequences, first + i * CHUNK, chunk)
        });
        decoded.into_iter().collect::<Result<(), Wrong>>()?;
        Ok((bytes.len() - rest.len(), numbers))
    }
}

pub(super) fn encode_all<T: Sync>(table: &impl Table<T>, first: usize, numbers: &[T]) -> Vec<Vec<u8>> {
    parallel::map(numbers.chunks(CHUNK).enumerate(), |(i, chunk)| {
        let mut bytes = Vec::new();
        table.encode(first + i * CHUNK, chunk, &mut bytes);
        bytes
    })
}

pub(super) struct Order {
    starts: Vec<usize>,
}

impl Order {
    pub(super) fn new(runs: &[DegreeRun]) -> Self {
        let starts = runs.iter().scan(0, |next, run| Some(std::mem::replace(next, *next + run.vertices as usize)));
        Self { starts: starts.collect() }
    }
}

impl Table<u32> for Order {
    fn encode(&self, first: usize, chunk: &[u32], out: &mut Vec<u8>) {
        let mut distances = vec![0; chunk.len()];
        for run in runs_in(first, chunk.len(), &self.starts) {
            distances[run.start] = chunk[run.start];
            for at in run.start + 1..run.end {
                distances[at] = chunk[at - 1].wrapping_sub(chunk[at]).wrapping_sub(1);
            }
        }
        encode(&distances, out);
    }

    fn split<'a>(&self, bytes: &'a [u8], many: u64) -> Result<([NumberSequence<'a>; 2], &'a [u8]), Wrong> {
        NumberSequence::split(bytes, many).map(|(one, after)| ([one, one], after))
    }

    fn decode(&self, [distances, _]: [NumberSequence<'_>; 2], first: usize, chunk: &mut [u32]) -> Result<(), Wrong> {
        distances.decode(chunk)?;
        for run in runs_in(first, chunk.len(), &self.starts) {
            for at in run.start + 1..run.end {
                // The caller checks that each vertex occurs once.
                chunk[at] = chunk[at - 1].wrapping_sub(chunk[at]).wrapping_sub(1);
            }
        }
        Ok(())
    }
}

pub(super) struct AscendingIds;

impl Table<u64> for AscendingIds {
    fn encode(&self, _: usize, chunk: &[u64], out: &mut Vec<u8>) {
        let distance = |i: usize| if i == 0 { chunk[0] } else { chunk[i] - chunk[i - 1] - 1 };
        for shift in [0, 32] {
            let half: Vec<u32> = (0..chunk.len()).map(|i| (distance(i) >> shift) as u32).collect();
            encode(&half, out);
        }
    }

    fn split<'a>(&self, bytes: &'a [u8], many: u64) -> Result<([NumberSequence<'a>; 2], &'a [u8]), Wrong> {
        let (low, after) = NumberSequence::split(bytes, many)?;
        let (high, after) = NumberSequence::split(after, many)?;
        Ok(([low, high], after))
    }

    fn decode(&self, [low, high]: [NumberSequence<'_>; 2], _: usize, chunk: &mut [u64]) -> Result<(), Wrong> {
        let (mut lows, mut highs) = (vec![0; chunk.len()], vec![0; chunk.len()]);
        low.decode(&mut lows)?;
        high.decode(&mut highs)?;
        let mut least = 0u64;
        for (id, (low, high)) in chunk.iter_mut().zip(lows.into_iter().zip(highs)) {
            let distance = u64::from(high) << 32 | u64::from(low);
            *id = least.checked_add(distance).ok_or("an id of more than 64 bits")?;
            // An id after the largest one wraps to a smaller one, which the caller rejects, as ids must ascend.
            least = id.wrapping_add(1);
        }
        Ok(())
    }
}

/// The parts of a chunk (`length` numbers, the first one of rank `first`) that have consecutive ranks of equal degree.
fn runs_in(first: usize, length: usize, starts: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let inner =
        starts.partition_point(|&start| start <= first)..starts.partition_point(|&start| start < first + length);
    let ends = starts[inner.clone()].iter().map(move |start| start - first).chain([length]);
    [0].into_iter().chain(starts[inner].iter().map(move |start| start - first)).zip(ends).map(|(start, end)| start..end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check<T: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync>(table: &impl Table<T>, numbers: &[T]) {
        let chunks = encode_all(table, 0, numbers);
        assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK_BYTES));
        let (bytes, mut found) = (chunks.concat(), vec![T::default(); numbers.len()]);
        assert_eq!(table.decode_all(&bytes, 0, &mut found), Ok((bytes.len(), numbers.len())));
        assert!(found == numbers);
        // A part of the last chunk is left.
        let last = chunks.last().unwrap().len();
        let cut = table.decode_all(&bytes[..bytes.len() - 8], 0, &mut found);
        match chunks.len() {
            1 => assert!(cut.is_err()),
            many => assert_eq!(cut, Ok((bytes.len() - last, (many - 1) * CHUNK))),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn orders_come_back(sizes in prop::collection::vec(prop_oneof![1u32..9, 1u32..70_000], 1..9), seed in any::<u64>()) {
            let vertices: u32 = sizes.iter().sum();
            let mut all: Vec<u32> = (0..vertices).collect();
            all.sort_by_key(|&vertex| u64::from(vertex).wrapping_mul(seed | 1).rotate_left(17));
            let (mut runs, mut order) = (Vec::new(), Vec::new());
            for (&many, degree) in sizes.iter().zip((1..=sizes.len() as u32).rev()) {
                let mut run = all.split_off(all.len() - many as usize);
                run.sort_unstable_by(|a, b| b.cmp(a));
                order.extend(run);
                runs.push(DegreeRun { degree, vertices: many });
            }
            let table = Order::new(&runs);
            check(&table, &order);
        }

        #[test]
        fn ids_come_back(gaps in prop::collection::vec(prop_oneof![0u64..3, 0u64..1 << 40], 1..9), many in 1usize..140_000) {
            let mut next = 0u64;
            let id = |i: usize| {
                next += gaps[i % gaps.len()];
                next += 1;
                next - 1
            };
            let ids: Vec<u64> = (0..many).map(id).collect();
            check(&AscendingIds, &ids);
        }
    }

    #[test]
    fn ids_reach_64_bits_and_no_further() {
        let ids = [0, u64::MAX - 1, u64::MAX];
        check(&AscendingIds, &ids);
        // A larger last distance: the id would need 65 bits.
        let mut halves = Vec::new();
        encode(&[0, u32::MAX - 1, 9], &mut halves);
        encode(&[0, u32::MAX, 9], &mut halves);
        let mut found = [0; 3];
        let wrong = AscendingIds.decode_all(&halves, 0, &mut found);
        assert!(wrong.is_err() || !found.is_sorted_by(|a, b| a < b), "{found:?}");
    }
}
