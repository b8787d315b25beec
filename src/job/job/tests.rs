//! Jobs from what was typed: defaults, paths and contradictions.

use super::*;
use crate::job::Mode;
use crate::job::parse::parse;
use trimill_system::{Bytes, Kind};

fn job(text: &str) -> Result<Job> {
    Job::resolve(None, &parse(text, Path::new("test"))?, Path::new("/jobs"))
}

#[test]
fn relative_paths_are_taken_from_the_base_and_others_left() {
    let job = job("input.paths = ['a.txt', '/b.txt']\nspill.dir = 's'\nwork.dir = '/w'\noutput.dir = '../o'\n\
                   cache.dir = 'c'\nrun.dir = 'r'\npartition.partitioner = 'file:p.part'")
    .unwrap();
    assert_eq!(job.inputs, [Path::new("/jobs/a.txt"), Path::new("/b.txt")]);
    assert_eq!(job.settings.spill.dir.as_deref(), Some(Path::new("/jobs/s")));
    assert_eq!(job.settings.work.dir.as_deref(), Some(Path::new("/w")));
    assert_eq!(job.settings.output.dir.as_deref(), Some(Path::new("/jobs/../o")));
    assert_eq!(job.settings.cache.dir.as_deref(), Some(Path::new("/jobs/c")));
    assert_eq!(job.settings.run.dir.as_deref(), Some(Path::new("/jobs/r")));
    assert_eq!(*job.settings.partition.partitioner(), Partitioner::File("/jobs/p.part".into()));
    assert_eq!(job.title(), "/jobs/a.txt and 1 more");
}

#[test]
fn pruning_and_keeping_imply_the_spilled_mode() {
    for (settings, mode) in [
        ("", None),
        ("partition.prune = 'direct'", Some(Mode::Spilled)),
        ("partition.partitioner = 'random'", Some(Mode::Spilled)),
        ("spill = { keep = true, dir = 's' }", Some(Mode::Spilled)),
        ("spill = { keep = false, dir = 's' }", None),
        ("partition.partitioner = 'rank'", Some(Mode::InPlace)),
    ] {
        assert_eq!(job(&format!("input.path = 'a'\n{settings}")).unwrap().settings.mode(), mode, "{settings}");
    }
}

#[test]
fn the_metis_table_counts_for_metis_alone() {
    let text = "input.path = 'a'\npartition.metis.contract = 16\npartition.partitioner = ";
    let contract = std::num::NonZeroU32::new(16);
    assert_eq!(job(&format!("{text}'metis'")).unwrap().settings.partition.metis.contract, contract);
    assert_eq!(job(&format!("{text}'random'")).unwrap().settings.partition.metis.contract, None);
}

#[test]
fn budgets_above_all_machines_are_lowered() {
    for size in ["1152921504606846976", "9223372036854775807", "'1025PiB'", "'99999999999999999999GB'"] {
        let memory = job(&format!("input.path = 'a'\nmemory = {{ host = {size}, device = {size}, block = {size} }}"))
            .unwrap()
            .settings
            .memory;
        for budget in [memory.host, memory.device, memory.block] {
            assert_eq!(budget, Some(Bytes(1 << 60)), "{size}");
        }
    }
}

#[test]
fn contradictions_are_usage_errors() {
    for (text, hint) in [
        ("", "no input"),
        ("input.paths = []", "no input"),
        ("input.path = 'a'\ninput.paths = ['b']", "both"),
        ("input.path = 'a'\nspill.keep = true", "--spill-dir"),
        (
            "input.path = 'a'\npartition.partitioner = 'rank'\nspill = { keep = true, dir = 's' }",
            "rank, and the spill is to be kept",
        ),
        ("input.path = '-'\nrun.dir = 'r'", "read again"),
        ("input.path = 'a'\noutput.per_edge = ''", "edge has an empty name; expected the name of a file"),
        ("input.path = 'a'\nwork.dir = ''", "the work directory has an empty name; expected the path of a directory"),
        ("input.path = 'a'\noutput.report = 'r.htm'", "ends with .html"),
        ("input.path = 'a'\noutput = { per_vertex = '-', per_edge = '-' }", "several tables on standard output"),
        ("input.path = 'a'\nrun.dir = 'r'\ncluster.engine = 'hq'\noutput.report = 'r.html'", "that a cluster counts"),
    ] {
        let error = job(text).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        assert!(error.to_string().contains(hint), "{error}");
    }
}
