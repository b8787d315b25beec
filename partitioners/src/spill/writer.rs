//! Writes a spill. Input: the ranks of all vertices of a partition, then rows of locals and of proxies, each kind ascending. Output: one file, whose
//! header is written last, before it gets its name. A block ends, and is written, with the row that fills it ([`FULL`]), so blocks of locals and
//! proxies alternate; the bytes do not depend on the threads. Memory: the unfilled blocks, and the blocks that one call filled.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::block::{FULL, encode};
use super::codec::{Codec, Encoders};
use super::coded::{CodedRows, CodedSlice};
use super::format::{HEADER_BYTES, PartitionHeader, SpillHeader, checksum};
use super::index::{RowBlockInfo, SpillBlock, SpillIndex};
use super::store::SpillTarget;
use trimill_graph::leb128::put_row;
use trimill_system::{Bytes, Error, Result, parallel};

/// A spill being written; it is removed if it is dropped without [`SpillWriter::finish`].
pub struct SpillWriter {
    path: PathBuf,
    out: SpillTarget,
    end: u64,
    codec: Codec,
    header: PartitionHeader,
    /// Rows that do not fill a block yet: of locals, and of proxies of the open row block.
    waiting: [CodedRows; 2],
    written: [Vec<SpillBlock>; 3],
    row_blocks: Vec<RowBlockInfo>,
    full: Vec<(BlockSection, SpillBlock, Vec<u8>)>,
    pub(crate) encoders: Encoders,
    /// Whether [`SpillWriter::finish`] waits until the disk has the file, as for spills that outlive the job.
    pub(crate) durable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockSection {
    Ranks,
    Resident,
    RowBlocks,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillSummary {
    /// The file; for a spill in memory the name that it would have.
    pub path: PathBuf,
    /// Set if the spill is in memory.
    pub memory: Option<Arc<Vec<u8>>>,
    pub bytes: u64,
    /// The header's checksum, which through the index's covers every byte of the file.
    pub checksum: u64,
    pub header: SpillHeader,
    pub largest_block_bytes: u64,
}

impl SpillWriter {
    pub fn create(dir: &Path, name: &str, header: PartitionHeader, codec: Codec) -> Result<Self> {
        let path = dir.join(name);
        let out = SpillTarget::beside(&path, dir, name)?;
        Self::begin(path, out, header, codec)
    }

    /// Begins a spill of at most `most` bytes in memory, without compression; `name` is for messages.
    pub fn in_memory(name: &str, header: PartitionHeader, most: Bytes) -> Result<Self> {
        let path = PathBuf::from(name);
        let out = SpillTarget::in_memory(most).map_err(|error| Error::write(&path, error))?;
        Self::begin(path, out, header, Codec::Plain)
    }

    fn begin(path: PathBuf, mut out: SpillTarget, header: PartitionHeader, codec: Codec) -> Result<Self> {
        out.write(&[0; HEADER_BYTES]).map_err(|error| Error::write(&path, error))?;
        Ok(Self {
            path,
            out,
            end: HEADER_BYTES as u64,
            codec,
            header,
            waiting: Default::default(),
            written: Default::default(),
            row_blocks: Vec::new(),
            full: Vec::new(),
            encoders: Encoders::default(),
            durable: false,
        })
    }

    /// `ranks` must ascend.
    pub fn ranks(&mut self, mut ranks: impl Iterator<Item = u32>) -> Result<()> {
        loop {
            let some: Vec<u32> = ranks.by_ref().take(FULL as usize).collect();
            if some.is_empty() {
                return Ok(());
            }
            let mut block = Vec::new();
            put_row(&some, &mut block);
            self.block_of(BlockSection::Ranks, some.len() as u32, 0, block);
            self.flush()?;
        }
    }

    /// Adds rows of locals, with larger numbers than all before.
    pub fn resident_rows(&mut self, rows: CodedSlice<'_>) -> Result<()> {
        self.append(BlockSection::Resident, rows);
        self.flush()
    }

    /// Adds rows of proxies to the open row block, with larger numbers than all before.
    pub fn row_block_rows(&mut self, rows: CodedSlice<'_>) -> Result<()> {
        self.append(BlockSection::RowBlocks, rows);
        self.flush()
    }

    /// Ends the open row block, which covers the numbers up to `end`. Panics when it does not ascend, or goes beyond the numbering.
    pub fn end_row_block(&mut self, end: u32) -> Result<()> {
        self.close(BlockSection::RowBlocks);
        self.flush()?;
        let before = self.row_blocks.last();
        let (start, first) = before.map_or((0, 0), |before| (before.range.end, before.blocks.end));
        assert!(end >= start && end <= self.header.numbered, "row blocks tile the numbering");
        let blocks = &self.written[BlockSection::RowBlocks as usize];
        let own = &blocks[first..];
        self.row_blocks.push(RowBlockInfo {
            range: start..end,
            rows: own.iter().map(|block| block.rows).sum(),
            arcs: own.iter().map(|block| block.arcs).sum(),
            blocks: first..blocks.len(),
        });
        Ok(())
    }

    /// Completes the file and gives it its name, replacing any. Panics when what was added contradicts the header.
    pub fn finish(mut self) -> Result<SpillSummary> {
        self.close(BlockSection::Resident);
        self.flush()?;
        let index = self.index();
        let bytes = index.to_bytes();
        let header = SpillHeader {
            codec: self.codec,
            partition: self.header,
            row_blocks: index.row_blocks.len() as u32,
            row_block_arcs: index.row_blocks.iter().map(|row_block| row_block.arcs).sum(),
            raw_bytes: (0..index.blocks.len()).map(|i| index.raw_bytes(i)).sum(),
            index_offset: self.end,
            index_bytes: bytes.len() as u64,
            index_checksum: xxh3_64(&bytes),
        };
        let checked = index.check(&header);
        assert!(checked.is_ok(), "{checked:?}");
        self.out.write(&bytes).map_err(|error| Error::write(&self.path, error))?;
        let bytes_of_header = header.to_bytes();
        let memory = self.out.finish(&bytes_of_header, &self.path, self.durable)?;
        Ok(SpillSummary {
            bytes: self.end + bytes.len() as u64,
            checksum: checksum(&bytes_of_header),
            largest_block_bytes: index.largest_row_block(),
            header,
            path: self.path,
            memory,
        })
    }

    fn index(&mut self) -> SpillIndex {
        let [ranks, resident, row_blocks] = std::mem::take(&mut self.written);
        let (rank_blocks, resident_blocks) = (ranks.len(), resident.len());
        let first = rank_blocks + resident_blocks;
        let moved = |blocks: &Range<usize>| first + blocks.start..first + blocks.end;
        let of = std::mem::take(&mut self.row_blocks).into_iter();
        let of = of.map(|row_block| RowBlockInfo { blocks: moved(&row_block.blocks), ..row_block }).collect();
        let blocks = ranks.into_iter().chain(resident).chain(row_blocks).collect();
        SpillIndex { rank_blocks, resident_blocks, row_blocks: of, blocks }
    }

    fn open(&mut self, section: BlockSection) -> &mut CodedRows {
        &mut self.waiting[usize::from(section == BlockSection::RowBlocks)]
    }

    fn append(&mut self, section: BlockSection, mut rows: CodedSlice<'_>) {
        while rows.rows() > 0 {
            let mut weight = self.open(section).all().weight();
            let mut taken = 0;
            while weight < FULL && taken < rows.rows() {
                weight += 1 + u64::from(rows.lengths[taken]);
                taken += 1;
            }
            let (now, later) = rows.split_at(taken);
            self.open(section).append(now);
            if weight >= FULL {
                self.close(section);
            }
            rows = later;
        }
    }

    fn close(&mut self, section: BlockSection) {
        let open = self.open(section).all();
        let (rows, arcs) = (open.rows() as u32, open.arcs);
        if rows > 0 {
            let mut bytes = Vec::new();
            encode(open, section == BlockSection::Resident, &mut bytes);
            self.open(section).clear();
            self.block_of(section, rows, arcs, bytes);
        }
    }

    fn block_of(&mut self, section: BlockSection, rows: u32, arcs: u64, bytes: Vec<u8>) {
        let block = SpillBlock { offset: 0, stored: 0, plain: bytes.len() as u64, arcs, checksum: 0, rows };
        self.full.push((section, block, bytes));
    }

    fn flush(&mut self) -> Result<()> {
        let Self { full, codec, encoders, .. } = self;
        let encode = |(_, block, bytes): &mut (BlockSection, SpillBlock, Vec<u8>)| {
            if *codec == Codec::Zstd {
                *bytes = encoders.encode(bytes)?;
            }
            (block.stored, block.checksum) = (bytes.len() as u64, xxh3_64(bytes));
            Ok(())
        };
        match &mut full[..] {
            [] => return Ok(()),
            // The pool would encode a single block in this thread, too, but might do other work first.
            [block] => encode(block)?,
            blocks => parallel::try_each(blocks, encode)?,
        }
        for (section, mut block, bytes) in std::mem::take(&mut self.full) {
            block.offset = self.end;
            self.end += block.stored;
            self.out.write(&bytes).map_err(|error| Error::write(&self.path, error))?;
            self.written[section as usize].push(block);
        }
        Ok(())
    }
}
