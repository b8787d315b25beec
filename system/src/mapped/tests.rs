//! A file that is truncated while it is mapped, in a separate process.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::*;

const VARIABLE: &str = "TRIMILL_TEST_MAPPED";

/// Run as a separate process by the tests below: truncates a file that is mapped, and reads it from several threads.
#[test]
#[ignore = "run by others"]
fn child() {
    report_failed_reads();
    let path = PathBuf::from(std::env::var_os(VARIABLE).unwrap());
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let file = File::options().write(true).read(true).open(&path).unwrap();
    let window = MappedPart::new(&file, &path, 0..1 << 20).unwrap();
    assert_eq!(window[1 << 19], 1);
    if path.ends_with("listed") {
        file.set_len(4096).unwrap();
        std::thread::scope(|scope| {
            for i in 1..5 {
                let window = &window;
                scope.spawn(move || println!("{}", window[i << 16]));
            }
        });
    } else {
        // SAFETY: as in `MappedPart::new`.
        let map = unsafe { Mmap::map(&file) }.unwrap();
        file.set_len(4096).unwrap();
        println!("{}", map[1 << 19]);
    }
    println!("still here");
}

fn cut(name: &str) -> (Output, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "mapped::tests::child", "--ignored", "--nocapture"]).env(VARIABLE, &path);
    (command.output().unwrap(), path)
}

#[test]
fn a_read_that_fails_names_the_file_once() {
    let (output, path) = cut("listed");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.matches(&format!("error: {}: reading mapped pages failed", path.display())).count(), 1, "{said}");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("still here"));
}

#[test]
fn what_else_raises_the_signal_ends_the_process_by_it() {
    let (output, _) = cut("other");
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{}", output.status);
}
