//! A cache that is shared by several processes, users or versions of the program.

use std::fs;
use std::path::Path;

use trimill::testing::cache::{Cache, Origin};
use trimill::testing::input::identity::Stat;
use trimill::testing::input::{FileIdentity, Identity};
use trimill::{Bytes, Control};
use xxhash_rust::xxh3::xxh3_64;

use super::place::{CLIQUE, Place, counted, said, with_suffix};
use crate::common::{cached, text};

/// An input that is identified by a number.
fn origin(number: u64) -> Origin {
    let stat = Stat { bytes: number, ..Stat::default() };
    let file =
        FileIdentity { path: format!("/input/{number}").into(), stat, settled: true, contents: Some(number.into()) };
    text(Identity { files: vec![file] })
}

/// Prepares a path graph of `number` edges; returns its edges.
fn edges(number: u64, cache: &Cache, dir: &Path) -> Result<u64, String> {
    let graph = cached((0..number).map(|v| (v, v + 1)).collect(), origin(number), cache, dir);
    graph.map(|graph| graph.edges()).map_err(|error| error.to_string())
}

#[test]
fn a_doubled_graph_is_found_for_the_graph_alone_that_it_was_made_of() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(dir.path(), None).unwrap();
    let of = |doubled| Origin { doubled, ..origin(3) };
    let found = |doubled| cache.find(&mut of(doubled), &Control::silent()).unwrap().map(|graph| graph.edges());
    cached(vec![(0, 1), (1, 2)], of(Some(7)), &cache, dir.path()).unwrap();
    cached(vec![(0, 1)], of(None), &cache, dir.path()).unwrap();
    assert_eq!([found(Some(7)), found(Some(8)), found(None)], [Some(2), None, Some(1)]);
    let of_another_version = cache.find(&mut Origin { version: "2".into(), ..of(None) }, &Control::silent());
    assert!(of_another_version.unwrap().is_none());
    // Another graph of the same input replaces it.
    cached(vec![(0, 1), (1, 2), (2, 3)], of(Some(8)), &cache, dir.path()).unwrap();
    assert_eq!([found(Some(7)), found(Some(8)), found(None)], [None, Some(3), Some(1)]);
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
    let bytes: u64 = with_suffix(dir.path(), "trimgraf").iter().map(|path| path.metadata().unwrap().len()).sum();
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
    assert!(place.answer(&["cache", "list"])["entries"].as_array().unwrap().is_empty());
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

#[test]
fn a_graph_of_another_version_is_made_again_and_reported() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let path = place.cached().remove(0);
    for version in [1u32, 4, 6] {
        let mut bytes = fs::read(&path).unwrap();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let checksum = xxh3_64(&bytes[..32]);
        bytes[32..40].copy_from_slice(&checksum.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let output = place.count("g.txt", &[]);
        assert_eq!(counted(&output), (4, false));
        let said = said(&output);
        let is_told = |line: &&str| line.contains(&format!("version {version}")) && line.contains("made again");
        assert_eq!(said.lines().filter(is_told).count(), 1, "{said}");
        assert_eq!(place.cached(), std::slice::from_ref(&path));
        assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    }
}
