//! METIS in its child process. METIS traps signals and needs the main thread, so this binary has its own `main`: started with [`CHILD`] it is the
//! child, otherwise it runs the tests below one after another, with the arguments of cargo and nextest (`--list`, `--exact`, names).
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod endings;
mod graphs;
mod tests;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The argument that makes this binary the child.
const CHILD: &str = "metis-child";

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    match args.first().and_then(|arg| arg.to_str()) {
        Some(CHILD) => child(args),
        Some("broken-child") => ExitCode::SUCCESS,
        Some("shouting-child") => {
            eprintln!("this child  \n is unwell");
            ExitCode::from(77)
        }
        _ => run_tests(&args),
    }
}

fn child(args: Vec<OsString>) -> ExitCode {
    match trimill_partitioners::metis::child_main(args.into_iter().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run_tests(args: &[OsString]) -> ExitCode {
    // Tests send SIGHUP to children, which would inherit `nohup`'s ignoring of it. Signals handled here have their default action in children.
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_default(signal_hook::consts::SIGHUP, always).unwrap();
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let names: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| {
        let named = |filter: &&str| if has("--exact") { *filter == name } else { name.contains(*filter) };
        !has("--ignored") && (names.is_empty() || names.iter().any(named))
    };
    let mut out = std::io::stdout();
    let chosen = tests::ALL.iter().filter(|(name, _)| wanted(name));
    if has("--list") {
        chosen.for_each(|(name, _)| writeln!(out, "{name}: test").unwrap());
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, test) in chosen {
        let passed = std::panic::catch_unwind(test).is_ok();
        failed += u8::from(!passed);
        writeln!(out, "test {name} ... {}", if passed { "ok" } else { "FAILED" }).unwrap();
    }
    ExitCode::from(failed.min(1) * 101)
}
