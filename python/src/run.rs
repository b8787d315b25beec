//! Runs a count in a thread of its own, without the GIL.
//!
//! The calling thread checks every 50 ms for signals and for progress to show. After a signal the count is asked to stop, and the call returns once
//! it has; a second signal does not wait for that, so a count that hangs in the system can be left.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use trimill::{Control, Error, Observer, Result, Unit};

use crate::error::raised;
use crate::messages;

/// The interval at which signals and progress are checked.
const TICK: Duration = Duration::from_millis(50);

/// Bytes of the thread's stack, as a program's main thread has.
const STACK: usize = 8 << 20;

/// Runs `work`. `progress` is called with the list of tasks, see [`Shown`], whenever they have changed.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let tasks = Arc::new(Tasks::default());
    let control = match progress {
        Some(_) => Control::new(Arc::default(), Arc::<Tasks>::clone(&tasks)),
        None => Control::silent(),
    };
    let (send, mut done) = channel();
    let in_thread = control.clone();
    let thread = thread::Builder::new().name("trimill".into()).stack_size(STACK).spawn(move || {
        // Nobody receives it after a second signal.
        let _ = send.send(work(&in_thread));
    });
    let thread =
        thread.map_err(|error| raised(py, &Error::resource(format!("a thread cannot be started ({error})"))))?;
    let mut raised_here = None;
    loop {
        let outcome;
        (outcome, done) = wait(py, done);
        match (outcome, raised_here.take()) {
            (Ok(_), Some(error)) => return Err(error),
            (Ok(outcome), None) => {
                messages::log(py)?;
                return outcome.or_else(|error| {
                    // Ctrl-C in a terminal also ends METIS: then the interrupt is raised, not the error that it caused.
                    py.check_signals()?;
                    Err(raised(py, &error))
                });
            }
            (Err(RecvTimeoutError::Disconnected), _) => {
                // The thread panicked, which pyo3 turns into an exception.
                return match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => Err(raised(py, &Error::defect("a count without a result"))),
                };
            }
            (Err(RecvTimeoutError::Timeout), None) => {
                let shown = || progress.as_ref().map_or(Ok(()), |to| tasks.show(py, to));
                raised_here = py.check_signals().and_then(|()| messages::log(py)).and_then(|()| shown()).err();
                if raised_here.is_some() {
                    control.stop();
                }
            }
            (Err(RecvTimeoutError::Timeout), Some(error)) => {
                py.check_signals()?;
                raised_here = Some(error);
            }
        }
    }
}

/// Waits for a result, at most a tick.
fn wait<T: Send>(py: Python<'_>, done: Receiver<T>) -> (Result<T, RecvTimeoutError>, Receiver<T>) {
    py.detach(move || (done.recv_timeout(TICK), done))
}

/// A task as Python gets it: number, name, total units if known, unit, units done, whether it is over.
type Shown = (u64, String, Option<u64>, &'static str, u64, bool);

/// The tasks under way.
#[derive(Default)]
struct Tasks(Mutex<State>);

#[derive(Default)]
struct State {
    begun: u64,
    /// Those that were not over when they were last shown.
    tasks: Vec<Shown>,
}

impl Tasks {
    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, task: u64, change: impl FnOnce(&mut Shown)) {
        self.with(|state| state.tasks.iter_mut().find(|shown| shown.0 == task).map(change));
    }

    /// Hands the tasks to `to`, which must not be called with the lock held.
    fn show(&self, py: Python<'_>, to: &Py<PyAny>) -> PyResult<()> {
        let shown = self.with(|state| {
            let shown = state.tasks.clone();
            state.tasks.retain(|task| !task.5);
            shown
        });
        if !shown.is_empty() {
            to.call1(py, (shown,))?;
        }
        Ok(())
    }
}

impl Observer for Tasks {
    fn begin(&self, name: &str, total: Option<u64>, unit: Unit) -> u64 {
        let unit = match unit {
            Unit::Arcs => "arcs",
            Unit::Partitions => "partitions",
            Unit::Runs => "runs",
            _ => "B",
        };
        self.with(|state| {
            state.begun += 1;
            state.tasks.push((state.begun, name.into(), total, unit, 0, false));
            state.begun
        })
    }

    fn advance(&self, task: u64, units: u64) {
        self.change(task, |shown| shown.4 += units);
    }

    fn end(&self, task: u64) {
        self.change(task, |shown| shown.5 = true);
    }
}
