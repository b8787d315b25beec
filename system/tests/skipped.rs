//! Not a test: prints which tests of this run of `cargo test` were skipped, and why.
//!
//! It is the last test program that `cargo test --workspace` runs. The others append a line for each skipped test to a file ([`skipped_list`]).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use trimill_kernels::testing::skipped_list;

fn main() {
    // Lists of tests are requested by programs that run tests one by one: there are none here.
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let Some(list) = skipped_list() else { return };
    if let Ok(text) = std::fs::read_to_string(&list) {
        let mut by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for line in text.lines() {
            let (test, reason) = line.trim_start_matches("skipped: ").split_once(": ").unwrap_or((line, ""));
            by_reason.entry(reason).or_default().insert(test);
        }
        let mut text = "\nskipped tests:\n".to_owned();
        for (reason, tests) in by_reason {
            let tests: Vec<&str> = tests.into_iter().collect();
            text.push_str(&format!("  {reason}\n    {}: {}\n", tests.len(), tests.join(", ")));
        }
        print(&text);
    } else {
        print("\nno tests were skipped\n");
    }
    list.parent().into_iter().for_each(remove_lists);
}

fn print(text: &str) {
    // Nothing to report to without standard output.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Removes this list, and those of runs that ended before this program.
fn remove_lists(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = std::os::unix::process::parent_id().to_string();
    for path in entries.map(|entry| entry.path()) {
        let run = path.file_name().and_then(|name| name.to_str()?.strip_prefix("skipped-tests-").map(str::to_owned));
        if run.is_some_and(|run| run == ours || !Path::new("/proc").join(run).exists()) {
            // A list that cannot be removed does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}
