//! Every setting of a job file, with valid and invalid values: the schema and the program must agree on each.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A setting, other settings that it needs, and values as TOML: valid ones, invalid ones.
type Setting = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const INPUT: &str = "input.path = 'g.txt'";
/// For settings of GPUs: with the backend `auto` they are refused on a machine that has none.
const ON_GPU: &str = "input.path = 'g.txt'\ncount.backend = 'cuda'";
/// For settings of the coefficients of all vertices.
const WITH_LCC: &str = "input.path = 'g.txt'\noutput.lcc = 'l.txt'";
/// For what only a report shows.
const WITH_REPORT: &str = "input.path = 'g.txt'\noutput.report = 'r.html'";
const SIZES: [&[&str]; 2] = [
    &[
        "1",
        "1073741824",
        "'512MiB'",
        "'16GB'",
        "'16 gb'",
        "'1073741824'",
        "'0.5GiB'",
        "'.5k'",
        "'7B'",
        "'1EiB'",
        "1152921504606846977",
        "'20EiB'",
    ],
    &["0", "-5", "1.5", "'0'", "'0.0 MiB'", "'-1'", "''", "'lots'", "'3 parsecs'", "'1.5'", "'5MBs'", "true", "[1]"],
];
const DIRS: [&[&str]; 2] = [&["'d'", "'/d'", "'./x/../d'"], &["''", "3", "true", "['d']"]];
const TRUTHS: [&[&str]; 2] = [&["true", "false"], &["'true'", "1", "'yes'"]];

const SETTINGS: &[Setting] = &[
    ("name", INPUT, &["'a'", "'a b'", "'a.b'"], &["''", "' '", "3"]),
    ("input.path", "", &["'g.txt'", "'-'"], &["''", "3", "['g.txt']"]),
    ("input.paths", "", &["['g.txt']", "['g.txt', 'h.txt']"], &["[]", "['']", "'g.txt'", "[3]"]),
    ("input.format", INPUT, &["'text'", "'bin-u32'", "'matrix-market'"], &["'txt'", "'Text'", "''", "3"]),
    ("input.header", INPUT, &["'yes'", "'no'"], &["'maybe'", "'Yes'", "''", "true", "1"]),
    (
        "input.columns",
        INPUT,
        &["['src', 'dst']", "['a b', 'c,d']"],
        &["['a']", "['a', 'a']", "['a', 'b', 'c']", "['', 'b']", "'src,dst'", "[1, 2]", "[]"],
    ),
    ("input.names", INPUT, TRUTHS[0], TRUTHS[1]),
    ("input.cloud_credentials", INPUT, TRUTHS[0], TRUTHS[1]),
    (
        "partition.partitioner",
        INPUT,
        &["'auto'", "'rank'", "'random'", "'contiguous'", "'contiguous-vertices'", "'metis'", "'file:g.txt'"],
        &["'metsi'", "'file'", "'file:'", "''", "3"],
    ),
    (
        "partition.parts",
        INPUT,
        &["1", "8", "1048576", "'auto'"],
        &["0", "-3", "1048577", "4294967296", "1.5", "'8'", "'many'", "''", "true"],
    ),
    ("partition.seed", INPUT, &["0", "1", "9223372036854775807"], &["-1", "1.5", "'1'"]),
    ("partition.prune", INPUT, &["'none'", "'zero-indegree'", "'direct'"], &["'direkt'", "''", "0"]),
    (
        "partition.metis.contract",
        "input.path = 'g.txt'\npartition.partitioner = 'metis'",
        &["1", "16", "4294967295"],
        &["0", "-1", "4294967296", "1.5", "'16'"],
    ),
    ("memory.device", INPUT, SIZES[0], SIZES[1]),
    ("memory.host", INPUT, SIZES[0], SIZES[1]),
    ("memory.block", INPUT, SIZES[0], SIZES[1]),
    ("spill.to", INPUT, &["'disk'", "'memory'"], &["'tape'", "''", "0"]),
    ("spill.dir", INPUT, DIRS[0], DIRS[1]),
    ("spill.keep", "input.path = 'g.txt'\nspill.dir = 's'", TRUTHS[0], TRUTHS[1]),
    ("cluster.engine", "input.path = 'g.txt'\nrun.dir = 'r'", &["'slurm'", "'hq'"], &["'pbs'", "'Slurm'", "''", "1"]),
    ("cluster.shards", INPUT, &["1", "1048576"], &["0", "-1", "1048577", "4294967296", "1.5", "'4'"]),
    ("cluster.gpus_per_task", INPUT, &["0", "1", "8", "4294967295"], &["-1", "4294967296", "1.5", "'1'"]),
    ("cluster.cpus_per_task", INPUT, &["1", "64", "4294967295"], &["0", "-1", "4294967296", "'4'"]),
    ("cluster.time", INPUT, &["'4:00:00'", "'1-12'", "'90'"], &["''", "'4 hours'", "90", "'1;2'"]),
    ("cluster.partition", INPUT, &["'gpu'", "'a100,h100'"], &["''", "'a b'", "3", "'é'"]),
    ("cluster.account", INPUT, &["'graphs@eu'", "'p_1'"], &["''", "'$HOME'", "true"]),
    ("cluster.memory", INPUT, SIZES[0], SIZES[1]),
    ("cluster.at_once", INPUT, &["1", "8"], &["0", "-1", "'8'"]),
    (
        "cluster.sbatch",
        INPUT,
        &["[]", "['#SBATCH --qos=long', 'module load cuda']"],
        &["['--qos=a']", "['']", "[\"a\\tb\"]", "'a'"],
    ),
    ("cluster.merge_time", INPUT, &["'30:00'"], &["''", "'1 hour'", "30"]),
    ("cluster.merge_partition", INPUT, &["'cpu'"], &["''", "'a b'"]),
    ("cluster.merge_sbatch", INPUT, &["['#SBATCH -C cpu']"], &["['-C cpu']", "[1]"]),
    ("count.backend", INPUT, &["'auto'", "'cpu'", "'cuda'", "'gpu'"], &["'cude'", "'GPU'", "''", "0"]),
    ("count.devices", ON_GPU, &["'all'", "[0]", "[0, 1, 1]"], &["[]", "[-1]", "[4294967296]", "'0,1'", "'some'", "0"]),
    ("count.method", INPUT, &["'auto'", "'bitmap'", "'lstc'", "'skiff:block-degree'"], &["'guess'", "''", "3"]),
    (
        "count.block_threads",
        ON_GPU,
        &["32", "128", "1024"],
        &["0", "-32", "31", "33", "1056", "4294967296", "'128'", "32.5"],
    ),
    ("count.tile", ON_GPU, &["0", "64", "100", "1024"], &["-1", "1", "63", "1025", "4294967296", "'64'", "64.5"]),
    ("count.device_timeout", ON_GPU, &["1", "600", "4294967295"], &["0", "-1", "4294967296", "'64'", "64.5"]),
    ("count.threads", INPUT, &["1", "4", "64"], &["0", "-1", "'4'", "1.5"]),
    ("output.dir", INPUT, DIRS[0], DIRS[1]),
    ("output.force", INPUT, TRUTHS[0], TRUTHS[1]),
    ("output.truss", INPUT, TRUTHS[0], TRUTHS[1]),
    ("output.k", INPUT, &["3", "20", "1073741825"], &["2", "0", "-1", "1073741826", "3.5", "'3'"]),
    ("output.by_k", INPUT, &["'k.tsv'", "'k.tsv.gz'", "'d/k.tsv.zst'"], &["''", "'k.parquet'", "'k.npy'", "'k'", "3"]),
    ("output.clustering", INPUT, TRUTHS[0], TRUTHS[1]),
    (
        "output.per_vertex",
        INPUT,
        &["'v.tsv'", "'./x/v.tsv.gz'", "'/v.tsv.zst'", "'v.csv'", "'v.npy'", "'v.parquet'", "'-'"],
        &["''", "'v'", "'v.txt'", "'v.npy.gz'", "3"],
    ),
    ("output.by_degree", INPUT, &["'d.tsv'", "'d.tsv.gz'", "'d.tsv.zst'"], &["''", "'d.npy'", "'d.parquet'", "true"]),
    ("output.lcc", INPUT, &["'l.txt'", "'./x/l'", "'l.zst'", "'-'"], &["''", "3", "true"]),
    ("output.directed", WITH_LCC, TRUTHS[0], TRUTHS[1]),
    (
        "output.per_edge",
        INPUT,
        &["'e.tsv'", "'./x/e.tsv.gz'", "'/e.csv.zst'", "'e.parquet'", "'-'"],
        &["''", "'e'", "'e.txt'", "'e.npy'", "3"],
    ),
    ("output.report", INPUT, &["'r.html'", "'./r.html'"], &["''", "'r'", "'r.htm'", "'r.html.gz'", "true"]),
    ("output.against", WITH_REPORT, &["'e.json'", "'./e'"], &["''", "3", "true"]),
    ("output.trace", INPUT, &["'t.json'", "'./t.json'"], &["''", "'t'", "'t.html'", "'t.json.gz'", "1"]),
    ("cache.enabled", INPUT, TRUTHS[0], TRUTHS[1]),
    ("cache.dir", INPUT, DIRS[0], DIRS[1]),
    ("cache.max", INPUT, &["0", "'0'", "'64GiB'"], &["-5", "1.5", "'lots'", "''", "true"]),
    ("work.dir", INPUT, DIRS[0], DIRS[1]),
    ("work.prepare", INPUT, &["'auto'", "'cpu'", "'gpu'"], &["'cuda'", "''", "0"]),
    ("run.dir", INPUT, DIRS[0], DIRS[1]),
];

/// Whether the program refuses a job file.
fn refused(dir: &Path, text: &str) -> bool {
    let file = dir.join("job.toml");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_trimill"))
        .args(["run", "--check", "--progress", "none"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 2)), "{text}: {said}");
    assert!(!said.contains("untagged") && !said.contains("Typed"), "{text}: {said}");
    output.status.code() == Some(2)
}

/// The dotted keys of a job.
fn keys(schema: &Value, table: &Value, prefix: &str, all: &mut BTreeSet<String>) {
    for (key, value) in table["properties"].as_object().unwrap() {
        let below = value["$ref"].as_str().and_then(|name| schema.pointer(name.strip_prefix('#')?));
        match below.filter(|below| below["properties"].is_object()) {
            Some(below) => keys(schema, below, &format!("{prefix}{key}."), all),
            None => drop(all.insert(format!("{prefix}{key}"))),
        }
    }
}

#[test]
fn schema_and_program_say_the_same_of_every_setting() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["g.txt", "h.txt"] {
        std::fs::write(dir.path().join(name), "0 1\n").unwrap();
    }
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/job.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut listed = BTreeSet::new();
    keys(&schema, &schema["$defs"]["JobEntry"], "", &mut listed);
    assert_eq!(listed, SETTINGS.iter().map(|setting| setting.0.to_owned()).collect(), "every setting is here");

    let mut wrong = Vec::new();
    let mut values = 0;
    for (key, beside, right, others) in SETTINGS {
        // A schema cannot tell 8.0 from 8.
        let whole = right.iter().filter(|value| value.parse().is_ok_and(|number: u64| number < 1 << 53));
        let whole = whole.map(|value| (format!("{value}.0"), true));
        let right = right.iter().map(|value| (value.to_string(), true));
        for (value, expected) in right.chain(whole).chain(others.iter().map(|value| (value.to_string(), false))) {
            let text = format!("[[job]]\n{beside}\n{key} = {value}\n");
            let job: Value = serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap();
            let found = (validator.is_valid(&job), !refused(dir.path(), &text));
            if found != (expected, expected) {
                wrong.push(format!("{key} = {value}: (schema, program) accept it: {found:?}; expected {expected}"));
            }
            values += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(values > 200, "{values} values");
    // A setting of METIS needs METIS, in the job itself or for all jobs; for all jobs it means those that have METIS.
    let (metis, random) = ("partition.partitioner = 'metis'", "partition.partitioner = 'random'");
    let contract = "partition.metis.contract = 4";
    for (defaults, job, expected) in [
        ("", &[contract][..], false),
        ("", &[contract, random], false),
        ("", &[contract, metis], true),
        (metis, &[contract], true),
        (metis, &[contract, random], false),
        (random, &[contract], false),
        (random, &[contract, metis], true),
        (contract, &[random], true),
        (contract, &[], true),
    ] {
        let text = format!("[defaults]\n{defaults}\n[[job]]\ninput.path = 'g.txt'\n{}\n", job.join("\n"));
        let json: Value = serde_json::to_value(toml::from_str::<toml::Table>(&text).unwrap()).unwrap();
        assert_eq!((validator.is_valid(&json), !refused(dir.path(), &text)), (expected, expected), "{text}");
    }
    // Settings that do not exist.
    for text in ["[[job]]\ninput.path = 'g.txt'\ncolour = 3", "[defaults]\nname = 'x'", "[job]\nname = 'x'"] {
        let job: Value = serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap();
        assert!(!validator.is_valid(&job) && refused(dir.path(), text), "{text}");
    }
}
