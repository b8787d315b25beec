//! What is refused, or stopped on its way: nothing is left, and what was there stays.

use super::*;

/// Requests a stop once the first edges are written.
struct Impatient(Arc<AtomicBool>);

impl Observer for Impatient {
    fn begin(&self, _: &str, _: Option<u64>, _: Unit) -> u64 {
        0
    }
    fn advance(&self, _: u64, _: u64) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    fn end(&self, _: u64) {}
}

#[test]
fn an_interruption_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    for suffix in ["bin", "txt", "graph", "sg"] {
        let path = folder.path().join(format!("graph.{suffix}"));
        fs::write(&path, "older").unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let control = Control::new(Arc::clone(&stop), Arc::new(Impatient(stop)));
        let error = generate(&Family::GapUrand { scale: 16 }, None, &path, &control).unwrap_err();
        assert_eq!(error.kind(), Kind::Interrupted);
        assert_eq!(fs::read(&path).unwrap(), b"older");
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}

/// Returns the message, which has all of `parts`.
fn refused(family: &Family, base: Option<&BaseGraph>, name: &str, kind: Kind, parts: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let error = generate(family, base, &folder.path().join(name), &Control::silent()).unwrap_err();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left after: {error}");
    let message = error.to_string();
    assert!(error.kind() == kind && parts.iter().all(|part| message.contains(part)), "{family:?} as {name}: {error}");
    message
}

#[test]
fn what_makes_no_graph_is_a_usage_error() {
    let nothing = base_of(3, &[], Some(0));
    let pair = base_of(2, &[(0, 1)], Some(0));
    let stars = |leaves: &[u64]| Family::Stars { leaves: leaves.to_vec(), kind: StarKind::B1k };
    let plain = [
        Family::GapKron { scale: 0 },
        Family::GapKron { scale: 32 },
        Family::GapUrand { scale: 0 },
        Family::GapUrand { scale: 32 },
        stars(&[]),
        stars(&[3, 0]),
        stars(&[1 << 33, 1 << 33]),
        stars(&[1; 60]),
        Family::RingLattice { vertices: 8, k: 4 },
        Family::RingLattice { vertices: 8, k: 0 },
        Family::RingLattice { vertices: u64::MAX, k: 2 },
        Family::KingsGrid { rows: 0, columns: 4 },
        Family::KingsGrid { rows: 0, columns: 1 },
        Family::KingsGrid { rows: 1, columns: 1 },
        Family::KingsGrid { rows: 1 << 33, columns: 1 << 33 },
        Family::Complete { vertices: 0 },
        Family::Complete { vertices: 1 },
        Family::Complete { vertices: 1 << 40 },
        Family::RingOfCliques { cliques: 2, size: 4 },
        Family::RingOfCliques { cliques: 5, size: 1 },
        Family::RingOfCliques { cliques: u64::MAX, size: u64::MAX },
        Family::Hamming { d: 0, q: 4 },
        Family::Hamming { d: 4, q: 1 },
        Family::Hamming { d: 200, q: 4 },
        Family::Hamming { d: 2, q: u64::MAX },
        Family::Blowup { copies: 2, permute: None },
    ];
    for family in plain {
        let message = refused(&family, None, "graph.bin", Kind::Usage, &[]);
        assert!(!message.contains(" 1 columns"), "{message}");
    }
    for (family, base) in [
        (Family::Blowup { copies: 0, permute: None }, &pair),
        (Family::Blowup { copies: u64::MAX, permute: None }, &pair),
        (Family::Blowup { copies: 2, permute: None }, &nothing),
        (Family::TensorComplete { q: 1 }, &pair),
        (Family::Complete { vertices: 3 }, &pair),
    ] {
        refused(&family, Some(base), "graph.bin", Kind::Usage, &[]);
    }
    for name in ["graph", "graph.csv", "graph.bin.gz", "crawl.2024.graph"] {
        refused(&Family::Complete { vertices: 3 }, None, name, Kind::Usage, &[]);
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_written() {
    let cube = Family::Hamming { d: 33, q: 2 };
    refused(&cube, None, "graph.bin", Kind::Usage, &["8589934592 vertices", "32 bits"]);
    // 2^63 edges, 64 EiB.
    refused(&Family::Complete { vertices: 1 << 32 }, None, "graph.bin", Kind::Resource, &["are free"]);
    refused(&Family::Complete { vertices: 1 << 24 }, None, "graph.graph", Kind::Resource, &["of memory and"]);
    refused(&Family::Complete { vertices: 3 }, None, "missing/graph.bin", Kind::Resource, &[]);

    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("folder.bin");
    fs::create_dir(&taken).unwrap();
    let error = generate(&Family::Complete { vertices: 3 }, None, &taken, &Control::silent()).unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
}
