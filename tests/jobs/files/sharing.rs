//! A cache that is shared by several processes or users.

use std::fs;
use std::path::Path;

use trimill::testing::cache::{Cache, Origin};
use trimill::testing::clean::Workspace;
use trimill::testing::input::arcs::ArcList;
use trimill::testing::input::format::Format;
use trimill::testing::input::identity::Stat;
use trimill::testing::input::{FileIdentity, Identity};
use trimill::testing::memory::HostMemory;
use trimill::testing::prepare::Preparation;
use trimill::{Bytes, Control};

use super::place::{CLIQUE, Place, counted, graphs, said};

/// An input that is identified by a number.
fn origin(number: u64) -> Origin {
    let stat = Stat { bytes: number, ..Stat::default() };
    let file =
        FileIdentity { path: format!("/input/{number}").into(), stat, settled: true, contents: Some(number.into()) };
    Origin {
        format: Format::Text,
        header: None,
        columns: None,
        names: false,
        doubled: false,
        identity: Identity { files: vec![file] },
    }
}

/// Prepares a path graph of `number` edges; returns its edges.
fn edges(number: u64, cache: &Cache, dir: &Path) -> Result<u64, String> {
    let source = ArcList { arcs: (0..number).map(|v| (v, v + 1)).collect(), declared: None };
    let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir);
    let mut origin = origin(number);
    let control = Control::silent();
    let graph = Preparation {
        device: None,
        source: &source,
        origin: Some(&mut origin),
        doubled: None,
        space,
        control: &control,
    }
    .prepare(Some(cache), &mut Vec::new());
    graph.map(|graph| graph.edges()).map_err(|error| error.to_string())
}

#[test]
fn concurrent_jobs_that_evict_graphs_do_not_disturb_each_other() {
    let (dir, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Space for two graphs of about 17 KiB; each job uses five graphs in turn.
    let jobs = |first: u64| {
        let cache = Cache::open(dir.path(), Some(Bytes(40_000))).unwrap();
        for i in 0..150 {
            let number = 1 + (first + i * 7) % 5;
            assert_eq!(edges(number, &cache, work.path()), Ok(number), "job {i}");
            assert!(cache.entries().is_ok());
            if i % 10 == 0 {
                // Another process removes leftovers and all graphs.
                Cache::open(dir.path(), None).unwrap().remove(|_| true).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|first| drop(scope.spawn(move || jobs(first))));
    });
    // Without other processes, the limit holds, and the last graph is in the cache.
    let cache = Cache::open(dir.path(), Some(Bytes(40_000))).unwrap();
    assert_eq!(edges(6, &cache, work.path()), Ok(6));
    let bytes: u64 = graphs(dir.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!((1..=40_000).contains(&bytes), "{bytes}");
}

#[test]
fn entries_that_cannot_be_used_or_removed_are_skipped() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let entry = place.cached().remove(0);
    // A folder in place of the graph.
    fs::remove_file(&entry).unwrap();
    fs::create_dir_all(entry.join("below")).unwrap();
    for named in [&[][..], &["--cache-dir", "cache/trimill"]] {
        let output = place.count("g.txt", named);
        assert_eq!(counted(&output), (4, false));
        assert_eq!(said(&output).matches("goes on without the cache").count(), 1, "{}", said(&output));
    }
    fs::remove_dir_all(&entry).unwrap();
    // A link to a valid graph elsewhere is not followed.
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    fs::rename(&entry, place.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), &entry).unwrap();
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    assert!(entry.symlink_metadata().unwrap().is_file() && place.path("elsewhere").exists());
    assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    // A graph of another user, which only root can create.
    if std::os::unix::fs::chown(&entry, Some(65_534), None).is_err() {
        trimill_kernels::testing::skipped(&"another user's entry of the cache, which only root can make");
        return;
    }
    let listed = place.command(&["cache", "list", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(report["entries"].as_array().unwrap().is_empty());
    let limit = ["--cache-max", "1KiB"];
    assert_eq!(counted(&place.count("g.txt", &limit)), (4, false));
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    // A cache directory of another user.
    std::os::unix::fs::chown(place.path("cache/trimill"), Some(65_534), None).unwrap();
    let output = place.count("g.txt", &[]);
    assert_eq!(counted(&output), (4, false));
    assert!(said(&output).contains("belongs to user 65534"), "{}", said(&output));
}
