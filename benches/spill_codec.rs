//! The codec of spills against alternatives: bits per arc, and GB/s of `u32` encoded and decoded on one core.
//!
//! On an R-MAT graph of scale 18, and on the crawl whose base name is in `TRIMILL_BENCH_CRAWL` (files `.graph` and
//! `.properties`), oriented by falling degree, in blocks of 1 MiB. Ratios are printed to stderr, times by criterion. In all
//! variants a block includes the lengths of its rows.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use trimill::testing::spill::CodedRows;
use trimill::testing::spill::block::{RowEndsMut, RowNumbers, decode, encode};
use trimill::testing::spill::codec::{BlockDecoder, BlockEncoder};
use webgraph::prelude::*;
use zstd::bulk::{Compressor, Decompressor};

const BLOCK: usize = 1 << 20;

/// Rows of a block: offsets from 0, and successors.
struct Block {
    offsets: Vec<u32>,
    successors: Vec<u32>,
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
    zstd: Option<(BlockEncoder, BlockDecoder)>,
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
        ("codec 1: gaps, LEB128, zstd 1", ours(Some((BlockEncoder::new().unwrap(), BlockDecoder::new().unwrap())))),
        ("codec 0: gaps, LEB128", ours(None)),
        ("gaps, planes, zstd 1", Box::new(planes)),
        ("words, zstd 1", words(false, 1)),
        ("words, zstd 3", words(false, 3)),
        ("gaps, zstd 1", words(true, 1)),
    ]
}

/// The oriented graph of some arcs, in numbers of falling degree, in blocks.
fn blocks(mut arcs: Vec<(u32, u32)>) -> Vec<Block> {
    let clean = |arcs: &mut Vec<(u32, u32)>| {
        arcs.retain(|(u, v)| u != v);
        arcs.iter_mut().for_each(|arc| *arc = (arc.0.max(arc.1), arc.0.min(arc.1)));
        arcs.sort_unstable();
        arcs.dedup();
    };
    clean(&mut arcs);
    let n = arcs.last().map_or(0, |arc| arc.0 as usize + 1);
    let mut degree = vec![0u32; n];
    arcs.iter().for_each(|&(u, v)| {
        degree[u as usize] += 1;
        degree[v as usize] += 1;
    });
    let mut ids: Vec<u32> = (0..n as u32).collect();
    ids.sort_by_key(|&id| std::cmp::Reverse((degree[id as usize], id)));
    let mut number = vec![0; n];
    (0..).zip(&ids).for_each(|(i, &id)| number[id as usize] = i);
    arcs.iter_mut().for_each(|arc| *arc = (number[arc.0 as usize], number[arc.1 as usize]));
    clean(&mut arcs);
    let mut blocks = Vec::new();
    let mut block = Block { offsets: vec![0], successors: Vec::new() };
    for row in arcs.chunk_by(|a, b| a.0 == b.0) {
        block.successors.extend(row.iter().map(|arc| arc.1));
        block.offsets.push(block.successors.len() as u32);
        if block.raw() >= BLOCK {
            blocks.push(std::mem::replace(&mut block, Block { offsets: vec![0], successors: Vec::new() }));
        }
    }
    blocks.push(block);
    blocks
}

/// Arcs of an R-MAT graph with the probabilities of Graph500.
fn rmat(scale: u32) -> Vec<(u32, u32)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
    };
    let mut arc = |_| {
        (0..scale).fold((0, 0), |(u, v), _| match (draw() * 100) >> 32 {
            0..57 => (2 * u, 2 * v),
            57..76 => (2 * u, 2 * v + 1),
            76..95 => (2 * u + 1, 2 * v),
            _ => (2 * u + 1, 2 * v + 1),
        })
    };
    (0..16u64 << scale).map(&mut arc).collect()
}

/// Arcs of a crawl in BVGraph format.
fn crawl(basename: &str) -> Vec<(u32, u32)> {
    let graph = BvGraphSeq::with_basename(basename).load().unwrap();
    let mut rows = graph.iter();
    let mut arcs = Vec::new();
    for u in 0..graph.num_nodes() as u32 {
        arcs.extend(rows.next_successors().unwrap().iter().map(|&v| (u, v as u32)));
    }
    arcs
}

fn compare(criterion: &mut Criterion, graph: &str, blocks: &[Block]) {
    let raw: usize = blocks.iter().map(Block::raw).sum();
    let arcs: usize = blocks.iter().map(|block| block.successors.len()).sum();
    eprintln!("{graph}: {arcs} arcs, {} blocks", blocks.len());
    let mut group = criterion.benchmark_group(graph);
    group.sample_size(10).throughput(Throughput::Bytes(raw as u64));
    for (name, mut variant) in variants() {
        let stored: Vec<_> = blocks.iter().map(|block| variant.encode(block)).collect();
        let bytes: usize = stored.iter().map(Vec::len).sum();
        eprintln!(
            "{name}: {:.2} bits an arc, ratio {:.2}",
            8.0 * bytes as f64 / arcs as f64,
            raw as f64 / bytes as f64
        );
        group.bench_function(format!("encode/{name}"), |bencher| {
            bencher.iter(|| blocks.iter().map(|block| black_box(variant.encode(block)).len()).sum::<usize>());
        });
        let mut offsets = vec![0; blocks.iter().map(|block| block.offsets.len()).max().unwrap_or(1)];
        let mut successors = vec![0; blocks.iter().map(|block| block.successors.len()).max().unwrap_or(0)];
        let mut decode = |block: &Block, stored: &[u8], check: bool| {
            let (offsets, successors) =
                (&mut offsets[..block.offsets.len()], &mut successors[..block.successors.len()]);
            variant.decode(stored, offsets, successors);
            assert!(!check || (*offsets == block.offsets && *successors == block.successors), "{name} loses rows");
            black_box(successors.last().copied())
        };
        blocks.iter().zip(&stored).for_each(|(block, stored)| {
            decode(block, stored, true);
        });
        group.bench_function(format!("decode/{name}"), |bencher| {
            bencher.iter(|| {
                blocks.iter().zip(&stored).for_each(|(block, stored)| {
                    decode(block, stored, false);
                });
            });
        });
    }
}

fn codecs(criterion: &mut Criterion) {
    compare(criterion, "rmat-18", &blocks(rmat(18)));
    if let Ok(basename) = std::env::var("TRIMILL_BENCH_CRAWL") {
        compare(criterion, "crawl", &blocks(crawl(&basename)));
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
