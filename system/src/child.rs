//! Child processes of the program: started, watched, and ended when their [`ChildProcess`] is dropped. A child may ask the system for a signal when
//! its parent is killed. Its standard error is kept, for messages.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::Control;
use crate::error::{Error, Result};

const POLL: Duration = Duration::from_millis(20);

const TAIL: u64 = 2048;

/// The exit code after a SIGTERM: 128 + 15, as in shells.
pub const TERMINATED: i32 = 143;

/// How to run the program as a child for one task.
#[derive(Debug, Clone)]
pub struct Helper {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Helper {
    pub fn metis(program: PathBuf) -> Self {
        Self { program, arguments: vec!["metis-child".into()] }
    }

    /// Starts a child with this `input` and `output` (`None`: kept with its messages). Dropped early, it is asked to end, and killed after `grace`.
    pub fn start(&self, input: Stdio, output: Option<Stdio>, grace: Duration) -> Result<ChildProcess> {
        let spawn = || -> io::Result<ChildProcess> {
            let messages = File::from(memfd_create("messages", MemfdFlags::CLOEXEC)?);
            let kept = || messages.try_clone().map(Stdio::from);
            let mut command = Command::new(&self.program);
            command.args(&self.arguments).stdin(input).stdout(output.map_or_else(kept, Ok)?).stderr(kept()?);
            Ok(ChildProcess { child: command.spawn()?, messages, grace })
        };
        spawn().map_err(|error| {
            Error::resource(format!("cannot be started as a child process ({error})")).at(&self.program)
        })
    }
}

pub struct ChildProcess {
    child: Child,
    messages: File,
    grace: Duration,
}

impl ChildProcess {
    /// The other ends of its standard input and output, if they are pipes that were not taken yet.
    pub fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>) {
        (self.child.stdin.take(), self.child.stdout.take())
    }

    pub fn wait(&mut self, control: &Control) -> Result<ExitStatus> {
        let mut pause = Duration::from_millis(1);
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.map_err(|e| Error::resource(format!("a child process is lost ({e})")))? {
                return Ok(status);
            }
            control.check()?;
            sleep(pause);
            pause = (pause * 2).min(POLL);
        }
    }

    /// The end of its messages, at most `TAIL` bytes.
    pub fn messages(&self) -> String {
        let length = self.messages.metadata().map_or(0, |metadata| metadata.len());
        let mut tail = vec![0; length.min(TAIL) as usize];
        match self.messages.read_exact_at(&mut tail, length.saturating_sub(TAIL)) {
            Ok(()) => String::from_utf8_lossy(&tail).into_owned(),
            Err(_) => String::new(),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let until = Instant::now() + self.grace;
        if !self.grace.is_zero() && self.child.try_wait()?.is_none() {
            // Not waited for yet, so the process id is still the child's.
            kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        }
        while self.child.try_wait()?.is_none() {
            if Instant::now() >= until {
                self.child.kill()?;
                self.child.wait()?;
                break;
            }
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.end().is_err() {
            let _ = self.child.kill();
        }
    }
}

/// How a child ended, in words, such as `ended with exit code 1`.
pub fn ending(status: ExitStatus) -> String {
    let signal = if status.code() == Some(TERMINATED) { Some(15) } else { status.signal() };
    let name = match signal {
        Some(1) => " (SIGHUP)",
        Some(2) => " (SIGINT)",
        Some(3) => " (SIGQUIT)",
        Some(6) => " (SIGABRT)",
        Some(11) => " (SIGSEGV, a crash)",
        Some(15) => " (SIGTERM)",
        Some(25) => " (SIGXFSZ, a limit of file sizes)",
        _ => "",
    };
    match (signal, status.code()) {
        (Some(9), _) => "was killed (signal 9, SIGKILL), as the system does when memory is short".into(),
        (Some(signal), _) => format!("was ended by signal {signal}{name}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended in an unknown way".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, grace: Duration) -> ChildProcess {
        let helper = Helper { program: "/bin/sh".into(), arguments: vec!["-c".into(), script.into()] };
        helper.start(Stdio::null(), None, grace).unwrap()
    }

    #[test]
    fn ends_are_told_apart_and_messages_kept() {
        for (script, how, said) in [
            ("echo out; echo err >&2; exit 7", "ended with exit code 7", "out\nerr\n"),
            ("kill -KILL $$", "was killed (signal 9, SIGKILL), as the system does when memory is short", ""),
            ("kill -TERM $$", "was ended by signal 15 (SIGTERM)", ""),
            ("exit 143", "was ended by signal 15 (SIGTERM)", ""),
        ] {
            let mut child = shell(script, Duration::ZERO);
            let status = child.wait(&Control::silent()).unwrap();
            assert_eq!((ending(status).as_str(), child.messages().as_str()), (how, said), "{script}");
        }
        let long = "i=0; while [ $i -lt 500 ]; do echo 1234567; i=$((i+1)); done; echo last";
        let mut child = shell(long, Duration::ZERO);
        child.wait(&Control::silent()).unwrap();
        assert!(child.messages().len() as u64 == TAIL && child.messages().ends_with("\n1234567\nlast\n"));
    }

    #[test]
    fn a_child_ends_with_its_value_and_a_stop_ends_the_waiting() {
        let control = Control::silent();
        control.stop();
        for (script, grace) in
            [("exec sleep 60", 0), ("exec sleep 60", 60), ("trap '' TERM; while true; do sleep 1; done", 1)]
        {
            let begun = Instant::now();
            let mut child = shell(script, Duration::from_secs(grace));
            let id = child.child.id();
            assert_eq!(child.wait(&control).unwrap_err().kind(), crate::error::Kind::Interrupted);
            drop(child);
            assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "{script}");
            assert!(begun.elapsed() < Duration::from_secs(20), "{script}");
        }
        let none = Helper { program: "/nonexistent/helper".into(), arguments: Vec::new() };
        let error = none.start(Stdio::null(), None, Duration::ZERO).map(drop).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/helper: cannot be started"), "{error}");
    }
}
