//! Partitions for tests, and their triangles by brute force.

mod counts;
mod edges;

pub use counts::{arenas, bytes_of, methods_of};
pub use edges::{trussness, with_a_long_row};

use std::ops::Range;
use std::sync::LazyLock;

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};

use rayon::{ThreadPool, ThreadPoolBuilder};
use trimill_counting::{
    EncodedPart, NumberRuns, PartitionCounter, PartitionExtent, Resident, RowBlock, VertexCounters,
};
use trimill_system::Result;

/// A partition with all its rows, before it is cut into row blocks.
#[derive(Debug, Clone)]
pub struct Partition {
    /// The row of each number, locals' and proxies'.
    pub rows: Vec<Vec<u32>>,
    pub local: Vec<bool>,
    numbers: Vec<u32>,
}

type Encoded = (Vec<u8>, Vec<EncodedPart>);

pub fn pool() -> &'static ThreadPool {
    static POOL: LazyLock<ThreadPool> = LazyLock::new(|| ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    &POOL
}

pub fn give(counter: &mut dyn PartitionCounter, runs: Vec<Resident>, row_blocks: &[RowBlock]) -> Result<()> {
    runs.into_iter().try_for_each(|run| counter.resident(run, pool()).map(drop))?;
    row_blocks.iter().try_for_each(|row_block| counter.row_block(&row_block.view(), pool()))
}

/// The bytes of a row block on a device: none if all of its range is local.
pub fn device_bytes(row_block: &RowBlock) -> u64 {
    let size = row_block.view().size();
    if size.rows == 0 { 0 } else { size.bytes().get() }
}

/// A row block with its rows in the form of the graph file, `in_part` in a part.
pub fn encoded(row_block: &RowBlock, in_part: usize) -> RowBlock {
    let view = row_block.view();
    let (bytes, parts) = put_rows((0..view.size().rows as usize).map(|i| view.row(i)), view.range.start, 1, in_part);
    let words = words_of(&bytes);
    let mut made = RowBlock::default();
    let (offsets, stored, into) = made.reset(view.range.clone(), view.size().rows, words.len() as u64).unwrap();
    offsets.copy_from_slice(view.offsets);
    stored.copy_from_slice(&words);
    into.extend(parts);
    made
}

/// Makes the first number of a part of encoded rows too large for its row.
pub fn damage(run: &mut Resident, part: usize) {
    let EncodedPart { begin, data, end, groups, .. } = run.encoded[part.min(run.encoded.len() - 1)];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut run.successors);
    // The control bits and the last bit of each byte of LEB128 stay, so there are as many numbers as before.
    let (begin, bits) = if groups == 0 { (begin, 0x7f) } else { (data, 0xff) };
    bytes[begin as usize..end as usize].iter_mut().for_each(|byte| *byte |= bits);
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let mut words = vec![0; bytes.len().div_ceil(4)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

/// Encodes rows, `in_part` in a part, in varying forms; the first row's successors are below `bound`, which grows by `step` with each row.
fn put_rows<'a>(rows: impl Iterator<Item = &'a [u32]>, bound: u32, step: u32, in_part: usize) -> Encoded {
    let (rows, mut bytes, mut parts): (Vec<_>, _, Vec<EncodedPart>) = (rows.collect(), vec![], vec![]);
    for rows in rows.chunks(in_part) {
        let before = parts.last().copied().unwrap_or_default();
        let (row, arc) = (before.row + before.rows, before.arc + before.arcs);
        let form = FORMS[(parts.len() + rows.len()) % FORMS.len()];
        let part = put_part(rows, form, &mut bytes);
        parts.push(EncodedPart { row, arc, bound: bound + row * step, bound_step: step, ..part });
    }
    (bytes, parts)
}

/// Forms of encoded distances: LEB128, or the bits of a number's first group and of further ones.
pub(crate) const FORMS: [Option<[u32; 2]>; 6] =
    [None, Some([0, 3]), Some([7, 1]), Some([0, 1]), Some([20, 4]), Some([32, 2])];

/// The differences of the successors of rows from the smallest number that each can be.
pub(crate) fn distances<'r>(rows: impl Iterator<Item = &'r [u32]>) -> Vec<u32> {
    let mut distances = Vec::new();
    for row in rows {
        let mut least = 0;
        for &successor in row {
            distances.push(successor - least);
            least = successor + 1;
        }
    }
    distances
}

/// Appends the distances of rows in this form. Returns where they are, and the numbers of rows and arcs.
pub(crate) fn put_part(rows: &[&[u32]], form: Option<[u32; 2]>, bytes: &mut Vec<u8>) -> EncodedPart {
    fn put(mut value: u32, bytes: &mut Vec<u8>) {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    let distances = distances(rows.iter().copied());
    let mut part = EncodedPart { rows: rows.len() as u32, arcs: distances.len() as u32, ..EncodedPart::default() };
    match form {
        None => {
            rows.iter().for_each(|row| put(row.len() as u32, bytes));
            part.begin = bytes.len() as u32;
            distances.iter().for_each(|&distance| put(distance, bytes));
            (part.data, part.end) = (bytes.len() as u32, bytes.len() as u32);
        }
        Some(groups) => {
            part.groups = groups[0] | groups[1] << 8;
            bytes.resize(bytes.len().next_multiple_of(8) + 8, 0xff);
            part.begin = bytes.len() as u32;
            part.data = put_groups(&distances, groups, bytes) as u32;
            part.end = bytes.len() as u32;
        }
    }
    part
}

/// Appends the control bits and the data of numbers with these groups of bits (docs/graph-format.md); returns where the data begin.
pub(crate) fn put_groups(numbers: &[u32], [first, more]: [u32; 2], bytes: &mut Vec<u8>) -> usize {
    let (mut control, mut data) = (Vec::new(), Vec::new());
    for &number in numbers {
        let mut length = first;
        while u64::from(number) >> length != 0 {
            control.push(false);
            length += more;
        }
        control.push(true);
        data.extend((0..length).map(|bit| u64::from(number) >> bit & 1 == 1));
    }
    put_bits(&control, bytes);
    let begin = bytes.len();
    data.resize(data.len().next_multiple_of(64) + 64, false);
    put_bits(&data, bytes);
    begin
}

/// Appends bits in 64-bit words, the lowest bit first.
fn put_bits(bits: &[bool], bytes: &mut Vec<u8>) {
    for word in bits.chunks(64) {
        let word = (0..).zip(word).map(|(i, &bit)| u64::from(bit) << i).sum::<u64>();
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

impl Partition {
    /// A partition of these rows, of which some are local. Rows need not ascend, and may have a successor twice.
    pub fn new(rows: Vec<Vec<u32>>, local: Vec<bool>) -> Self {
        let mut made = Self { rows, local, numbers: vec![] };
        for (number, row) in made.rows.iter_mut().enumerate() {
            row.sort_unstable();
            row.dedup();
            assert!(row.last().is_none_or(|&last| (last as usize) < number));
            if made.local[number] {
                made.numbers.push(number as u32);
            }
        }
        made
    }

    pub fn resident(&self) -> Resident {
        self.runs(usize::MAX / 2).remove(0)
    }

    pub fn runs(&self, rows: usize) -> Vec<Resident> {
        let run = |numbers: &[u32]| {
            let (offsets, successors) = self.rows_of(numbers.iter().copied());
            let (numbers, successors) = (NumberRuns::of(numbers.to_vec()), successors.into());
            Resident { numbers, offsets, successors, encoded: Vec::new() }
        };
        if self.numbers.is_empty() { vec![run(&[])] } else { self.numbers.chunks(rows).map(run).collect() }
    }

    /// Where the row of each of these numbers begins, and where the last one ends; and the successors of all.
    fn rows_of(&self, numbers: impl Iterator<Item = u32>) -> (Vec<u64>, Vec<u32>) {
        let (mut offsets, mut successors) = (vec![0], vec![]);
        for number in numbers {
            successors.extend(&self.rows[number as usize]);
            offsets.push(successors.len() as u64);
        }
        (offsets, successors)
    }

    /// As [`Self::runs`], with rows encoded as in the graph file, `in_part` rows in a part.
    pub fn encoded_runs(&self, rows: usize, in_part: usize) -> Vec<Resident> {
        let mut arcs = 0;
        let mut run = |run: Resident| {
            let (first, last) = (run.numbers.at(0), run.numbers.iter().last().unwrap_or(0));
            let consecutive = run.numbers.len() < 2 || (last - first) as usize == run.numbers.len() - 1;
            let (bound, step) = if consecutive { (first, 1) } else { (last, 0) };
            let (bytes, encoded) = put_rows((0..run.numbers.len()).map(|i| run.row(i)), bound, step, in_part);
            let offsets = run.offsets.iter().map(|offset| arcs + offset).collect();
            arcs += run.arcs();
            Resident { numbers: run.numbers, offsets, successors: words_of(&bytes).into(), encoded }
        };
        self.runs(rows).into_iter().map(&mut run).collect()
    }

    pub fn size(&self, row_block_limit: u64) -> PartitionExtent {
        let arcs = self.numbers.iter().map(|&number| self.rows[number as usize].len() as u64).sum();
        PartitionExtent { locals: self.numbers.len() as u64, arcs, numbered: self.numbered(), row_block_limit }
    }

    /// The size of the partition, with the largest of `row_blocks` as the limit of a row block.
    pub fn size_with(&self, row_blocks: &[RowBlock]) -> PartitionExtent {
        self.size(row_blocks.iter().map(device_bytes).max().unwrap_or(0))
    }

    pub fn numbered(&self) -> u32 {
        self.rows.len() as u32
    }

    pub fn whole(rows: Vec<Vec<u32>>) -> Self {
        let local = vec![true; rows.len()];
        Self::new(rows, local)
    }

    /// Calls `act` with the corners, descending, of each triangle whose largest corner is local, by trying all pairs of successors.
    pub fn each_triangle(&self, mut act: impl FnMut([u32; 3])) {
        for &a in &self.numbers {
            let row = &self.rows[a as usize];
            for (k, &b) in row.iter().enumerate() {
                let other = &self.rows[b as usize];
                row[..k].iter().filter(|c| other.binary_search(c).is_ok()).for_each(|&c| act([a, b, c]));
            }
        }
    }

    /// The number of triangles whose largest corner is local.
    pub fn triangles(&self) -> u64 {
        let mut count = 0;
        self.each_triangle(|_| count += 1);
        count
    }

    /// The triangles at each number, of those whose largest corner is local.
    pub fn at_vertices(&self) -> Vec<u64> {
        let mut found = vec![0; self.rows.len()];
        self.each_triangle(|corners| corners.into_iter().for_each(|corner| found[corner as usize] += 1));
        found
    }

    /// The triangles at each number, by passes over the partition with `held` counters each: `pass` counts with a window and returns its counters.
    pub fn in_passes(&self, held: u64, mut pass: impl FnMut(VertexCounters) -> Vec<u64>) -> Vec<u64> {
        let locals = self.numbers.len() as u64;
        let consecutive = self.numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let locals_at = match self.numbers.first() {
            Some(&first) if consecutive => u64::from(first),
            _ => self.rows.len() as u64,
        };
        let all = VertexCounters::all(&self.size(0), locals_at);
        let mut counters = Vec::new();
        for first in (0..all).step_by(held as usize) {
            counters.extend(pass(VertexCounters { window: first..all.min(first + held), locals_at }));
        }
        let mut found = counters[..self.rows.len()].to_vec();
        if locals_at == self.rows.len() as u64 {
            for (i, &number) in (0..locals).zip(&self.numbers) {
                found[number as usize] += counters[(locals_at + i) as usize];
            }
        }
        found
    }

    /// Row blocks of the proxies' rows that end at `cuts` and at the end.
    pub fn row_blocks(&self, cuts: &[u32]) -> Vec<RowBlock> {
        ranges(cuts, self.numbered()).map(|range| self.row_block(range)).collect()
    }

    /// As [`Self::row_blocks`], with the rows of locals, too.
    pub fn shared_row_blocks(&self, cuts: &[u32]) -> Vec<RowBlock> {
        let nothing_local = Self { local: vec![false; self.local.len()], ..self.clone() };
        nothing_local.row_blocks(cuts)
    }

    /// Row blocks for case `i` of a test, of the proxies' rows if `i` is even, else of all rows; and the size with them.
    pub fn case(&self, i: usize, cuts: &[u32]) -> (Vec<RowBlock>, PartitionExtent) {
        let row_blocks = if i.is_multiple_of(2) { self.row_blocks(cuts) } else { self.shared_row_blocks(cuts) };
        let size = self.size_with(&row_blocks);
        (row_blocks, size)
    }

    fn row_block(&self, range: Range<u32>) -> RowBlock {
        let (offsets, successors) = self.rows_of(range.clone().filter(|&number| !self.local[number as usize]));
        let offsets: Vec<u32> = offsets.into_iter().map(|offset| offset as u32).collect();
        RowBlock::of(range, &offsets, &successors).unwrap()
    }
}

fn ranges(cuts: &[u32], end: u32) -> impl Iterator<Item = Range<u32>> {
    let mut ends = cuts.to_vec();
    ends.push(end);
    ends.sort_unstable();
    let mut start = 0;
    ends.into_iter().map(move |end| std::mem::replace(&mut start, end)..end)
}

/// Rows of random lengths up to `longest`, with more successors among the small numbers; some rows hold all smaller numbers.
pub fn random(seed: u64, vertices: u32, longest: u32, full_rows: u32, local_share: f64) -> Partition {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<Vec<u32>> = (0..vertices)
        .map(|number| {
            let length = rng.random_range(0..=longest.min(number));
            let successor = |_| {
                let share: f64 = rng.random();
                (share * share * f64::from(number)) as u32
            };
            (0..length).map(successor).collect()
        })
        .collect();
    for _ in 0..full_rows {
        let number = vertices - 1 - below(&mut rng, vertices / 2);
        rows[number as usize] = (0..number).collect();
    }
    let local = (0..vertices).map(|_| rng.random_bool(local_share)).collect();
    Partition::new(rows, local)
}

/// Cuts for row blocks: none, some at random, and one at every end of a word.
pub fn cuts(seed: u64, vertices: u32) -> Vec<Vec<u32>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let some = (0..5).map(|_| below(&mut rng, vertices)).collect();
    vec![vec![], vec![vertices / 2], some, (1..vertices / 64).map(|i| i * 64).collect()]
}

fn below(rng: &mut impl Rng, end: u32) -> u32 {
    rng.random_range(0..end.max(1))
}
