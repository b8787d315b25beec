//! Fault injection, only in test builds (feature `testing`): at the N-th write, read, call of a device, or start of a thread. The environment
//! variable `TRIMILL_FAULT` names one of
//!
//! | value | what happens, and when |
//! | --- | --- |
//! | `write:N` | half of the N-th write is done, then the disk is full |
//! | `kill:N` | half of the N-th write is done, then the process is killed (SIGKILL) |
//! | `panic:N` | half of the N-th write is done, then the thread panics |
//! | `term:N` | at the N-th write the process gets SIGTERM, and the write goes on |
//! | `read:N` | the N-th read fails, as on a broken disk |
//! | `read-panic:N` | at the N-th read the thread panics |
//! | `read-stop:N` | at the N-th read the process stops (SIGSTOP), until SIGCONT |
//! | `damage:N` | a bit in the middle of the N-th read of data that the program wrote is flipped |
//! | `device:N` | the N-th call of a device fails as if the device were lost |
//! | `device-panic:N` | at the N-th call of a device the thread panics |
//! | `device-stop:N` | at the N-th call of a device the process stops (SIGSTOP), until SIGCONT |
//! | `thread:N` | the N-th thread, or pool of threads, cannot be started |
//! | `metis-fail:1`, `metis-kill:1` | the child that runs METIS fails, or is killed, before it begins |
//! | `metis-fail:2`, `metis-kill:2` | it does so after it has answered |
//! | `metis-damage:N` | byte N of its answer changes |
//!
//! A write is a call that changes a file or a directory: making it, setting its length, writing bytes, waiting for the disk, renaming. Reads are
//! those of inputs, buckets, spills and graph files. Calls of a device begin or finish a partition, or copy a run of the resident section or a row
//! block; the CPU counts as a device. A fault is logged, so a test that counts `N` up knows when there is no N-th call. Other values are ignored.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::error::{Error, Result};

const VARIABLE: &str = "TRIMILL_FAULT";

/// The value of an environment variable that only test builds read.
pub fn hook(variable: &str) -> Option<String> {
    if cfg!(feature = "testing") { std::env::var(variable).ok() } else { None }
}

/// Waits until a file, or a directory's names, are on disk; in test builds only if `TRIMILL_SYNC` is set, since results do not depend on it.
pub(super) fn sync(file: &File) -> io::Result<()> {
    if cfg!(feature = "testing") && hook("TRIMILL_SYNC").is_none() { Ok(()) } else { file.sync_all() }
}

#[derive(Debug)]
struct FaultPlan {
    call: Call,
    fault: Fault,
    at: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Write,
    Read,
    ReadBack,
    Device,
    Thread,
    /// In the child that runs METIS: before METIS begins, and after it has answered.
    Metis,
    /// The end of METIS in that child; `at` is a byte of its answer.
    Answer,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Full,
    Kill,
    Panic,
    Term,
    Stop,
    Fails,
    Damage,
}

fn parse(text: &str) -> Option<FaultPlan> {
    let (name, at) = text.split_once(':')?;
    let (call, fault) = match name {
        "write" => (Call::Write, Fault::Full),
        "kill" => (Call::Write, Fault::Kill),
        "panic" => (Call::Write, Fault::Panic),
        "term" => (Call::Write, Fault::Term),
        "read" => (Call::Read, Fault::Fails),
        "read-panic" => (Call::Read, Fault::Panic),
        "read-stop" => (Call::Read, Fault::Stop),
        "damage" => (Call::ReadBack, Fault::Damage),
        "device" => (Call::Device, Fault::Fails),
        "device-panic" => (Call::Device, Fault::Panic),
        "device-stop" => (Call::Device, Fault::Stop),
        "thread" => (Call::Thread, Fault::Fails),
        "metis-fail" => (Call::Metis, Fault::Fails),
        "metis-kill" => (Call::Metis, Fault::Kill),
        "metis-damage" => (Call::Answer, Fault::Damage),
        _ => return None,
    };
    Some(FaultPlan { call, fault, at: at.parse().ok()? })
}

fn planned(call: Call) -> Option<&'static FaultPlan> {
    if !cfg!(feature = "testing") {
        return None;
    }
    static PLAN: OnceLock<Option<FaultPlan>> = OnceLock::new();
    let plan = PLAN.get_or_init(|| hook(VARIABLE).as_deref().and_then(parse)).as_ref()?;
    (plan.call == call).then_some(plan)
}

/// The fault to inject at this call, if any; counts the calls of the planned kind.
pub(super) fn next(call: Call) -> Option<Fault> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let plan = planned(call)?;
    (CALLS.fetch_add(1, Ordering::Relaxed) + 1 == plan.at).then_some(plan.fault)
}

pub(super) fn inject_at(call: Call) -> io::Result<()> {
    next(call).map_or(Ok(()), Fault::inject)
}

/// To be called with the bytes of each read of what the program wrote.
pub(super) fn after_read_back(bytes: &mut [u8]) -> io::Result<()> {
    let Some(fault) = next(Call::ReadBack) else { return Ok(()) };
    let middle = bytes.len() / 2;
    bytes[middle..].iter_mut().take(1).for_each(|byte| *byte ^= 1);
    fault.inject()
}

pub fn before_device() -> Result<()> {
    inject_at(Call::Device).map_err(|_| Error::resource("the device was lost"))
}

pub fn before_thread() -> io::Result<()> {
    inject_at(Call::Thread).map_err(|_| rustix::io::Errno::AGAIN.into())
}

/// Runs METIS by `work` in its child process, which writes the answer to the file that is its standard input.
pub fn in_metis_child(work: impl FnOnce() -> Result<()>) -> Result<()> {
    let fail_if_planned =
        || inject_at(Call::Metis).map_err(|error| Error::resource(format!("METIS's child fails ({error})")));
    fail_if_planned()?;
    work()?;
    if let Some(plan) = planned(Call::Answer) {
        let damaged = || {
            let (answer, mut byte) = (File::from(io::stdin().as_fd().try_clone_to_owned()?), [0]);
            answer.read_exact_at(&mut byte, plan.at)?;
            answer.write_all_at(&[byte[0] ^ 1], plan.at)
        };
        damaged().and_then(|()| plan.fault.inject()).map_err(|error| Error::write("(standard input)", error))?;
    }
    fail_if_planned()
}

impl Fault {
    pub(super) fn writes_half_first(self) -> bool {
        !matches!(self, Self::Term | Self::Stop)
    }

    pub(super) fn inject(self) -> io::Result<()> {
        tracing::warn!("a fault of {VARIABLE} strikes: {self:?}");
        match self {
            Self::Full => Err(rustix::io::Errno::NOSPC.into()),
            Self::Fails => Err(rustix::io::Errno::IO.into()),
            Self::Damage => Ok(()),
            Self::Kill => kill_process(getpid(), Signal::KILL).map_err(Into::into),
            Self::Term => kill_process(getpid(), Signal::TERM).map_err(Into::into),
            Self::Stop => kill_process(getpid(), Signal::STOP).map_err(Into::into),
            Self::Panic => panic!("a fault of {VARIABLE}"),
        }
    }
}
