//! Opens the GPUs of a job while its input is read. Starting the driver and creating a context take some tenths of a second, loading kernels and
//! reserving memory some more, so a thread begins as soon as the settings are known. What the driver maps is measured as the growth of the process's
//! memory. If other work runs meanwhile, this is known only after both; so GPUs are opened before anything else if the host's budget is tight.

use std::thread::JoinHandle;
use std::time::Instant;

use super::reserve::{Budget, reserve};
use crate::count::cuda::{CHUNK, Cuda, RUNS_IN_FLIGHT};
use crate::count::method::CudaMethod;
use crate::job::Devices;
use crate::job::file::Tables;
use crate::prepare::starting::StartingDevice;
use trimill_kernels::engine::Engine;
use trimill_system::threads::{joined, spawn, spawn_alone};
use trimill_system::{Bytes, Error, Result, machine};

/// With a host budget of at least this, GPUs are opened while the input is read.
const AMPLE: Bytes = Bytes::mib(8 << 10);

/// Page-locked memory of a GPU that was opened while the input was read.
const WARM_BYTES: u64 = trimill_kernels::STAGING_BYTES + RUNS_IN_FLIGHT * CHUNK.get();

pub(super) struct Gpus {
    pub(super) workers: Vec<Cuda>,
    pub(super) budget: Bytes,
    /// Whether memory of the GPUs was not reserved because the input was estimated not to need it.
    pub(super) have_more: bool,
}

pub(super) struct Opening {
    thread: Option<JoinHandle<Result<Gpus>>>,
    opened: Option<Result<Gpus>>,
    before: Bytes,
    /// Bytes that the driver mapped, if measured when GPUs were opened.
    driver: Option<Bytes>,
}

impl Opening {
    /// Starts to open the GPUs, of which the input needs `useful` bytes at most; with a host budget below [`AMPLE`], waits for them.
    pub(super) fn start(settings: &Tables, method: CudaMethod, host: Bytes, useful: Bytes) -> Self {
        let Tables { count, memory, .. } = settings;
        let count = count.clone();
        let asked = memory.device.map_or(Budget::Free(useful), Budget::Asked);
        let before = machine::resident_memory();
        let open = move || {
            let start = Instant::now();
            let open = |ordinal| Cuda::open(ordinal, method, &count);
            let mut workers = match count.devices.clone().unwrap_or_default() {
                Devices::All => in_parallel(Cuda::all()?, open)?,
                Devices::List(list) => in_parallel(list, open)?,
            };
            let opened = start.elapsed();
            let budget = reserve(&mut workers, asked, Bytes::ZERO)?;
            let have_more = matches!(asked, Budget::Free(most) if most == budget);
            let reserved = start.elapsed();
            if host >= AMPLE {
                workers.iter_mut().for_each(Cuda::warm_up);
            }
            tracing::debug!(
                "{} GPUs opened in {:.3} s; {budget} of each reserved in {:.3} s; kernels and buffers were ready after {:.3} s more",
                workers.len(),
                opened.as_secs_f64(),
                (reserved - opened).as_secs_f64(),
                (start.elapsed() - reserved).as_secs_f64()
            );
            Ok(Gpus { workers, budget, have_more })
        };
        let mut opening = Self { thread: None, opened: None, before, driver: None };
        match spawn_alone("opening", open) {
            Ok(thread) => opening.thread = Some(thread),
            Err(error) => opening.opened = Some(Err(error)),
        }
        if host < AMPLE {
            opening.wait();
            opening.driver = Some(machine::resident_memory().saturating_sub(before));
        }
        opening
    }

    fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.opened = Some(joined("a thread that opens GPUs", thread.join()).and_then(|opened| opened));
        }
    }

    pub(super) fn is_early(&self) -> bool {
        self.driver.is_none()
    }

    /// The GPUs, and the bytes that their drivers mapped. `held`: bytes that the job holds now and did not hold before.
    pub(super) fn finish(mut self, held: Bytes) -> Result<(Gpus, Bytes)> {
        self.wait();
        let gpus = self.opened.take().unwrap_or_else(|| Err(Error::defect("GPUs were opened twice")))?;
        let staging = Bytes(gpus.workers.len() as u64 * WARM_BYTES);
        let own = self.before + staging + held;
        let driver = self.driver.unwrap_or_else(|| machine::resident_memory().saturating_sub(own));
        Ok((gpus, driver))
    }
}

impl Drop for Opening {
    /// Waits, since the process must not end while a thread starts the driver.
    fn drop(&mut self) {
        self.wait();
    }
}

impl StartingDevice for Opening {
    fn has_started(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn engine(&mut self) -> Option<&mut dyn Engine> {
        self.wait();
        match &mut self.opened {
            Some(Ok(gpus)) => gpus.workers.first_mut().map(Cuda::engine),
            _ => None,
        }
    }
}

/// Opens all GPUs at the same time: each takes some tenths of a second.
fn in_parallel<T: Send>(ordinals: Vec<u32>, open: impl Fn(u32) -> Result<T> + Sync) -> Result<Vec<T>> {
    let open = &open;
    std::thread::scope(|scope| {
        let threads: Vec<Result<_>> =
            ordinals.into_iter().map(|ordinal| spawn(scope, "opening", move || open(ordinal))).collect();
        threads.into_iter().map(|thread| joined("a thread that opens a GPU", thread?.join())?).collect()
    })
}
