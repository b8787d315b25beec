//! The local numbers of a partition's locals: ascending, and consecutive where the partition is a rank range.

use std::ops::Range;

use trimill_system::Bytes;

/// Ascending numbers, stored as a range if there is no gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberRuns {
    /// All numbers, if `list` is empty.
    run: Range<u32>,
    list: Vec<u32>,
}

impl NumberRuns {
    pub fn run(run: Range<u32>) -> Self {
        Self { run, list: Vec::new() }
    }

    /// `list` must ascend. Its memory is kept, for [`Self::into_list`].
    pub fn of(mut list: Vec<u32>) -> Self {
        let run = match (list.first(), list.last()) {
            (Some(&first), Some(&last)) if (last - first) as usize == list.len() - 1 => first..last + 1,
            _ => return Self { run: 0..0, list },
        };
        list.clear();
        Self { run, list }
    }

    /// The vector, for reuse of its memory; it holds the numbers only if they have gaps.
    pub fn into_list(self) -> Vec<u32> {
        self.list
    }

    /// Appends numbers, which must be larger than those so far.
    pub fn append(&mut self, next: &Self) {
        if self.list.is_empty() && next.list.is_empty() && (self.run.is_empty() || self.run.end == next.run.start) {
            let start = if self.run.is_empty() { next.run.start } else { self.run.start };
            self.run = start..next.run.end;
        } else if !next.is_empty() {
            if self.list.is_empty() {
                self.list.extend(std::mem::take(&mut self.run));
            }
            self.list.extend(next.iter());
        }
    }

    pub fn len(&self) -> usize {
        if self.list.is_empty() { self.run.len() } else { self.list.len() }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let run = if self.list.is_empty() { self.run.clone() } else { 0..0 };
        self.list.iter().copied().chain(run)
    }

    pub fn below(&self, number: u32) -> usize {
        if self.list.is_empty() {
            (number.clamp(self.run.start, self.run.end) - self.run.start) as usize
        } else {
            self.list.partition_point(|&other| other < number)
        }
    }

    #[inline]
    pub fn at(&self, place: usize) -> u32 {
        if self.list.is_empty() { self.run.start + place as u32 } else { self.list[place] }
    }

    pub fn heap(&self) -> Bytes {
        Bytes::of::<u32>(self.list.capacity() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathered_numbers_are_those_that_came() {
        for runs in [
            &[][..],
            &[&[][..]],
            &[&[0], &[1, 2, 3]],
            &[&[5, 6, 7], &[], &[8]],
            &[&[5, 6, 7], &[9]],
            &[&[5, 7], &[8, 9]],
            &[&[0, 1], &[2, 4], &[5, 6]],
            &[&[3], &[u32::MAX - 1]],
        ] {
            let mut gathered = NumberRuns::default();
            runs.iter().for_each(|run| gathered.append(&NumberRuns::of(run.to_vec())));
            let expected = runs.concat();
            assert!(gathered.iter().eq(expected.iter().copied()) && gathered.len() == expected.len(), "{runs:?}");
            assert_eq!(gathered, NumberRuns::of(expected.clone()));
            for number in [0, 1, 3, 5, 6, 8, 9, 10, u32::MAX - 1, u32::MAX] {
                let below = expected.iter().filter(|&&other| other < number).count();
                assert_eq!(gathered.below(number), below, "{runs:?}");
            }
            assert!(expected.iter().enumerate().all(|(place, &number)| gathered.at(place) == number), "{runs:?}");
            let gap = expected.windows(2).any(|pair| pair[1] != pair[0] + 1);
            assert_eq!(!gathered.list.is_empty(), gap, "{runs:?}");
        }
    }
}
