//! Plans the graph again with larger budgets. Output: partitions and seconds with twice the device's budget, one that holds the whole graph, twice
//! the host's budget, and the largest useful one. Left out: budgets that save no time, and larger device budgets if assigning vertices again is slow.

use std::sync::atomic::AtomicU64;

use super::chosen::ChosenBackends;
use super::estimates::{Estimating, JobEstimate};
use super::planning::Planning;
use crate::job::Parts;
use crate::plan::{BudgetFrom, PlanLimits, whole_graph_bytes};
use crate::report::plan::{MemoryBudget, MoreMemory};
use trimill_counting::Footprint;
use trimill_system::memory::HostMemory;
use trimill_system::{Bytes, Result};

/// The most doublings of the host's budget in the search for the largest useful one.
const DOUBLINGS: u32 = 12;

const MOST: Bytes = Bytes(1 << 59);

/// Preparing that takes up to `AS_FAST` times the shortest time counts as equally fast.
const AS_FAST: f64 = 1.05;

impl Estimating<'_> {
    pub(super) fn with_more(&self) -> Result<Vec<MoreMemory>> {
        let Planning { session, limits, .. } = self.planning;
        let (now, host, device) = (self.now(), session.host.budget(), limits.device);
        let of_host = limits.device_from == BudgetFrom::Host;
        let asked = &session.job.settings.partition;
        let cut = now.parts > 1 && asked.parts() == Parts::Auto && asked.partitioner().is_cheap();
        let enough_device = (cut && !of_host).then(|| self.holds_all()).transpose()?;
        let enough_host = self.enough_host(cut && of_host)?;
        let mut found: Vec<MoreMemory> = Vec::new();
        for (budget, before, enough) in
            [(MemoryBudget::Device, device, enough_device), (MemoryBudget::Host, host, enough_host)]
        {
            let twice = Some(rounded_up(Bytes(before.get().saturating_mul(2)))).filter(|&twice| Some(twice) < enough);
            for bytes in twice.into_iter().chain(enough) {
                let of = match budget {
                    MemoryBudget::Device => self.within(Some(bytes), host)?,
                    MemoryBudget::Host if of_host => self.within(None, bytes)?,
                    MemoryBudget::Host => self.within(Some(device), bytes)?,
                };
                let JobEstimate { parts, preparing, counting: counting_seconds, .. } = of;
                let seconds = of.seconds(limits.machine.gpus);
                found.push(MoreMemory { budget, bytes, parts, preparing, counting_seconds, seconds });
            }
        }
        found.retain(|more| more.seconds < now.seconds(limits.machine.gpus));
        Ok(found)
    }

    fn whole_graph_bytes(&self, footprint: &Footprint) -> Bytes {
        whole_graph_bytes(&self.planning.graph.size(), footprint, self.planning.limits.row_block)
    }

    /// A device budget that holds the whole graph, with the method that is chosen for it.
    fn holds_all(&self) -> Result<Bytes> {
        let Planning { session, footprint, .. } = self.planning;
        let mut bytes = rounded_up(self.whole_graph_bytes(&footprint));
        // Iterates, since the method chosen for this budget may take more.
        for _ in 0..4 {
            let chosen = self.chosen(Some(bytes), session.host.budget())?;
            let needed = self.whole_graph_bytes(&chosen.backends[0].footprint());
            if needed <= chosen.device_budget {
                break;
            }
            bytes = rounded_up(needed.max(Bytes(bytes.get() / 16 * 17)));
        }
        Ok(bytes)
    }

    /// The largest useful host budget, if larger: it prepares at full speed and, if partitions depend on the budget (`cuts`), holds the whole graph.
    fn enough_host(&self, cuts: bool) -> Result<Option<Bytes>> {
        let Planning { session, limits, .. } = self.planning;
        let host = session.host.budget();
        let doubled =
            |times: u32| if times == 0 { host } else { rounded_up(Bytes(host.get().saturating_mul(1 << times))) };
        let prepared = |host| self.preparing(self.host(host), limits.device).seconds;
        let fastest = (0..=DOUBLINGS).map(|times| prepared(doubled(times))).fold(f64::INFINITY, f64::min);
        let lacks = |host: Bytes| -> Result<bool> {
            if prepared(host) > AS_FAST * fastest {
                return Ok(true);
            }
            let chosen = if cuts { Some(self.chosen(None, host)?) } else { None };
            Ok(chosen.is_some_and(|of| of.device_budget < self.whole_graph_bytes(&of.backends[0].footprint())))
        };
        for times in 0..=DOUBLINGS {
            if !lacks(doubled(times))? {
                return Ok((times > 0).then_some(doubled(times)));
            }
        }
        Ok(None)
    }

    fn chosen(&self, device: Option<Bytes>, host: Bytes) -> Result<ChosenBackends> {
        let Planning { session, graph, limits, .. } = self.planning;
        let needs = session.host_needs(graph, session.job.settings.mode()).within(host);
        session.backends_within(&needs, limits.machine.gpus > 0, device)
    }

    fn host(&self, budget: Bytes) -> HostMemory {
        HostMemory::new(budget, self.planning.session.host.threads() as usize)
    }

    fn within(&self, device: Option<Bytes>, host: Bytes) -> Result<JobEstimate> {
        let chosen = self.chosen(device, host)?;
        let ChosenBackends { device_budget: device, largest_row_block, .. } = chosen;
        let Planning { session, graph, limits, .. } = self.planning;
        let limits = &PlanLimits { device, largest_row_block, ..*limits };
        let planning = Planning::new(session, graph, &chosen, limits);
        let plan = planning.plan(&AtomicU64::new(0))?;
        Ok(self.of(&plan, &planning, self.host(host)))
    }
}

/// Rounds up to a size with a short name: halves of a unit below 16 units, else whole ones.
fn rounded_up(bytes: Bytes) -> Bytes {
    let bytes = bytes.get().clamp(1, MOST.get());
    let unit = 1u64 << (bytes.ilog2() / 10 * 10);
    let step = if bytes < 16 * unit { (unit / 2).max(1) } else { unit };
    Bytes(bytes.div_ceil(step) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_what_it_is_printed_as() {
        for (bytes, text) in
            [(1, "1 B"), (1000, "1000 B"), (1025, "1.5 KiB"), (5 << 30, "5.0 GiB"), (18_895_437, "19.0 MiB")]
        {
            let rounded = rounded_up(Bytes(bytes));
            assert!(rounded.get() >= bytes && rounded.to_string() == text, "{rounded}");
            assert_eq!(text.replace(' ', "").parse::<Bytes>().ok(), Some(rounded));
        }
    }
}
