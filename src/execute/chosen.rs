//! The backends that count a job, and their memory.

use super::host::{Division, HostNeeds};
use super::host_of_gpus::{OnGpus, blocks_of_gpu, least_on_gpus, on_gpus};
use crate::plan::choose::MethodEstimate;
use trimill_counting::CountBackend;
use trimill_system::{Bytes, Error, Result};

pub(super) struct ChosenBackends {
    pub backends: Vec<Box<dyn CountBackend>>,
    pub device_budget: Bytes,
    /// The largest row block, unless the user named a size.
    pub largest_row_block: Bytes,
    pub floor: Bytes,
    /// The methods that `auto` chose from; none if there was no choice.
    pub methods: Vec<MethodEstimate>,
    /// Host memory for counting, including row blocks that are copied to a GPU.
    pub on_host: Bytes,
    pub division: Division,
    pub least_on_host: Bytes,
    /// Bytes that GPU drivers mapped in the process when they started.
    pub driver_bytes: Bytes,
    /// Whether the GPUs were opened while other work ran.
    pub opened_early: bool,
}

impl ChosenBackends {
    pub(super) fn gpus(&self) -> usize {
        self.backends.iter().filter(|backend| backend.device().is_some()).count()
    }

    /// Fails if the largest partition, which cannot be cut again, exceeds the device's budget, which is `asked` or a part of the host's.
    pub(super) fn holds(&self, largest: Bytes, what: &str, needs: &HostNeeds, asked: Option<Bytes>) -> Result<()> {
        if largest <= self.device_budget {
            return Ok(());
        }
        // A quarter more than what is missing, since a method's tables may grow with the budget.
        let enough = Bytes(self.device_budget.get() + (largest - self.device_budget).get() * 5 / 4);
        let on_device = (self.gpus() > 0 || asked.is_some_and(|asked| asked < enough)).then_some(enough);
        // Counting on the CPU takes half of what is left if no budget is named.
        let share = if asked.is_some() { 1 } else { 2 };
        let (budget, missing) = (needs.host.budget(), enough - self.device_budget);
        let least = if on_device.is_none() { budget + Bytes(share * missing.get()) } else { budget };
        let host = || needs.enough(Bytes(share * enough.get()), 0).max(least);
        let on_host = (self.gpus() == 0).then(host).filter(|&host| host > budget);
        let raised = |flag: &str, bytes: Option<Bytes>| bytes.map(|bytes| format!("{flag} to {}", bytes.get()));
        let flags: Vec<String> =
            [raised("--device-memory", on_device), raised("--host-memory", on_host)].into_iter().flatten().collect();
        // The bytes it takes are not named: tables grow with the budget, so under a budget of that size it would take more.
        let error = Error::memory(format!("{what} does not fit the device budget of {}", self.device_budget.exactly()))
            .advice(format!("raise {} or more", flags.join(" and ")));
        Err(match (on_device, on_host) {
            (None, Some(host)) => error.wanting(host),
            _ => error,
        })
    }
}

/// Returns `error`. If the host budget that it recommends does not suffice for `held` as well, it recommends one that does.
pub(super) fn with_enough(mut error: Error, needs: &HostNeeds, held: impl Fn(&HostNeeds) -> Result<()>) -> Error {
    while let Some(enough) = error.bytes_wanted()
        && let Some(more) = held(&needs.within(enough)).err().and_then(|more| more.bytes_wanted())
        && more > enough
    {
        error = needs.host.advising(error, more);
    }
    error
}

/// Fails if the host's budget does not hold two row blocks for each GPU.
pub(super) fn host_holds(block: Bytes, largest: Bytes) -> Result<()> {
    if block <= largest {
        return Ok(());
    }
    Err(Error::resource(format!(
        "row blocks of {} bytes ({block}), two of which each GPU has in the host's memory",
        block.get()
    ))
    .expected(format!("at most {} bytes ({largest}) within --host-memory", largest.get()))
    .advice("raise --host-memory, or take smaller row blocks (--block-bytes)"))
}

impl HostNeeds {
    /// The least memory for counting on `gpus` GPUs, the division of the budget, and their share. Fails if row blocks of `named` bytes do not fit.
    pub(super) fn divided_on_gpus(&self, gpus: u64, named: Option<Bytes>) -> Result<(Bytes, Division, OnGpus)> {
        let blocks = blocks_of_gpu(self.counts);
        let least = least_on_gpus(gpus, blocks, self.size.longest_row);
        let division = self.divided(least, gpus)?;
        let shares = on_gpus(gpus, blocks, division.counting);
        host_holds(named.unwrap_or_default(), shares.block)?;
        Ok((least, division, shares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimill_system::error::Kind;

    #[test]
    fn row_blocks_beyond_the_budget_of_the_host_are_refused() {
        assert!(host_holds(Bytes(100), Bytes(100)).is_ok());
        let error = host_holds(Bytes(101), Bytes(100)).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        assert!(error.to_string().contains("101 bytes") && error.to_string().contains("--host-memory"), "{error}");
    }
}
