//! Files that change while they are read.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::stat::TICK;

fn of(path: &Path) -> FileIdentity {
    let mut identity = Identity::of(path, &Control::silent()).unwrap();
    identity.hash(&Control::silent()).unwrap();
    identity.files.remove(0)
}

/// Writes `bytes` with the same time of modification each time.
fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// Waits until a later change would show in the file's times.
fn settle() {
    std::thread::sleep(2 * TICK);
}

/// The identity that a later start would see: settled, and without a hash of the contents.
fn seen_anew(path: &Path) -> Identity {
    settle();
    let identity = Identity::of(path, &Control::silent()).unwrap();
    let FileIdentity { settled, contents, .. } = &identity.files[0];
    assert!(*settled && contents.is_none(), "no clock of this file system ticks in seconds");
    identity
}

#[test]
fn another_size_time_or_number_of_files_is_another_input() {
    let (dir, control) = (tempfile::tempdir().unwrap(), Control::silent());
    let path = dir.path().join("g.txt");
    put(&path, b"0 1\n");
    let before = Identity { files: vec![of(&path)] };
    assert!(!seen_anew(&path).is(&Identity::default(), &control).unwrap());
    fs::write(&path, b"0 1\n").unwrap();
    assert!(!seen_anew(&path).is(&before, &control).unwrap(), "another time");
    put(&path, b"0 1\n\n");
    assert!(!seen_anew(&path).is(&before, &control).unwrap(), "another size");
}

#[test]
fn what_has_just_changed_is_not_settled_and_is_hashed() {
    let changed = |seconds, nanos| Stat { changed: (seconds, nanos), ..Stat::default() };
    let at = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    let fine = changed(100, 500_000_000);
    for (now, settled) in [(100_400, false), (100_500, false), (100_519, false), (100_521, true)] {
        assert_eq!(fine.is_settled(at(now)), settled, "{now}");
    }
    let coarse = changed(100, 0);
    for (now, settled) in [(99_000, false), (101_000, false), (101_999, false), (102_001, true)] {
        assert_eq!(coarse.is_settled(at(now)), settled, "{now}");
    }
    assert!(!changed(-1, 5).is_settled(at(5)));

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.txt");
    put(&path, b"0 1\n");
    settle();
    let known = of(&path);
    assert_eq!(seen_anew(&path).files[0].compare(&known), Match::Same);
    // The same file, recorded within a clock tick of its change: the record is not trusted later.
    let recorded_too_soon = FileIdentity { settled: false, ..known.clone() };
    assert_eq!(seen_anew(&path).files[0].compare(&recorded_too_soon), Match::Undecided);
    assert_eq!(Identity { files: vec![recorded_too_soon.clone()] }.seen(), None);
    // The file is hashed again after it was read.
    let mut was = Identity { files: vec![FileIdentity { contents: Some(7), ..recorded_too_soon }] };
    let error = was.hash_what_was_read(&Control::silent()).unwrap_err().to_string();
    assert!(error.contains("g.txt: changed while it was read (its contents differ)"), "{error}");
    // The first hash also stops when the job is stopped.
    let unsettled = Watched { settled: false, ..Watched::new(&path).unwrap().unwrap() };
    let stopped = Control::silent();
    stopped.stop();
    assert_eq!(Identity::watched(&[unsettled], &stopped).unwrap_err().kind(), trimill_system::Kind::Interrupted);
}

#[test]
fn a_change_after_the_first_look_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("g.txt");
    let changes: [(&str, &dyn Fn()); 5] = [
        ("bytes and now has", &|| fs::write(&path, b"0 1\n1 2\n").unwrap()),
        ("time of modification", &|| fs::write(&path, b"0 2\n").unwrap()),
        ("time of change", &|| put(&path, b"0 2\n")),
        ("another file was put in its place", &|| {
            put(&dir.path().join("beside"), b"0 1\n");
            fs::rename(dir.path().join("beside"), &path).unwrap();
        }),
        ("it is gone", &|| fs::remove_file(&path).unwrap()),
    ];
    for (said, change) in changes {
        put(&path, b"0 1\n");
        settle();
        let watched = Watched::new(&path).unwrap().unwrap();
        let mut identity = Identity::of(&path, &Control::silent()).unwrap();
        watched.unchanged().unwrap();
        change();
        let error = watched.unchanged().unwrap_err();
        assert_eq!(error.kind(), trimill_system::error::Kind::Data);
        let text = error.to_string();
        assert!(text.contains("g.txt: changed while it was read") && text.contains(said), "{text}");
        assert!(identity.hash_what_was_read(&Control::silent()).is_err());
    }
    assert!(Watched::new(dir.path()).unwrap().is_none());
}
