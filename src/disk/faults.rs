//! Accidents on purpose, for tests: what happens at the N-th write, or at the N-th reading.
//!
//! The environment variable `TRIMILL_FAULT` names one of
//!
//! | value | at the N-th write of the process, or at the N-th reading |
//! | --- | --- |
//! | `write:N` | half of it is written, then the disk is full |
//! | `kill:N` | half of it is written, then the process is killed (SIGKILL) |
//! | `panic:N` | half of it is written, then the thread panics |
//! | `term:N` | the process gets SIGTERM, and the write goes on |
//! | `read:N` | a disk that fails: nothing is read |
//!
//! where a write is a call that changes a file or a directory: making it, setting its length, writing bytes, waiting for the
//! disk, renaming. Readings are those of inputs, buckets, spills and shared rows that are not mapped. A fault that strikes is logged, so a test that counts `N` up knows when there is no N-th write. Without
//! the variable a write costs one more load of a pointer; a value that is none of these means nothing.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The variable.
pub const VARIABLE: &str = "TRIMILL_FAULT";

/// What is to happen, and when.
#[derive(Debug)]
struct Plan {
    fault: Fault,
    at: u64,
    calls: AtomicU64,
}

/// An accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Full,
    Kill,
    Panic,
    Term,
    Unreadable,
}

fn parse(text: &str) -> Option<Plan> {
    let (name, at) = text.split_once(':')?;
    let fault = match name {
        "write" => Fault::Full,
        "kill" => Fault::Kill,
        "panic" => Fault::Panic,
        "term" => Fault::Term,
        "read" => Fault::Unreadable,
        _ => return None,
    };
    Some(Plan { fault, at: at.parse().ok()?, calls: AtomicU64::new(0) })
}

/// Called once for each write, and for each reading: what is to happen to it.
pub(super) fn next(reading: bool) -> Option<Fault> {
    static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| std::env::var(VARIABLE).ok().as_deref().and_then(parse)).as_ref()?;
    let concerned = reading == (plan.fault == Fault::Unreadable);
    (concerned && plan.calls.fetch_add(1, Ordering::Relaxed) + 1 == plan.at).then_some(plan.fault)
}

impl Fault {
    /// Whether half of the bytes are written before it.
    pub(super) fn tears(self) -> bool {
        self != Self::Term
    }

    /// Makes it happen.
    ///
    /// # Errors
    /// The error of a full disk or of one that fails, where it is that.
    ///
    /// # Panics
    /// Where it is that.
    pub(super) fn strike(self) -> io::Result<()> {
        tracing::warn!("a fault of {VARIABLE} strikes: {self:?}");
        match self {
            Self::Full => Err(rustix::io::Errno::NOSPC.into()),
            Self::Unreadable => Err(rustix::io::Errno::IO.into()),
            Self::Kill => kill_process(getpid(), Signal::KILL).map_err(Into::into),
            Self::Term => kill_process(getpid(), Signal::TERM).map_err(Into::into),
            Self::Panic => panic!("a fault of {VARIABLE}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_are_understood_or_mean_nothing() {
        for (text, fault, at) in [
            ("write:1", Fault::Full, 1),
            ("kill:20", Fault::Kill, 20),
            ("panic:3", Fault::Panic, 3),
            ("term:4", Fault::Term, 4),
            ("read:5", Fault::Unreadable, 5),
        ] {
            let plan = parse(text).unwrap();
            assert_eq!((plan.fault, plan.at), (fault, at));
        }
        for text in ["", "write", "write:", "write:-1", "eat:1", "write:1:2"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert_eq!(Fault::Full.strike().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
