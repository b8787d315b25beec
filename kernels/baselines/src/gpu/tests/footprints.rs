//! Footprints are at least the bytes taken, and not much more.

use super::*;
use trimill_system::Bytes;

#[test]
fn footprints_cover_what_is_taken_and_not_much_more() {
    let [by_degree, _, by_warp] = skiffs(256, None);
    for method in [polak(false, 64), reverse_edge(256, 1), by_degree, by_warp, binning(6, 32, None)] {
        let footprint = method.footprint();
        for (locals, arcs) in [(0u64, 0), (1, 0), (10, 45), (1000, 100_000), (1 << 20, 1 << 24), (1 << 24, 1 << 28)] {
            for proxies in [0, 1000, 1 << 20] {
                let proxies = if method.footprint().scope == Scope::Partitions { proxies } else { 0 };
                for row_block_limit in [16, 1 << 20, 256 << 20] {
                    let size = PartitionExtent { locals, arcs, numbered: (locals + proxies) as u32, row_block_limit };
                    let (promised, taken) = (footprint.least(&size), method.least_bytes(&size));
                    assert!(taken <= promised, "{method:?} {size:?}: {taken} of {promised}");
                    // The footprint has the tries of all rows, the least bytes have the longest trie of one row.
                    let tries = match method {
                        GpuMethod::Skiff(_) => 25 * arcs + 260 * locals + footprint.per_numbered * (locals + proxies),
                        _ => 0,
                    };
                    let most = taken / 20 * 21 + footprint.fixed.get();
                    assert!(promised - tries <= most, "{method:?} {size:?}: {taken} of {promised}");
                }
            }
        }
    }
}

#[test]
fn polak_prepares_on_the_gpu_where_that_fits() {
    let [auto, cpu] = [false, true].map(|on_cpu| polak(on_cpu, 64).footprint());
    let size = PartitionExtent { locals: 1000, arcs: 100_000, numbered: 1000, row_block_limit: 0 };
    let taken = |budget| auto.taken(Bytes(auto.least(&size)), &size, Bytes(budget)).get();
    // The GPU has each edge in both directions.
    let gpu = cpu.least(&PartitionExtent { arcs: 2 * size.arcs, ..size });
    assert_eq!(taken(1 << 30), gpu);
    assert_eq!(taken(gpu - 1), cpu.least(&size));
}
