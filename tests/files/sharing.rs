//! A cache that several processes or users share.

use std::fs;
use std::path::Path;

use trimill::bytes::Bytes;
use trimill::cache::{Cache, Origin};
use trimill::clean::Workspace;
use trimill::control::Control;
use trimill::input::arcs::ArcList;
use trimill::input::identity::Stat;
use trimill::input::{FileIdentity, Format, Identity};
use trimill::memory::HostMemory;
use trimill::prepare::prepare;

use crate::place::{CLIQUE, Place, counted, graphs, said};

/// An input that is known by a number.
fn origin(number: u64) -> Origin {
    let stat = Stat { bytes: number, ..Stat::default() };
    let file =
        FileIdentity { path: format!("/input/{number}").into(), stat, settled: true, contents: Some(number.into()) };
    Origin { format: Format::Text, header: None, identity: Identity { files: vec![file] } }
}

/// A path of so many edges.
fn edges(number: u64, cache: &Cache, dir: &Path) -> Result<u64, String> {
    let source = ArcList { arcs: (0..number).map(|v| (v, v + 1)).collect(), declared: None };
    let space = Workspace::new(HostMemory::new(Bytes::mib(256), 2), dir);
    let mut origin = origin(number);
    let graph =
        prepare(&source, Some(&mut origin), Bytes::ZERO, space, Some(cache), &Control::silent(), &mut Vec::new());
    graph.map(|graph| graph.edges()).map_err(|error| error.to_string())
}

#[test]
fn jobs_that_make_room_are_in_nobodys_way() {
    let (dir, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Room for two graphs of about 17 KiB, and five that take turns.
    let jobs = |first: u64| {
        let cache = Cache::open(dir.path(), Some(Bytes(40_000))).unwrap();
        for i in 0..150 {
            let number = 1 + (first + i * 7) % 5;
            assert_eq!(edges(number, &cache, work.path()), Ok(number), "job {i}");
            assert!(cache.entries().is_ok());
            if i % 10 == 0 {
                // Others sweep what killed processes left, and clear.
                Cache::open(dir.path(), None).unwrap().remove(|_| true).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|first| drop(scope.spawn(move || jobs(first))));
    });
    // Where nobody else works, the limit holds, and the last graph is there.
    let cache = Cache::open(dir.path(), Some(Bytes(40_000))).unwrap();
    assert_eq!(edges(6, &cache, work.path()), Ok(6));
    let bytes: u64 = graphs(dir.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert!((1..=40_000).contains(&bytes), "{bytes}");
}

#[test]
fn what_cannot_be_used_or_removed_is_passed_over() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    let entry = place.cached().remove(0);
    // A folder where the graph belongs.
    fs::remove_file(&entry).unwrap();
    fs::create_dir_all(entry.join("below")).unwrap();
    let output = place.count("g.txt", &[]);
    assert_eq!(counted(&output), (4, false));
    assert!(said(&output).contains("goes on without the cache"), "{}", said(&output));
    let named = place.path("home/trimill").display().to_string();
    assert_eq!(place.count("g.txt", &["--cache-dir", &named]).status.code(), Some(3));
    fs::remove_dir_all(&entry).unwrap();
    // A link to a good graph that lies elsewhere is not followed.
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    fs::rename(&entry, place.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), &entry).unwrap();
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    assert!(entry.symlink_metadata().unwrap().is_file() && place.path("elsewhere").exists());
    assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    // Another user's, which only root can make.
    if std::os::unix::fs::chown(&entry, Some(65_534), None).is_err() {
        crate::common::skipped("another user's entry of the cache, which only root can make");
        return;
    }
    let listed = place.command(&["cache", "list", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert!(report["entries"].as_array().unwrap().is_empty());
    let limit = ["--cache-max", "1KiB"];
    assert_eq!(counted(&place.count("g.txt", &limit)), (4, false));
    assert_eq!(counted(&place.count("g.txt", &[])), (4, false));
    assert_eq!(counted(&place.count("g.txt", &[])), (4, true));
    // A whole cache of another user's.
    std::os::unix::fs::chown(place.path("home/trimill"), Some(65_534), None).unwrap();
    let output = place.count("g.txt", &[]);
    assert_eq!(counted(&output), (4, false));
    assert!(said(&output).contains("belongs to user 65534"), "{}", said(&output));
}
