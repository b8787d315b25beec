//! Writes valid checksums, which a fuzzer cannot guess, as a faulty or malicious writer would.

use std::ops::Range;

use trimill::testing::graph::file::Layout;
use xxhash_rust::xxh3::xxh3_64;

/// The little-endian number at `at`, if there are enough bytes.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let eight = bytes.get(at..)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*eight)).ok()
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// A spill with valid magic, version, length of the index and checksums.
pub(crate) fn spill(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut spill = bytes.to_vec();
    let index = number(bytes, 104).filter(|&index| index >= 160 && index <= bytes.len())?;
    spill[..12].copy_from_slice(b"TRIMSPIL\x02\0\0\0");
    put(&mut spill, 112, (bytes.len() - index) as u64);
    let row_blocks = number(bytes, index + 8)? & 0xffff_ffff;
    let mut at = row_blocks.checked_mul(24)?.checked_add(index + 16)?;
    while let (Some(offset), Some(stored), true) = (number(bytes, at), number(bytes, at + 8), at + 48 <= bytes.len()) {
        if let Some(block) = offset.checked_add(stored).and_then(|end| bytes.get(offset..end)) {
            put(&mut spill, at + 32, xxh3_64(block));
        }
        at += 48;
    }
    let checksum = xxh3_64(&spill[index..]);
    put(&mut spill, 120, checksum);
    let checksum = xxh3_64(&spill[..152]);
    put(&mut spill, 152, checksum);
    Some(spill)
}

/// Counts of a partition, for a graph of `keys` vertices or edges, with a valid header and valid checksums.
pub(super) fn counts(bytes: &[u8], magic: [u8; 8], keys: u64) -> Vec<u8> {
    /// Bytes of the header, and those of a record before its frame.
    const HEADER: usize = 52;
    const HEAD: usize = 16;
    let mut counts = bytes.to_vec();
    counts.resize(bytes.len().max(HEADER), 0);
    counts[..8].copy_from_slice(&magic);
    counts[8..12].copy_from_slice(&3u32.to_le_bytes());
    counts[32..40].copy_from_slice(&keys.to_le_bytes());
    let (mut at, mut records) = (HEADER, 0u32);
    while let Some(len) = number(&counts, at + HEAD - 4).map(|len_and_more| len_and_more & 0xffff_ffff) {
        let end = at + HEAD + len;
        let Some(record) = counts.get(at..end).filter(|_| counts.len() >= end + 8) else { break };
        let checksum = xxh3_64(record);
        put(&mut counts, end, checksum);
        (at, records) = (end + 8, records + 1);
    }
    counts.truncate(at);
    counts[40..44].copy_from_slice(&records.to_le_bytes());
    let checksum = xxh3_64(&counts[..44]);
    put(&mut counts, 44, checksum);
    counts
}

/// A manifest with a valid end: the text before the last brace or before a checksum, and a valid checksum.
pub(super) fn manifest(text: &[u8]) -> Vec<u8> {
    let brace = text.iter().rposition(|&byte| byte == b'}').unwrap_or(text.len());
    let field = b",\n  \"checksum\": \"";
    let field_at = text.windows(field.len()).rposition(|window| window == field).unwrap_or(brace);
    let body = text[..brace.min(field_at)].trim_ascii_end();
    let with = |digits: &str| [body, field, digits.as_bytes(), b"\"\n}\n"].concat();
    let checksum = xxh3_64(&with("0000000000000000"));
    with(&format!("{checksum:016x}"))
}

/// A graph file with valid checksums, made of a footer and of the sections, which are placed as `layout` says if the footer is valid.
pub(crate) fn graph(footer: &[u8], layout: Option<Layout>, mut sections: Vec<u8>) -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut footer = footer.to_vec();
    if let Some(mut layout) = layout {
        let within = |range: Range<u64>| range.start as usize - PAGE..range.end as usize - PAGE;
        let (rows, index) = (layout.range("rows"), layout.range("index"));
        if rows.start > 0 && index.start > 0 {
            let (rows, index) = (within(rows), within(index));
            for entry in index.clone().step_by(32).filter(|entry| entry + 32 <= index.end) {
                let begin = number(&sections, entry + 16);
                let next = if entry + 32 < index.end { number(&sections, entry + 48) } else { Some(rows.len()) };
                let block = begin.zip(next).and_then(|(begin, end)| sections.get(rows.clone())?.get(begin..end));
                if let Some(checksum) = block.map(xxh3_64) {
                    put(&mut sections, entry + 24, checksum);
                }
            }
        }
        for section in &mut layout.sections {
            let bytes = sections.get(within(section.at..section.at + section.bytes)).unwrap_or_default();
            section.checksum = section.checksum.map(|_| xxh3_64(bytes));
        }
        footer = serde_json::to_vec(&layout).unwrap_or(footer);
    }
    let mut file = vec![0; PAGE];
    file[..8].copy_from_slice(b"TRIMGRAF");
    file[8] = 5;
    file[12..16].copy_from_slice(&(footer.len() as u32).to_le_bytes());
    put(&mut file, 16, (PAGE + sections.len()) as u64);
    put(&mut file, 24, xxh3_64(&footer));
    let checksum = xxh3_64(&file[..32]);
    put(&mut file, 32, checksum);
    file.extend(sections);
    file.extend(footer);
    file
}
