//! A graph file taken apart, changed and put together again with valid checksums.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;
use trimill::testing::graph::file::{GraphSection, Layout};
use trimill::testing::graph::rows::put_block;
use trimill::testing::graph::sequence::NumberSequence;

use crate::targets::seal;

pub(super) const PAGE: usize = 4096;

#[derive(Clone)]
pub(super) struct Parts {
    pub(super) footer: Value,
    pub(super) sections: Vec<u8>,
}

impl Parts {
    pub(super) fn of(path: &Path) -> Self {
        let file = std::fs::read(path).unwrap();
        let end = u64::from_le_bytes(file[16..24].try_into().unwrap()) as usize;
        Self { footer: serde_json::from_slice(&file[end..]).unwrap(), sections: file[PAGE..end].to_vec() }
    }

    /// The file with valid checksums; those of sections too, unless the footer says that one is elsewhere.
    pub(super) fn sealed(&self) -> Vec<u8> {
        let end = (PAGE + self.sections.len()) as u64;
        let is_here = |section: &GraphSection| {
            section.at >= PAGE as u64 && section.at.checked_add(section.bytes).is_some_and(|last| last <= end)
        };
        let layout = serde_json::from_value::<Layout>(self.footer.clone()).ok();
        let layout = layout.filter(|layout| layout.sections.iter().all(is_here));
        seal::graph(&serde_json::to_vec(&self.footer).unwrap(), layout, self.sections.clone())
    }

    fn section(&self, range: Range<u64>) -> &[u8] {
        &self.sections[range.start as usize - PAGE..range.end as usize - PAGE]
    }

    pub(super) fn layout(&self) -> Layout {
        serde_json::from_value(self.footer.clone()).unwrap()
    }

    /// A copy with `bytes` at position `at` of the file.
    pub(super) fn with(&self, at: u64, bytes: &[u8]) -> Self {
        let mut parts = self.clone();
        parts.sections[at as usize - PAGE..][..bytes.len()].copy_from_slice(bytes);
        parts
    }

    /// The rows of a file block: their lengths and distances.
    pub(super) fn block(&self, block: u64) -> [Vec<u32>; 2] {
        let layout = self.layout();
        let entry = |block: u64| [0, 8, 16].map(|field| self.u64_at(layout.range("index").start + 32 * block + field));
        let (from, to) = match block + 1 < layout.blocks {
            true => (entry(block), entry(block + 1)),
            false => (entry(block), [layout.vertices.into(), layout.edges, layout.block_bytes]),
        };
        let rows = layout.range("rows").start;
        let mut rest = self.section(rows + from[2]..rows + to[2]);
        [to[0] - from[0], to[1] - from[1]].map(|many| {
            let (sequence, after) = NumberSequence::split(rest, many).unwrap();
            let mut numbers = vec![0; many as usize];
            sequence.decode(&mut numbers).unwrap();
            rest = after;
            numbers
        })
    }

    /// A copy with these rows as a file block; the sections and positions are as they should be for it.
    pub(super) fn with_rows(&self, block: u64, lengths: &[u32], distances: &[u32]) -> Self {
        let mut bytes = Vec::new();
        put_block(lengths, distances, &mut bytes);
        let (layout, mut footer) = (self.layout(), self.footer.clone());
        let position = |i: u64| match i < layout.blocks {
            true => self.u64_at(layout.range("index").start + 32 * i + 16),
            false => layout.block_bytes,
        };
        let (from, to) = (position(block), position(block + 1));
        let mut sections = Vec::new();
        for (section, of) in layout.sections.iter().zip(footer["sections"].as_array_mut().unwrap()) {
            let mut own = self.section(section.at..section.at + section.bytes).to_vec();
            match &*section.name {
                "rows" => drop(own.splice(from as usize..to as usize, bytes.iter().copied())),
                "index" => {
                    for i in block + 1..layout.blocks {
                        let moved = position(i) + bytes.len() as u64 - (to - from);
                        own[32 * i as usize + 16..][..8].copy_from_slice(&moved.to_le_bytes());
                    }
                }
                _ => {}
            }
            sections.resize(sections.len().next_multiple_of(PAGE), 0);
            (of["at"], of["bytes"]) = ((PAGE + sections.len()).into(), own.len().into());
            sections.extend(own);
        }
        footer["block_bytes"] = (layout.block_bytes + bytes.len() as u64 - (to - from)).into();
        Self { footer, sections }
    }

    pub(super) fn u32_at(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.sections[at as usize - PAGE..][..4].try_into().unwrap())
    }

    pub(super) fn u64_at(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.sections[at as usize - PAGE..][..8].try_into().unwrap())
    }
}
