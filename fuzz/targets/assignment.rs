//! Assignment files: the first three bytes give what the graph declares, the rest is the file.

use std::path::Path;

use trimill::testing::control::Control;
use trimill::testing::error::Kind;
use trimill::testing::input::assignment::{Declared, read};
use trimill_partitioners::MAX_PARTS;

use super::{Place, first};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let ([flags, lines, first_id], bytes) = first(bytes);
    let first_id = if flags & 1 == 0 { u64::from(first_id) } else { u64::MAX - u64::from(first_id) };
    // Every third declared vertex has no edges.
    let has_edges = |index: u64| index % 3 != 2;
    let lines = u64::from(lines);
    let vertices = (0..lines).filter(|&index| has_edges(index)).count() as u32;
    let compact = |original: u64| {
        let index = original.checked_sub(first_id).filter(|&index| index < lines && has_edges(index))?;
        Some((0..index).filter(|&index| has_edges(index)).count() as u32)
    };
    let original = |id: u32| first_id.saturating_add(u64::from(id) / 2 * 3 + u64::from(id) % 2);
    let sparse = flags & 2 != 0;
    let declared =
        Declared { lines: (!sparse).then_some(lines), first_id, vertices, compact: &compact, original: &original };
    let read = |path: &Path| read(path, declared, MAX_PARTS, place.dir(), &Control::silent());
    let path = place.write("parts.txt", bytes);
    let found = match read(&path) {
        Ok(found) => found,
        Err(error) => {
            assert_eq!(error.kind(), Kind::Data, "{error}");
            assert_eq!(error.path(), Some(path.as_path()), "{error}");
            return;
        }
    };
    assert_eq!(found.assignment.len(), vertices as usize);
    assert!(found.parts <= MAX_PARTS && found.assignment.iter().all(|&part| part < found.parts));
    if vertices > 0 && original(vertices - 1) < u64::MAX {
        let line = |(id, part): (u32, &u32)| format!("{}\t{part}\n", original(id));
        let text: String = (0..).zip(&found.assignment).map(line).collect();
        let path = place.write("again.txt", text);
        assert_eq!(read(&path).expect("written lines").assignment, found.assignment);
    }
}
