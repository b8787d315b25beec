//! The ends of the edges that fall in a round, sorted by vertex. Threads sort lists of their own; then each takes a range of values out of all lists.

/// An end of a falling edge: the vertex in the high half; in the low one the other end, later its place in the row of the vertex.
pub(super) type FallingEnd = u64;

pub(super) fn vertex(end: FallingEnd) -> u32 {
    (end >> 32) as u32
}

/// Items of a sample for each part.
const SAMPLED: usize = 8;

/// Ascending lists, and the values at which all of them are cut into parts of about equal size.
pub(super) struct CutLists<'a, T> {
    lists: Vec<&'a [T]>,
    cuts: Vec<T>,
}

impl<'a, T: Copy + Ord> CutLists<'a, T> {
    /// Up to `parts` parts; `cut` maps a value to the least value that must be in the same part.
    pub(super) fn new(lists: impl IntoIterator<Item = &'a [T]>, parts: usize, cut: impl Fn(T) -> T) -> Self {
        let lists: Vec<&[T]> = lists.into_iter().collect();
        let all = lists.iter().map(|list| list.len()).sum::<usize>();
        let every = (all / (SAMPLED * parts.max(1))).max(1);
        let mut sample: Vec<T> = lists.iter().flat_map(|list| list.iter().copied().step_by(every)).collect();
        sample.sort_unstable();
        let mut cuts: Vec<T> =
            (1..parts).filter_map(|i| sample.get(sample.len() * i / parts)).map(|&item| cut(item)).collect();
        cuts.dedup();
        Self { lists, cuts }
    }

    pub(super) fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The items of a part, ascending.
    pub(super) fn part(&self, i: usize) -> Vec<T> {
        let in_part = |list: &&'a [T]| -> &'a [T] {
            let place = |cut: &T| list.partition_point(|item| item < cut);
            let first = i.checked_sub(1).map_or(0, |before| place(&self.cuts[before]));
            &list[first..self.cuts.get(i).map_or(list.len(), place)]
        };
        let mut items = self.lists.iter().map(in_part).collect::<Vec<_>>().concat();
        // Finds long runs that ascend already, which an unstable sort does not.
        items.sort();
        items
    }
}
