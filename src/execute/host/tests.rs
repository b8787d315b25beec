use super::*;
use crate::vertices::lcc::LccWanted;

#[test]
fn the_smallest_budget_leaves_only_a_band_of_rows_to_directions() {
    let lcc = Some(LccWanted { directed: true, ..LccWanted::default() });
    let needs = HostNeeds {
        host: HostMemory::new(Bytes::ZERO, 1),
        size: GraphSize { vertices: 1_000_000, edges: 2_000_000, longest_row: 10, probes: 0 },
        largest_degree: 20,
        held: Bytes::ZERO,
        listed: 0,
        counters: 10,
        parts: 0,
        shards: 1,
        mode: None,
        counts: CountsWanted { vertices: true, lcc, ..CountsWanted::default() },
        spill_to: SpillTo::Disk,
        counts_kept_spills: false,
        shard: false,
        metis: false,
        resumable: false,
        device_peels: None,
    };
    let needs = needs.within(needs.enough_for(|with| with.host.floor(&with.directions().unwrap()).bytes));
    let left = needs.host.left(&needs.directions().unwrap()).unwrap();
    // Each vertex takes 24 bytes.
    assert!((directions::least_band(&needs.size)..Bytes(4_000_000)).contains(&left), "{left}");
}
