//! Damages every kind of file with checksums that is read again: flips single bits, cuts the file at the ends of all regions, adds bytes.
//! Each must lead to a data error that names the file, or for a cached graph to a rebuilt one, at once or by the next job; never to a wrong result.
//!
//! | kind | regions | where |
//! | --- | --- | --- |
//! | graph file | header, order, ids, rows, index, degrees, footer: every bit; gaps; later blocks: sampled | `graph` |
//! | cached graph, whole program | order, ids, rows: sampled; with valid checksums, every number | `cached`, `crafted` |
//! | spill | header, blocks, index: every byte of a small one, every third bit of a compressed one | `spill` |
//! | manifest | one bit; every bit of any sealed file: `system/src/sealed.rs` | `manifest` |
//! | compressed inputs | every third bit | `packed` |
//!
//! Inputs without checksums are tested in `readers/`, as far as their formats allow to detect damage; images of kernels in the crate `kernels`.

mod cached;
mod crafted;
mod graph;
mod manifest;
mod packed;
mod parts;
mod spill;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::common::job::count;
use crate::common::place::{Place, files};

const IN_CACHE: &str = "input.path = 'g.txt'\ncache.dir = 'cache'";

/// A place with the graph of `edges` in its cache, and the file of that graph.
fn cached_graph(edges: &str) -> (Place, PathBuf) {
    let place = Place::new();
    place.write("g.txt", edges);
    // The record of an input that has just changed is one byte longer.
    std::thread::sleep(Duration::from_millis(100));
    count(IN_CACHE, &place.path("")).unwrap();
    let [file]: [PathBuf; 1] = files(&place.path("cache")).try_into().expect("one graph");
    (place, file)
}

/// About `count` numbers spread over `range`, including the first and the last, with all remainders modulo 8.
fn spread(range: Range<u64>, count: u64) -> impl Iterator<Item = u64> {
    let step = ((range.end - range.start) / count).max(1) | 1;
    let last = range.end - 1;
    range.step_by(step as usize).chain([last])
}
