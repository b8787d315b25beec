//! A directory to run the program in, and the invariants of a run directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

use trimill::Control;
use trimill::testing::graph::file::open;
use trimill::testing::report::{PartitionFigures, RunResult};
use trimill::testing::run_dir::journal::PartitionRecord;
use trimill::testing::sealed;
use trimill::testing::spill::SpillReader;
use trimill::testing::sums::part::{PartCounts, PartKey};
use trimill::testing::sums::{ByArc, ByRank};

pub(crate) use crate::common::job::typed as data;
pub(crate) use crate::common::place::{Place, copy, files, stderr, with_suffix};
use crate::common::place::{assert_private, below};
pub(crate) use crate::common::published::{COLLABORATION, FRIENDS, Known, MESH, ROUTERS, VOTES};
use crate::common::read_all;

/// The message of a fault when it occurs.
pub(crate) const STRIKES: &str = "a fault of TRIMILL_FAULT strikes";

/// A small host budget, with which buckets are written to disk as for large graphs.
pub(crate) const LITTLE: &str = "64MiB";

/// The environment variable with which buckets are on disk, if the host's budget is [`LITTLE`].
pub(crate) fn buckets_on_disk(arguments: &[&str]) -> Option<(&'static str, &'static str)> {
    arguments.contains(&LITTLE).then_some(("TRIMILL_BUCKETS", "1000"))
}

fn start_words(input: &str) -> [&str; 7] {
    ["count", input, "--run-dir", "run", "--json", "--backend", "cpu"]
}

/// How many partitions are from records.
fn resumed(result: &RunResult) -> usize {
    result.partitions.iter().filter(|partition| partition.counted().resumed).count()
}

impl Place {
    /// `trimill count` of `input` in the run directory `run`, with further arguments.
    pub(crate) fn start_command(&self, input: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(&start_words(input));
        command.args(arguments).envs(buckets_on_disk(arguments));
        command
    }

    pub(crate) fn start(&self, input: &str, arguments: &[&str]) -> Output {
        self.start_command(input, arguments).output().unwrap()
    }

    /// Such a start must end with this code and no answer. Returns its message, which must have all of the words.
    #[track_caller]
    pub(crate) fn start_refused(&self, code: i32, input: &str, arguments: &[&str], said: &[&str]) -> String {
        let output = self.refuses(&[&start_words(input)[..], arguments].concat(), code, said);
        assert!(!answered(&output), "{arguments:?}");
        stderr(&output)
    }

    pub(crate) fn with_fault(&self, fault: &str, input: &str, arguments: &[&str]) -> Output {
        // After a signal the write continues, and waits for the disk.
        let sync = fault.starts_with("term:").then_some(("TRIMILL_SYNC", "1"));
        self.start_command(input, arguments).env("TRIMILL_FAULT", fault).envs(sync).output().unwrap()
    }

    /// The job must succeed. Returns its result, which is checked, and standard error.
    pub(crate) fn completes(&self, known: (&str, u128), arguments: &[&str]) -> (RunResult, String) {
        let (name, triangles) = known;
        let before = self.records();
        let output = self.start(&data(name), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let result: RunResult = serde_json::from_slice(&output.stdout).unwrap();
        result.check(Path::new("result")).unwrap();
        assert_eq!(result.triangles, triangles, "{name} {arguments:?}");
        // Recorded partitions are taken unchanged, all others are counted now.
        let counted = |partition: &PartitionFigures| (partition.counted().triangles, partition.counted().seconds);
        for partition in result.partitions.iter().filter(|partition| partition.counted().resumed) {
            assert_eq!(counted(&before[&partition.id]), counted(partition));
        }
        self.is_tidy();
        (result, said)
    }

    /// As [`Self::completes`], with this many partitions from records.
    #[track_caller]
    pub(crate) fn resumes(&self, known: Known, arguments: &[&str], partitions: usize) -> (RunResult, String) {
        let (result, said) = self.completes(known, arguments);
        assert_eq!(resumed(&result), partitions, "{said}");
        (result, said)
    }

    pub(crate) fn records(&self) -> BTreeMap<u32, PartitionFigures> {
        let mut texts = with_suffix(&self.path("run"), "json");
        texts.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("part-"));
        let records = texts.iter().filter_map(|path| sealed::read::<PartitionRecord>(&fs::read(path).unwrap()));
        records.map(|record| (record.result.id, record.result)).collect()
    }

    /// Of a job that is done, only its records and its result may be left.
    pub(crate) fn is_tidy(&self) {
        for path in files(&self.path("run")) {
            let name = path.strip_prefix(self.path("run")).unwrap().display().to_string();
            let records = ["lock", "job.json", "outputs.json", "plan.json", "locals.zst", "result.json"];
            let kept = records.contains(&name.as_str()) || (name.starts_with("part-") && name.ends_with(".json"));
            assert!(kept, "{name} is left");
        }
        assert!(files(&self.path("tmp")).is_empty(), "{:?}", files(&self.path("tmp")));
    }

    /// Every file under its final name is complete, however the last process ended, and temporary files are accessible to their owner only.
    pub(crate) fn is_whole(&self) {
        for dir in ["run/spills", "run/work", "run/graph"].map(|name| self.path(name)).iter().filter(|dir| dir.exists())
        {
            assert_private(dir);
            below(dir).iter().for_each(|path| assert_private(path));
        }
        for path in ["run", "out", "tmp/spill"].into_iter().flat_map(|name| files(&self.path(name))) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".tmp") || path.components().any(|part| part.as_os_str() == "work") {
                continue;
            }
            let bytes = fs::read(&path).unwrap();
            let whole = match path.extension().and_then(|suffix| suffix.to_str()) {
                Some("json") if path.starts_with(self.path("out")) => {
                    serde_json::from_slice::<RunResult>(&bytes).is_ok()
                }
                Some("json") => sealed::unseal(&bytes).is_some(),
                Some("tsv") => bytes.ends_with(b"\n"),
                Some("spill") => {
                    SpillReader::open(&path, None).and_then(|spill| spill.verify(&Control::silent())).is_ok()
                }
                Some("trimgraf") => open(&path).and_then(|graph| read_all(&graph)).is_ok(),
                Some(suffix @ ("vertices" | "edges")) => {
                    let dir = path.parent().unwrap();
                    let fingerprint = u128::from_le_bytes(bytes[16..32].try_into().unwrap());
                    let part = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
                    let keys = u64::from_le_bytes(bytes[32..40].try_into().unwrap());
                    let key = PartKey { fingerprint, part, keys };
                    match suffix {
                        "vertices" => PartCounts::<ByRank>::open(dir, key).is_ok_and(|counts| counts.is_some()),
                        _ => PartCounts::<ByArc>::open(dir, key).is_ok_and(|counts| counts.is_some()),
                    }
                }
                Some("zst") => zstd::stream::decode_all(&bytes[..]).is_ok(),
                _ => name == "lock",
            };
            assert!(whole, "{} is half-written", path.display());
        }
    }
}

/// Runs a job with `fault` at the first write, read or call, then at every `step`-th later one until the fault no longer occurs; `ended` checks
/// how each run ended. After each, the job is resumed with all that was recorded, and must reach the published count. Returns how often the
/// fault occurred, and how many partitions were taken from records.
pub(crate) fn at_every(
    fault: &str,
    step: usize,
    place: impl Fn() -> Place,
    known: (&str, u128),
    arguments: &[&str],
    ended: impl Fn(&Output, &str),
) -> (usize, usize) {
    let (mut struck, mut all_taken) = (0, 0);
    for at in (1..).step_by(step) {
        let place = place();
        let output = place.with_fault(&format!("{fault}:{at}"), &data(known.0), arguments);
        let said = stderr(&output);
        if !said.contains(STRIKES) {
            assert_eq!(output.status.code(), Some(0), "{fault}:{at}: {said}");
            break;
        }
        struck += 1;
        ended(&output, &said);
        place.is_whole();
        // Nothing of a job that was done is counted again.
        let (done, recorded) = (place.path("run/result.json").exists(), place.records().len());
        let (result, _) = place.completes(known, arguments);
        let taken = resumed(&result);
        assert!(done || taken == recorded, "{fault}:{at}: {taken} of {recorded}");
        all_taken += taken;
        if let Some([flag, file]) = arguments.windows(2).find(|pair| pair[1].ends_with(".tsv")) {
            assert!(place.read(file) == verified(known.0, flag), "{fault}:{at}");
        }
    }
    (struck, all_taken)
}

/// The file of counts that the verifier writes with `flag`. It counts once for all tests.
pub(crate) fn verified(name: &str, flag: &str) -> String {
    static FILES: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let count = || {
        let place = Place::new();
        place.prints(&["verify", &data(name), flag, "out.tsv"]);
        place.read("out.tsv")
    };
    FILES.lock().unwrap().entry(format!("{flag} {name}")).or_insert_with(count).clone()
}

/// The error in the last line of standard error.
pub(crate) fn error(said: &str) -> &str {
    said.lines().last().unwrap().strip_prefix("error: ").unwrap_or_else(|| panic!("{said}"))
}

pub(crate) fn answered(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\"triangles\"")
}
