//! Spills: the bytes as a file, and with valid checksums; and single blocks.

use std::path::Path;

use trimill::testing::control::Control;
use trimill::testing::spill::block::{RowEndsMut, RowNumbers, decode, encode};
use trimill::testing::spill::{CodedRows, SpillReader, SpillWriter};
use trimill_counting::{Resident, RowBlock};

use super::{Place, first, is_told, seal};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    file(place, bytes);
    if let Some(sealed) = seal::spill(bytes) {
        file(place, &sealed);
    }
}

fn file(place: &Place, bytes: &[u8]) {
    let path = place.write("a.spill", bytes);
    let spill = match SpillReader::open(&path, None) {
        Ok(spill) => spill,
        Err(error) => return is_told(&error, &path),
    };
    let rows = (0..spill.row_blocks()).map(|i| spill.row_block_info(i).decoded_bytes()).sum::<u64>();
    // A few bytes can encode many rows; the index says how many bytes these take, before any memory is allocated.
    if rows + spill.resident_size().bytes().get() > (4 << 20) {
        return;
    }
    spill.report();
    if let Err(error) = spill.verify(&Control::silent()) {
        is_told(&error, &path);
        sections(&spill, &path);
        return;
    }
    let (resident, row_blocks) = sections(&spill, &path).expect("a verified spill can be read");
    let (header, codec) = (spill.header().clone(), spill.summary().header.codec);
    let mut writer = SpillWriter::create(place.dir(), "b.spill", header.clone(), codec).expect("a writer");
    writer.ranks(spill.ranks().expect("ranks").into_iter()).expect("ranks");
    writer.resident(&resident).expect("rows");
    row_blocks.iter().for_each(|row_block| writer.row_block(row_block).expect("a row block"));
    let written = writer.finish().expect("a spill");
    let again = SpillReader::open(&written.path, Some(header.fingerprint)).expect("what was written");
    assert_eq!(*again.header(), header);
    assert_eq!(sections(&again, &written.path), Some((resident, row_blocks)));
}

/// All rows, or `None` if they are damaged.
fn sections(spill: &SpillReader, path: &Path) -> Option<(Resident, Vec<RowBlock>)> {
    let mut resident = Resident::default();
    let mut result = spill.read_resident(&mut resident);
    let mut row_blocks = Vec::new();
    for i in 0..spill.row_blocks() {
        let mut row_block = RowBlock::default();
        result = result.and(spill.read_row_block(i, false, &mut row_block));
        row_blocks.push(row_block);
    }
    match result {
        Ok(()) => Some((resident, row_blocks)),
        Err(error) => {
            is_told(&error, path);
            None
        }
    }
}

/// A block: the bytes give its numbers of rows and successors, their bound, and the coded block.
pub(super) fn block(_: &Place, bytes: &[u8]) {
    let ([flags, rows, few, more], bytes) = first(bytes);
    let (bound, bytes) = first(bytes);
    let last = u32::from_le_bytes(bound).saturating_sub(1);
    let (rows, arcs) = (usize::from(rows), usize::from(u16::from_le_bytes([few, more])));
    let numbered = flags & 4 != 0;
    let decoded = |bytes: &[u8]| {
        let (mut numbers, mut ends, mut successors) = (vec![0; rows], vec![0u64; rows], vec![0; arcs]);
        let into = RowEndsMut {
            numbers: if numbered { RowNumbers::Each(&mut numbers[..]) } else { RowNumbers::UpTo(last) },
            ends: &mut ends,
            base: 0,
        };
        decode(bytes, into, &mut successors, &mut Vec::new()).ok().map(|()| (numbers, ends, successors))
    };
    let Some((numbers, ends, successors)) = decoded(bytes) else { return };
    // The encoder asserts the properties of rows that the decoder guarantees.
    let (mut coded, mut again) = (CodedRows::default(), Vec::new());
    let (mut coder, mut begin) = (coded.coder(), 0);
    for (&number, &end) in numbers.iter().zip(&ends) {
        let number = if numbered { number } else { last };
        coder.push(number, &successors[begin as usize..end as usize], |_| true, |successor| successor);
        begin = end;
    }
    encode(coded.all(), numbered, &mut again);
    assert_eq!(decoded(&again), Some((numbers, ends, successors)));
}
