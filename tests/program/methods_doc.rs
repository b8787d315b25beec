//! `docs/methods.md` agrees with the code: the names of methods, and the bytes that they take.

use std::collections::BTreeMap;

use trimill::Bytes;
use trimill::testing::count::method::Method;
use trimill::testing::job::Backend;
use trimill_baselines::{SerialMethod, gpu_methods};
use trimill_counting::{CountBackend, Footprint, PartitionExtent};
use trimill_kernels::{CountingMethod, Lstc, Packed};

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/methods.md")).unwrap()
}

/// The rows of the first table after a heading, by the methods in their first cell.
fn table(page: &str, heading: &str) -> BTreeMap<String, Vec<String>> {
    let after = page.split(heading).nth(1).unwrap();
    let rows = after.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    rows.flat_map(|row| {
        let cells: Vec<String> = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        let names: Vec<String> = cells[0].split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect();
        names.into_iter().map(move |name| (name, cells.clone()))
    })
    .collect()
}

#[test]
fn every_method_has_its_row() {
    let listed = table(&page(), "# Counting methods");
    for name in Method::names(Backend::Auto) {
        assert!(listed.contains_key(name), "docs/methods.md lacks {name}");
    }
    assert_eq!(listed.len(), Method::names(Backend::Auto).count(), "{:?}", listed.keys());
}

#[test]
fn bytes_on_the_cpu() {
    let listed = table(&page(), "## On the CPU");
    assert_eq!(listed.len(), SerialMethod::ALL.len());
    for method in SerialMethod::ALL {
        let Footprint { per_resident_arc, per_local, .. } = method.footprint();
        let bytes = [per_resident_arc.to_string(), per_local.to_string()];
        assert_eq!(listed[method.name()][1..], bytes, "{}", method.name());
    }
}

#[test]
fn bytes_on_a_gpu() {
    let listed = table(&page(), "## On a GPU");
    let bytes = |name: &str| [3, 4].map(|cell| listed[name][cell].clone());
    let least = |name: &str| bytes(name).map(|bytes| bytes.split(',').next().unwrap().to_owned());
    for (name, method) in gpu_methods() {
        let Footprint { per_resident_arc, per_local, per_numbered, .. } = method.footprint();
        if listed.contains_key(name) {
            assert_eq!(least(name), [per_resident_arc.to_string(), (per_local + per_numbered).to_string()], "{name}");
        }
    }
    let lstc = Lstc::default().footprint();
    assert_eq!(bytes("lstc"), [lstc.per_resident_arc.to_string(), lstc.per_local.to_string()]);
    // For `packed`, the least and the most that it takes for a partition with half of its vertices local.
    let packed = Packed.footprint();
    let taken = |locals, arcs| {
        let size = PartitionExtent { locals, arcs, numbered: 2 * locals as u32, row_block_limit: 0 };
        packed.taken(Bytes::ZERO, &size, Bytes(u64::MAX)).get() as f64
    };
    let (n, m) = (1u64 << 24, 1u64 << 30);
    let per_arc = (taken(n, 2 * m) - taken(n, m)) / m as f64;
    let per_local = (taken(2 * n, m) - taken(n, m)) / n as f64;
    let range = |least: u64, most: f64| format!("{least}, to {}", most.round());
    assert_eq!(bytes("packed"), [range(packed.per_resident_arc, per_arc), range(packed.per_local, per_local)]);
}
