//! Shards: the partitions of a prepared job, divided among processes that know nothing of each other. Input: the recorded cost of each partition, and
//! a [`Shard`], typed or found in a scheduler's environment ([`environment`]). Output: the partitions of that shard. Every process computes the same
//! division without communication, and no two count the same partition.

pub mod environment;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use trimill_partitioners::MAX_PARTS;
use trimill_system::{Error, Result};

pub const MOST_SHARDS: u32 = MAX_PARTS;

pub fn check(shards: NonZeroU32) -> Result<()> {
    if shards.get() <= MOST_SHARDS {
        return Ok(());
    }
    Err(Error::usage(format!("{shards} shards"))
        .expected(format!("at most {MOST_SHARDS}, as many as there may be partitions")))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: NonZeroU32,
}

impl Shard {
    /// None unless `index` is below `of`.
    pub fn new(index: u32, of: NonZeroU32) -> Option<Self> {
        (index < of.get()).then_some(Self { index, of })
    }

    pub fn of(self) -> NonZeroU32 {
        self.of
    }

    /// The partitions of this shard, ascending. `costs` are those of all partitions, in any unit.
    ///
    /// By longest processing time first: in falling order of cost, each partition goes to the shard with the least so far. The costliest
    /// shard takes at most 4/3 of the best division's (Graham, Bounds on Multiprocessing Timing Anomalies, 1969). For p partitions, takes
    /// O(p log p) time and O(p) memory, since shards beyond p have no partitions.
    pub fn partitions(self, costs: &[u64]) -> Vec<u32> {
        let (assigned, _) = assigned(costs, self.of);
        (0u32..).zip(assigned).filter(|&(_, shard)| shard == self.index).map(|(part, _)| part).collect()
    }
}

pub fn costliest(costs: &[u64], shards: NonZeroU32) -> u128 {
    assigned(costs, shards).1.into_iter().max().unwrap_or(0)
}

/// The shard of each partition, and the cost of each shard that has partitions.
fn assigned(costs: &[u64], shards: NonZeroU32) -> (Vec<u32>, Vec<u128>) {
    // A partition goes to the first shard without any, so of p partitions, shard p and later ones get none.
    let shards = shards.get().min(u32::try_from(costs.len()).unwrap_or(u32::MAX));
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&part| Reverse(costs[part]));
    let mut loads = vec![0u128; shards as usize];
    let mut assigned = vec![0; costs.len()];
    // The least load first, of equal ones the first shard.
    let mut least: BinaryHeap<_> = (0..shards).map(|shard| Reverse((0, shard))).collect();
    for part in order {
        let Some(Reverse((load, shard))) = least.pop() else { break };
        // Partitions without a cost would all go to the same shard.
        let load = load + u128::from(costs[part].max(1));
        (assigned[part], loads[shard as usize]) = (shard, load);
        least.push(Reverse((load, shard)));
    }
    (assigned, loads)
}

/// The shards that have any of these partitions, ascending.
pub fn shards_of(parts: &[u32], costs: &[u64], shards: NonZeroU32) -> Vec<Shard> {
    let (assigned, _) = assigned(costs, shards);
    let mut found: Vec<u32> = parts.iter().filter_map(|&part| assigned.get(part as usize).copied()).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|index| Shard { index, of: shards }).collect()
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// A shard as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardChoice {
    /// The one that the environment names.
    Auto,
    /// The shard that was typed as `I/N`.
    This(Shard),
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let wrong = || format!("'{text}' is no shard; expected `auto`, or I/N such as 0/16, the first of 16");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of): (u32, NonZeroU32) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        let last = of.get() - 1;
        Shard::new(index, of)
            .map(Self::This)
            .ok_or_else(|| format!("there is no shard {index} of {of}; expected 0/{of} to {last}/{of}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shards(of: u32) -> impl Iterator<Item = Shard> {
        let of = NonZeroU32::new(of).unwrap();
        (0..of.get()).map(move |index| Shard::new(index, of).unwrap())
    }

    proptest! {
        #[test]
        fn shards_have_each_partition_once_and_are_as_even_as_promised(
            costs in prop::collection::vec(0u64..1000, 0..60),
            of in 1u32..20,
        ) {
            let all: Vec<Vec<u32>> = shards(of).map(|shard| shard.partitions(&costs)).collect();
            let mut parts = all.concat();
            parts.sort_unstable();
            prop_assert!(parts.into_iter().eq(0..costs.len() as u32));
            let many = NonZeroU32::MAX;
            let first = Shard::new(0, many).unwrap().partitions(&costs);
            prop_assert_eq!(first.len(), costs.len().min(1));
            prop_assert!(Shard::new(costs.len() as u32, many).unwrap().partitions(&costs).is_empty());
            prop_assert_eq!(assigned(&costs, many).1.len(), costs.len());
            // In any division a shard has at least the mean cost, the largest cost, and two of the `of + 1` largest costs.
            let counted: Vec<u64> = costs.iter().map(|&cost| cost.max(1)).collect();
            let mut sorted = counted.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let mean = counted.iter().sum::<u64>().div_ceil(of.into());
            let pair = sorted.get(of as usize).map_or(0, |least| 2 * least);
            let best = mean.max(sorted.first().copied().unwrap_or(0)).max(pair);
            let load = |parts: &Vec<u32>| parts.iter().map(|&part| counted[part as usize]).sum::<u64>();
            let most = all.iter().map(load).max().unwrap();
            // Longest processing time first exceeds the mean by at most the cost of the partition that it placed last.
            prop_assert!(most <= best.max(mean + sorted.get(of as usize).copied().unwrap_or(0)), "{most} of {best}");
            let few: Vec<u32> = (0..costs.len() as u32).step_by(3).collect();
            let named = shards_of(&few, &costs, NonZeroU32::new(of).unwrap());
            for (shard, parts) in shards(of).zip(&all) {
                prop_assert_eq!(named.contains(&shard), parts.iter().any(|part| few.contains(part)));
            }
        }
    }

    #[test]
    fn known_costs_are_divided_as_by_hand() {
        let of = |shard: &str| match shard.parse().unwrap() {
            ShardChoice::This(shard) => shard.partitions(&[2, 3, 4, 5, 6, 7]),
            ShardChoice::Auto => unreachable!(),
        };
        assert_eq!([of("0/3"), of("1/3"), of("2/3")], [vec![0, 5], vec![1, 4], vec![2, 3]]);
        assert_eq!(of("0/1"), [0, 1, 2, 3, 4, 5]);
        assert!(of("6/9").is_empty());
    }

    #[test]
    fn a_shard_that_is_not_there_is_refused() {
        assert_eq!("auto".parse(), Ok(ShardChoice::Auto));
        for (text, word) in
            [("3/3", "0/3 to 2/3"), ("0/0", "no shard"), ("1", "I/N"), ("-1/4", "I/N"), ("1/4/2", "I/N")]
        {
            let error = text.parse::<ShardChoice>().unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
