//! The child processes of a comparison, one for each method: started when first needed, and again after one ended.
//!
//! The messages between parent and child are described at [`super::child`]. A child that takes too long is asked to stop, so that
//! it removes its temporary files, and killed if it does not; a thread reads its answers, so that waiting for them can time out.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::rounds::{RunOutcome, Runner, Turn, late};
use crate::assign::Helper;
use crate::job::Backend;
use crate::job::file::Tables;
use crate::report::bench::MethodName;
use crate::report::failure::Reason;
use crate::report::{Failure, RunResult};
use trimill_system::control::Control;
use trimill_system::error::{Error, Result};
use trimill_system::lock;
use trimill_system::threads::spawn_alone;

/// How long a child that was asked to stop may take for it.
const GRACE: Duration = Duration::from_secs(5);
/// How often a stop is checked for while a child counts.
const POLL: Duration = Duration::from_millis(50);
/// The most bytes that are kept of a child's standard error.
const STDERR_KEPT: usize = 4096;

pub(super) struct Workers<'a> {
    program: &'a Helper,
    jobs: Vec<Tables>,
    children: Vec<Option<BenchWorker>>,
    control: &'a Control,
}

impl<'a> Workers<'a> {
    /// Children that count the job of `tables`, each by its method; none is started yet.
    pub(super) fn new(program: &'a Helper, tables: &Tables, methods: &[MethodName], control: &'a Control) -> Self {
        let job = |name: &MethodName| {
            let mut job = tables.clone();
            job.count.backend = Some(name.backend);
            job.count.method = Some(name.method.clone());
            job.count.devices = job.count.devices.filter(|_| name.backend != Backend::Cpu);
            job
        };
        let children = methods.iter().map(|_| None).collect();
        Self { program, jobs: methods.iter().map(job).collect(), children, control }
    }
}

impl Runner for Workers<'_> {
    fn run(&mut self, place: usize, limit: Duration) -> Result<Turn> {
        self.control.check()?;
        let job = serde_json::to_string(&self.jobs[place]).map_err(|error| Error::usage(error.to_string()))?;
        let mut worker = match self.children[place].take() {
            Some(worker) => worker,
            None => BenchWorker::start(self.program)?,
        };
        let start = Instant::now();
        let outcome = worker.count(&job, limit, self.control)?;
        let elapsed = start.elapsed();
        if matches!(outcome, RunOutcome::Counted(_)) {
            self.children[place] = Some(worker);
        }
        Ok(Turn { outcome, elapsed })
    }
}

/// A child process, which is ended when dropped.
struct BenchWorker {
    child: Child,
    jobs: Option<ChildStdin>,
    answers: Receiver<String>,
    stderr_tail: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl BenchWorker {
    fn start(program: &Helper) -> Result<Self> {
        let mut child = Command::new(&program.program)
            .args(&program.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::resource(format!("cannot be started as a child process ({error})")).at(&program.program)
            })?;
        let (sender, answers) = channel();
        let stderr_tail = Arc::<Mutex<String>>::default();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        // From here on the child is ended where an error is returned.
        let tail = Arc::clone(&stderr_tail);
        let mut worker = Self { jobs: child.stdin.take(), child, answers, stderr_tail, readers: Vec::new() };
        if let Some(out) = out {
            worker.readers.push(spawn_alone("answers", move || {
                // Sending fails only when the worker is dropped, which ends the child.
                let lines = BufReader::new(out).lines().map_while(std::io::Result::ok);
                let _ = lines.map(|line| sender.send(line)).find(std::result::Result::is_err);
            })?);
        }
        if let Some(mut err) = err {
            worker.readers.push(spawn_alone("messages", move || {
                let mut bytes = [0; STDERR_KEPT];
                while let Ok(length @ 1..) = err.read(&mut bytes) {
                    let text = lock(&tail).clone() + &String::from_utf8_lossy(&bytes[..length]);
                    let from = text.char_indices().map(|(at, _)| at).find(|at| text.len() - at <= STDERR_KEPT);
                    *lock(&tail) = text[from.unwrap_or(0)..].to_owned();
                }
            })?);
        }
        Ok(worker)
    }

    /// Counts a job once. After anything but a result the child must not be used again.
    fn count(&mut self, job: &str, limit: Duration, control: &Control) -> Result<RunOutcome> {
        let end = Instant::now() + limit;
        // If this fails, the child has ended, and so will its answers below.
        let _ = self.jobs.as_mut().map(|jobs| jobs.write_all(format!("{job}\n").as_bytes()));
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(POLL.min(left)) {
                Ok(answer) => {
                    control.check()?;
                    return Ok(self.parsed(&answer));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    control.check()?;
                    return Ok(RunOutcome::Failed(self.crash()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    control.check()?;
                    if left.is_zero() {
                        return Ok(RunOutcome::Failed(late(limit, "stopped after")));
                    }
                }
            }
        }
    }

    fn parsed(&mut self, answer: &str) -> RunOutcome {
        if let Ok(failure) = serde_json::from_str::<Failure>(answer) {
            return RunOutcome::Failed(failure.error);
        }
        match serde_json::from_str::<RunResult>(answer) {
            Ok(result) => RunOutcome::Counted(Box::new(result)),
            Err(error) => {
                let message = format!("the child process's answer is not a result: {error}");
                RunOutcome::Failed(Reason { kind: "crash".into(), message })
            }
        }
    }

    /// Why a child ended without having been asked to.
    fn crash(&mut self) -> Reason {
        let status = self.child.wait().ok();
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
        let mut message = format!("the child process ended{}", status.map_or(String::new(), exit_text));
        if let Some(last) = lock(&self.stderr_tail).lines().rev().find(|line| !line.trim().is_empty()) {
            message.push_str(&format!(": {}", last.trim()));
        }
        Reason { kind: "crash".into(), message }
    }

    /// Asks the child to end, and kills it if it does not.
    fn end(&mut self) -> std::io::Result<()> {
        self.jobs = None;
        let end = Instant::now() + GRACE;
        let mut asked = false;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > end {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(());
            }
            if !asked {
                // Not reaped yet, so the process id is still the child's.
                kill_process(Pid::from_child(&self.child), Signal::TERM)?;
                asked = true;
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for BenchWorker {
    fn drop(&mut self) {
        if self.end().is_err() {
            let _ = self.child.kill();
        }
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
    }
}

fn exit_text(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!(" with code {code}"),
        (None, Some(signal)) => format!(" by signal {signal}"),
        (None, None) => String::new(),
    }
}
