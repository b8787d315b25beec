//! Permissions of the files that the program creates, and files that it must not touch.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::place::{CLIQUE, Place, TRIANGLE, counted, result, said};
use crate::common::job::{data, typed};
use crate::common::place::{SmallDisk, below, make_pipe, mode};

#[test]
fn what_the_user_named_has_the_modes_that_the_user_asked_for() {
    // The usual umask, which tests beside this one have from now on, too.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let place = Place::new();
    let spilled = ["--no-cache", "--parts", "2", "--keep-spill", "--spill-dir", "kept", "--output", "out"];
    result(&place.count(data("ca-HepTh.txt"), &spilled));
    let made = [below(&place.path("kept")), below(&place.path("out"))].concat();
    assert!(made.len() >= 5, "{made:?}");
    made.iter().for_each(|path| assert_eq!(mode(path), 0o644, "{}", path.display()));
    assert_eq!((mode(&place.path("kept")), mode(&place.path("out"))), (0o755, 0o755));
}

#[test]
fn the_cache_is_for_the_user_alone() {
    let place = Place::new();
    place.write("g.txt", TRIANGLE);
    assert_eq!(counted(&place.count("g.txt", &[])), (1, false));
    assert_eq!(mode(&place.path("cache/trimill")), 0o700);
    // The folder was meanwhile opened to other users.
    fs::set_permissions(place.path("cache/trimill"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(counted(&place.count("g.txt", &[])), (1, true));
    assert_eq!(mode(&place.path("cache/trimill")), 0o700);
    place.cached().iter().for_each(|path| assert_eq!(mode(path), 0o600));
}

#[test]
fn without_a_home_there_is_no_cache() {
    let place = Place::new();
    place.write("g.txt", TRIANGLE);
    let missing = place.path("missing");
    let homeless = |home: Option<(&str, &str)>, arguments: &[&str]| {
        place.command(arguments).env_remove("XDG_CACHE_HOME").env_remove("HOME").envs(home).output().unwrap()
    };
    // Relative paths are ignored, and a home directory is not made.
    let relative = [("XDG_CACHE_HOME", "relative"), ("XDG_CACHE_HOME", ""), ("HOME", missing.to_str().unwrap())];
    for home in [None].into_iter().chain(relative.map(Some)) {
        for _ in 0..2 {
            assert_eq!(counted(&homeless(home, &["count", "g.txt", "--json", "--backend", "cpu"])), (1, false));
        }
        assert!(below(&place.path("tmp")).is_empty() && !place.path("relative").exists() && !missing.exists());
        let listed = homeless(home, &["cache", "list"]);
        assert_eq!(listed.status.code(), Some(2));
        assert!(said(&listed).contains("--cache-dir"), "{}", said(&listed));
        let doctor = homeless(home, &["doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
        assert!(report["cache_dir"].is_null() && report["work_dir"]["path"].is_string());
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_done_without() {
    let place = Place::new();
    place.write("g.txt", CLIQUE);
    place.write("file", "");
    let unusable = |arguments: &[&str]| {
        let arguments = [&["count", "g.txt", "--json", "--backend", "cpu"], arguments].concat();
        place.command(&arguments).env("XDG_CACHE_HOME", place.path("file")).output().unwrap()
    };
    for more in [&[][..], &["--run-dir", "run"], &["--cache-dir", "file/cache"], &["--cache-dir", "/dev/full/c"]] {
        let output = unusable(more);
        assert_eq!(counted(&output), (4, false));
        assert_eq!(said(&output).matches("goes on without the cache").count(), 1, "{}", said(&output));
    }
    // A cache directory that is a file ends the job.
    assert_eq!(unusable(&["--cache-dir", "file"]).status.code(), Some(3));
    // A disk that is full when the graph is written.
    let mut without = 0;
    for at in 1.. {
        let arguments = ["count", "g.txt", "--json", "--backend", "cpu", "--cache-dir", "named"];
        let _ = fs::remove_dir_all(place.path("cache"));
        let _ = fs::remove_dir_all(place.path("named"));
        let fault = format!("write:{at}");
        let [output, named] = [&arguments[..5], &arguments].map(|words| place.run_with(&fault, words));
        if !said(&named).contains("strikes") {
            break;
        }
        for output in [output, named] {
            assert_eq!(counted(&output), (4, false), "{fault}");
            assert_eq!(said(&output).matches("goes on without the cache").count(), 1, "{fault}: {}", said(&output));
        }
        without += 1;
    }
    assert!(without > 5, "{without} writes");
}

/// Root can write in any directory, except on a file system that is mounted read-only.
#[test]
fn a_cache_that_can_only_be_read_is_used_and_otherwise_done_without_from_the_beginning() {
    let place = Place::new();
    let small = if rustix::process::geteuid().is_root() { SmallDisk::mount(&place, "4m") } else { None };
    fs::create_dir_all(place.path("small")).unwrap();
    let named = ["--cache-dir", "small"];
    place.write("g.txt", CLIQUE);
    assert_eq!(counted(&place.count("g.txt", &named)), (4, false));
    let mode = |mode| fs::set_permissions(place.path("small"), fs::Permissions::from_mode(mode)).unwrap();
    match &small {
        Some(small) => small.end_writing(),
        None => mode(0o555),
    }
    assert_eq!(counted(&place.count("g.txt", &named)), (4, true));
    if rustix::fs::access(place.path("small"), rustix::fs::Access::WRITE_OK).is_err() {
        // Reading ends at the last line.
        let path = (0..300_000).map(|i| format!("{i} {}\n", i + 1)).collect::<String>();
        place.write("wrong.txt", path + "x\n");
        let output = place.count("wrong.txt", &named);
        assert_eq!(output.status.code(), Some(1));
        let told = "small: cannot be written (";
        assert!(said(&output).contains(told) && said(&output).contains("goes on without"), "{}", said(&output));
    }
    if small.is_none() {
        mode(0o755);
    }
}

#[test]
fn the_cache_commands_touch_nothing_but_graphs() {
    let place = Place::new();
    place.write("g.txt", TRIANGLE);
    for command in ["list", "clear"] {
        place.prints(&["cache", command]);
        assert!(!place.path("cache").exists(), "cache {command} made the cache");
    }
    assert_eq!(counted(&place.count("g.txt", &[])), (1, false));
    let cache = place.path("cache/trimill");
    // Keys that begin with the same letters; one is a prefix of another.
    let graph = place.cached().remove(0);
    for key in ["key", "keys", "keyed"] {
        fs::copy(&graph, cache.join(key).with_extension("trimgraf")).unwrap();
    }
    place.refuses(&["cache", "remove", "keyed", "ke"], 1, &["the keys of 3 graphs begin with 'ke'", "more letters"]);
    for (name, key) in [("key", "key"), ("keye", "keyed"), ("k", "keys")] {
        let removed = place.answer(&["cache", "remove", name]);
        assert_eq!(removed["entries"].as_array().unwrap().iter().map(|one| &one["key"]).collect::<Vec<_>>(), [key]);
    }
    assert_eq!(place.cached(), [graph]);
    fs::create_dir_all(cache.join("folder.trimgraf/below")).unwrap();
    fs::write(cache.join("mine.trimgraf"), "precious").unwrap();
    place.write("elsewhere", "TRIMGRAF and more");
    std::os::unix::fs::symlink(place.path("elsewhere"), cache.join("link.trimgraf")).unwrap();
    make_pipe(cache.join("pipe.trimgraf"));
    assert_eq!(place.answer(&["cache", "list"])["entries"].as_array().unwrap().len(), 1);
    place.prints(&["cache", "clear"]);
    let left: Vec<_> = place.cached().iter().map(|path| path.file_stem().unwrap().to_owned()).collect();
    assert_eq!(left, ["folder", "link", "mine", "pipe"]);
}

#[test]
fn work_folders_of_run_directories_go_with_their_process() {
    let place = Place::new();
    let input = typed("ca-HepTh.txt");
    let words = ["count", &input, "--json", "--backend", "cpu", "--no-cache", "--run-dir", "run", "--work-dir", "work"];
    let arguments = [&words[..], &["--parts", "2", "--partitioner", "contiguous"]].concat();
    for at in [3, 20, 40] {
        let _ = fs::remove_dir_all(place.path("run"));
        let killed = place.run_with(&format!("kill:{at}"), &arguments);
        assert_eq!(killed.status.code(), None, "{}", said(&killed));
        // This run directory is never resumed, but other jobs use the folder.
        fs::remove_dir_all(place.path("run")).unwrap();
        result(&place.count(&input, &["--no-cache", "--work-dir", "work"]));
        assert_eq!(fs::read_dir(place.path("work")).unwrap().count(), 0, "kill:{at}");
    }
}
