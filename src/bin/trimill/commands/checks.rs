//! Refuses settings without effect before anything is read.

use trimill::program::{BatchJob, Choice, ClusterTable, Job, Prepare, Tables};
use trimill::{Backend, Error, Partitioner, Result};

/// Checks the method of `job`, and settings that only some backends, methods and partitioners have. A setting without effect is refused if `stated`
/// for this job, and ignored if it comes from the settings of many jobs. `elsewhere`: the job is for another machine, which has a GPU.
pub(super) fn check(job: &mut Job, stated: &Tables, elsewhere: bool) -> Result<()> {
    let name = job.name.clone();
    let of_job = |error: Error| error.in_job(name.as_deref());
    let choice = job.settings.count.choice().map_err(of_job)?;
    if job.counts_vertices() || job.counts_edges() {
        Choice::check_details(&job.settings.count).map_err(of_job)?;
    }
    let by = match (job.settings.count.backend(), &job.settings.count.method) {
        (Backend::Cpu, _) | (_, None) => "with the backend cpu".to_owned(),
        (_, Some(method)) => format!("with the method {method}, which runs on the CPU"),
    };
    let partitioner = format!("with the partitioner {}", job.settings.partition.partitioner());
    let method = format!("with the method {}", job.settings.count.method.as_deref().unwrap_or("auto"));
    let (count, cpu) = (&stated.count, matches!(choice, Choice::Cpu(_)));
    let (metis, assigned) = match job.settings.partition.partitioner() {
        Partitioner::Metis => (true, false),
        other => (false, matches!(other, Partitioner::File(_))),
    };
    let (devices, timeout) = (count.devices.is_some(), count.device_timeout.is_some());
    let (block_threads, tile) = (count.block_threads.is_some(), count.tile.is_some());
    // Looking for a GPU takes time.
    let absent = match (choice, !elsewhere && (devices || timeout || block_threads || tile)) {
        (Choice::Either(..), true) => trimill_kernels::find().err(),
        _ => None,
    };
    let nowhere = cpu || absent.is_some();
    let here = absent.map_or_else(|| by.clone(), |absence| format!("on the CPU, which counts here: {absence}"));
    let without_engine = "without a scheduler".to_owned();
    let (has_engine, by_cluster) = (job.cluster().is_some(), "in a job that a cluster counts".to_owned());
    let without_effect = [
        (nowhere && devices, "--devices (count.devices)", &here, "a GPU"),
        (nowhere && block_threads, "--block-threads (count.block_threads)", &here, "a GPU"),
        (nowhere && tile, "--tile (count.tile)", &here, "a GPU"),
        (nowhere && timeout, "--device-timeout (count.device_timeout)", &here, "a GPU"),
        (cpu && stated.work.prepare == Some(Prepare::Gpu), "--prepare gpu (work.prepare)", &by, "a GPU that counts"),
        (
            block_threads && !choice.has_block_threads(),
            "--block-threads (count.block_threads)",
            &method,
            "a method whose blocks have any number of threads (docs/methods.md)",
        ),
        (tile && !choice.has_tile(), "--tile (count.tile)", &method, "the method lstc or auto"),
        (
            !metis && stated.partition.metis.contract.is_some(),
            "--metis-contract (partition.metis.contract)",
            &partitioner,
            "the partitioner metis",
        ),
        (
            assigned && stated.partition.parts.is_some(),
            "--parts (partition.parts)",
            &partitioner,
            "a partitioner that makes the parts",
        ),
        (
            stated.cluster != ClusterTable::default() && !has_engine,
            "cluster",
            &without_engine,
            "cluster.engine = \"slurm\" or \"hq\"",
        ),
        // The graph is in the run directory.
        (has_engine && stated.cache.enabled.is_some(), "cache.enabled", &by_cluster, "a job that is counted at once"),
        (has_engine && stated.cache.max.is_some(), "cache.max", &by_cluster, "a job that is counted at once"),
    ];
    if let Some((_, setting, on, instead)) = without_effect.into_iter().find(|(without_effect, ..)| *without_effect) {
        let error = Error::usage(format!("{setting} has no effect {on}"));
        return Err(of_job(error.expected(instead).advice("leave it out")));
    }
    if cpu {
        let count = &mut job.settings.count;
        (count.devices, count.block_threads, count.tile, count.device_timeout) = (None, None, None, None);
    }
    Ok(())
}

/// Refuses directories for temporary files if kept spills are counted, which writes none.
pub(super) fn check_kept(job: &Job) -> Result<()> {
    let named = [(job.temporary_spills(), "--spill-dir"), (job.settings.work.dir.as_deref(), "--work-dir")];
    match job.kept_spills().zip(named.into_iter().find(|(dir, _)| dir.is_some())) {
        Some((spills, (_, option))) => {
            Err(Error::usage(format!("has spilled partitions, for which {option} cannot be set"))
                .at(spills)
                .expected("settings of budgets, backend, devices and output only")
                .advice("leave it out: nothing is written there"))
        }
        None => Ok(()),
    }
}

/// Refuses a job of a batch whose settings contradict each other, whatever its graph is.
pub(super) fn checked(mut entry: BatchJob) -> Result<BatchJob> {
    let BatchJob { name, job, stated } = &mut entry;
    check(job, stated, false)?;
    let merged = job.cluster().is_some() && job.settings.output.take_standard_output();
    check_merged(merged).and_then(|()| job.check_settings()).map_err(|error| error.in_job(Some(name)))?;
    Ok(entry)
}

/// Tables of counts are written by `trimill merge`, which prints its answer.
pub(super) fn check_merged(take_standard_output: bool) -> Result<()> {
    match take_standard_output {
        true => Err(Error::usage("a table on standard output, of a job that is counted in shards")
            .expected("the name of a file")),
        false => Ok(()),
    }
}
