//! Settings without effect, and outputs that would replace another job's result: refused before anything is read.

use crate::cli::SettingArgs;
use trimill::program::Choice;
use trimill::program::Tables;
use trimill::program::run_dir;
use trimill::program::{BatchJob, Job, Prepare};
use trimill::program::{files, views};
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

/// Refuses jobs for a larger machine than this one, before the first of a batch is started.
///
/// # Errors
/// [`trimill::Kind::Usage`].
pub(super) fn check_machine(jobs: &[BatchJob]) -> Result<()> {
    jobs.iter().try_for_each(|BatchJob { name, job, .. }| {
        job.check_machine().map_err(|error| error.while_doing(&format!("job '{name}'")))
    })
}

/// The same for all jobs of a batch, and [`check_output_is_free`].
///
/// # Errors
/// [`trimill::Kind::Usage`].
pub(super) fn check_all(jobs: &mut [BatchJob]) -> Result<()> {
    for BatchJob { job, stated, .. } in &mut *jobs {
        check(job, stated)?;
    }
    jobs.iter().try_for_each(|entry| check_output_is_free(&entry.job))
}

/// Refuses to overwrite a result, unless that is asked for, or it is this job's own, which is resumed in its run directory; and to
/// overwrite anything but an earlier report or trace with one.
///
/// # Errors
/// [`trimill::Kind::Usage`]; [`trimill::Kind::Resource`] for a report or trace that cannot be written.
pub(super) fn check_output_is_free(job: &Job) -> Result<()> {
    job.report.as_deref().map_or(Ok(()), views::check_report)?;
    job.trace.as_deref().map_or(Ok(()), views::check_trace)?;
    let goes_on = job.run_dir.as_deref().is_some_and(run_dir::is_started);
    if job.force || goes_on {
        return Ok(());
    }
    if let Some(file) = job.output_files().paths().find(|path| path.is_file()) {
        return Err(Error::usage("is there already")
            .at(file)
            .advice("name another file, or replace it with --force (in a job file `output.force = true`)"));
    }
    match job.output.as_deref().and_then(files::result_in) {
        None => Ok(()),
        Some(file) => Err(Error::usage("is there already, from an earlier job")
            .at(file)
            .expected("a directory without a result")
            .advice("name another one, or replace it with --force (in a job file `output.force = true`)")),
    }
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
