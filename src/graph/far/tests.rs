//! The oriented graph past 2^32 arcs, 2^34 bytes and 2^64 wedges: files with holes, which take no room.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::OrientedGraph;
use super::bits::Marks;
use super::file::{GraphWriter, Layout};
use super::numbering::Numbering;
use super::oriented::Storage;
use super::pages::PageLimit;
use crate::bytes::Bytes;
use crate::control::Control;
use crate::count::cpu::Cpu;
use crate::mapped::MappedFile;
use crate::orient::ranked::write_rows;
use crate::partition::prune::{Prune, prune};
use crate::partition::sections::Sections;
use crate::spill::{Codec, PartitionHeader, SpillReader, SpillWriter};
use crate::stream::count_partition;
use crate::stream::source::Spilled;

/// Ranks of the ids 3 to 8: a clique, whose rows lie behind three rows that are holes of up to 2^31 arcs each.
const CLIQUE: [u32; 6] = [6, 3, 8, 4, 7, 5];
const FAR: u64 = (1 << 32) + 5;

/// A graph as its file says, without the checksums that would read all of the holes.
fn unchecked(path: &Path, layout: Layout, numbering: Numbering) -> OrientedGraph {
    let file = MappedFile::open(path).unwrap();
    let storage = Storage::File { file, temporary: None };
    OrientedGraph { storage, layout, numbering, pages: PageLimit::default() }
}

fn clique_behind_holes(path: &Path) -> OrientedGraph {
    let layout = Layout { vertices: 9, edges: FAR + 15, ..Layout::default() };
    let file = File::create(path).unwrap();
    file.set_len(layout.degrees().end as u64).unwrap();
    let mut offsets = vec![0, (1 << 31) + 1, (1 << 32) + 3, FAR];
    for rank in 3..9 {
        let (row, start): (Vec<u32>, _) = ((3..rank).collect(), offsets[rank as usize]);
        file.write_all_at(bytemuck::cast_slice(&row), layout.heads().start as u64 + 4 * start).unwrap();
        offsets.push(start + row.len() as u64);
    }
    file.write_all_at(bytemuck::cast_slice(&offsets), layout.offsets().start as u64).unwrap();
    let number_of: Vec<u32> = [0, 1, 2].into_iter().chain(CLIQUE).collect();
    let mut id_of = vec![0; 9];
    number_of.iter().enumerate().for_each(|(id, &number)| id_of[number as usize] = id as u32);
    unchecked(path, layout, Numbering { number_of, id_of })
}

#[test]
fn rows_past_2_to_the_32_arcs_are_read_cut_spilled_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let graph = clique_behind_holes(&dir.path().join("g"));
    assert_eq!((graph.edges(), graph.heads().len() as u64), (FAR + 15, FAR + 15));
    assert_eq!(graph.csr_bytes(), Bytes(80 + 4 * (FAR + 15)));
    for (id, rank) in (3..).zip(CLIQUE) {
        assert_eq!((graph.rank_of(id), graph.out_degree(rank)), (rank, rank - 3));
        assert_eq!(graph.row(rank), (3..rank).collect::<Vec<_>>());
        let mut read = Vec::new();
        graph.read_rows(&(rank..rank + 1), &mut read).unwrap();
        assert_eq!(read, graph.row(rank));
    }
    let (control, pool) = (Control::silent(), rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    let mut triangles = 0;
    for locals in [&[3, 5, 7][..], &[4], &[6, 8]] {
        let pruned = prune(&graph, locals, Prune::Direct, &control).unwrap();
        let sections = Sections::new(&pruned);
        let (numbered, locals) = (sections.numbered(), locals.len() as u32);
        let header = PartitionHeader { locals, numbered, ..PartitionHeader::default() };
        let mut writer = SpillWriter::create(dir.path(), "a.spill", header, Codec::Planes).unwrap();
        sections.resident(&control, |chunk| writer.resident(&chunk)).unwrap();
        sections.frames(Bytes(1 << 12), &control, |frame| writer.frame(&frame)).unwrap();
        let spill = SpillReader::open(&writer.finish().unwrap().path, None).unwrap();
        let mut cpu = Cpu::new(Bytes::mib(1), numbered);
        triangles += count_partition(&mut Spilled::new(spill), &mut cpu, &pool, &control).unwrap().triangles;
    }
    assert_eq!(triangles, 20, "the triangles of a clique of 6");
}

#[test]
fn orienting_writes_rows_past_2_to_the_32_arcs() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout { vertices: 100, edges: FAR + 100, ..Layout::default() };
    let writer = GraphWriter::create(dir.path(), layout.clone()).unwrap();
    // Ranks 70 to 72; 71 has no row.
    let keys = [70 << 32 | 0xffff_fffd, 72 << 32, 70 << 32 | 9];
    write_rows(&writer, &(70..73), FAR, &keys).unwrap();
    let path = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let graph = unchecked(&path, layout, Numbering::default());
    assert_eq!(graph.offsets()[70..75], [0, FAR + 2, FAR + 2, FAR + 3, 0]);
    assert_eq!(graph.heads()[FAR as usize..][..4], [9, 0xffff_fffd, 0, 0]);
}

#[test]
fn wedges_pass_2_to_the_64() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout { vertices: 5, ..Layout::default() };
    let file = File::create(dir.path().join("g")).unwrap();
    let degrees = [u32::MAX, u32::MAX, u32::MAX, 1, 0];
    file.write_all_at(bytemuck::cast_slice(&degrees), layout.degrees().start as u64).unwrap();
    let graph = unchecked(&dir.path().join("g"), layout, Numbering::default());
    assert_eq!(graph.wedges(), 3 * 9_223_372_030_412_324_865);
}

#[test]
fn sets_reach_to_the_last_vertex() {
    // The most vertices that there can be.
    let len = u32::MAX - 1;
    let members = [0, 63, 64, 1 << 31, (1 << 31) + 1, len - 65, len - 64, len - 1];
    let marks = Marks::new(len);
    members.iter().for_each(|&i| marks.set(i));
    assert!(marks.contains(len - 1) && !marks.contains(len - 2));
    let bits = marks.finish();
    assert_eq!((bits.count(), bits.universe()), (8, len));
    for (rank, &i) in members.iter().enumerate() {
        assert!(bits.contains(i));
        assert_eq!((bits.rank(i), bits.rank(i + 1)), (rank as u32, rank as u32 + 1));
    }
    assert_eq!(bits.rank(len), 8);
    assert_eq!(bits.iter(0..64).collect::<Vec<_>>(), [0, 63]);
    assert_eq!(bits.iter(len - 66..len).collect::<Vec<_>>(), [len - 65, len - 64, len - 1]);
    assert_eq!(bits.iter(len - 1..u32::MAX).collect::<Vec<_>>(), [len - 1]);
}
