//! How often rows are read: again if they do not fit in memory, and never if the result does not fit the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use trimill::Kind;
use trimill::testing::input::rows::{AdjacencyRows, RowChunk};

use super::*;
use crate::readers::support::failed;

/// A source that counts how often its first row is read.
struct Counted<'a>(&'a Source, AtomicU64);

struct CountedRows<'a>(Box<dyn AdjacencyRows + 'a>, &'a AtomicU64);

impl ArcSource for Counted<'_> {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        self.0.scan(sink, control)
    }
    fn facts(&self) -> SourceFacts {
        self.0.facts()
    }
    fn rows(&self, memory: Bytes, control: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        let rows = self.0.rows(memory, control)?;
        Ok(rows.map(|rows| Box::new(CountedRows(rows, &self.1)) as Box<dyn AdjacencyRows>))
    }
}

impl AdjacencyRows for CountedRows<'_> {
    fn lengths(&self, directed: bool, control: &Control) -> Result<Option<Vec<u32>>> {
        self.0.lengths(directed, control)
    }
    fn starts(&self) -> Option<Vec<u64>> {
        self.0.starts()
    }
    fn read(
        &self,
        chunk: &RowChunk,
        part: &mut Vec<u32>,
        take: &mut dyn FnMut(&mut [u32]) -> Result<bool>,
    ) -> Result<()> {
        self.1.fetch_add(u64::from(chunk.ids.start == 0), Ordering::Relaxed);
        self.0.read(chunk, part, take)
    }
}

#[test]
fn rows_that_do_not_fit_are_read_again_and_nothing_else_is_written() {
    for (name, sizes) in [("cnr-symmetric.graph", [512, 1200]), ("delaunay_n15.graph", [256, 256])] {
        let source = open(&data(name)).unwrap();
        let made = |buckets: Option<Bytes>| {
            let dir = tempfile::tempdir().unwrap();
            let space = Workspace { buckets, ..Workspace::new(HostMemory::new(Bytes::mib(36), 2), dir.path()) };
            let counted = Counted(&source, AtomicU64::new(0));
            let place = Destination::file(dir.path());
            let made = orient_rows(&counted, &mut || Ok("x".into()), place, space, &Control::silent()).unwrap();
            let Some(MadeGraph::File(made)) = made else { panic!("the rows are clean") };
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing but the graph");
            (std::fs::read(&made).unwrap(), counted.1.into_inner())
        };
        let (whole, passes) = made(None);
        assert_eq!(passes, 1);
        let mut before = u64::MAX;
        for kib in sizes {
            let (parts, passes) = made(Some(Bytes(kib << 10)));
            assert!(parts == whole && passes > 1 && passes <= before, "{kib} KiB: {passes} passes");
            before = passes;
        }
        // With slightly less memory than one pass needs, only the end of the pass shows that the last rows do not fit.
        let (mut some, mut all) = (sizes[0] << 10, 4 << 20);
        assert_eq!(made(Some(Bytes(all))).1, 1);
        while all - some > 4 << 10 {
            let middle = some.midpoint(all);
            let (parts, passes) = made(Some(Bytes(middle)));
            assert!(parts == whole, "{middle} bytes: {passes} passes");
            *(if passes == 1 { &mut all } else { &mut some }) = middle;
        }
    }
}

/// A source of more arcs than any disk holds.
struct Vast;

impl ArcSource for Vast {
    fn scan(&self, _: &dyn ArcSink, _: &Control) -> Result<u64> {
        panic!("it is refused before it is read")
    }
    fn facts(&self) -> SourceFacts {
        let (declared_vertices, arcs_at_most, arcs_at_least) = (Some(1 << 20), 1 << 52, 1 << 51);
        SourceFacts { declared_vertices, arcs_at_most, arcs_at_least, ..SourceFacts::default() }
    }
    fn rows(&self, _: Bytes, _: &Control) -> Result<Option<Box<dyn AdjacencyRows + '_>>> {
        Ok(Some(Box::new(Self)))
    }
}

impl AdjacencyRows for Vast {
    fn lengths(&self, _: bool, _: &Control) -> Result<Option<Vec<u32>>> {
        Ok(Some(vec![1 << 31; 1 << 20]))
    }
    fn read(&self, _: &RowChunk, _: &mut Vec<u32>, _: &mut dyn FnMut(&mut [u32]) -> Result<bool>) -> Result<()> {
        panic!("it is refused before it is read")
    }
}

#[test]
fn arcs_that_cannot_fit_the_disk_are_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let space = Workspace::new(HostMemory::new(Bytes::mib(1 << 20), 2), dir.path());
    let control = Control::silent();
    let cleaned = clean(&Vast, space, &control).map(drop);
    let oriented = |place| orient_rows(&Vast, &mut || Ok("x".into()), place, space, &control).map(drop);
    for (refused, expected, option) in [
        (cleaned, "at least 255.7 TiB for the arcs", "--work-dir"),
        (oriented(Destination::file(dir.path())), "at least 128.0 TiB for the graph file", "--cache-dir"),
        (oriented(Destination::memory(Bytes::mib(64), dir.path())), "at least 128.0 TiB for the graph", "--work-dir"),
    ] {
        failed(refused, Kind::Resource, &[expected, "free on its disk", option]);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
