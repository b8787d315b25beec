//! Distributes edges over threads, and rows over the slices whose tries are on the device together.

use bytemuck::cast_slice;
use trimill_kernels::{GpuError, GpuResult};

use super::{NODE, Organisation};

use crate::gpu::machine::BaselineDevice;

/// Entries that are made and copied together.
const CHUNK: usize = 1 << 20;

/// The data of an organisation on the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Organised {
    /// The number of units; a unit is up to 32 edges of one vertex.
    Units(u64),
    Levels(Vec<Level>),
}

/// An entry of the level array: a run of the order, and the edges of its vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) edges: u64,
}

impl Organised {
    pub(super) fn most_units(&self) -> u64 {
        match self {
            Self::Units(many) => *many,
            Self::Levels(levels) => levels.iter().map(|level| level.edges.div_ceil(32)).max().unwrap_or(0),
        }
    }

    /// Makes the data for rows of these lengths, and copies it to the device.
    pub(super) fn send(
        machine: &mut BaselineDevice<'_>,
        organisation: Organisation,
        lengths: &[u32],
        units_at: u64,
        starts_at: u64,
    ) -> GpuResult<Self> {
        if organisation == Organisation::BlockDegree {
            let (mut units, mut sent): (Vec<[u32; 2]>, u64) = (Vec::with_capacity(CHUNK.min(lengths.len())), 0);
            for (vertex, &length) in (0u32..).zip(lengths) {
                for from in (0..length).step_by(32) {
                    units.push([vertex, from]);
                    if units.len() == CHUNK {
                        machine.upload(units_at + 8 * sent, cast_slice(&units))?;
                        sent += units.len() as u64;
                        units.clear();
                    }
                }
            }
            machine.upload(units_at + 8 * sent, cast_slice(&units))?;
            return Ok(Self::Units(sent + units.len() as u64));
        }
        let order = by_levels(lengths);
        let (mut starts, mut edges) = (Vec::with_capacity(lengths.len() + 1), 0u64);
        for &vertex in &order {
            starts.push(edges);
            edges += u64::from(lengths[vertex as usize]);
        }
        starts.push(edges);
        machine.upload(units_at, cast_slice(&order))?;
        machine.upload(starts_at, cast_slice(&starts))?;
        let mut levels = Vec::new();
        let mut first = 0;
        for level in 0..=order.last().map_or(0, |&vertex| level(lengths[vertex as usize])) {
            let last = order.partition_point(|&vertex| self::level(lengths[vertex as usize]) <= level);
            levels.push(Level { first: first as u64, last: last as u64, edges: starts[last] - starts[first] });
            first = last;
        }
        Ok(Self::Levels(levels))
    }
}

/// Levels of a trie of `length` keys, less one: a node has 32 keys, and a node above it 32 nodes.
fn level(length: u32) -> u32 {
    (1..).find(|&levels| u64::from(length) <= 32u64.saturating_pow(levels)).unwrap_or(1) - 1
}

fn by_levels(lengths: &[u32]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
    order.sort_by_key(|&row| level(lengths[row as usize]));
    order
}

/// The most nodes of the trie of a row of `length` keys: the first ones, and those of its chains, each of which follows a full node.
pub(super) fn nodes(length: u32) -> u64 {
    u64::from(length.div_ceil(32).max(1).next_power_of_two()) + u64::from(length.saturating_sub(1) / 32)
}

/// Divides the rows that have keys into slices of at most `room` nodes.
///
/// # Errors
/// [`GpuError::Budget`] if a single row needs more.
pub(super) fn slices(organisation: Organisation, lengths: &[u32], room: u64) -> GpuResult<Vec<Vec<u32>>> {
    let order = match organisation {
        Organisation::BlockDegree => (0..lengths.len() as u32).collect(),
        Organisation::BlockIndex | Organisation::WarpIndex => by_levels(lengths),
    };
    let (mut slices, mut slice, mut used) = (Vec::new(), Vec::new(), 0);
    for row in order.into_iter().filter(|&row| lengths[row as usize] > 0) {
        let takes = nodes(lengths[row as usize]);
        if takes > room {
            return Err(GpuError::Budget { asked: takes * NODE, used: 0, capacity: room * NODE });
        }
        if used + takes > room {
            slices.push(std::mem::take(&mut slice));
            used = 0;
        }
        slice.push(row);
        used += takes;
    }
    slices.push(slice);
    slices.retain(|slice: &Vec<u32>| !slice.is_empty());
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_powers_of_the_width() {
        let levels = [0, 1, 32, 33, 1024, 1025, 32768, 32769, u32::MAX].map(level);
        assert_eq!(levels, [0, 0, 0, 1, 1, 2, 2, 3, 6]);
        assert_eq!(by_levels(&[40, 3, 2000, 0, 33]), [1, 3, 0, 4, 2]);
    }

    #[test]
    fn a_trie_has_room_for_its_keys_wherever_they_fall() {
        assert_eq!([1, 32, 33, 64, 65, 1024, 1025].map(nodes), [1, 1, 3, 3, 6, 63, 96]);
        for length in 1..5000u32 {
            // All keys in one chain: a node for each 32, of which one is a first node.
            let firsts = u64::from(length.div_ceil(32).next_power_of_two());
            assert!(nodes(length) - firsts + 1 >= u64::from(length.div_ceil(32)));
            assert!(nodes(length) <= 1 + 3 * u64::from(length) / 32);
        }
    }

    #[test]
    fn slices_hold_every_row_once_and_keep_to_the_room() {
        let lengths: Vec<u32> = (0..300).map(|i| i * i % 101).collect();
        for organisation in [Organisation::BlockDegree, Organisation::WarpIndex] {
            let slices = slices(organisation, &lengths, 20).unwrap();
            assert!(slices.len() > 10);
            let sum = |slice: &Vec<u32>| slice.iter().map(|&row| nodes(lengths[row as usize])).sum::<u64>();
            assert!(slices.iter().all(|slice| sum(slice) <= 20));
            let mut all = slices.concat();
            all.sort_unstable();
            let expected: Vec<u32> = (0..300).filter(|&row| lengths[row as usize] > 0).collect();
            assert_eq!(all, expected);
        }
        assert!(slices(Organisation::BlockIndex, &[65], 5).is_err());
        assert!(slices(Organisation::BlockIndex, &[0, 0], 5).unwrap().is_empty());
    }
}
