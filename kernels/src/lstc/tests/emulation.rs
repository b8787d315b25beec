//! The kernels of `lstc.cu`, line by line on the host: the same indices, the same way of dealing, a block after another. Between
//! two barriers each thread's work is done in turn, so races are not seen here.

use crate::engine::{Call, Grid};
use crate::lstc::arguments::Arguments;
use crate::testing::double::Memory;

const WARP: u32 = 32;

pub(crate) fn run(memory: &mut Memory, grid: Grid, call: &Call) {
    assert!(grid.blocks > 0 && (32..=1024).contains(&grid.threads) && grid.shared <= 48 << 10);
    for block in 0..grid.blocks {
        match call {
            Call::Tiled(arguments) => count(memory, arguments, grid, block, true),
            Call::Global(arguments) => count(memory, arguments, grid, block, false),
            Call::Packed(..) => panic!("another method's"),
            Call::Sum { values, len, sums } => {
                let (stride, threads) = (u64::from(grid.blocks * grid.threads), u64::from(grid.threads));
                let mut all = 0;
                for thread in 0..threads {
                    let mut i = u64::from(block) * threads + thread;
                    while i < *len {
                        all += memory.u64(values + 8 * i);
                        i += stride;
                    }
                }
                memory.write(sums + 8 * u64::from(block), &u64::to_le_bytes(all));
            }
        }
    }
}

fn contains(entries: &[u32], key: u32) -> bool {
    let (mut low, mut n) = (0, entries.len());
    while n > 1 {
        let half = n >> 1;
        if entries[low + half] <= key {
            low += half;
        }
        n -= half;
    }
    entries[low] == key
}

/// Where the row of successor `b` begins, and how long it is.
fn row_of(m: &mut Memory, g: &Arguments, b: u32) -> (u64, u32) {
    let mut place = b.checked_sub(g.range_start).expect("a successor before the range");
    assert!(b < g.range_end, "a successor after the range");
    let mut local = place;
    if g.row_block_offsets != 0 {
        let mut resident = false;
        if g.words != 0 {
            let word = m.u64(g.words + 8 * u64::from(place >> 6));
            let below = (word & ((1 << (place & 63)) - 1)).count_ones();
            local = m.u32(g.ranks + 4 * u64::from(place >> 6)) + below;
            resident = word >> (place & 63) & 1 != 0;
            place -= local;
        }
        if !resident {
            let at = g.row_block_offsets + 4 * u64::from(place);
            let begin = m.u32(at);
            return (g.row_block_successors + 4 * u64::from(begin), m.u32(at + 4) - begin);
        }
    }
    let at = g.offsets + 8 * u64::from(g.first_local + local);
    let begin = m.u64(at);
    (g.successors + 4 * begin, (m.u64(at + 8) - begin) as u32)
}

fn count(m: &mut Memory, g: &Arguments, grid: Grid, block: u32, tiled: bool) {
    let (threads, warps) = (grid.threads, grid.threads / WARP);
    let item = g.work_first + block;
    let a = if g.work == 0 { item } else { m.u32(g.work + 4 * u64::from(item)) };
    let row_begin = m.u64(g.offsets + 8 * u64::from(a));
    let row = g.successors + 4 * row_begin;
    let (mut first, mut end) = (0, (m.u64(g.offsets + 8 * u64::from(a + 1)) - row_begin) as u32);
    if g.whole == 0 {
        let length = end;
        let cursor = g.cursors + 4 * u64::from(a);
        first = m.u32(cursor);
        end = first;
        loop {
            let ats = end..end + threads;
            let inside = ats.filter(|&at| at < length && m.u32(row + 4 * u64::from(at)) < g.range_end).count() as u32;
            end += inside;
            if inside != threads {
                break;
            }
        }
        if end == first {
            return;
        }
        m.write(cursor, &end.to_le_bytes());
    }
    if end < 2 {
        return;
    }
    let mut triangles = 0;
    let mut owed: Vec<u32> = (0..warps).collect();
    let width = if tiled { g.tile_width } else { end };
    let mut start = 0;
    while start + 1 < end {
        let filled = width.min(end - 1 - start);
        assert!(!tiled || 12 * threads + 4 * filled <= grid.shared);
        let tile: Vec<u32> = (start..start + filled).map(|i| m.u32(row + 4 * u64::from(i))).collect();
        let mut from = first.max(start + 1);
        while from < end {
            let many = threads.min(end - from);
            for j in 0..many {
                let b = m.u32(row + 4 * u64::from(from + j));
                let (begin, length) = row_of(m, g, b);
                let below = (from + j - start).min(filled);
                triangles += dealt(m, &mut owed, begin, length, &tile[..below as usize]);
            }
            from += threads;
        }
        start += width;
    }
    if triangles > 0 {
        let sum = g.sums + 8 * u64::from(a);
        let before = if g.whole == 0 { m.u64(sum) } else { 0 };
        m.write(sum, &(before + triangles).to_le_bytes());
    }
}

/// One successor's row, dealt to the warps; checks that each element is dealt once.
fn dealt(m: &mut Memory, owed: &mut [u32], begin: u64, length: u32, tile: &[u32]) -> u64 {
    let widths = length.div_ceil(WARP);
    let mut seen = vec![0; length as usize];
    let mut found = 0;
    let warps = owed.len() as u32;
    for owed in owed {
        if *owed >= widths {
            *owed -= widths;
            continue;
        }
        let first = *owed;
        for lane in 0..WARP {
            let mut past = false;
            *owed = first;
            while *owed < widths {
                let at = *owed * WARP + lane;
                if at < length {
                    seen[at as usize] += 1;
                    if !past {
                        let key = m.u32(begin + 4 * u64::from(at));
                        past = key > tile[tile.len() - 1];
                        found += u64::from(!past && contains(tile, key));
                    }
                }
                *owed += warps;
            }
        }
        *owed -= widths;
    }
    assert!(seen.iter().all(|&times| times == 1));
    found
}
