//! Resolves the typed settings to a [`Job`]: defaults, relative paths, contradictions.

use std::path::{Path, PathBuf};

use super::choices::Partitioner;
use super::devices::{Devices, SpillTo};
use super::file::{
    CacheTable, ClusterTable, CountTable, InputTable, MemoryTable, MetisTable, OutputTable, PartitionTable, RunTable,
    SpillTable, Tables, WorkTable,
};
use super::job::{Job, STANDARD_INPUT};
use crate::table::format::{COLUMNS, STANDARD_OUTPUT};
use crate::truss::{LEAST, MOST_K};
use crate::vertices::lcc::LccWanted;
use trimill_partitioners::MAX_PARTS;
use trimill_system::url::{is_url, public};
use trimill_system::{Bytes, Error, Result, threads};

/// Larger budgets are lowered to this: more than any machine has, and its sums and shares stay below 2^64.
const MOST_MEMORY: Bytes = Bytes(1 << 60);

impl Job {
    /// Resolves typed settings; relative paths are from `base` (the job file's folder, or empty). Errors: `Kind::Usage`: no input, a contradiction.
    pub fn resolve(name: Option<String>, typed: &Tables, base: &Path) -> Result<Self> {
        let typist = TypedJob { name: name.as_deref(), base };
        let inputs = typist.inputs(&typed.input)?;
        let settings = Tables {
            input: InputTable { path: None, paths: None, ..typed.input.clone() },
            partition: typist.partition(&typed.partition, typed.spill.keep())?,
            memory: typist.memory(&typed.memory)?,
            spill: typist.spill(&typed.spill)?,
            count: typist.count(&typed.count)?,
            output: typist.output(&typed.output)?,
            cache: CacheTable {
                enabled: Some(typed.cache.enabled()),
                dir: typist.dir(&typed.cache.dir, "the directory of the cache")?,
                ..typed.cache.clone()
            },
            work: WorkTable {
                dir: typist.dir(&typed.work.dir, "the work directory")?,
                prepare: Some(typed.work.prepare()),
            },
            run: RunTable { dir: typist.dir(&typed.run.dir, "the run directory")? },
            cluster: typed.cluster.clone(),
        };
        if settings.run.dir.is_some() && inputs.iter().any(|path| path.as_os_str() == STANDARD_INPUT) {
            return Err(typist
                .refuse("a run directory, but standard input cannot be read again on a later start")
                .advice("write it to a file first, or count without a run directory"));
        }
        let output = &settings.output;
        let has_timeline = output.report.is_some() || output.trace.is_some();
        if typed.cluster.engine.is_some() && has_timeline {
            return Err(typist
                .refuse("a report or a trace of a job that a cluster counts")
                .expected("a job that is counted at once; `trimill merge` prints the result of the others"));
        }
        if settings.input.names() {
            typist.check_names(settings.partition.partitioner(), output)?;
        }
        check_cluster(&typed.cluster, settings.run.dir.is_some()).map_err(|error| error.in_job(typist.name))?;
        let lcc_wanted = output.lcc.is_some().then_some(LccWanted { asked: output.directed, ..LccWanted::default() });
        Ok(Self { name, inputs, settings, lcc_wanted, arrays: None, has_timeline })
    }
}

/// The job's name, for errors, and the base folder of its relative paths.
struct TypedJob<'a> {
    name: Option<&'a str>,
    base: &'a Path,
}

impl TypedJob<'_> {
    fn check_names(&self, partitioner: &Partitioner, output: &OutputTable) -> Result<()> {
        if let Partitioner::File(path) = partitioner {
            return Err(self
                .refuse("the parts of vertices from a file, and ids that are names")
                .at(path)
                .expected("another partitioner: such a file has the vertices by numbers"));
        }
        if output.directed == Some(true) {
            return Err(self
                .refuse("coefficients by the directions of edges, and ids that are names")
                .expected("--lcc without --directed, or ids that are numbers"));
        }
        match output.array() {
            Some(path) => Err(self
                .refuse("an array of counts by id, and ids that are names")
                .at(path)
                .expected(format!("a format with a column of ids: {}", COLUMNS.join(", ")))),
            None => Ok(()),
        }
    }

    fn refuse(&self, found: impl std::fmt::Display) -> Error {
        Error::usage(found.to_string()).in_job(self.name)
    }

    fn dir(&self, path: &Option<PathBuf>, what: &str) -> Result<Option<PathBuf>> {
        self.place(path, what, "the path of a directory")
    }

    fn file(&self, path: &Option<PathBuf>, what: &str) -> Result<Option<PathBuf>> {
        self.place(path, what, "the name of a file")
    }

    fn place(&self, path: &Option<PathBuf>, what: &str, expected: &str) -> Result<Option<PathBuf>> {
        match path {
            Some(path) if path.as_os_str().is_empty() => {
                Err(self.refuse(format!("{what} has an empty name")).expected(expected))
            }
            Some(path) if is_url(path) => {
                Err(self.refuse(format!("{what} is a URL")).at(path).expected("a path: only inputs are on servers"))
            }
            path => Ok(path.as_ref().map(|path| self.base.join(path))),
        }
    }

    fn table(&self, path: &Option<PathBuf>, what: &str) -> Result<Option<PathBuf>> {
        match path {
            Some(path) if path.as_os_str() == "-" => Ok(Some(STANDARD_OUTPUT.into())),
            path => self.file(path, what),
        }
    }

    fn page(&self, path: &Option<PathBuf>, what: &str, suffix: &str) -> Result<Option<PathBuf>> {
        match path {
            Some(path) if path.extension().is_none_or(|found| found != suffix) => Err(self
                .refuse(format!("{what} is '{}'", public(path).display()))
                .expected(format!("a name that ends with .{suffix}"))),
            path => self.file(path, what),
        }
    }

    fn bytes(&self, bytes: Option<Bytes>, what: &str) -> Result<Option<Bytes>> {
        match bytes {
            Some(Bytes::ZERO) => Err(self.refuse(format!("{what} is 0")).expected("a size such as 512MiB")),
            other => Ok(other.map(|bytes| bytes.min(MOST_MEMORY))),
        }
    }

    fn inputs(&self, typed: &InputTable) -> Result<Vec<PathBuf>> {
        let stays = |path: &PathBuf| path.as_os_str() == STANDARD_INPUT || is_url(path);
        let based = |path: &PathBuf| if stays(path) { path.clone() } else { self.base.join(path) };
        let inputs: Vec<PathBuf> = match (&typed.path, &typed.paths) {
            (Some(_), Some(_)) => {
                return Err(self
                    .refuse("both `input.path` and `input.paths` are given")
                    .expected("`path` for one file, or `paths` for several"));
            }
            (Some(path), None) => vec![based(path)],
            (None, Some(paths)) => paths.iter().map(based).collect(),
            (None, None) => Vec::new(),
        };
        let nameless = |path: &PathBuf| path.as_os_str().is_empty();
        if inputs.is_empty() || typed.path.iter().chain(typed.paths.iter().flatten()).any(nameless) {
            return Err(self.refuse("no input").expected("`path = \"FILE\"` in the table `input`"));
        }
        if inputs.len() > 1 && inputs.iter().any(|path| path.as_os_str() == STANDARD_INPUT) {
            return Err(self.refuse("standard input (`-`) beside other inputs").expected("`-` alone, or files"));
        }
        Ok(inputs)
    }

    fn spill(&self, typed: &SpillTable) -> Result<SpillTable> {
        if typed.keep() && typed.dir.is_none() {
            return Err(self
                .refuse("the spill is to be kept, but its directory is not named")
                .advice("name it with `spill.dir` or --spill-dir"));
        }
        if typed.keep() && typed.to() == SpillTo::Memory {
            return Err(self.refuse("the spill is to be kept, and to be in memory").expected("one of the two"));
        }
        let dir = self.dir(&typed.dir, "the directory of the spill")?;
        Ok(SpillTable { dir, to: Some(typed.to()), ..typed.clone() })
    }

    fn memory(&self, typed: &MemoryTable) -> Result<MemoryTable> {
        Ok(MemoryTable {
            device: self.bytes(typed.device, "the device memory")?,
            host: self.bytes(typed.host, "the host memory")?,
            block: self.bytes(typed.block, "the size of a row block")?,
        })
    }

    fn partition(&self, typed: &PartitionTable, keeps_spill: bool) -> Result<PartitionTable> {
        let spills = match (typed.prune, keeps_spill) {
            (Some(prune), _) => Some(format!("the prune level {prune}")),
            (None, true) => Some("the spill is to be kept".into()),
            (None, false) => None,
        };
        if let Some(parts) = typed.parts().asked().filter(|parts| *parts > MAX_PARTS) {
            return Err(self.refuse(format!("{parts} parts")).expected(format!("at most {MAX_PARTS}")));
        }
        let partitioner = match typed.partitioner() {
            Partitioner::File(path) => Partitioner::File(self.base.join(path)),
            other => other.clone(),
        };
        let metis = match partitioner {
            Partitioner::Metis => typed.metis.clone(),
            _ => MetisTable::default(),
        };
        match (&partitioner, spills) {
            (Partitioner::Rank, Some(other)) => {
                Err(self.refuse(format!("the partitioner rank, and {other}")).expected(
                    "one of the two: with rank ranges the graph's own rows are streamed, and nothing is pruned or spilled",
                ))
            }
            _ => Ok(PartitionTable {
                partitioner: Some(partitioner),
                parts: Some(typed.parts()),
                seed: Some(typed.seed()),
                prune: typed.prune,
                metis,
            }),
        }
    }

    fn count(&self, typed: &CountTable) -> Result<CountTable> {
        if matches!(&typed.devices, Some(Devices::List(list)) if list.is_empty()) {
            return Err(self.refuse("no GPUs are named").expected("`all`, or at least one number"));
        }
        typed.lstc().map_err(|error| error.in_job(self.name))?;
        threads::check(typed.threads).map_err(|error| error.in_job(self.name))?;
        Ok(CountTable { backend: Some(typed.backend()), ..typed.clone() })
    }

    fn output(&self, typed: &OutputTable) -> Result<OutputTable> {
        let mut output = OutputTable {
            dir: self.dir(&typed.dir, "the directory of the output")?,
            report: self.page(&typed.report, "the report", "html")?,
            trace: self.page(&typed.trace, "the trace", "json")?,
            against: self.file(&typed.against, "the earlier result")?,
            clustering: typed.clustering.filter(|counted| *counted),
            truss: typed.peeling().map(|_| true),
            ..typed.clone()
        };
        for file in output.counts_mut() {
            *file.path = self.table(file.path, &format!("the file of {}", file.title))?;
        }
        output.check_names().map_err(|error| error.in_job(self.name))?;
        if output.count_files().filter(|path| path.as_os_str() == STANDARD_OUTPUT).nth(1).is_some() {
            return Err(self.refuse("several tables on standard output").expected("one, and files for the others"));
        }
        if let Some(k) = output.k.filter(|k| !(LEAST + 1..=MOST_K).contains(k)) {
            return Err(self.refuse(format!("k is {k}")).expected(format!("a k from {} to {MOST_K}", LEAST + 1)));
        }
        if output.directed.is_some() && output.lcc.is_none() {
            return Err(self
                .refuse("directions of edges, which only the coefficients of all vertices take account of")
                .expected("the file of these, `output.lcc` or --lcc"));
        }
        if output.against.is_some() && output.report.is_none() {
            return Err(self
                .refuse("an earlier result, and no report that compares with it")
                .expected("the file of a report, `output.report` or --report"));
        }
        Ok(output)
    }
}

/// Refuses values that a cluster's scripts would misread, and a scheduler without a run directory.
fn check_cluster(typed: &ClusterTable, has_run_dir: bool) -> Result<()> {
    typed.check()?;
    match typed.engine {
        Some(_) if !has_run_dir => Err(Error::usage("a cluster, and no run directory, where its nodes find the job")
            .advice("name a directory that all nodes see with `run.dir`")),
        _ => Ok(()),
    }
}
