//! The codec of spills against what else could stand there: bits an arc, and GB/s of `u32` each way on one core.
//!
//! On an R-MAT graph of scale 18, and on the crawl whose base name is in `TRIMILL_BENCH_CRAWL` (files `.graph` and
//! `.properties`), oriented by falling degree, in blocks of 1 MiB. Ratios go to stderr, times to criterion. Of all variants
//! the stored lengths of rows are part of the block.

#![allow(clippy::unwrap_used, missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use trimill::spill::Codec;
use trimill::spill::codec::{Decoder, Encoder, Numbers, Rows, RowsMut};
use webgraph::prelude::*;
use zstd::bulk::{Compressor, Decompressor};

const BLOCK: usize = 1 << 20;

/// Rows of a block: offsets from 0, and heads.
struct Block {
    offsets: Vec<u32>,
    heads: Vec<u32>,
}

impl Block {
    fn raw(&self) -> usize {
        4 * (self.offsets.len() - 1 + self.heads.len())
    }

    fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.offsets.windows(2).map(|pair| &self.heads[pair[0] as usize..pair[1] as usize])
    }
}

/// A way to store a block; buffers are kept by the implementation.
trait Variant {
    fn encode(&mut self, block: &Block) -> Vec<u8>;
    /// Decodes a block of this many rows and heads into `offsets[1..]` and `heads`.
    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], heads: &mut [u32]);
}

struct Ours(Codec, Encoder, Decoder);

impl Variant for Ours {
    fn encode(&mut self, block: &Block) -> Vec<u8> {
        let mut out = Vec::new();
        let rows = Rows { numbers: Numbers::Below(u32::MAX), offsets: &block.offsets, heads: &block.heads };
        self.1.encode(self.0, &rows, &mut out).unwrap();
        out
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], heads: &mut [u32]) {
        let into = RowsMut { numbers: Numbers::Below(u32::MAX), ends: &mut offsets[1..], heads, base: 0 };
        self.2.decode(self.0, stored, into).unwrap();
    }
}

/// zstd over plain little-endian words, as they are or as gaps.
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
            for &head in row {
                let word = if self.gaps { head - std::mem::replace(&mut before, head) } else { head };
                self.bytes.extend(word.to_le_bytes());
            }
        }
        self.zstd.compress(&self.bytes).unwrap()
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], heads: &mut [u32]) {
        self.bytes.resize(4 * (offsets.len() - 1 + heads.len()), 0);
        self.unzstd.decompress_to_buffer(stored, &mut self.bytes[..]).unwrap();
        let (words, _) = self.bytes.as_chunks::<4>();
        for (head, word) in heads.iter_mut().zip(&words[offsets.len() - 1..]) {
            *head = u32::from_le_bytes(*word);
        }
        for i in 1..offsets.len() {
            offsets[i] = offsets[i - 1] + u32::from_le_bytes(words[i - 1]);
            if self.gaps {
                let mut sum = 0;
                for head in &mut heads[offsets[i - 1] as usize..offsets[i] as usize] {
                    sum += *head;
                    *head = sum;
                }
            }
        }
    }
}

/// Lengths and gaps as LEB128, with or without zstd on top.
struct Leb(Option<(Compressor<'static>, Decompressor<'static>)>, Vec<u8>);

impl Variant for Leb {
    fn encode(&mut self, block: &Block) -> Vec<u8> {
        self.1.clear();
        let mut put = |mut value: u32| {
            while value >= 0x80 {
                self.1.push(value as u8 | 0x80);
                value >>= 7;
            }
            self.1.push(value as u8);
        };
        for row in block.rows() {
            put(row.len() as u32);
            let mut before = 0;
            for &head in row {
                put(head - std::mem::replace(&mut before, head));
            }
        }
        match &mut self.0 {
            Some((zstd, _)) => zstd.compress(&self.1).unwrap(),
            None => self.1.clone(),
        }
    }

    fn decode(&mut self, stored: &[u8], offsets: &mut [u32], heads: &mut [u32]) {
        let mut bytes = match &mut self.0 {
            Some((_, unzstd)) => {
                self.1.resize(5 * (offsets.len() + heads.len()), 0);
                let length = unzstd.decompress_to_buffer(stored, &mut self.1[..]).unwrap();
                &self.1[..length]
            }
            None => stored,
        };
        let mut get = || {
            let (mut value, mut shift) = (0, 0);
            loop {
                let (byte, rest) = bytes.split_first().unwrap();
                bytes = rest;
                value |= u32::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    return value;
                }
                shift += 7;
            }
        };
        for i in 1..offsets.len() {
            offsets[i] = offsets[i - 1] + get();
            let mut sum = 0;
            for head in &mut heads[offsets[i - 1] as usize..offsets[i] as usize] {
                sum += get();
                *head = sum;
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
    let ours = |codec| Box::new(Ours(codec, Encoder::new().unwrap(), Decoder::new().unwrap()));
    vec![
        ("codec 1: gaps, planes, zstd 1", ours(Codec::Planes)),
        ("codec 0: raw", ours(Codec::Raw)),
        ("words, zstd 1", words(false, 1)),
        ("words, zstd 3", words(false, 3)),
        ("gaps, zstd 1", words(true, 1)),
        ("gaps, LEB128", Box::new(Leb(None, Vec::new()))),
        ("gaps, LEB128, zstd 1", Box::new(Leb(Some(zstd(1)), Vec::new()))),
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
    let mut block = Block { offsets: vec![0], heads: Vec::new() };
    for row in arcs.chunk_by(|a, b| a.0 == b.0) {
        block.heads.extend(row.iter().map(|arc| arc.1));
        block.offsets.push(block.heads.len() as u32);
        if block.raw() >= BLOCK {
            blocks.push(std::mem::replace(&mut block, Block { offsets: vec![0], heads: Vec::new() }));
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
    let arcs: usize = blocks.iter().map(|block| block.heads.len()).sum();
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
        let mut heads = vec![0; blocks.iter().map(|block| block.heads.len()).max().unwrap_or(0)];
        let mut decode = |block: &Block, stored: &[u8], check: bool| {
            let (offsets, heads) = (&mut offsets[..block.offsets.len()], &mut heads[..block.heads.len()]);
            variant.decode(stored, offsets, heads);
            assert!(!check || (*offsets == block.offsets && *heads == block.heads), "{name} loses rows");
            black_box(heads.last().copied())
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
