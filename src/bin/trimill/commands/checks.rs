//! Settings without effect: refused before anything is read.

use crate::cli::SettingArgs;
use trimill::program::Choice;
use trimill::program::Tables;
use trimill::program::{BatchJob, Job, Prepare};
use trimill::{Backend, Partitioner};
use trimill::{Error, Result};

/// Checks the method of `job`, and the settings that mean something to some backends, methods and partitioners only. One
/// that is `stated` for this very job is refused where it would have no effect; one from the settings of many jobs is
/// ignored.
///
/// # Errors
/// [`trimill::Kind::Usage`].
pub(super) fn check(job: &mut Job, stated: &Tables) -> Result<()> {
    let name = job.name.clone();
    let of_job = |error: Error| match &name {
        Some(name) => error.while_doing(&format!("job '{name}'")),
        None => error,
    };
    let choice = Choice::of(job.backend, job.method.as_deref()).map_err(of_job)?;
    if job.counts_vertices() || job.counts_edges() {
        Choice::check_details(job.backend, job.method.as_deref()).map_err(of_job)?;
    }
    let by = match (job.backend, &job.method) {
        (Backend::Cpu, _) | (_, None) => "with the backend cpu".to_owned(),
        (_, Some(method)) => format!("on the method {method}, which runs on the CPU"),
    };
    let partitioner = format!("on the partitioner {}", job.partitioner);
    let (count, cpu) = (&stated.count, matches!(choice, Choice::Cpu(_)));
    let metis = matches!(job.partitioner, Partitioner::Metis { .. });
    let without_effect = [
        (cpu && count.devices.is_some(), "--devices (count.devices)", &by, "a GPU"),
        (cpu && count.block_threads.is_some(), "--block-threads (count.block_threads)", &by, "a GPU"),
        (cpu && count.tile.is_some(), "--tile (count.tile)", &by, "a GPU"),
        (cpu && count.device_timeout.is_some(), "--device-timeout (count.device_timeout)", &by, "a GPU"),
        (cpu && stated.work.prepare == Some(Prepare::Gpu), "--prepare gpu (work.prepare)", &by, "a GPU that counts"),
        (
            !metis && stated.partition.metis.contract.is_some(),
            "--metis-contract (partition.metis.contract)",
            &partitioner,
            "the partitioner metis",
        ),
    ];
    if let Some((_, setting, on, instead)) = without_effect.into_iter().find(|(without_effect, ..)| *without_effect) {
        let error = Error::usage(format!("{setting} has no effect {on}"));
        return Err(of_job(error.expected(instead).advice("leave it out")));
    }
    if cpu {
        (job.devices, job.block_threads, job.tile, job.device_timeout) = (None, None, None, None);
    }
    Ok(())
}

/// The same for all jobs of a batch.
///
/// # Errors
/// [`trimill::Kind::Usage`].
pub(super) fn check_all(jobs: &mut [BatchJob]) -> Result<()> {
    jobs.iter_mut().try_for_each(|BatchJob { job, stated, .. }| check(job, stated))
}

/// Refuses settings of a comparison that would have no effect.
///
/// # Errors
/// [`trimill::Kind::Usage`].
pub(super) fn check_comparison(flags: &SettingArgs) -> Result<()> {
    if flags.metis_contract.is_some() && !matches!(flags.partitioner, Partitioner::Metis { .. }) {
        return Err(Error::usage(format!("--metis-contract has no effect on the partitioner {}", flags.partitioner))
            .expected("--partitioner metis"));
    }
    if flags.devices.is_some() && flags.backend == Backend::Cpu {
        return Err(Error::usage("--devices has no effect with the backend cpu").expected("--backend cuda or auto"));
    }
    Ok(())
}
