//! The codec of spills against alternatives: bits per arc, and GiB/s of `u32` encoded and decoded on one core.
//!
//! On a Kronecker graph of scale 18, and on the crawl that `TRIMILL_BENCH_CRAWL` names, oriented, in blocks of 1 MiB. In all variants a
//! block includes the lengths of its rows.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use trimill::testing::clean::Workspace;
use trimill::testing::graph::Direction;
use trimill::testing::input::Source;
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::prepare;
use trimill::testing::spill::CodedRows;
use trimill::testing::spill::block::{RowEndsMut, RowNumbers, decode, encode};
use trimill::testing::spill::codec::{BlockDecoder, Encoders};
use trimill::{Bytes, Control};
use trimill_generate::{Family, generate};
use zstd::bulk::{Compressor, Decompressor};

const BLOCK: usize = 1 << 20;

/// Rows of a block: offsets from 0, and successors.
struct Block {
    offsets: Vec<u32>,
    successors: Vec<u32>,
}

impl Default for Block {
    fn default() -> Self {
        Self { offsets: vec![0], successors: Vec::new() }
    }
}

impl Block {
    fn raw(&self) -> usize {
        4 * (self.offsets.len() - 1 + self.successors.len())
    }

    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.offsets.windows(2).map(|pair| &self.successors[pair[0] as usize..pair[1] as usize])
    }
}

/// A way to store a block; implementations reuse their buffers.
trait Variant {
    fn encode(&mut self, block: &Block) -> Vec<u8>;
    /// Decodes a block of this many rows and successors into `offsets[1..]` and `successors`.
    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], successors: &mut [u32]);
}

/// Blocks of spills, plain or compressed.
struct Ours {
    zstd: Option<(Encoders, BlockDecoder)>,
    coded: CodedRows,
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl Variant for Ours {
    fn encode(&mut self, block: &Block) -> Vec<u8> {
        self.coded.clear();
        self.bytes.clear();
        let mut coder = self.coded.coder();
        block.rows().for_each(|row| coder.push(u32::MAX, row, |_| true, |successor| successor));
        encode(self.coded.all(), false, &mut self.bytes);
        match &mut self.zstd {
            Some((zstd, _)) => {
                [&(self.bytes.len() as u32).to_le_bytes(), &zstd.encode(&self.bytes).unwrap()[..]].concat()
            }
            None => self.bytes.clone(),
        }
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], successors: &mut [u32]) {
        let bytes = match &mut self.zstd {
            Some((_, zstd)) => {
                let (length, stored) = stored.split_first_chunk().unwrap();
                self.bytes.resize(u32::from_le_bytes(*length) as usize, 0);
                zstd.decode(stored, &mut self.bytes).unwrap();
                &self.bytes[..]
            }
            None => stored,
        };
        let into = RowEndsMut { numbers: RowNumbers::Below(u32::MAX), ends: &mut offsets[1..], base: 0 };
        decode(bytes, into, successors, &mut self.lengths).unwrap();
    }
}

/// zstd over little-endian words, of successors or of gaps.
struct Words {
    gaps: bool,
    zstd: Compressor<'static>,
    unzstd: Decompressor<'static>,
    bytes: Vec<u8>,
}

impl Variant for Words {
    fn encode(&mut self, block: &Block) -> Vec<u8> {
        let lengths = block.rows().map(|row| row.len() as u32);
        self.bytes.clear();
        self.bytes.extend(lengths.flat_map(u32::to_le_bytes));
        for row in block.rows() {
            let mut before = 0;
            for &successor in row {
                let word = if self.gaps { successor - std::mem::replace(&mut before, successor) } else { successor };
                self.bytes.extend(word.to_le_bytes());
            }
        }
        self.zstd.compress(&self.bytes).unwrap()
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], successors: &mut [u32]) {
        self.bytes.resize(4 * (offsets.len() - 1 + successors.len()), 0);
        self.unzstd.decompress_to_buffer(stored, &mut self.bytes[..]).unwrap();
        let (words, _) = self.bytes.as_chunks::<4>();
        for (successor, word) in successors.iter_mut().zip(&words[offsets.len() - 1..]) {
            *successor = u32::from_le_bytes(*word);
        }
        for i in 1..offsets.len() {
            offsets[i] = offsets[i - 1] + u32::from_le_bytes(words[i - 1]);
            if self.gaps {
                let mut sum = 0;
                for successor in &mut successors[offsets[i - 1] as usize..offsets[i] as usize] {
                    sum += *successor;
                    *successor = sum;
                }
            }
        }
    }
}

/// Lengths and gaps as byte planes (the lowest bytes of all values, then the next ones), and zstd: version 1 of the format.
struct Planes {
    zstd: Compressor<'static>,
    unzstd: Decompressor<'static>,
    values: Vec<u32>,
    planes: Vec<u8>,
}

impl Planes {
    /// The values of a block with the planes that they need.
    fn split(&mut self) -> u8 {
        let most = self.values.iter().fold(0, |all, value| all | value);
        let many = (u32::BITS - most.leading_zeros()).div_ceil(8);
        for plane in 0..many {
            self.planes.extend(self.values.iter().map(|value| (value >> (8 * plane)) as u8));
        }
        many as u8
    }
}

impl Variant for Planes {
    fn encode(&mut self, block: &Block) -> Vec<u8> {
        self.planes.clear();
        self.values.clear();
        self.values.extend(block.rows().map(|row| row.len() as u32));
        let lengths = self.split();
        self.values.clear();
        for row in block.rows() {
            let mut least = 0;
            self.values.extend(row.iter().map(|&successor| successor - std::mem::replace(&mut least, successor + 1)));
        }
        let gaps = self.split();
        [&[lengths, gaps][..], &self.zstd.compress(&self.planes).unwrap()].concat()
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], successors: &mut [u32]) {
        let ([lengths, gaps], stored) = stored.split_first_chunk().unwrap();
        let rows = offsets.len() - 1;
        self.planes.resize(usize::from(*lengths) * rows + usize::from(*gaps) * successors.len(), 0);
        self.unzstd.decompress_to_buffer(stored, &mut self.planes[..]).unwrap();
        let join = |planes: &[u8], values: &mut [u32]| {
            values.fill(0);
            let many = values.len().max(1);
            for (i, plane) in planes.chunks(many).enumerate() {
                values.iter_mut().zip(plane).for_each(|(value, &byte)| *value |= u32::from(byte) << (8 * i));
            }
        };
        let (of_lengths, of_gaps) = self.planes.split_at(usize::from(*lengths) * rows);
        join(of_lengths, &mut offsets[1..]);
        join(of_gaps, successors);
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
            let mut least = 0;
            for successor in &mut successors[offsets[i - 1] as usize..offsets[i] as usize] {
                *successor += least;
                least = *successor + 1;
            }
        }
    }
}

fn zstd(level: i32) -> (Compressor<'static>, Decompressor<'static>) {
    (Compressor::new(level).unwrap(), Decompressor::new().unwrap())
}

fn words(gaps: bool, level: i32) -> Box<dyn Variant> {
    let (zstd, unzstd) = zstd(level);
    Box::new(Words { gaps, zstd, unzstd, bytes: Vec::new() })
}

fn variants() -> Vec<(&'static str, Box<dyn Variant>)> {
    let ours = |zstd| Box::new(Ours { zstd, coded: CodedRows::default(), bytes: Vec::new(), lengths: Vec::new() });
    let (compressor, decompressor) = zstd(1);
    let planes = Planes { zstd: compressor, unzstd: decompressor, values: Vec::new(), planes: Vec::new() };
    vec![
        ("codec 1: gaps, LEB128, zstd 1", ours(Some((Encoders::default(), BlockDecoder::new().unwrap())))),
        ("codec 0: gaps, LEB128", ours(None)),
        ("gaps, planes, zstd 1", Box::new(planes)),
        ("words, zstd 1", words(false, 1)),
        ("words, zstd 3", words(false, 3)),
        ("gaps, zstd 1", words(true, 1)),
    ]
}

/// The rows of the graph in a file, as ranks, in blocks.
fn blocks(path: &Path, dir: &Path) -> Vec<Block> {
    let source = Source::open(&[path.to_path_buf()], None, dir).unwrap();
    let space = Workspace::new(HostMemory::new(Bytes(8 << 30), rayon::current_num_threads()), dir);
    let graph = prepare(&source, space, &Control::silent(), &mut Vec::new()).unwrap();
    let mut blocks = vec![Block::default()];
    let passed = graph.pass(Bytes::mib(16), Direction::Rising, &Control::silent(), |rows| {
        for row in rows.ranks().map(|rank| rows.row(rank)).filter(|row| !row.is_empty()) {
            if blocks.last().unwrap().raw() >= BLOCK {
                blocks.push(Block::default());
            }
            let block = blocks.last_mut().unwrap();
            block.successors.extend_from_slice(row);
            block.offsets.push(block.successors.len() as u32);
        }
        Ok(())
    });
    passed.unwrap();
    blocks
}

/// GiB of `u32` a second: the median of eleven runs.
fn rate(raw: usize, mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..11)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    raw as f64 / seconds[5] / f64::from(1 << 30)
}

fn compare(graph: &str, blocks: &[Block]) {
    let raw: usize = blocks.iter().map(Block::raw).sum();
    let arcs: usize = blocks.iter().map(|block| block.successors.len()).sum();
    println!("{graph}: {arcs} arcs, {} blocks", blocks.len());
    for (name, mut variant) in variants() {
        let stored: Vec<_> = blocks.iter().map(|block| variant.encode(block)).collect();
        let bytes: usize = stored.iter().map(Vec::len).sum();
        let encoding = rate(raw, || blocks.iter().for_each(|block| drop(black_box(variant.encode(block)))));
        let mut offsets = vec![0; blocks.iter().map(|block| block.offsets.len()).max().unwrap_or(1)];
        let mut successors = vec![0; blocks.iter().map(|block| block.successors.len()).max().unwrap_or(0)];
        let mut decode = |check: bool| {
            for (block, stored) in blocks.iter().zip(&stored) {
                let (offsets, successors) =
                    (&mut offsets[..block.offsets.len()], &mut successors[..block.successors.len()]);
                variant.decode(stored, offsets, successors);
                assert!(!check || (*offsets == block.offsets && *successors == block.successors), "{name} loses rows");
                black_box(successors.last());
            }
        };
        decode(true);
        let decoding = rate(raw, || decode(false));
        let bits = 8.0 * bytes as f64 / arcs as f64;
        println!("{name}: {bits:.2} bits an arc; encoded at {encoding:.2} GiB/s, decoded at {decoding:.2} GiB/s");
    }
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kron.bin");
    generate(&Family::GapKron { scale: 18 }, None, &path, &Control::silent()).unwrap();
    compare("kron18", &blocks(&path, dir.path()));
    if let Ok(crawl) = std::env::var("TRIMILL_BENCH_CRAWL") {
        compare("crawl", &blocks(Path::new(&crawl), dir.path()));
    }
}
