use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::job::batch;
use trimill_system::Kind;

/// Checks jobs in `dir`, each with the settings of one text.
fn jobs(dir: &Path, settings: &[&str]) -> Result<()> {
    let text: String = settings.iter().map(|text| format!("[[job]]\n{text}\n")).collect();
    let text = format!("[defaults]\ninput.path = 'g.txt'\n{text}");
    let jobs = batch::resolved(&text, &dir.join("b.toml"), &[], &[]).unwrap();
    check(&jobs.into_iter().map(|entry| entry.unwrap().job.paths()).collect::<Vec<_>>())
}

#[track_caller]
fn refused(dir: &Path, settings: &[&str], words: &str) {
    let error = jobs(dir, settings).expect_err(words);
    assert_eq!(error.kind(), Kind::Usage, "{error}");
    assert!(error.to_string().contains(words), "{settings:?}: {error}");
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("g.txt"), "0 1\n").unwrap();
    dir
}

#[test]
fn one_place_is_one_however_it_is_written() {
    let dir = folder();
    let dir = dir.path();
    fs::create_dir(dir.join("there")).unwrap();
    symlink("there", dir.join("link")).unwrap();
    symlink("new.tsv", dir.join("ahead.tsv")).unwrap();
    for (one, other) in [("o", "./o"), ("o", "x/../o"), ("there", "link"), ("link/o", "there/o")] {
        for key in ["output.dir", "run.dir", "spill.keep = true\nspill.dir"] {
            let with = |dir: &str| format!("{key} = '{dir}'");
            refused(dir, &[&with(one), &with(other)], "the jobs 'job-1' and 'job-2' both");
            jobs(dir, &[&with(one), &with("other")]).unwrap();
        }
        let two = format!("output = {{ per_vertex = '{one}/v.tsv', per_edge = '{other}/v.tsv' }}");
        refused(dir, &[&two], "cannot both be here");
    }
    for settings in [
        "output = { per_vertex = 'new.tsv', per_edge = 'ahead.tsv', force = true }",
        "output = { dir = 'o', per_vertex = 'o/partitions.tsv', force = true }",
        "output = { dir = 'o.tsv', per_vertex = 'o.tsv' }",
        "output.trace = 's/manifest.json'\nspill = { dir = 's', keep = true }",
    ] {
        refused(dir, &[settings], "cannot both be here");
    }
    refused(dir, &["run.dir = 'r'", "run.dir = 'r/work'"], "in the run directory of job 'job-1'");
    for settings in [
        "run.dir = 'r'\noutput.dir = 'r'",
        "output.by_degree = 'r.tsv'\nrun.dir = 'r.tsv'",
        "run.dir = 'r'\ncache.dir = 'r'",
        "run.dir = 'r'\ncache.dir = 'r/work/cache'",
        "run.dir = 'r'\nspill = { dir = 'x/../r', keep = true }",
    ] {
        refused(dir, &[settings], "in the run directory");
    }
    let kept = "spill = { dir = 'r', keep = true }";
    refused(dir, &[kept, "run.dir = 'r'"], "the spilled partitions of job 'job-1' in the run directory of job 'job-2'");
    refused(dir, &["cache.dir = 'x/../r/cache'", "run.dir = 'r'"], "in the run directory of job 'job-2'");
    jobs(dir, &["run.dir = 'r'\ncache.dir = 'c'"]).unwrap();
    refused(dir, &["output.per_edge = 'e.tsv'", "output.per_vertex = 'e.tsv'"], "both write to");
    jobs(dir, &["output = { dir = 'there', per_vertex = 'there/v.tsv', report = 'there/r.html' }"]).unwrap();
    symlink("/dev/null", dir.join("null.tsv")).unwrap();
    jobs(dir, &["output = { per_vertex = 'null.tsv', per_edge = './null.tsv' }"]).unwrap();
}

#[test]
fn inputs_are_never_replaced() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    for name in ["in.tsv", "crawl.graph", "crawl.properties", "parts.tsv"] {
        fs::write(at(name), "1").unwrap();
    }
    fs::create_dir(at("s")).unwrap();
    fs::write(at("s/part-00001.spill"), "0 1\n").unwrap();
    symlink("in.tsv", at("link.tsv")).unwrap();
    fs::hard_link(at("in.tsv"), at("hard.tsv")).unwrap();
    symlink("crawl.properties", at("p.tsv")).unwrap();
    let linked = "input.path = 'in.tsv'\noutput.per_vertex = 'hard.tsv'";
    refused(dir.path(), &[linked], "hard.tsv is the same file; expected another name");
    for force in [false, true] {
        for (input, outputs) in [
            ("input.path = 'in.tsv'", &["in.tsv", "link.tsv", "hard.tsv", "./link.tsv"][..]),
            ("input.path = 'link.tsv'", &["in.tsv", "hard.tsv"]),
            ("input.path = 'crawl'", &["p.tsv"]),
            ("input.path = 'crawl.graph'", &["p.tsv"]),
            ("partition.partitioner = 'file:parts.tsv'", &["parts.tsv"]),
        ] {
            for output in outputs {
                let output = format!("output = {{ per_vertex = '{output}', force = {force} }}");
                refused(dir.path(), &[&format!("{input}\n{output}")], "would replace it");
                refused(dir.path(), &[&output, input], "of job 'job-1' would replace it");
            }
        }
        let spill = format!("output.force = {force}\nspill = {{ dir = 's', keep = true }}");
        refused(dir.path(), &[&format!("{spill}\ninput.path = 's/part-00001.spill'")], "would replace it");
    }
}

#[test]
fn files_that_are_there_are_replaced_by_force_alone() {
    let dir = folder();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("s")).unwrap();
    fs::create_dir(at("o")).unwrap();
    for name in ["v.tsv", "o/result.json", "s/part-00000.spill", "s/part-x.spill", "r.html"] {
        fs::write(at(name), "mine").unwrap();
    }
    for (settings, name) in [
        ("output.per_vertex = 'v.tsv'", "v.tsv: is there already"),
        ("output.dir = 'o'", "o/result.json: is there already"),
        ("spill = { dir = 's', keep = true }", "s/part-00000.spill: is there already"),
    ] {
        refused(dir.path(), &[settings], name);
        jobs(dir.path(), &[&format!("{settings}\noutput.force = true")]).unwrap();
    }
    refused(dir.path(), &["output = { report = 'r.html', force = true }"], "r.html: is there already");
    jobs(dir.path(), &["spill.dir = 's'"]).unwrap();
    fs::create_dir(at("parts")).unwrap();
    fs::write(at("parts/0.txt"), "0 1\n").unwrap();
    for (input, settings) in [
        ("parts", "output.per_vertex = 'parts/v.tsv'"),
        ("parts", "run.dir = 'parts/run'"),
        ("parts", "output.report = 'parts/y=1/r.html'"),
        ("parts", "cache.dir = 'parts/cache'"),
        ("parts/*", "output.per_vertex = 'parts/v.tsv'"),
        ("p*s", "output.per_vertex = 'parts/v.tsv'"),
        ("parts/?.t*", "output.per_vertex = 'x/../parts/1.tsv'"),
        ("p*", "cache.dir = 'prepared'"),
    ] {
        refused(dir.path(), &[&format!("input.path = '{input}'\n{settings}")], "every file that this names is part of");
        refused(dir.path(), &[&format!("input.path = '{input}'"), settings], "every file that this names is part of");
    }
    jobs(dir.path(), &["input.path = 'parts/?.txt'\noutput.per_vertex = 'parts/v.tsv'\ncache.dir = 'parts'"]).unwrap();
}

#[test]
fn what_is_not_there_yet_is_compared_too() {
    let dir = folder();
    let dir = dir.path();
    fs::create_dir(dir.join("empty")).unwrap();
    for (output, input) in [
        ("output.per_vertex = 'new.tsv'", "input.path = 'x/../new.tsv'"),
        ("output.per_vertex = 'new.tsv'", "partition.partitioner = 'file:new.tsv'"),
    ] {
        refused(dir, &[output, input], "of job 'job-1' would replace it");
        refused(dir, &[input, output], "of job 'job-2' would replace it");
    }
    for (output, input) in [
        ("output.per_vertex = 'empty/v.tsv'", "empty"),
        ("run.dir = 'empty'", "empty"),
        ("cache.dir = 'empty'", "empty"),
        ("output.dir = 'o'", "o"),
        ("output.dir = 'o'", "o/*.tsv"),
    ] {
        refused(dir, &[output, &format!("input.path = '{input}'")], "every file that this names is part of");
    }
    for spills in ["empty", "new"] {
        let keep = format!("spill = {{ dir = '{spills}', keep = true }}");
        jobs(dir, &[&keep, &format!("input.path = '{spills}'")]).unwrap();
    }
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_the_first_job() {
    let dir = folder();
    let dir = dir.path();
    fs::create_dir(dir.join("v.tsv")).unwrap();
    for (settings, kind, words) in [
        ("output.per_vertex = 'nowhere/v.tsv'", Kind::Resource, "does not exist"),
        ("output = { dir = 'o/p', by_degree = 'o/q/d.tsv' }", Kind::Resource, "does not exist"),
        ("output.per_edge = 'g.txt/e.tsv'", Kind::Resource, "g.txt: job 'job-2': is not a directory"),
        ("output.dir = 'g.txt/o'", Kind::Resource, "g.txt: job 'job-2': is not a directory"),
        ("output.report = 'g.txt/r.html'", Kind::Resource, "g.txt: job 'job-2': is not a directory"),
        ("output = { dir = 'o', trace = 'o/t.json' }", Kind::Resource, "does not exist"),
        ("output.dir = 'g.txt'", Kind::Resource, "g.txt: job 'job-2': is not a directory"),
        ("output.per_vertex = 'v.tsv'", Kind::Usage, "job 'job-2'"),
    ] {
        let error = jobs(dir, &["", settings]).expect_err(words);
        assert_eq!(error.kind(), kind, "{settings}: {error}");
        assert!(error.to_string().contains(words), "{settings}: {error}");
    }
    // The directory of a result is made before its job, and those of spills before the next one.
    jobs(dir, &["output = { dir = 'o/p', per_vertex = 'o/p/v.tsv', by_degree = 'o/d.tsv' }"]).unwrap();
    jobs(dir, &["spill = { dir = 's', keep = true }", "output.per_vertex = 's/v.tsv'"]).unwrap();
    let early = jobs(dir, &["output.per_vertex = 'o/v.tsv'", "output.dir = 'o'"]).unwrap_err();
    assert!(early.to_string().contains("does not exist"), "{early}");
    assert!(!dir.join("o").exists() && !dir.join("s").exists(), "nothing is made");
}
