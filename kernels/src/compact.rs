//! Rows as a graph's file stores them, on their way to the device, which makes them rows that kernels read (`cuda/unpack.cu`).
//!
//! Stored rows are a third to a half of the bytes, so they are read and sent sooner; and they go to the device as they are, without a
//! pass of the host's over them but a checksum. The device needs a scratch piece for them ([`Gpu::scratch`](crate::Gpu::scratch)): a
//! run passes through it a group of parts at a time, copies and kernels one after another in the queue of copies.

use bytemuck::{Pod, Zeroable};

/// The rows of a file block within a run: `Part` of `unpack.cu`, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CompactPart {
    /// Where the numbers of its successors begin among the bytes of the run, and where they end. The byte before ends a number.
    pub begin: u32,
    /// See `begin`.
    pub end: u32,
    /// Its first row, counted from the run's.
    pub row: u32,
    /// How many rows it has.
    pub rows: u32,
    /// Its first arc, counted from the run's.
    pub arc: u32,
    /// How many arcs it has.
    pub arcs: u32,
    /// What the successors of its first row stay below,
    pub bound: u32,
    /// and by how much more those of each next one: 1 where rows have consecutive numbers, 0 where one bound holds for all.
    pub bound_step: u32,
}

// SAFETY: eight `u32`, without padding; any bits are a value.
unsafe impl Zeroable for CompactPart {}
// SAFETY: as above.
unsafe impl Pod for CompactPart {}

/// A run of rows as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct CompactSlices<'a> {
    /// The stored bytes.
    pub bytes: &'a [u8],
    /// The file blocks, in their order; together all rows of the run.
    pub parts: &'a [CompactPart],
}

impl CompactSlices<'_> {
    /// The arcs of all parts.
    pub fn arcs(&self) -> u64 {
        self.parts.iter().map(|part| u64::from(part.arcs)).sum()
    }
}

/// Where each row of a run begins, as the host knows it.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "the device reads its own copy; the double of tests has none yet"))]
pub(crate) enum Offsets<'a> {
    Wide(&'a [u64]),
    Narrow(&'a [u32]),
}

impl Offsets<'_> {
    #[cfg(test)]
    pub(crate) fn at(&self, row: usize) -> u64 {
        match self {
            Self::Wide(offsets) => offsets[row],
            Self::Narrow(offsets) => offsets[row].into(),
        }
    }
}

/// An order to unpack parts of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpack<'a> {
    pub(crate) compact: CompactSlices<'a>,
    /// Where each row of these parts begins, from `base` on, one more at the end; and where that lies on the device.
    pub(crate) offsets: Offsets<'a>,
    pub(crate) offsets_at: u64,
    pub(crate) base: u64,
    /// Where the successors go.
    pub(crate) successors_at: u64,
    /// Whether they are counted in the bins.
    pub(crate) counted: bool,
}

/// Bins of successors by their high bits.
pub const BINS: usize = 2048;

/// The bits that are left out, such that numbers below `numbered` have a bin.
pub fn bin_shift(numbered: u32) -> u32 {
    (0..32).find(|&shift| numbered >> shift < BINS as u32).unwrap_or(31)
}

/// Arenas from this size on have a scratch piece.
const LEAST_ARENA: u64 = 64 << 20;

/// Parts that are unpacked together, at most.
pub(crate) const MOST_PARTS: usize = 2048;

/// Threads of a block, which takes a part.
pub(crate) const THREADS: u32 = 1024;

/// Where things lie in the scratch piece: whether anything was wrong, the bins, parts, bytes.
pub(crate) const BINS_AT: u64 = 256;
pub(crate) const PARTS_AT: u64 = BINS_AT + 8 * BINS as u64;
pub(crate) const BYTES_AT: u64 = PARTS_AT + (MOST_PARTS * size_of::<CompactPart>()) as u64;

/// The bytes of the scratch piece of an arena of so many bytes; none of a small one.
pub(crate) const fn scratch_bytes(arena: u64) -> u64 {
    if arena < LEAST_ARENA {
        return 0;
    }
    let share = arena / 16;
    let share = if share > 16 << 20 { 16 << 20 } else { share };
    (BYTES_AT + share) / 256 * 256
}

/// The parts from `first` on that fit `room` bytes together: their end, and the byte with which they begin, a multiple of 16 that
/// comes before the first number's predecessor.
pub(crate) fn group(parts: &[CompactPart], first: usize, room: u64) -> (usize, u32) {
    let begin = parts[first].begin.saturating_sub(1) / 16 * 16;
    let fits = |part: &CompactPart| u64::from(part.end - begin).next_multiple_of(16) <= room;
    let many = parts[first..].iter().take(MOST_PARTS).take_while(|part| fits(part)).count();
    (first + many, begin)
}

/// Rows of parts, unpacked by the host: what the device is to make of them.
#[cfg(test)]
pub(crate) fn unpacked(order: &Unpack<'_>) -> Vec<u32> {
    let CompactSlices { bytes, parts } = order.compact;
    let Some(&CompactPart { row: first_row, arc: first_arc, .. }) = parts.first() else { return Vec::new() };
    let mut out = vec![0u32; order.compact.arcs() as usize];
    for part in parts {
        let mut at = part.begin as usize;
        for row in part.row - first_row..part.row - first_row + part.rows {
            let ends = [0, 1].map(|i| (order.offsets.at(row as usize + i) - order.base) as usize);
            let mut least = 0u64;
            for place in &mut out[ends[0]..ends[1]] {
                let (mut number, mut shift) = (0u64, 0);
                loop {
                    let byte = bytes[at];
                    at += 1;
                    number |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                }
                *place = (least + number) as u32;
                least += number + 1;
            }
        }
        assert_eq!((at, first_arc <= part.arc), (part.end as usize, true));
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::Grid;
    use crate::papers::machine::{Machine, Orders};
    use crate::papers::tests::emulated::Emulated;

    fn mixed(i: u64) -> u64 {
        let x = i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
    }

    fn put(mut number: u32, bytes: &mut Vec<u8>) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// A run of parts of these lengths of rows, its bytes, its offsets and its successors.
    fn run(seed: u64, parts: &[Vec<u32>], rank: u32) -> (Vec<u8>, Vec<CompactPart>, Vec<u64>, Vec<u32>) {
        let (mut bytes, mut made, mut offsets, mut successors) = (vec![], vec![], vec![0u64], vec![]);
        let mut row = 0;
        for lengths in parts {
            lengths.iter().for_each(|&length| put(length, &mut bytes));
            let (begin, arc) = (bytes.len() as u32, successors.len() as u32);
            for (i, &length) in (0..).zip(lengths) {
                let own = rank + row + i;
                let length = length.min(own);
                let mut row: Vec<u32> = (0..u64::from(length))
                    .map(|k| (mixed(seed ^ k << 20 ^ u64::from(i)) % u64::from(own)) as u32)
                    .collect();
                row.sort_unstable();
                row.dedup();
                let mut least = 0;
                for &successor in &row {
                    put(successor - least, &mut bytes);
                    least = successor + 1;
                }
                successors.extend(row);
                offsets.push(successors.len() as u64);
            }
            made.push(CompactPart {
                begin,
                end: bytes.len() as u32,
                row,
                rows: lengths.len() as u32,
                arc,
                arcs: successors.len() as u32 - arc,
                bound: rank + row,
                bound_step: 1,
            });
            row += lengths.len() as u32;
        }
        (bytes, made, offsets, successors)
    }

    /// Runs the kernel: successors, whether anything was wrong, and the bins.
    fn emulated(
        machine: Emulated,
        (bytes, parts, offsets): (&[u8], &[CompactPart], &[u64]),
        arcs: usize,
        (wide, base): (bool, u64),
    ) -> (Emulated, Vec<u32>, u64, Vec<u64>) {
        let mut machine = machine.with(4 << 20);
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(16), 0xff);
        let bytes_at = machine.take(padded.len() as u64).unwrap();
        let parts_at = machine.take(size_of_val(parts) as u64).unwrap();
        let offsets_at = machine.take(8 * offsets.len() as u64).unwrap();
        let out = machine.take(4 * arcs as u64 + 4).unwrap();
        let wrong = machine.take(8).unwrap();
        let bins = machine.take(8 * BINS as u64).unwrap();
        machine.upload(bytes_at, &padded).unwrap();
        machine.upload(parts_at, bytemuck::cast_slice(parts)).unwrap();
        let moved: Vec<u64> = offsets.iter().map(|offset| offset + base).collect();
        let narrow: Vec<u32> = moved.iter().map(|&offset| offset as u32).collect();
        let stored: &[u8] = if wide { bytemuck::cast_slice(&moved) } else { bytemuck::cast_slice(&narrow) };
        machine.upload(offsets_at, stored).unwrap();
        machine.fill(wrong, 0, 8).unwrap();
        machine.fill(bins, 0, 8 * BINS as u64).unwrap();
        let grid = Grid { blocks: parts.len() as u32, threads: THREADS, shared: 0 };
        let arguments = [
            bytes_at,
            parts_at,
            offsets_at,
            u64::from(wide),
            base,
            0,
            0,
            out,
            wrong,
            bins,
            u64::from(bin_shift(1 << 20)),
        ];
        machine.launch(0, "unpack", grid, &arguments).unwrap();
        let (mut found, mut counts) = (vec![0u32; arcs + 1], vec![0u64; BINS]);
        machine.read(out, bytemuck::cast_slice_mut(&mut found)).unwrap();
        machine.read(bins, bytemuck::cast_slice_mut(&mut counts)).unwrap();
        let flag = machine.read_u64(wrong).unwrap();
        assert_eq!(found.pop(), Some(0xa5a5_a5a5), "beyond the arcs");
        (machine, found, flag, counts)
    }

    #[test]
    fn the_kernel_makes_the_rows_that_were_stored() {
        let Some(mut machine) = Emulated::new(&crate::compile::UNPACK) else { return };
        let lengths = |seed: u64, rows: u64, most: u64| -> Vec<u32> {
            (0..rows).map(|i| (mixed(seed ^ i << 9) % (most + 1)) as u32).collect()
        };
        for (seed, parts, rank) in [
            (1, vec![vec![0]], 5),
            (2, vec![lengths(1, 40, 30)], 1000),
            (3, vec![lengths(2, 300, 9), lengths(3, 1, 5000), lengths(4, 700, 3), vec![0; 50]], 900_000),
            (4, vec![vec![0, 1, 1, 2, 3, 3, 4, 5, 5, 5]], 0),
        ] {
            let (bytes, parts, offsets, successors) = run(seed, &parts, rank);
            for (wide, base) in [(true, 0), (true, 1 << 40), (false, 0)] {
                let (back, found, wrong, bins) =
                    emulated(machine, (&bytes, &parts, &offsets), successors.len(), (wide, base));
                machine = back;
                assert_eq!((found == successors, wrong), (true, 0), "seed {seed}");
                let mut expected = vec![0u64; BINS];
                successors.iter().for_each(|&s| expected[(s >> bin_shift(1 << 20)) as usize] += 1);
                assert!(bins == expected);
                let order = Unpack {
                    compact: CompactSlices { bytes: &bytes, parts: &parts },
                    offsets: Offsets::Wide(&offsets),
                    offsets_at: 0,
                    base: 0,
                    successors_at: 0,
                    counted: false,
                };
                assert!(unpacked(&order) == successors);
            }
        }
    }

    #[test]
    fn whatever_the_bytes_are_successors_stay_below_their_rows_and_what_is_wrong_is_told() {
        let Some(mut machine) = Emulated::new(&crate::compile::UNPACK) else { return };
        let (bytes, parts, offsets, successors) = run(7, &[(0..60).map(|i| i % 12).collect()], 100);
        let mut told = 0;
        let rank_of = |arc: usize| 100 + offsets.partition_point(|&offset| offset <= arc as u64) as u64 - 1;
        for i in 0..60 {
            let mut damaged = bytes.clone();
            let at = parts[0].begin as usize + mixed(i) as usize % (bytes.len() - parts[0].begin as usize);
            damaged[at] ^= 1 << (mixed(!i) % 8);
            if damaged[parts[0].begin as usize..].iter().filter(|&&byte| byte < 0x80).count() < successors.len() {
                // The host sees that there are too few before anything is sent.
                continue;
            }
            let (back, found, wrong, _) = emulated(machine, (&damaged, &parts, &offsets), successors.len(), (true, 0));
            machine = back;
            assert!(found.iter().enumerate().all(|(arc, &s)| u64::from(s) < rank_of(arc)), "{i}");
            assert!(offsets.windows(2).all(|row| found[row[0] as usize..row[1] as usize].is_sorted_by(|a, b| a < b)));
            // Other bytes may be other rows that are in order; fewer or more numbers are told.
            let numbers = damaged[parts[0].begin as usize..].iter().filter(|&&byte| byte < 0x80).count();
            assert!(wrong == 1 || numbers == successors.len(), "{i}");
            told += wrong;
        }
        assert!(told > 5, "{told}");
    }

    #[test]
    fn groups_fit_the_room_and_leave_nothing_out() {
        let parts: Vec<CompactPart> = (0..5000u32)
            .map(|i| CompactPart { begin: 40 * i + 7, end: 40 * i + 40, rows: 1, ..CompactPart::default() })
            .collect();
        for room in [64, 1000, 1 << 20] {
            let mut first = 0;
            while first < parts.len() {
                let (end, begin) = group(&parts, first, room);
                assert!(end > first && end - first <= MOST_PARTS);
                assert!(begin.is_multiple_of(16) && begin < parts[first].begin);
                assert!(u64::from(parts[end - 1].end - begin) <= room);
                first = end;
            }
        }
        assert_eq!(group(&parts, 0, 16).0, 0, "a part that does not fit");
    }
}
