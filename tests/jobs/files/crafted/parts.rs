//! A graph file taken apart, changed and put together again with valid checksums.

use std::ops::Range;

use serde_json::Value;
use trimill::testing::graph::file::Layout;
use trimill::testing::graph::sequence::NumberSequence;
use xxhash_rust::xxh3::xxh3_64;

pub(super) const PAGE: usize = 4096;

#[derive(Clone)]
pub(super) struct Parts {
    pub(super) version: u32,
    pub(super) footer: Value,
    pub(super) sections: Vec<u8>,
}

impl Parts {
    pub(super) fn of(file: &[u8]) -> Self {
        let end = u64::from_le_bytes(file[16..24].try_into().unwrap()) as usize;
        let footer = serde_json::from_slice(&file[end..]).unwrap();
        Self {
            version: u32::from_le_bytes(file[8..12].try_into().unwrap()),
            footer,
            sections: file[PAGE..end].to_vec(),
        }
    }

    /// The bytes of a section, if it is within the file.
    pub(super) fn section(&self, range: Range<u64>) -> Option<Range<usize>> {
        let place = |at: u64| usize::try_from(at).ok()?.checked_sub(PAGE);
        let range = place(range.start)?..place(range.end)?;
        self.sections.get(range.clone()).is_some().then_some(range)
    }

    /// The file with valid checksums of the sections that are where the footer says.
    pub(super) fn sealed(&self) -> Vec<u8> {
        let (mut footer, mut parts) = (self.footer.clone(), self.clone());
        let layout = serde_json::from_value::<Layout>(footer.clone()).ok().filter(is_near);
        if let Some(layout) = &layout {
            if let Some((rows, index)) = self.section(layout.range("rows")).zip(self.section(layout.range("index"))) {
                let ends =
                    index.clone().skip(32).step_by(32).map(|entry| self.u64_in(entry + 16)).chain([layout.block_bytes]);
                for (entry, end) in index.step_by(32).zip(ends) {
                    let block = self.u64_in(entry + 16) as usize..end as usize;
                    if let Some(block) = self.sections[rows.clone()].get(block) {
                        parts.sections[entry + 24..entry + 32].copy_from_slice(&xxh3_64(block).to_le_bytes());
                    }
                }
            }
            for (section, of) in layout.sections.iter().zip(footer["sections"].as_array_mut().unwrap()) {
                let bytes = parts.section(section.at..section.at.saturating_add(section.bytes));
                if let (Some(bytes), true) = (bytes, section.checksum.is_some()) {
                    of["checksum"] = xxh3_64(&parts.sections[bytes]).into();
                }
            }
        }
        let footer = serde_json::to_vec(&footer).unwrap();
        let mut file = b"TRIMGRAF".to_vec();
        file.extend(self.version.to_le_bytes());
        file.extend((footer.len() as u32).to_le_bytes());
        file.extend(((PAGE + parts.sections.len()) as u64).to_le_bytes());
        file.extend(xxh3_64(&footer).to_le_bytes());
        file.extend(xxh3_64(&file).to_le_bytes());
        file.resize(PAGE, 0);
        [file, parts.sections, footer].concat()
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
        let bytes = self.section(rows + from[2]..rows + to[2]).unwrap();
        let mut rest = &self.sections[bytes];
        [to[0] - from[0], to[1] - from[1]].map(|many| {
            let (sequence, after) = NumberSequence::split(rest, many).unwrap();
            let mut numbers = vec![0; many as usize];
            sequence.decode(&mut numbers).unwrap();
            rest = after;
            numbers
        })
    }

    /// A copy with `bytes` as a file block; the sections and positions are as they should be for it.
    pub(super) fn with_block(&self, block: u64, bytes: &[u8]) -> Self {
        let (layout, mut footer) = (self.layout(), self.footer.clone());
        let position = |i: u64| match i < layout.blocks {
            true => self.u64_at(layout.range("index").start + 32 * i + 16),
            false => layout.block_bytes,
        };
        let (from, to) = (position(block), position(block + 1));
        let mut sections = Vec::new();
        for (section, of) in layout.sections.iter().zip(footer["sections"].as_array_mut().unwrap()) {
            let mut own = self.sections[self.section(section.at..section.at + section.bytes).unwrap()].to_vec();
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
        Self { version: self.version, footer, sections }
    }

    pub(super) fn u32_at(&self, at: u64) -> u32 {
        u32::from_le_bytes(self.sections[at as usize - PAGE..][..4].try_into().unwrap())
    }

    pub(super) fn u64_at(&self, at: u64) -> u64 {
        self.u64_in(at as usize - PAGE)
    }

    pub(super) fn u64_in(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.sections[at..][..8].try_into().unwrap())
    }
}

/// Whether all counts are so small that no position overflows.
pub(super) fn is_near(layout: &Layout) -> bool {
    let Layout { vertices, edges, blocks, block_bytes, degree_runs, .. } = *layout;
    u64::from(vertices).max(edges).max(blocks).max(block_bytes).max(degree_runs) < 1 << 40
}
