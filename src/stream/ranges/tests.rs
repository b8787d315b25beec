use proptest::prelude::*;

use super::*;
use crate::prepare::graph_of;
use crate::stream::ahead::Ahead;
use trimill_counting::{EncodedRows, smallest_row_block_limit};
use trimill_graph::Direction;
use trimill_graph::sequence::NumberSequence;
use trimill_system::control::Control;
use trimill_system::hash::mix;

fn rows_of(graph: &OrientedGraph) -> Vec<Vec<u32>> {
    let mut rows = Vec::new();
    let each = |block: trimill_graph::RowRun<'_>| {
        rows.extend(block.ranks().map(|rank| block.row(rank).to_vec()));
        Ok(())
    };
    graph.pass(Bytes::mib(1), Direction::Rising, &Control::silent(), each).unwrap();
    rows
}

/// Decodes encoded rows, whose sequences must be where the parts say.
fn decoded(encoded: &EncodedRows<'_>, mut lengths: impl Iterator<Item = usize>) -> Vec<Vec<u32>> {
    let mut rows = Vec::new();
    for part in encoded.parts {
        let [begin, data, end] = [part.begin, part.data, part.end].map(|at| at as usize);
        let (sequence, rest) = NumberSequence::split(&encoded.bytes[begin - 8..end], part.arcs.into()).unwrap();
        assert!(begin + sequence.control.len() == data && rest.is_empty(), "{part:?}");
        assert_eq!(sequence.groups.first | sequence.groups.more << 8, part.groups);
        let mut distances = vec![0; part.arcs as usize];
        sequence.decode(&mut distances).unwrap();
        let mut distances = distances.into_iter();
        for _ in 0..part.rows {
            let successors = distances.by_ref().take(lengths.next().unwrap()).scan(0, |least, distance| {
                *least += distance + 1;
                Some(*least - 1)
            });
            rows.push(successors.collect());
        }
        assert_eq!(distances.next(), None);
    }
    assert_eq!(lengths.next(), None);
    rows
}

type Read = (Vec<(u32, Vec<u32>)>, Vec<(Range<u32>, Vec<Vec<u32>>)>);

/// Reads a range to its end: each resident rank's row, and for each block its ranks and rows.
fn read(mut range: RankRange<'_>, limit: Option<Bytes>) -> Read {
    let (mut resident, mut more, mut run) = (Vec::new(), true, Resident::default());
    while more {
        more = range.read_resident(limit, &mut run).unwrap();
        let length = |pair: &[u64]| (pair[1] - pair[0]) as usize;
        let rows = match run.encoded_rows() {
            Some(encoded) => decoded(&encoded, run.offsets.windows(2).map(length)),
            None => (0..run.numbers.len()).map(|i| run.row(i).to_vec()).collect(),
        };
        resident.extend(run.numbers.iter().zip(rows));
    }
    let (mut row_block, mut blocks) = (RowBlock::default(), Vec::new());
    for i in 0..range.streamed.len() {
        range.read_row_block(i, &mut row_block).unwrap();
        let view = row_block.view();
        assert_eq!(view.size(), range.streamed[i].size);
        let length = |pair: &[u32]| (pair[1] - pair[0]) as usize;
        let rows = match &view.encoded {
            Some(encoded) => decoded(encoded, view.offsets.windows(2).map(length)),
            None => (0..view.offsets.len() - 1).map(|i| view.row(i).to_vec()).collect(),
        };
        blocks.push((view.range.clone(), rows));
    }
    (resident, blocks)
}

/// Checks what is read of a partition: the rows of its locals, and in the blocks only the rows of heads below the locals.
fn assert_read(rows: &[Vec<u32>], ranks: &LocalsAndHeads, limit: Bytes, range: RankRange<'_>, run: Option<Bytes>) {
    let (resident, blocks) = read(range, run);
    let LocalsAndHeads { locals, heads } = ranks;
    assert!(resident.iter().map(|(rank, _)| *rank).eq(locals.clone()));
    assert!(resident.iter().all(|(rank, row)| *row == rows[*rank as usize]));
    let mut next = 0;
    for (of, found) in blocks {
        assert_eq!(of.start, next);
        next = of.end;
        if !heads.contains(&of.start) {
            assert!(found.len() == of.len() && found.iter().all(Vec::is_empty));
            continue;
        }
        assert!(of.end <= heads.end);
        if of.start >= locals.start {
            assert!(found.is_empty());
            continue;
        }
        assert!(found == rows[of.start as usize..of.end as usize]);
        let arcs = found.iter().map(|row| row.len() as u64).sum();
        let size = RowBlockSize { range: of.len() as u32, rows: of.len() as u64, arcs };
        assert!(size.bytes() <= limit || of.len() == 1, "{} of {limit}", size.bytes());
    }
    assert_eq!(next, locals.end);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_range_has_its_rows_and_those_below_are_streamed(
        arcs in prop::collection::vec((0u64..200, 0u64..200), 1..900),
        ends in prop::collection::vec(0u32..200, 0..6),
        limit in 0u64..3000,
        run in prop::option::of(1u64..4000),
        heads in (0u32..200, 0u32..200),
    ) {
        let graph = graph_of(arcs.into_iter().chain([(0, 1)]).collect());
        let rows = rows_of(&graph);
        let limit = smallest_row_block_limit(graph.size().longest_row) + Bytes(limit);
        let blocks = RowBlocks::new(&graph, limit).unwrap();
        let mut ends: Vec<u32> = ends.into_iter().map(|end| end % (graph.vertices() + 1)).collect();
        ends.extend([0, graph.vertices()]);
        ends.sort_unstable();
        let mut buffers = Vec::new();
        for pair in ends.windows(2) {
            let mut ranks = LocalsAndHeads::of(pair[0]..pair[1]);
            if heads.0 % 3 > 0 {
                let (a, b) = (heads.0 % (pair[1] + 1), heads.1 % (pair[1] + 1));
                ranks.heads = a.min(b)..a.max(b);
            }
            let range = RankRange::new(&graph, &blocks, &ranks).unwrap();
            // A buffer that was taken for one range serves all later ones.
            prop_assert!((0..range.streamed.len()).all(|i| range.row_block_words(i) <= range.buffer_words()));
            let reads = range.streamed.iter().any(|block| block.is_read);
            buffers.extend(reads.then(|| range.buffer_words()));
            assert_read(&rows, &ranks, limit, range, run.map(Bytes));
        }
        prop_assert!(buffers.windows(2).all(|pair| pair[0] == pair[1]), "{buffers:?}");
    }
}

#[test]
fn reading_ahead_ends_after_the_offsets_of_empty_rows() {
    // 60 vertices of degree 20 have the first ranks, and so no successors; each of 400 others is adjacent to three of them.
    let graph = graph_of((0..1200).map(|i| (60 + i / 3, i % 60)).collect());
    let blocks = RowBlocks::new(&graph, smallest_row_block_limit(3)).unwrap();
    let range = RankRange::new(&graph, &blocks, &LocalsAndHeads::of(0..60)).unwrap();
    // Ten rows a run, whose offsets take 88 bytes; then all other rows together.
    let mut ahead = Ahead::new(Box::new(range), Bytes(40), Bytes(80)).unwrap();
    let mut run = Resident::default();
    let read = [0; 2].map(|_| (ahead.read_resident(None, &mut run).unwrap(), run.numbers.len()));
    assert_eq!(read, [(true, 10), (false, 50)]);
}

#[test]
fn encoded_rows_are_the_same_rows() {
    let n = 60_000u64;
    let graph = graph_of((0..1_500_000u64).map(|i| (mix(i) % n, mix(i) % n * (mix(!i) % n) / n)).collect());
    let (rows, limit) = (rows_of(&graph), Bytes::mib(4));
    let blocks = RowBlocks::new(&graph, limit).unwrap();
    assert!(blocks.whole && graph.blocks() > 8, "{} blocks", graph.blocks());
    let inner = graph.last_fitting(0, true, |_, arcs| arcs < 400_000).unwrap();
    assert!(0 < inner && inner < graph.vertices() && graph.begins_block(inner));
    let (n, first) = (graph.vertices(), graph.last_fitting(0, true, |_, arcs| arcs < 100_000).unwrap());
    assert!(0 < first && first < inner && graph.begins_block(first));
    let of = |locals: Range<u32>, heads: Range<u32>| LocalsAndHeads { locals, heads };
    for (ranks, whole) in [
        (LocalsAndHeads::of(0..n), true),
        (LocalsAndHeads::of(0..inner), true),
        (LocalsAndHeads::of(inner..n), true),
        (LocalsAndHeads::of(0..inner - 1), false),
        (LocalsAndHeads::of(inner + 1..n), false),
        (of(inner..n, 0..first), true),
        (of(inner..n, first..inner), true),
        (of(inner..n, first..n), true),
        (of(inner..n, 0..first + 1), false),
        (of(inner..n, first - 1..inner), false),
        (of(inner..n, inner..n), true),
    ] {
        for (longest, takes) in [(Some(Bytes::mib(1)), true), (Some(Bytes(10)), false), (None, false)] {
            let range = RankRange::new(&graph, &blocks, &ranks).unwrap().encoded(longest);
            assert_eq!(range.encoded, whole && takes, "{ranks:?} {longest:?}");
            assert_read(&rows, &ranks, limit, range, Some(Bytes(1_000_000)));
        }
    }
}
