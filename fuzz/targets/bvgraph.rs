//! BVGraph: the properties, a zero byte, the stream.

use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::{Place, before_zero, edges, is_told};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let (properties, stream) = before_zero(bytes);
    place.write("g.properties", properties);
    let path = place.write("g.graph", stream);
    match edges::open(&path, Some(Format::Bvgraph), None).and_then(|source| Ok((edges::arcs(&source)?, source))) {
        Ok((Some(arcs), source)) => {
            let nodes = source.facts().declared_vertices.expect("BVGraph declares vertices");
            assert!(arcs.iter().all(|&(u, v)| u.max(v) < nodes), "an arc outside of the {nodes} vertices");
            assert!(arcs.windows(2).all(|pair| pair[0] < pair[1]), "an arc twice");
            edges::check(place, &path, Some(Format::Bvgraph), 1);
        }
        Ok((None, _)) => {}
        // The error may name either of the two files.
        Err(error) => is_told(&error, &path.with_extension("")),
    }
}
