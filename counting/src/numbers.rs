//! The local numbers of a partition's locals: ascending, and consecutive where the partition is a rank range.

use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub enum AscendingNumbers<'a> {
    /// From the first up to, but not including, the second.
    Run(u32, u32),
    List(&'a [u32]),
}

impl AscendingNumbers<'_> {
    pub fn below(&self, number: u32) -> usize {
        match *self {
            Self::Run(start, end) => (number.clamp(start, end) - start) as usize,
            Self::List(numbers) => numbers.partition_point(|&other| other < number),
        }
    }

    #[inline]
    pub fn at(&self, place: usize) -> u32 {
        match *self {
            Self::Run(start, _) => start + place as u32,
            Self::List(numbers) => numbers[place],
        }
    }
}

/// Ascending numbers, stored as a range as long as there is no gap.
#[derive(Debug, Default)]
pub struct NumberRuns {
    /// All numbers, if `list` is empty.
    run: Range<u32>,
    list: Vec<u32>,
}

impl NumberRuns {
    /// `list` must ascend.
    pub fn of(list: Vec<u32>) -> Self {
        Self { run: 0..0, list }
    }

    /// Adds ascending numbers, above those so far.
    pub fn add(&mut self, numbers: &[u32]) {
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return };
        let joins = self.run.is_empty() || first == self.run.end;
        if self.list.is_empty() && joins && (last - first) as usize == numbers.len() - 1 {
            let start = if self.run.is_empty() { first } else { self.run.start };
            self.run = start..last + 1;
            return;
        }
        if self.list.is_empty() {
            self.list.extend(self.run.clone());
        }
        self.list.extend_from_slice(numbers);
    }

    pub fn all(&self) -> AscendingNumbers<'_> {
        if self.list.is_empty() {
            AscendingNumbers::Run(self.run.start, self.run.end)
        } else {
            AscendingNumbers::List(&self.list)
        }
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
            runs.iter().for_each(|run| gathered.add(run));
            let (expected, all) = (runs.concat(), gathered.all());
            for number in [0, 1, 3, 5, 6, 8, 9, 10, u32::MAX - 1, u32::MAX] {
                assert_eq!(all.below(number), expected.iter().filter(|&&other| other < number).count(), "{runs:?}");
            }
            assert!(expected.iter().enumerate().all(|(place, &number)| all.at(place) == number), "{runs:?}");
            let gap = expected.windows(2).any(|pair| pair[1] != pair[0] + 1);
            assert_eq!(matches!(all, AscendingNumbers::List(_)), gap, "{runs:?}");
        }
    }
}
