//! The text of a job file that repeats a job with every choice that was made. Paths are absolute, so it works in any directory. It leaves
//! out where results go, except files of counts, which say what is counted, and partitions that are kept.

use std::path::{Path, PathBuf};

use super::RunResult;
use crate::job::file::{ClusterTable, OutputTable, PartitionTable, RunTable, Tables};
use crate::job::{Backend, Devices, Job, Mode, Partitioner};
use crate::table::format::STANDARD_OUTPUT;
use trimill_system::Bytes;
use trimill_system::url::{is_url, public};

/// The first lines if the job wrote files, which without `force` it would not replace.
const FILES: &str =
    "# Before it runs again, move the files that this job wrote, or add to the command: --set output.force=true\n";

impl Job {
    /// `None` for a job whose input is standard input or edges in memory, or whose paths TOML cannot hold.
    pub(super) fn repeated(&self, chosen: &RunResult) -> Option<String> {
        if self.is_read_once() {
            return None;
        }
        let mut entry = toml::Table::new();
        if let Some(name) = &self.name {
            entry.insert("name".into(), name.clone().into());
        }
        let tables = self.tables(chosen);
        let Tables { output, spill, .. } = &tables;
        let writes = spill.kept().is_some() || output.count_files().any(|path| path.as_os_str() != STANDARD_OUTPUT);
        let head = if writes && !output.force() { FILES } else { "" };
        entry.extend(without_empty(toml::Table::try_from(&tables).ok()?));
        let mut file = toml::Table::new();
        file.insert("job".into(), toml::Value::Array(vec![entry.into()]));
        toml::to_string(&file).ok().map(|text| format!("{head}{text}"))
    }

    fn tables(&self, chosen: &RunResult) -> Tables {
        let mut tables = self.settings.clone();
        match self.inputs.as_slice() {
            [only] => tables.input.path = Some(absolute(only)),
            several => tables.input.paths = Some(several.iter().map(|path| absolute(path)).collect()),
        }
        let Tables { partition, memory, spill, count, output, cache, work, .. } = &mut tables;
        let (spills, on_gpu) = (chosen.mode == Mode::Spilled, chosen.backend == "cuda");
        // Kept partitions are counted as they were cut.
        if self.kept_spills().is_some() {
            *partition = PartitionTable::default();
            work.prepare = None;
        } else {
            match partition.partitioner() {
                // The file says how many there are.
                Partitioner::File(_) => partition.parts = None,
                _ => partition.partitioner = chosen.partitioner.parse().ok(),
            }
            partition.prune = spills.then_some(chosen.prune);
        }
        memory.device = Some(chosen.device_memory).filter(|bytes| *bytes > Bytes::ZERO);
        memory.host = Some(chosen.host_memory).filter(|bytes| *bytes > Bytes::ZERO);
        spill.to = spill.to.filter(|_| spills);
        cache.enabled = cache.enabled.filter(|enabled| !enabled);
        count.backend = [Backend::Cpu, Backend::Cuda].into_iter().find(|backend| backend.to_string() == chosen.backend);
        count.devices = count.devices.take().or_else(|| on_gpu.then(Devices::default)).filter(|_| on_gpu);
        count.method = Some(chosen.method.clone()).filter(|method| !method.is_empty());
        let force = output.force.filter(|replaces| *replaces);
        *output = OutputTable { dir: None, force, report: None, against: None, trace: None, ..output.clone() };
        tables.run = RunTable::default();
        tables.cluster = ClusterTable::default();
        tables.for_each_path(|path| *path = absolute(path));
        tables
    }
}

fn absolute(path: &Path) -> PathBuf {
    if is_url(path) {
        return public(path).into_owned();
    }
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

fn without_empty(table: toml::Table) -> toml::Table {
    let each = table.into_iter().filter_map(|(key, value)| match value {
        toml::Value::Table(inner) => {
            let inner = without_empty(inner);
            (!inner.is_empty()).then_some((key, inner.into()))
        }
        other => Some((key, other)),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::parse::parse;
    use crate::job::{Prune, batch};

    fn job(text: &str) -> Job {
        Job::resolve(Some("a \"b\"".into()), &parse(text, Path::new("test")).unwrap(), Path::new("/jobs")).unwrap()
    }

    fn again(job: Job, chosen: &RunResult) -> Job {
        let text = job.repeated(chosen).unwrap();
        let mut jobs = batch::resolved(&text, Path::new("/elsewhere/jobs.toml"), &[], &[]).unwrap();
        jobs.remove(0).unwrap().job
    }

    #[test]
    fn a_repeated_job_has_all_settings_and_every_choice() {
        let typed = job(
            "input = { paths = ['x.txt', 'y.txt'], format = 'text', header = 'no', columns = ['a', 'b'], names = true, cloud_credentials = true }\n\
             partition = { partitioner = 'metis', parts = 7, seed = 5, prune = 'none', metis.contract = 3 }\n\
             memory = { device = '2MiB', host = '1GiB', block = '64KiB' }\n\
             spill = { to = 'memory', dir = 's' }\n\
             count = { backend = 'cuda', devices = [1, 2], method = 'lstc', block_threads = 64, tile = 128, threads = 3 }\n\
             output = { clustering = true, per_vertex = 'v.parquet', lcc = 'l.txt', directed = false, dir = 'o', report = 'r.html', against = 'e.json' }\n\
             cache = { dir = 'c', max = '1GiB' }\nwork = { dir = 'w', prepare = 'cpu' }\nrun.dir = 'run'",
        );
        let chosen = RunResult {
            backend: "cuda".into(),
            method: "lstc".into(),
            partitioner: "metis".into(),
            mode: Mode::Spilled,
            prune: Prune::None,
            device_memory: Bytes::mib(2),
            host_memory: Bytes::mib(1024),
            ..RunResult::default()
        };
        let asked = typed.settings.clone();
        let output = OutputTable { dir: None, report: None, against: None, ..asked.output };
        let settings = Tables { output, run: RunTable::default(), ..asked };
        let without_results = Job { settings, has_timeline: false, ..typed.clone() };
        assert_eq!(again(typed.clone(), &chosen), without_results);
        assert!(job("input.path = '-'").repeated(&chosen).is_none());
        for (more, headed) in [
            ("output = { lcc = 'l.txt' }", true),
            ("output = { lcc = 'l.txt', force = true }", false),
            ("output = { lcc = '-' }", false),
            ("output = { clustering = true, force = false }", false),
            ("spill = { dir = 's', keep = true }", true),
        ] {
            let text = job(&format!("input.path = 'x.txt'\n{more}")).repeated(&chosen).unwrap();
            assert_eq!(text.starts_with(FILES), headed, "{text}");
            assert_eq!(text.contains("force = true\n"), more.contains("force = true"), "{text}");
        }
    }
}
