//! A job file that repeats a job: every choice that was made is written down.
//!
//! Input: a job, and what was chosen where it left the choice open. Output: the text of a TOML job file. Paths are absolute, so the file
//! works in any directory. Where results go is left out, except files of counts: they say what is counted.

use std::path::{Path, PathBuf};

use super::file::{
    CacheTable, CountTable, InputTable, MemoryTable, MetisTable, OutputTable, PartitionTable, SpillTable, Tables,
    WorkTable,
};
use super::{Backend, Devices, Job, Mode, Partitioner, Prune};
use trimill_system::Bytes;
use trimill_system::url::{is_url, public};

#[derive(Debug, Clone, Default)]
pub struct ChosenSettings<'a> {
    /// `cpu` or `cuda`.
    pub backend: &'a str,
    pub method: &'a str,
    pub partitioner: &'a str,
    pub mode: Option<Mode>,
    pub prune: Prune,
    pub device_memory: Bytes,
    pub host_memory: Bytes,
}

impl Job {
    /// The text of a job file that repeats it; `None` for a job whose input is standard input or edges in memory, or whose paths TOML cannot hold.
    pub fn repeated(&self, chosen: &ChosenSettings<'_>) -> Option<String> {
        if self.is_read_once() {
            return None;
        }
        let mut entry = toml::Table::new();
        if let Some(name) = &self.name {
            entry.insert("name".into(), name.clone().into());
        }
        entry.extend(without_empty(toml::Table::try_from(self.tables(chosen)).ok()?));
        let mut file = toml::Table::new();
        file.insert("job".into(), toml::Value::Array(vec![entry.into()]));
        toml::to_string(&file).ok()
    }

    fn tables(&self, chosen: &ChosenSettings<'_>) -> Tables {
        let inputs: Vec<PathBuf> = self.inputs.iter().map(|path| absolute(path)).collect();
        let (path, paths) = match inputs.as_slice() {
            [only] => (Some(only.clone()), None),
            _ => (None, Some(inputs)),
        };
        let partitioner = match &self.cut.partitioner {
            Partitioner::File(path) => Partitioner::File(absolute(path)),
            _ => chosen.partitioner.parse().unwrap_or_default(),
        };
        let contract = match self.cut.partitioner {
            Partitioner::Metis { contract } => contract,
            _ => None,
        };
        let spills = chosen.mode == Some(Mode::Spilled);
        // A directory of kept partitions is counted as it was cut.
        let cut = self.kept_spills().is_none();
        let on_gpu = chosen.backend == "cuda";
        let place = |path: &Option<PathBuf>| path.as_deref().map(absolute);
        Tables {
            input: InputTable {
                path,
                paths,
                format: self.reading.format,
                header: self.reading.header,
                columns: self.reading.columns.clone(),
                names: self.reading.names.then_some(true),
                cloud_credentials: self.reading.cloud_credentials.then_some(true),
            },
            partition: if cut {
                PartitionTable {
                    partitioner: Some(partitioner),
                    parts: Some(self.cut.parts),
                    seed: Some(self.cut.seed),
                    prune: spills.then_some(chosen.prune),
                    metis: MetisTable { contract },
                }
            } else {
                PartitionTable::default()
            },
            memory: MemoryTable {
                device: Some(chosen.device_memory).filter(|bytes| *bytes > Bytes::ZERO),
                host: Some(chosen.host_memory).filter(|bytes| *bytes > Bytes::ZERO),
                block: self.cut.block_bytes,
            },
            spill: SpillTable {
                to: Some(self.spill.to).filter(|_| spills),
                dir: place(&self.spill.dir),
                keep: self.spill.keep.then_some(true),
            },
            count: CountTable {
                backend: [Backend::Cpu, Backend::Cuda]
                    .into_iter()
                    .find(|backend| backend.to_string() == chosen.backend),
                devices: self.counter.devices.clone().or_else(|| on_gpu.then(Devices::default)).filter(|_| on_gpu),
                method: Some(chosen.method.to_owned()).filter(|method| !method.is_empty()),
                ..self.counter.clone()
            },
            output: self.output_table(),
            cache: CacheTable {
                enabled: (!self.cache.enabled).then_some(false),
                dir: place(&self.cache.dir),
                max: self.cache.max,
            },
            work: WorkTable { dir: place(&self.work_dir), prepare: cut.then_some(self.prepare) },
            ..Tables::default()
        }
    }

    /// The counts besides the total, and their files.
    fn output_table(&self) -> OutputTable {
        let place = |path: &Option<PathBuf>| path.as_deref().map(absolute);
        OutputTable {
            clustering: self.output.clustering.then_some(true),
            per_vertex: place(&self.output.files.per_vertex),
            by_degree: place(&self.output.files.by_degree),
            lcc: place(&self.output.files.lcc),
            directed: self.output.lcc_wanted.and_then(|lcc| lcc.asked),
            per_edge: place(&self.output.files.per_edge),
            truss: self.output.truss.map(|_| true),
            k: self.output.truss.and_then(|truss| truss.until),
            by_k: place(&self.output.files.by_k),
            ..OutputTable::default()
        }
    }
}

/// Of a URL what may be shown.
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::job::parse::parse;
    use crate::job::{Batch, OutputSettings, Parts};

    fn job(text: &str) -> Job {
        Job::resolve(Some("a \"b\"".into()), &parse(text, Path::new("test")).unwrap(), Path::new("/jobs")).unwrap()
    }

    fn again(job: Job, chosen: &ChosenSettings<'_>) -> Job {
        let text = job.repeated(chosen).unwrap();
        let batch = Batch::parse(&text, Path::new("/elsewhere/jobs.toml"), &[], &[]).unwrap();
        batch.jobs[0].job.clone()
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
        let chosen = ChosenSettings {
            backend: "cuda",
            method: "lstc",
            partitioner: "metis",
            mode: Some(Mode::Spilled),
            prune: Prune::None,
            device_memory: Bytes::mib(2),
            host_memory: Bytes::mib(1024),
        };
        let output = OutputSettings { dir: None, report: None, against: None, recorded: false, ..typed.output.clone() };
        let without_results = Job { output, run_dir: None, ..typed.clone() };
        assert_eq!(again(typed.clone(), &chosen), without_results);
    }

    #[test]
    fn what_was_left_open_is_what_was_chosen() {
        let typed = job("input.path = 'x.txt'");
        let chosen = ChosenSettings {
            backend: "cpu",
            method: "bitmap",
            partitioner: "rank",
            mode: Some(Mode::InPlace),
            device_memory: Bytes::mib(3),
            host_memory: Bytes::mib(9),
            ..ChosenSettings::default()
        };
        let repeated = again(typed.clone(), &chosen);
        assert_eq!((repeated.counter.backend(), repeated.counter.method.as_deref()), (Backend::Cpu, Some("bitmap")));
        assert_eq!(
            (repeated.cut.partitioner, repeated.cut.mode, repeated.cut.parts),
            (Partitioner::Rank, Some(Mode::InPlace), Parts::Auto)
        );
        assert_eq!((repeated.device_memory, repeated.host_memory), (Some(Bytes::mib(3)), Some(Bytes::mib(9))));
        assert_eq!(repeated.inputs, [Path::new("/jobs/x.txt")]);
        assert!(job("input.path = '-'").repeated(&chosen).is_none());
    }
}
