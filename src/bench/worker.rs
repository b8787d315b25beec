//! The child processes of a comparison, one for each method: started on first use, and again after one has ended. [`super::child`] describes the
//! messages. A thread reads the answers, so that waiting can time out; a child that takes too long is asked to stop, then killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::rounds::{Turn, late};
use crate::job::Backend;
use crate::job::file::Tables;
use crate::report::bench::MethodName;
use crate::report::failure::Reason;
use crate::report::{Failure, RunResult};
use trimill_system::child::{ChildProcess, Helper, ending};
use trimill_system::threads::spawn_alone;
use trimill_system::{Control, Error, Result};

/// The time between asking a child to stop and killing it.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

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

    /// Runs the method at index `place` once, within `limit`. Errors: a stop of the comparison; a child that cannot be started.
    pub(super) fn run(&mut self, place: usize, limit: Duration) -> Result<Turn> {
        self.control.check()?;
        let job = serde_json::to_string(&self.jobs[place]).map_err(|error| Error::usage(error.to_string()))?;
        let mut worker = match self.children[place].take() {
            Some(worker) => worker,
            None => BenchWorker::start(self.program)?,
        };
        let start = Instant::now();
        let outcome = worker.count(&job, limit, self.control)?;
        let elapsed = start.elapsed();
        if outcome.is_ok() {
            self.children[place] = Some(worker);
        }
        Ok(Turn { outcome, elapsed })
    }
}

struct BenchWorker {
    /// Dropped first: the child ends when its input does.
    jobs: Option<ChildStdin>,
    child: ChildProcess,
    answers: Receiver<String>,
}

impl BenchWorker {
    fn start(program: &Helper) -> Result<Self> {
        let mut child = program.start(Stdio::piped(), Some(Stdio::piped()), GRACE)?;
        let (sender, answers) = channel();
        let (jobs, output) = child.pipes();
        if let Some(output) = output {
            spawn_alone("answers", move || {
                // Sending fails only when the worker is dropped, which ends the child.
                let lines = BufReader::new(output).lines().map_while(std::io::Result::ok);
                let _ = lines.map(|line| sender.send(line)).find(std::result::Result::is_err);
            })?;
        }
        Ok(Self { jobs, child, answers })
    }

    /// Counts a job once. After anything but a result the child must not be used again.
    fn count(&mut self, job: &str, limit: Duration, control: &Control) -> Result<Result<Box<RunResult>, Reason>> {
        let start = Instant::now();
        // If this fails, the child has ended, and the loop below finds that it gives no more answers.
        let _ = self.jobs.as_mut().map(|jobs| jobs.write_all(format!("{job}\n").as_bytes()));
        loop {
            let left = limit.saturating_sub(start.elapsed());
            let answer = self.answers.recv_timeout(POLL.min(left));
            control.check()?;
            match answer {
                Ok(answer) => return Ok(parsed(&answer)),
                Err(RecvTimeoutError::Disconnected) => return self.crash(control).map(Err),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Ok(Err(late(limit, "stopped after")));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn crash(&mut self, control: &Control) -> Result<Reason> {
        let mut message = format!("the child process {}", ending(self.child.wait(control)?));
        if let Some(last) = self.child.messages().lines().rev().find(|line| !line.trim().is_empty()) {
            message.push_str(&format!(": {}", last.trim()));
        }
        Ok(Reason { kind: "crash".into(), message })
    }
}

fn parsed(answer: &str) -> Result<Box<RunResult>, Reason> {
    if let Ok(failure) = serde_json::from_str::<Failure>(answer) {
        return Err(failure.error);
    }
    serde_json::from_str(answer).map(Box::new).map_err(|error| {
        let message = format!("the child process's answer is not a result: {error}");
        Reason { kind: "crash".into(), message }
    })
}
