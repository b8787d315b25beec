//! The methods of the papers on a GPU, against brute force and closed forms.

use trimill_kernels::papers::polak::{self, Preprocess};
use trimill_kernels::papers::skiff::{self, Organisation};
use trimill_kernels::papers::{Counted, Method, PaperCounter, Program, radix_binning, reverse_edge};
use trimill_kernels::{Error, Gpu, Images};

use super::common::{OwnedRowBlock, Partition, cuts, random};
use super::gpu;

fn images() -> Images<'static> {
    Images { cache: None, embedded_only: std::env::var_os("TRIMILL_TEST_PTX").is_some_and(|v| v == "1") }
}

fn polaks() -> Vec<Method> {
    let with = |preprocess, block_threads, blocks| {
        Method::Polak(polak::Options { preprocess, block_threads, blocks, ..polak::Options::default() })
    };
    vec![with(Preprocess::Gpu, 64, 8), with(Preprocess::Cpu, 64, 8), with(Preprocess::Auto, 256, 3)]
}

fn reverse_edges() -> Vec<Method> {
    let with = |block_threads, streams| Method::ReverseEdge(reverse_edge::Options { block_threads, streams });
    vec![with(256, 1), with(256, reverse_edge::STREAMS), with(64, 3)]
}

fn skiffs(nodes: Option<u32>) -> Vec<Method> {
    [(Organisation::BlockDegree, 64), (Organisation::BlockIndex, 256), (Organisation::WarpIndex, 256)]
        .into_iter()
        .map(|(organisation, block_threads)| Method::Skiff(skiff::Options { organisation, block_threads, nodes }))
        .collect()
}

fn binnings() -> Vec<Method> {
    [(6, 32, None), (8, 16, Some(1 << 22)), (4, 0, Some(1 << 20)), (2, 64, Some(100_003))]
        .into_iter()
        .map(|(radix_bits, threshold, batch)| {
            Method::RadixBinning(radix_binning::Options { radix_bits, threshold, batch })
        })
        .collect()
}

/// Counts in an arena of `spare` bytes more than is said to suffice.
fn count(
    gpu: &mut Gpu,
    program: &Program,
    method: &Method,
    partition: &Partition,
    (row_blocks, spare): (&[OwnedRowBlock], u64),
) -> Result<Counted, Error> {
    let limit = row_blocks.iter().map(|row_block| row_block.bytes()).max().unwrap();
    let size = partition.size(limit);
    let bytes = (method.device_bytes(&size) + spare).next_multiple_of(256);
    gpu.reserve(bytes).unwrap();
    let mut counter = PaperCounter::begin(gpu, program, method, size)?;
    for run in partition.resident_runs(size.locals as usize / 3 + 1) {
        counter.resident(&run)?;
    }
    for row_block in row_blocks {
        counter.row_block(&row_block.slices())?;
    }
    let counted = counter.finish()?;
    assert!(counted.peak_bytes <= bytes);
    for seconds in [counted.kernel_seconds, counted.copy_seconds, counted.preprocess_seconds] {
        assert!((0.0..60.0).contains(&seconds), "{counted:?}");
    }
    Ok(counted)
}

/// Counts a partition by methods that share their kernels, in row blocks that end at the cuts, of proxies' rows and of all rows.
fn agree(gpu: &mut Gpu, methods: &[Method], partition: &Partition, all_cuts: &[Vec<u32>], spare: u64) {
    let expected = partition.triangles();
    let program = Program::load(gpu, &images(), &methods[0]).unwrap_or_else(|error| panic!("{error}"));
    for method in methods {
        for cuts in all_cuts {
            for row_blocks in [partition.row_blocks(cuts), partition.shared_row_blocks(cuts)] {
                let counted = count(gpu, &program, method, partition, (&row_blocks, spare));
                let counted = counted.unwrap_or_else(|error| panic!("{method:?}: {error}"));
                assert_eq!(counted.triangles, expected, "{method:?}, {} row blocks", row_blocks.len());
            }
        }
    }
}

fn whole(rows: Vec<Vec<u32>>) -> Partition {
    let local = vec![true; rows.len()];
    Partition::new(rows, local)
}

/// Pairs of neighbours, of all vertices.
fn wedges(partition: &Partition) -> u64 {
    let mut degrees: Vec<u64> = partition.rows.iter().map(|row| row.len() as u64).collect();
    partition.rows.iter().flatten().for_each(|&successor| degrees[successor as usize] += 1);
    degrees.iter().map(|&degree| degree * degree.saturating_sub(1) / 2).sum()
}

/// A clique, stars, a bipartite graph, one without edges, and random ones with rows of all lengths.
fn graphs() -> Vec<Partition> {
    let bipartite = |b: u32| if b < 100 { vec![] } else { (0..100).collect() };
    vec![
        whole((0..600u32).map(|b| (0..b).collect()).collect()),
        whole((0..30_000u32).map(|b| (0..b.min(1)).collect()).collect()),
        whole((0..1000u32).map(bipartite).collect()),
        whole(vec![vec![]; 100]),
        whole(vec![vec![], vec![0], vec![0, 1]]),
        random(31, 20_000, 40, 3, 1.0),
        random(32, 3000, 300, 10, 1.0),
    ]
}

#[test]
fn all_methods_of_the_papers_count_whole_graphs() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for partition in graphs() {
        // Small batches for few wedges only.
        let binnings = if wedges(&partition) < 20_000_000 { binnings() } else { binnings()[..1].to_vec() };
        for methods in [polaks(), reverse_edges(), skiffs(None), binnings] {
            // Room for both directions of all edges where the GPU prepares by itself.
            agree(&mut gpu, &methods, &partition, &[vec![]], 64 << 20);
        }
    }
    // With no byte to spare.
    let partition = random(33, 5000, 60, 3, 1.0);
    for methods in [polaks(), reverse_edges(), skiffs(None), binnings()] {
        agree(&mut gpu, &methods, &partition, &[vec![]], 0);
    }
}

#[test]
fn partitions_are_counted_by_those_methods_of_the_papers_that_can() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    for (seed, local_share) in [(41, 0.0), (42, 0.2), (43, 0.8)] {
        let partition = random(seed, 3000, 60, 4, local_share);
        for methods in [reverse_edges(), skiffs(None), skiffs(Some(2000))] {
            agree(&mut gpu, &methods, &partition, &cuts(seed, 3000), 8 << 20);
        }
        for method in [&polaks()[0], &binnings()[0]] {
            let program = Program::load(&gpu, &images(), method).unwrap();
            let refused = count(&mut gpu, &program, method, &partition, (&partition.row_blocks(&[]), 0));
            assert!(matches!(refused, Err(Error::Whole { .. })), "{refused:?}");
        }
    }
}

#[test]
fn tries_whose_keys_all_fall_into_one_node_are_right() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let keys = |many: u32, step: u32| (0..many).map(|i| 7 + i * step).collect::<Vec<_>>();
    let mut rows: Vec<Vec<u32>> = vec![vec![]; 80_000];
    // Chains of 1 to 40 nodes, at several numbers of first nodes.
    for (many, step) in [(31, 32), (33, 32), (64, 64), (70, 1024), (500, 32), (1200, 64), (70, 1024)] {
        let mut row = keys(many, step);
        row.extend(80_000..rows.len() as u32);
        rows.push(row);
    }
    for step in 1..5 {
        rows.push((0..rows.len() as u32).step_by(step).collect());
    }
    let partition = whole(rows);
    assert!(partition.triangles() > 5000);
    agree(&mut gpu, &skiffs(None), &partition, &[vec![]], 64 << 20);
    agree(&mut gpu, &skiffs(Some(20_000)), &partition, &[vec![], vec![80_001]], 64 << 20);
}

#[test]
fn shares_of_several_devices_add_up() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = random(51, 20_000, 40, 3, 1.0);
    let row_blocks = partition.row_blocks(&[]);
    let program = Program::load(&gpu, &images(), &polaks()[0]).unwrap();
    let share = |gpu: &mut Gpu, share| {
        let method = Method::Polak(polak::Options { share, ..polak::Options::default() });
        count(gpu, &program, &method, &partition, (&row_blocks, 0)).unwrap().triangles
    };
    for of in [2, 3, 8] {
        let sum: u64 = (0..of).map(|i| share(&mut gpu, (i, of))).sum();
        assert_eq!(sum, partition.triangles());
    }
}

#[test]
fn kernels_of_another_method_are_refused() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let program = Program::load(&gpu, &images(), &polaks()[0]).unwrap();
    let partition = random(1, 100, 5, 0, 1.0);
    let refused = PaperCounter::begin(&mut gpu, &program, &reverse_edges()[0], partition.size(0)).map(|_| ());
    assert!(matches!(refused, Err(Error::Shape(_))), "{refused:?}");
}

#[test]
fn the_embedded_ptx_of_the_papers_methods_counts_the_same() {
    let Some((mut gpu, _alone)) = gpu() else { return };
    let partition = random(61, 3000, 50, 3, 1.0);
    for method in [polaks()[0], reverse_edges()[1], skiffs(None)[2], binnings()[0]] {
        let program = Program::load(&gpu, &Images { cache: None, embedded_only: true }, &method).unwrap();
        let counted = count(&mut gpu, &program, &method, &partition, (&partition.row_blocks(&[]), 1 << 20)).unwrap();
        assert_eq!(counted.triangles, partition.triangles(), "{method:?}");
    }
}
