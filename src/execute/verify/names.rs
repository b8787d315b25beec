//! Names as ids for the verifier, numbered in byte order by a tree in memory. Shares no code with `crate::names`, which it checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use trimill_graph::names::{Names, NamesWriter};
use trimill_input::arcs::{ArcSource, SourceFacts};
use trimill_input::{ArcSink, NameSink, NamedArcs, Source, changed};
use trimill_system::{Bytes, Control, Error, Result, lock, unpoisoned};

/// Bytes that the tree takes for a name in addition to its text.
const PER_NAME: u64 = 80;

pub(super) struct NumberedByTree<'a> {
    source: &'a Source,
    numbers: BTreeMap<Vec<u8>, u64>,
    memory: Bytes,
}

struct CollectedNames {
    /// The number of each name, and the bytes that all names take.
    names: Mutex<(BTreeMap<Vec<u8>, u64>, u64)>,
    most: Bytes,
}

impl NameSink for CollectedNames {
    fn arcs(&self, batch: &NamedArcs) -> Result<()> {
        let (names, bytes) = &mut *lock(&self.names);
        for name in batch.iter().flatten() {
            if !names.contains_key(name) {
                names.insert(name.to_vec(), 0);
                *bytes += PER_NAME + name.len() as u64;
            }
        }
        if *bytes <= self.most.get() {
            return Ok(());
        }
        let found = format!("a host budget that leaves {} for names", self.most);
        Err(Error::resource(found)
            .expected("enough for all names, which the verifier holds in memory")
            .advice("raise --host-memory"))
    }
}

struct NumberArcs<'a> {
    numbers: &'a BTreeMap<Vec<u8>, u64>,
    sink: &'a dyn ArcSink,
    input: &'a Path,
}

impl NameSink for NumberArcs<'_> {
    fn arcs(&self, batch: &NamedArcs) -> Result<()> {
        let number = |name: &[u8]| self.numbers.get(name).copied();
        let arcs = batch.iter().map(|[tail, head]| number(tail).zip(number(head)));
        let arcs: Option<Vec<(u64, u64)>> = arcs.collect();
        self.sink.arcs(&arcs.ok_or_else(|| changed(self.input, "it has other names"))?)
    }
}

impl<'a> NumberedByTree<'a> {
    pub(super) fn read(source: &'a Source, most: Bytes, control: &Control) -> Result<Self> {
        let collected = CollectedNames { names: Mutex::default(), most };
        source.scan_names(&collected, control)?;
        let (mut numbers, bytes) = unpoisoned(collected.names.into_inner());
        for (number, (_, place)) in numbers.iter_mut().enumerate() {
            *place = number as u64;
        }
        Ok(Self { source, numbers, memory: Bytes(bytes) })
    }

    pub(super) fn memory(&self) -> Bytes {
        self.memory
    }

    /// The names in the order of their numbers, for files of counts.
    pub(super) fn names(&self, work_dir: &Path) -> Result<Arc<Names>> {
        let mut names = NamesWriter::create(work_dir)?;
        self.numbers.keys().try_for_each(|name| names.add(name))?;
        names.finish().map(Arc::new)
    }
}

impl ArcSource for NumberedByTree<'_> {
    fn scan(&self, sink: &dyn ArcSink, control: &Control) -> Result<u64> {
        self.source.scan_names(&NumberArcs { numbers: &self.numbers, sink, input: self.source.name() }, control)
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts { arcs_at_most: self.source.facts().arcs_at_most, ..SourceFacts::default() }
    }

    fn bytes(&self) -> u64 {
        self.source.bytes()
    }
}
