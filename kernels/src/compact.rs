//! Copies rows to the device as a graph file or spill encodes them; the device unpacks them (`cuda/unpack.cu`). Encoded rows take a twentieth to a
//! half of the bytes, so they are read and copied faster; the host only verifies their checksums. A run goes through a scratch piece
//! ([`Engine::scratch`]), a group of parts at a time: while one half is unpacked, in stream [`Stream::Unpack`], the other is copied.

pub(crate) mod constants;

use bytemuck::{bytes_of, cast_slice, cast_slice_mut};
use trimill_counting::{EncodedPart, EncodedRows};

use crate::engine::{Engine, Event, Grid, Kernel, Stream, UNPACK_EVENTS};
use crate::error::{GpuError, GpuResult};
use crate::sources::UNPACK;
use constants::{UNPACK_BINS, UNPACK_THREADS};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Unpack<'a> {
    pub(crate) encoded: EncodedRows<'a>,
    /// Device address of these rows' offsets, and of the end of the last row; 64 bits each if `wide`, else 32.
    pub(crate) offsets_at: u64,
    pub(crate) wide: bool,
    pub(crate) base: u64,
    pub(crate) successors_at: u64,
    /// The bits by which a successor is shifted right to get its bin; `None`: successors are not counted in bins.
    pub(crate) bin_shift: Option<u32>,
}

pub(crate) const BINS: usize = UNPACK_BINS as usize;

/// The smallest shift that gives every number below `numbered` a bin.
pub(crate) fn bin_shift(numbered: u32) -> u32 {
    (0..32).find(|&shift| numbered >> shift < UNPACK_BINS).unwrap_or(31)
}

const LEAST_ARENA: u64 = 64 << 20;

/// The most parts that are unpacked together.
const MOST_PARTS: usize = 2048;

/// Layout of the scratch piece: an error flag, the bins, and two buffers, or one where a part is too large for half of the piece.
const BINS_AT: u64 = 256;
const BUFFERS_AT: u64 = BINS_AT + 8 * BINS as u64;

/// A buffer has the list of a group's parts, then their stored bytes.
const BYTES_IN_BUFFER: u64 = (MOST_PARTS * size_of::<EncodedPart>()) as u64;

/// Bytes of the scratch piece beside the stored bytes, with one buffer.
const BYTES_AT: u64 = BUFFERS_AT + BYTES_IN_BUFFER;

/// The events of a buffer: a group was copied to it; the group was unpacked.
const fn events_of(buffer: usize) -> [Event; 2] {
    [UNPACK_EVENTS + 2 * buffer, UNPACK_EVENTS + 2 * buffer + 1]
}

/// Bytes of the scratch piece: 0 in a small arena, else a sixteenth of it up to 16 MiB, then a 64th up to 32 MiB: enough for all multiprocessors.
pub const fn scratch_bytes(arena: u64) -> u64 {
    if arena < LEAST_ARENA {
        return 0;
    }
    let share = match (arena / 16, arena / 64) {
        (_, 0x200_0000..) => 32 << 20,
        (_, share @ 0x100_0000..) => share,
        (0x100_0000.., _) => 16 << 20,
        (share, _) => share,
    };
    (BYTES_AT + share) / 256 * 256
}

/// The byte from which a group that begins with this part is copied.
const fn first_byte(part: &EncodedPart) -> u32 {
    part.begin.saturating_sub(1) / 16 * 16
}

/// The longest group of parts from `first` on that fits `room` bytes: its end, and the first byte to copy, a multiple of 16 before the numbers.
fn group(parts: &[EncodedPart], first: usize, room: u64) -> (usize, u32) {
    let begin = first_byte(&parts[first]);
    let fits = |part: &EncodedPart| u64::from(part.end - begin).next_multiple_of(16) <= room;
    let many = parts[first..].iter().take(MOST_PARTS).take_while(|part| fits(part)).count();
    (first + many, begin)
}

/// The largest part, in stored bytes, that fits a scratch piece of `scratch` bytes.
pub(crate) const fn longest_part(scratch: u64) -> u64 {
    scratch.saturating_sub(BYTES_AT + 32)
}

/// Clears the error flag and the bins for a partition, if the device unpacks rows.
pub(crate) fn begin(engine: &mut dyn Engine) -> GpuResult<()> {
    let scratch = engine.scratch();
    if scratch.bytes == 0 {
        return Ok(());
    }
    engine.load(&UNPACK)?;
    engine.fill(Stream::Copy, scratch.address, 0, scratch.bytes)
}

/// Enqueues the copies of a run's parts and their unpacking, for which later commands of the copy stream wait. Errors: [`GpuError::Section`]: a part
/// is larger than the scratch piece; those of the device.
///
/// # Safety
/// As [`Engine::copy`], for the stored bytes and the parts.
pub(crate) unsafe fn unpack(engine: &mut dyn Engine, order: &Unpack<'_>) -> GpuResult<()> {
    let EncodedRows { bytes, parts } = order.encoded;
    let Some(&EncodedPart { row: first_row, arc: first_arc, .. }) = parts.first() else { return Ok(()) };
    let scratch = engine.scratch();
    let all = scratch.bytes.saturating_sub(BUFFERS_AT);
    let room_of = |buffers: u64| (all / buffers / 256 * 256).saturating_sub(BYTES_IN_BUFFER);
    let longest = parts.iter().map(|part| part.end - first_byte(part)).max().unwrap_or(0);
    let buffers = if u64::from(longest).next_multiple_of(16) <= room_of(2) { 2 } else { 1 };
    let room = room_of(buffers as u64);
    let (mut first, mut groups) = (0, 0);
    while first < parts.len() {
        let (end, begin) = group(parts, first, room);
        if end == first {
            return Err(GpuError::Section("a file block is larger than the scratch piece".into()));
        }
        let group = &parts[first..end];
        let stored = &bytes[begin as usize..group[group.len() - 1].end as usize];
        let (buffer, at) = (groups % buffers, scratch.address + BUFFERS_AT);
        let parts_at = at + buffer as u64 * (BYTES_IN_BUFFER + room);
        let bytes_at = parts_at + BYTES_IN_BUFFER;
        let [copied, unpacked] = events_of(buffer);
        if groups >= buffers {
            engine.wait(Stream::Copy, unpacked)?;
        }
        // SAFETY: as the caller promised.
        unsafe {
            engine.copy(parts_at, &[cast_slice(group)])?;
            engine.copy(bytes_at, &[stored])?;
        }
        engine.record(Stream::Copy, copied)?;
        engine.wait(Stream::Unpack, copied)?;
        let arguments: [u64; 11] = [
            bytes_at.wrapping_sub(u64::from(begin)),
            parts_at,
            order.offsets_at,
            u64::from(order.wide),
            order.base,
            u64::from(first_row),
            u64::from(first_arc),
            order.successors_at,
            scratch.address,
            if order.bin_shift.is_some() { scratch.address + BINS_AT } else { 0 },
            u64::from(order.bin_shift.unwrap_or(0)),
        ];
        let grid = Grid { blocks: group.len() as u32, threads: UNPACK_THREADS, shared: 0 };
        let kernel = Kernel { source: &UNPACK, name: "unpack" };
        engine.launch(Stream::Unpack, grid, kernel, &arguments.each_ref().map(bytes_of))?;
        engine.record(Stream::Unpack, unpacked)?;
        (first, groups) = (end, groups + 1);
    }
    // Kernels of earlier groups come before this one in their stream.
    engine.wait(Stream::Copy, events_of((groups - 1) % buffers)[1])
}

/// Waits for the copy stream; returns how many of the counted successors are in each bin.
pub(crate) fn bins(engine: &mut dyn Engine) -> GpuResult<Vec<u64>> {
    let mut bins = vec![0u64; BINS];
    let at = engine.scratch().address + BINS_AT;
    engine.read(Stream::Copy, at, cast_slice_mut(&mut bins))?;
    Ok(bins)
}

/// Waits for the copy stream. Errors: [`GpuError::Rows`], by the error flag: the stored bytes were not valid rows; the device's own.
pub(crate) fn check(engine: &mut dyn Engine) -> GpuResult<()> {
    let scratch = engine.scratch();
    match scratch.bytes == 0 || engine.read_u64(Stream::Copy, scratch.address)? == 0 {
        true => Ok(()),
        false => Err(GpuError::Rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::partitions::{FORMS, put_part};
    use crate::testing::{Double, Pace, has_compiler};
    use trimill_system::hash::mix;

    #[derive(Clone)]
    struct RunOfRows {
        bytes: Vec<u8>,
        parts: Vec<EncodedPart>,
        offsets: Vec<u64>,
        successors: Vec<u32>,
    }

    /// A random run whose parts have rows of these lengths, in this form.
    fn run(seed: u64, parts: &[Vec<u32>], rank: u32, form: Option<[u32; 2]>) -> RunOfRows {
        let (mut bytes, mut made, mut offsets, mut successors) = (vec![], vec![], vec![0], vec![]);
        let mut row = 0;
        for lengths in parts {
            let arc = successors.len() as u32;
            let rows = (0..).zip(lengths).map(|(i, &length)| {
                let own = rank + row + i;
                let mut row: Vec<u32> = (0..u64::from(length.min(own)))
                    .map(|k| (mix(seed ^ k << 20 ^ u64::from(i)) % u64::from(own)) as u32)
                    .collect();
                row.sort_unstable();
                row.dedup();
                row
            });
            let rows: Vec<Vec<u32>> = rows.collect();
            let part = put_part(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>(), form, &mut bytes);
            for row in rows {
                successors.extend(row);
                offsets.push(successors.len() as u64);
            }
            made.push(EncodedPart { row, arc, bound: rank + row, bound_step: 1, ..part });
            row += lengths.len() as u32;
        }
        RunOfRows { bytes, parts: made, offsets, successors }
    }

    /// Unpacks a run by the kernel: successors, the error flag, and the bins.
    fn unpacked(run: &RunOfRows, wide: bool, base: u64, buffers: u64) -> (Vec<u32>, bool, Vec<u64>) {
        let RunOfRows { bytes, parts, offsets, successors } = run;
        let arcs = successors.len();
        // Just enough for the largest part, so that there are several groups.
        let longest = parts.iter().map(|part| u64::from(part.end - part.begin)).max().unwrap_or(0);
        let scratch = BUFFERS_AT + buffers * (BYTES_IN_BUFFER + longest + 32).next_multiple_of(256);
        let mut double = Double::new(4 << 20, Pace::Random(arcs as u64)).unwrap().with_scratch(scratch);
        let base_of_arena = double.address();
        let mut take = |bytes| base_of_arena + double.layout().take(bytes).unwrap();
        let (offsets_at, out) = (take(8 * offsets.len() as u64), take(4 * arcs as u64 + 4));
        let moved: Vec<u64> = offsets.iter().map(|offset| offset + base).collect();
        let narrow: Vec<u32> = moved.iter().map(|&offset| offset as u32).collect();
        let stored: &[u8] = if wide { cast_slice(&moved) } else { cast_slice(&narrow) };
        begin(&mut double).unwrap();
        let encoded = EncodedRows { bytes, parts };
        let bin_shift = Some(bin_shift(1 << 20));
        // SAFETY: the test double reads the bytes during the call.
        unsafe {
            double.copy(offsets_at, &[stored]).unwrap();
            unpack(&mut double, &Unpack { encoded, offsets_at, wide, base, successors_at: out, bin_shift }).unwrap();
        }
        let (mut found, counts) = (vec![0u32; arcs + 1], bins(&mut double).unwrap());
        double.read(Stream::Copy, out, cast_slice_mut(&mut found)).unwrap();
        assert_eq!(found.pop(), Some(0xa5a5_a5a5), "beyond the arcs");
        (found, check(&mut double) == Err(GpuError::Rows), counts)
    }

    #[test]
    fn the_kernel_makes_the_rows_that_were_stored() {
        let Some(()) = has_compiler() else { return };
        let lengths = |seed: u64, rows: u64, most: u64| -> Vec<u32> {
            (0..rows).map(|i| (mix(seed ^ i << 9) % (most + 1)) as u32).collect()
        };
        for (seed, parts, rank) in [
            (1, vec![vec![0]], 5),
            (2, vec![lengths(1, 40, 30)], 1000),
            (3, vec![lengths(2, 300, 9), lengths(3, 1, 5000), lengths(4, 700, 3), vec![0; 50]], 900_000),
            (4, vec![vec![0, 1, 1, 2, 3, 3, 4, 5, 5, 5]], 0),
        ] {
            for (form, (wide, base)) in
                FORMS.into_iter().zip([(true, 0), (true, 1 << 40), (false, 0)].into_iter().cycle())
            {
                let run = run(seed, &parts, rank, form);
                let (found, wrong, bins) = unpacked(&run, wide, base, 1 + u64::from(wide));
                assert_eq!((found == run.successors, wrong), (true, false), "seed {seed}, form {form:?}");
                let mut expected = vec![0u64; BINS];
                run.successors.iter().for_each(|&s| expected[(s >> bin_shift(1 << 20)) as usize] += 1);
                assert!(bins == expected);
            }
        }
    }

    #[test]
    fn successors_are_below_their_rows_for_any_bytes_and_errors_are_reported() {
        let Some(()) = has_compiler() else { return };
        for form in FORMS {
            let good = run(7, &[(0..60).map(|i| i % 12).collect()], 100, form);
            let RunOfRows { bytes, parts, offsets, successors } = &good;
            let EncodedPart { begin, data, .. } = parts[0];
            let many = |bytes: &[u8]| match form {
                None => bytes[begin as usize..].iter().filter(|&&byte| byte < 0x80).count(),
                Some(_) => bytes[begin as usize..data as usize].iter().map(|byte| byte.count_ones() as usize).sum(),
            };
            let mut told = 0;
            let rank_of = |arc: usize| 100 + offsets.partition_point(|&offset| offset <= arc as u64) as u64 - 1;
            for i in 0..200 {
                let mut damaged = good.clone();
                let at = begin as usize + mix(i) as usize % (bytes.len() - begin as usize);
                damaged.bytes[at] ^= 1 << (mix(!i) % 8);
                let many = many(&damaged.bytes);
                if many < successors.len() || (form.is_some() && many > successors.len()) {
                    // Too few bytes, or control bits that contradict the header: the host would notice before it copies.
                    continue;
                }
                let (found, wrong, _) = unpacked(&damaged, true, 0, 1);
                assert!(found.iter().enumerate().all(|(arc, &s)| u64::from(s) < rank_of(arc)), "{i}");
                assert!(
                    offsets.windows(2).all(|row| found[row[0] as usize..row[1] as usize].is_sorted_by(|a, b| a < b))
                );
                // Changed bytes may be other valid rows; a wrong number of numbers must be reported.
                assert!(wrong || many == successors.len(), "{i}");
                told += u64::from(wrong);
            }
            assert!(told > 5, "{told} with {form:?}");
        }
    }

    #[test]
    fn groups_fit_and_cover_all_parts() {
        let parts: Vec<EncodedPart> = (0..5000u32)
            .map(|i| EncodedPart { begin: 40 * i + 7, end: 40 * i + 40, rows: 1, ..EncodedPart::default() })
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
