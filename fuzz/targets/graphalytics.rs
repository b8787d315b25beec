//! Graphalytics: the properties, a zero byte, the vertices, a zero byte, the edges.

use std::path::Path;

use trimill::testing::control::Control;
use trimill::testing::error::Result;
use trimill::testing::input::arcs::ArcSource;
use trimill::testing::input::format::Format;

use super::edges::{Arcs, arcs, open};
use super::{Place, before_zero, is_told};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let (properties, rest) = before_zero(bytes);
    let (vertices, edges) = before_zero(rest);
    place.write("g.properties", properties);
    place.write("g.v", vertices);
    let path = place.write("g.e", edges);
    let window = 1 + bytes.len() as u64 % 61;
    match (read(&path, None), read(&path, Some(window))) {
        (Ok(usual), Ok(again)) => {
            assert!(usual == again, "windows of {window}: {again:?} instead of {usual:?}");
            assert!(usual.1.is_sorted_by(|a, b| a < b), "vertices that do not ascend: {:?}", usual.1);
        }
        // The error may name any of the three files, or another one that the properties name.
        (Err(error), Err(_)) => is_told(&error, place.dir()),
        (usual, again) => panic!("windows of {window}: {again:?} instead of {usual:?}"),
    }
}

/// The arcs, sorted, `None` if there are too many; and the vertices.
fn read(path: &Path, window: Option<u64>) -> Result<(Option<Arcs>, Vec<u64>)> {
    let source = open(path, Some(Format::Graphalytics), window)?;
    let vertices = source.listed().map(|list| list.read(&Control::silent())).transpose()?;
    Ok((arcs(&source)?, vertices.unwrap_or_default()))
}
