//! The threads that communicate with servers, separate from the threads that wait for results.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::RemoteLimits;
use trimill_system::{Control, Error, Result};

/// How often a waiting thread checks for a stop.
const POLL: Duration = Duration::from_millis(50);

/// More threads are not faster, since they mostly wait.
const MOST_THREADS: usize = 8;

/// Runs requests, a bounded number at a time.
pub(super) struct Network {
    handle: Handle,
    /// `None` only while this is dropped.
    runtime: Option<Runtime>,
    places: Arc<Semaphore>,
    control: Control,
    pub(super) limits: RemoteLimits,
}

/// Work that was begun; dropping this cancels it.
pub(super) struct PendingWork<T> {
    made: Receiver<T>,
    task: AbortHandle,
    control: Control,
}

impl Network {
    pub(super) fn new(control: &Control, limits: RemoteLimits) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(rayon::current_num_threads().min(MOST_THREADS))
            .thread_name("remote")
            .enable_all()
            .build()
            .map_err(|error| Error::resource(format!("no threads for connections ({error})")))?;
        let places = Arc::new(Semaphore::new(limits.requests));
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime), places, control: control.clone(), limits })
    }

    /// Starts `work`, which runs as soon as a place is free.
    pub(super) fn begin<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> PendingWork<T> {
        let (sender, made) = sync_channel(1);
        let places = Arc::clone(&self.places);
        let placed = async move {
            let _place = places.acquire().await;
            // Fails only if the receiver was dropped.
            let _ = sender.send(work.await);
        };
        PendingWork { made, task: self.handle.spawn(placed).abort_handle(), control: self.control.clone() }
    }
}

impl<T> PendingWork<T> {
    /// Errors: `Kind::Interrupted` when the job is stopped.
    pub(super) fn wait(self) -> Result<T> {
        loop {
            match self.made.recv_timeout(POLL) {
                Ok(made) => return Ok(made),
                Err(RecvTimeoutError::Timeout) => self.control.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::defect("a request ended without an answer")),
            }
        }
    }
}

impl<T> Drop for PendingWork<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Waiting for its threads could block a thread of the caller's own runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
