//! The kernels of `packed.cu` on the host: the same words in the same places, what is assigned to whom, and the counts. How
//! threads share a row's work is not seen here, nor are the tables: rows are searched.

use crate::engine::Grid;
use crate::packed::arguments::{Arguments, Kernel};
use crate::testing::double::Memory;

const HUB: u32 = 1 << 29;
const HUBS: u32 = 65536;
const LONG: u32 = 8;
const SCAN: u64 = 4096;
const WARP_WORDS: u32 = 128;
const WARP_COST: u64 = 1024;
const PART: u64 = 1 << 15;

/// The word of a number alone.
pub(crate) fn packed(number: u32, k: u32) -> u32 {
    let bits = 1 << k;
    if number < HUBS {
        (number >> 4) << 17 | 1 << (number & 15)
    } else {
        (((number >> k) << bits) | 1 << (number & (bits - 1))) + HUB
    }
}

fn bits_of(word: u32, k: u32) -> u32 {
    if word < HUB { 16 } else { 1 << k }
}

/// The successors of a word, ascending.
pub(crate) fn unpacked(word: u32, k: u32) -> Vec<u32> {
    let bits = bits_of(word, k);
    let base = if word < HUB { word >> 17 << 4 } else { ((word - HUB) >> bits) << k };
    (0..bits).filter(|bit| word >> bit & 1 == 1).map(|bit| base + bit).collect()
}

/// Packs successors after the words that are there.
pub(crate) fn pack(words: &mut Vec<u32>, successors: impl IntoIterator<Item = u32>, k: u32) {
    for successor in successors {
        let word = packed(successor, k);
        let bits = bits_of(word, k);
        match words.last_mut() {
            Some(last) if *last >> bits == word >> bits && bits_of(*last, k) == bits => *last |= word,
            _ => words.push(word),
        }
    }
}

pub(crate) fn run(m: &mut Memory, grid: Grid, kernel: Kernel, g: &Arguments) {
    assert!(grid.blocks > 0 && grid.shared == 0);
    let threads = u64::from(grid.blocks) * u64::from(grid.threads);
    let (owners, range) = (u64::from(g.owners), g.range_end - g.range_start);
    match kernel {
        Kernel::Resident => {
            assert!(u64::from(g.count) * u64::from(g.lanes) <= threads);
            (0..g.count).for_each(|i| resident(m, g, i));
        }
        Kernel::RowBlock => {
            assert!(u64::from(range) * u64::from(g.lanes) <= threads);
            (0..range).for_each(|i| row_block(m, g, i));
        }
        Kernel::Clear => {
            (0..2 * owners).for_each(|i| m.write(g.ends + 4 * i, &[0; 4]));
            m.write(g.state, &[0; 16]);
        }
        Kernel::CountArcs | Kernel::AssignArcs => {
            assert!(u64::from(g.count) * u64::from(g.lanes.max(1)) <= threads);
            (0..g.count).for_each(|i| assign(m, g, i, kernel == Kernel::AssignArcs));
        }
        Kernel::Sum => {
            assert!(u64::from(grid.blocks) == (2 * owners).div_ceil(SCAN));
            for block in 0..u64::from(grid.blocks) {
                let sum: u32 =
                    (SCAN * block..(SCAN * (block + 1)).min(2 * owners)).map(|i| m.u32(g.ends + 4 * i)).sum();
                m.write(g.sums + 4 * block, &sum.to_le_bytes());
            }
        }
        Kernel::SumOfSums => {
            let places = (0..(2 * owners).div_ceil(SCAN)).map(|block| g.sums + 4 * block);
            exclusive(m, places, 0);
        }
        Kernel::Scan => {
            for block in 0..u64::from(grid.blocks) {
                let before = m.u32(g.sums + 4 * block);
                exclusive(m, (SCAN * block..(SCAN * (block + 1)).min(2 * owners)).map(|i| g.ends + 4 * i), before);
            }
        }
        Kernel::List => {
            assert!(owners <= threads);
            (0..g.owners).for_each(|owner| list(m, g, owner));
        }
        Kernel::ByThread => (u64::from(g.first)..u64::from(g.first + g.count)).for_each(|a| by_thread(m, g, a)),
        Kernel::ByWarp | Kernel::ByBlock => many(m, g, kernel == Kernel::ByBlock),
    }
}

fn exclusive(m: &mut Memory, places: impl Iterator<Item = u64>, mut before: u32) {
    for place in places {
        let value = m.u32(place);
        m.write(place, &before.to_le_bytes());
        before += value;
    }
}

fn place(m: &mut Memory, at: u64) -> (u32, u32) {
    (m.u32(at), m.u32(at + 4))
}

fn row(m: &mut Memory, g: &Arguments, (chunk, n): (u32, u32)) -> Vec<u32> {
    (0..u64::from(n)).map(|i| m.u32(g.words + 16 * u64::from(chunk) + 4 * i)).collect()
}

fn write_row(m: &mut Memory, g: &Arguments, at: u64, chunk: u64, words: &[u32]) {
    let filled = words.iter().copied().chain(std::iter::repeat_n(0, words.len().next_multiple_of(4) - words.len()));
    for (i, word) in (0..).zip(filled) {
        m.write(g.words + 16 * chunk + 4 * i, &word.to_le_bytes());
    }
    m.write(at, &u32::try_from(chunk).unwrap().to_le_bytes());
    m.write(at + 4, &(words.len() as u32).to_le_bytes());
}

fn resident(m: &mut Memory, g: &Arguments, i: u32) {
    let local = g.first + i;
    assert!(local < g.locals);
    let at = g.rows + 8 * u64::from(local);
    let (begin, end) = (m.u64(g.offsets + 8 * u64::from(i)), m.u64(g.offsets + 8 * u64::from(i) + 8));
    let (from, to) = (begin.max(g.successors_first), end.min(g.successors_end));
    let before = if begin < from { place(m, at) } else { (0, 0) };
    let mut words = row(m, g, before);
    let successors: Vec<u32> =
        (from..to).map(|successor| m.u32(g.successors + 4 * (successor - g.successors_first))).collect();
    if begin == from {
        m.write(g.next + 4 * u64::from(local), &successors.first().copied().unwrap_or(u32::MAX).to_le_bytes());
    }
    pack(&mut words, successors, g.k);
    write_row(m, g, at, (begin + 3 * u64::from(local) + 3) >> 2, &words);
}

fn row_block(m: &mut Memory, g: &Arguments, i: u32) {
    let at = g.table + 8 * u64::from(i);
    let mut its = g.range_start - g.row_block_start + i;
    if g.local_words != 0 {
        let word = m.u64(g.local_words + 8 * u64::from(its >> 6));
        let below = (word & ((1 << (its & 63)) - 1)).count_ones();
        let local = m.u32(g.local_ranks + 4 * u64::from(its >> 6)) + below;
        if word >> (its & 63) & 1 == 1 {
            let resident = m.u64(g.rows + 8 * u64::from(g.row_block_locals + local));
            return m.write(at, &resident.to_le_bytes());
        }
        its -= local;
    }
    let offset = g.row_block_offsets + 4 * u64::from(its);
    let (begin, end) = place(m, offset);
    let successors: Vec<u32> = (begin..end).map(|successor| m.u32(g.successors + 4 * u64::from(successor))).collect();
    let mut words = vec![];
    pack(&mut words, successors, g.k);
    let before = u64::from(begin) - g.successors_first + 3 * u64::from(its - g.row_first) + 3;
    write_row(m, g, at, u64::from(g.chunk_first) + (before >> 2), &words);
}

/// What the kernel finds for each arc of a local into the range: the words of its row up to the successor, and where the
/// successor's row is.
fn arcs(m: &mut Memory, g: &Arguments, own: &[u32]) -> Vec<(u32, u32, (u32, u32))> {
    let mut found = vec![];
    for (i, &word) in (0..).zip(own) {
        for (rank, b) in unpacked(word, g.k).into_iter().enumerate() {
            if (g.range_start..g.range_end).contains(&b) {
                let other = place(m, g.table + 8 * u64::from(b - g.range_start));
                found.push((b, i + u32::from(rank > 0), other));
            }
        }
    }
    found
}

/// Whether a local has a successor in the range.
fn enters(m: &mut Memory, g: &Arguments, local: u64, own: &[u32]) -> bool {
    let next = m.u32(g.next + 4 * local);
    let mut successors = own.iter().flat_map(|&word| unpacked(word, g.k));
    // Ranges in which nothing has a successor may have been left out.
    assert_eq!(next, successors.find(|&successor| successor >= g.range_start).unwrap_or(u32::MAX));
    next < g.range_end
}

/// The first successor beyond the range is the next one.
fn goes_on(m: &mut Memory, g: &Arguments, local: u64, own: &[u32]) {
    if g.range_end == g.numbered {
        return;
    }
    let next = own.iter().flat_map(|&word| unpacked(word, g.k)).find(|&successor| successor >= g.range_end);
    m.write(g.next + 4 * local, &next.unwrap_or(u32::MAX).to_le_bytes());
}

fn assign(m: &mut Memory, g: &Arguments, i: u32, writes: bool) {
    let at = place(m, g.rows + 8 * u64::from(g.first + i));
    let own = row(m, g, at);
    if !enters(m, g, u64::from(g.first + i), &own) {
        return;
    }
    if writes && at.1 > 4 {
        goes_on(m, g, u64::from(g.first + i), &own);
    }
    for (b, before, other) in arcs(m, g, &own) {
        let words = before.min(other.1);
        if words == 0 || (at.1 <= 4 && other.1 <= 4) {
            continue;
        }
        let mine = other.1 <= before;
        let local = (g.row_block_locals + (b - g.row_block_start)).wrapping_sub(g.first);
        let owner = match mine {
            true => i,
            false if g.together == 1 && local < g.count => local,
            false => g.count + (b - g.range_start),
        };
        assert!(owner < g.owners);
        let chunks = words.div_ceil(4);
        let end = g.ends + 8 * u64::from(owner) + 4 * u64::from(chunks > LONG);
        let to = m.u32(end);
        m.write(end, &(to + 1).to_le_bytes());
        if writes {
            m.write(g.arcs + 8 * u64::from(to), &(if mine { other.0 } else { at.0 }).to_le_bytes());
            m.write(g.arcs + 8 * u64::from(to) + 4, &chunks.to_le_bytes());
        }
    }
}

fn bounds(m: &mut Memory, g: &Arguments, owner: u32) -> [u32; 3] {
    let at = g.ends + 8 * u64::from(owner);
    [if owner == 0 { 0 } else { m.u32(at - 4) }, m.u32(at), m.u32(at + 4)]
}

fn row_of(m: &mut Memory, g: &Arguments, owner: u32) -> (u32, u32) {
    match owner.checked_sub(g.count) {
        None => place(m, g.rows + 8 * u64::from(g.first + owner)),
        Some(other) => place(m, g.table + 8 * u64::from(other)),
    }
}

fn list(m: &mut Memory, g: &Arguments, owner: u32) {
    let [begin, middle, end] = bounds(m, g, owner);
    let cost = u64::from(middle - begin) * 3 + u64::from(end - middle) * 24;
    if cost == 0 {
        return;
    }
    let some = cost <= WARP_COST && row_of(m, g, owner).1 <= WARP_WORDS;
    let parts = if some { 1 } else { cost.div_ceil(PART).min(65535) };
    let state = g.state + if some { 0 } else { 4 };
    for part in 0..parts {
        let at = m.u32(state);
        m.write(state, &(at + 1).to_le_bytes());
        let (place, entry) = match some {
            true => (u64::from(at), u64::from(owner)),
            false => (g.list_length - 1 - u64::from(at), parts << 48 | part << 32 | u64::from(owner)),
        };
        assert!(u64::from(m.u32(g.state)) + u64::from(m.u32(g.state + 4)) <= g.list_length);
        m.write(g.list + 8 * place, &entry.to_le_bytes());
    }
}

/// How many successors a word has in common with a row.
fn in_both(row: &[u32], word: u32, k: u32) -> u64 {
    let bits = bits_of(word, k);
    let same = row.iter().filter(|other| **other >> bits == word >> bits && bits_of(**other, k) == bits);
    same.map(|other| u64::from((other & word & ((1 << bits) - 1)).count_ones())).sum()
}

fn add(m: &mut Memory, g: &Arguments, count: u64) {
    let sum = m.u64(g.total) + count;
    m.write(g.total, &sum.to_le_bytes());
}

fn many(m: &mut Memory, g: &Arguments, back: bool) {
    let items = m.u32(g.state + if back { 4 } else { 0 });
    for item in 0..u64::from(items) {
        let entry = m.u64(g.list + 8 * if back { g.list_length - 1 - item } else { item });
        let (owner, part, parts) = (entry as u32, entry >> 32 & 0xffff, entry >> 48);
        let place = row_of(m, g, owner);
        let row = row(m, g, place);
        let [begin, middle, end] = bounds(m, g, owner);
        let mut count = 0;
        for (first, past) in [(begin, middle), (middle, end)] {
            let n = u64::from(past - first);
            let share = if back { n * part / parts..n * (part + 1) / parts } else { 0..n };
            for arc in share {
                let at = g.arcs + 8 * (u64::from(first) + arc);
                let (chunk, chunks) = (m.u32(at), m.u32(at + 4));
                for i in 0..4 * u64::from(chunks) {
                    count += in_both(&row, m.u32(g.words + 16 * u64::from(chunk) + 4 * i), g.k);
                }
            }
        }
        add(m, g, count);
    }
}

fn by_thread(m: &mut Memory, g: &Arguments, a: u64) {
    let at = place(m, g.rows + 8 * a);
    if at.1 > 4 {
        return;
    }
    let own = row(m, g, at);
    if !enters(m, g, a, &own) {
        return;
    }
    goes_on(m, g, a, &own);
    let lowest = own.first().map(|&word| unpacked(word, g.k)[0]);
    for (b, _, other) in arcs(m, g, &own) {
        if Some(b) != lowest && other.1 <= 4 {
            let row = row(m, g, other);
            let count = row.iter().map(|&word| in_both(&own, word, g.k)).sum();
            add(m, g, count);
        }
    }
}
