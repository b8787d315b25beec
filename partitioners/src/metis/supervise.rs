//! The parent's side: starts the child, waits for it, kills it when asked to stop, and reports how it ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::sigterm::TERMINATED;
use super::{MetisOptions, exchange};
use crate::{PartitionerError, PartitionerErrorKind, PartitionerResult};

/// How often the child and the request to stop are polled.
const POLL: Duration = Duration::from_millis(20);

/// How long to wait for the caller's own handler: a signal to the process group can end the child a moment earlier.
const GRACE: Duration = Duration::from_millis(100);

/// How many bytes of the child's output are included in an error.
const TAIL: u64 = 2048;

/// A child that is killed and waited for on drop, so that it is never left behind.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // Both fail only if the child has been waited for already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the child on the graph in `file`. Returns the parts of its `vertices` vertices and the child's peak memory.
pub(super) fn run(file: File, vertices: u32, options: &MetisOptions<'_>) -> PartitionerResult<(Vec<u32>, u64)> {
    let unwritable = |error| exchange::unwritable(options, error);
    let log = exchange::temporary(options).map_err(unwritable)?;
    let handle = |file: &File| file.try_clone().map(Stdio::from).map_err(unwritable);
    let child = Command::new(&options.helper)
        .args(&options.helper_args)
        .arg(std::process::id().to_string())
        .stdin(handle(&file)?)
        .stdout(handle(&log)?)
        .stderr(handle(&log)?)
        .spawn();
    let child = child.map_err(|error| {
        PartitionerError::new(PartitionerErrorKind::Child, "cannot be started to run METIS")
            .at(&options.helper)
            .because(error)
            .advice(OTHERS)
    })?;
    let status = wait(Guard(child), options)?;
    if !status.success() {
        return Err(failed(&status, &log, options));
    }
    let read = exchange::read_assignment(&file, vertices, options.parts).map_err(unwritable)?;
    read.map_err(|found| {
        PartitionerError::new(PartitionerErrorKind::Child, format!("METIS left {found}{}", said(&log)))
            .expected("an assignment")
            .advice(OTHERS)
    })
}

const OTHERS: &str = "start again, or use the partitioner contiguous";

fn wait(mut child: Guard, options: &MetisOptions<'_>) -> PartitionerResult<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        let ended = child
            .0
            .try_wait()
            .map_err(|error| PartitionerError::new(PartitionerErrorKind::Child, "METIS is lost").because(error))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if (options.stopped)() {
            return Err(PartitionerError::interrupted());
        }
        sleep(pause);
        pause = (pause * 2).min(POLL);
    }
}

/// The error for a child that ended without success.
fn failed(status: &ExitStatus, log: &File, options: &MetisOptions<'_>) -> PartitionerError {
    let until = Instant::now() + GRACE;
    while Instant::now() < until {
        if (options.stopped)() {
            return PartitionerError::interrupted();
        }
        sleep(POLL);
    }
    let how = match (status.signal(), status.code()) {
        (Some(9), _) => "was killed (signal 9, SIGKILL), as the system does when memory is short".to_owned(),
        (Some(signal), _) => format!("was ended by signal {signal}{}", name(signal)),
        (None, Some(TERMINATED)) => format!("was ended by signal 15{}", name(15)),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended in an unknown way".to_owned(),
    };
    PartitionerError::new(PartitionerErrorKind::Child, format!("METIS {how}{}", said(log)))
        .expected("an assignment")
        .advice(OTHERS)
}

fn name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        6 => " (SIGABRT)",
        11 => " (SIGSEGV, a crash)",
        15 => " (SIGTERM)",
        25 => " (SIGXFSZ, a limit of file sizes)",
        _ => "",
    }
}

/// The end of the child's output, for a message; empty if there is none.
fn said(mut log: &File) -> String {
    let mut bytes = Vec::new();
    let read = log
        .seek(SeekFrom::End(0))
        .and_then(|end| log.seek(SeekFrom::Start(end.saturating_sub(TAIL))))
        .and_then(|_| log.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if read.is_err() || text.is_empty() { String::new() } else { format!("; it said: {text}") }
}
