//! Resolves a job file: merges defaults and overrides key by key into jobs with different names, whose files module `paths` compares.
//! An error in the file as a whole is reported before a job runs; a missing input fails only its own job.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use serde::Deserialize;
use toml::Table;

use super::Job;
use super::file::{JobFile, Tables};
use super::overrides::{Override, known_job, overlay, table};
use super::parse::parse;
use trimill_system::{Bytes, Error, Result};

/// A job of a file.
#[derive(Debug, Clone)]
pub struct BatchJob {
    /// Its name in the file, or `job-1`, `job-2`, ... by position.
    pub name: String,
    /// The job; its `name` is the same.
    pub job: Job,
    /// The settings of this job alone, from its own tables or from a `--set` that names it.
    pub stated: Tables,
}

/// Reads and resolves `path`; `only`, unless empty, names the jobs to keep. Returns the jobs, or the fault of each, in the order of the file.
/// Errors: `Kind::Data`: unreadable; `Kind::Usage`: no job file.
pub fn read(path: &Path, overrides: &[Override], only: &[String]) -> Result<Vec<Result<BatchJob>>> {
    resolved(&text_of(path)?, path, overrides, only)
}

/// As [`read`], of a text; `path` gives the folder of relative paths and is named in errors.
pub fn resolved(text: &str, path: &Path, overrides: &[Override], only: &[String]) -> Result<Vec<Result<BatchJob>>> {
    // Parsed twice: typed, for errors with a position; as plain TOML, to merge tables.
    let typed: JobFile = parse(text, path)?;
    let mut plain: Table = parse(text, path)?;
    let names = names(&typed, path)?;
    let sets = overrides.iter().filter_map(|set| Some((set.job.as_deref()?, "--set")));
    let mut named = sets.chain(only.iter().map(|name| (name.as_str(), "--only")));
    named.try_for_each(|(name, flag)| known_job(name, &names).map_err(|error| error.at(flag)))?;

    let defaults = table(plain.remove("defaults"));
    let entries = match plain.remove("job") {
        Some(toml::Value::Array(entries)) => entries,
        _ => Vec::new(),
    };
    let base = path.parent().unwrap_or(Path::new(""));
    let (mut jobs, mut reader) = (Vec::new(), None::<String>);
    for (name, entry) in names.into_iter().zip(entries) {
        let mut settings = defaults.clone();
        let mut own = table(Some(entry));
        own.remove("name");
        overlay(&mut settings, own.clone());
        for set in overrides.iter().filter(|set| set.job.as_ref().is_none_or(|job| *job == name)) {
            overlay(&mut settings, set.settings.clone());
            if set.job.is_some() {
                overlay(&mut own, set.settings.clone());
            }
        }
        let [tables, stated] = [settings, own].map(|table| {
            Tables::deserialize(table)
                .map_err(|error| Error::usage(format!("job '{name}': {}", error.message())).at(path))
        });
        let (mut tables, stated) = (tables?, stated?);
        if tables.cluster.engine.is_some() {
            // The output settings for all jobs do not apply to a job that is not counted now.
            let (output, own) = (&mut tables.output, &stated.output);
            output.report.clone_from(&own.report);
            output.against.clone_from(&own.against);
            output.trace.clone_from(&own.trace);
        }
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        jobs.push(match (Job::resolve(Some(name.clone()), &tables, base), &reader) {
            (Ok(job), Some(other)) if job.is_read_once() => {
                let both = format!("the jobs '{other}' and '{name}' both read standard input");
                Err(Error::usage(both).at(path).advice("standard input can be read once"))
            }
            (Ok(job), _) => {
                reader = reader.or(job.is_read_once().then(|| name.clone()));
                Ok(BatchJob { name, job, stated })
            }
            (Err(error), _) => Err(match error.path().map(|path| path.display().to_string()) {
                Some(named) => error.while_doing(&named).at(path),
                None => error.at(path),
            }),
        });
    }
    Ok(jobs)
}

/// The longest job file: since they are written by hand, a longer file is something else.
const MOST_BYTES: Bytes = Bytes::mib(16);

fn text_of(path: &Path) -> Result<String> {
    let wrong = |found: String| Error::usage(found).at(path).expected("a job file");
    let unreadable = |error| Error::read(path, error).expected("a job file");
    let kind = std::fs::metadata(path).map_err(unreadable)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        return Err(wrong(if kind.is_dir() { "is a directory" } else { "is neither a file nor a pipe" }.into()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES.get() + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES.get() {
        return Err(wrong(format!("is longer than {MOST_BYTES}")));
    }
    String::from_utf8(bytes).map_err(|error| wrong(format!("is not text in UTF-8 ({error})")))
}

/// The names of all jobs, in order; refuses empty ones, repeated ones, and those of several lines.
fn names(file: &JobFile, path: &Path) -> Result<Vec<String>> {
    if file.job.is_empty() {
        return Err(Error::usage("no job").at(path).expected("at least one table [[job]]"));
    }
    let mut names: Vec<String> = Vec::new();
    for (index, entry) in file.job.iter().enumerate() {
        let name = entry.name.clone().unwrap_or_else(|| format!("job-{}", index + 1));
        if name.trim().is_empty() {
            return Err(Error::usage(format!("job {} has an empty name", index + 1)).at(path).expected("a name"));
        }
        if name.contains(char::is_control) {
            return Err(Error::usage(format!("job {} has the name {name:?}", index + 1))
                .at(path)
                .expected("one line of text"));
        }
        if names.contains(&name) {
            return Err(Error::usage(format!("two jobs have the name '{name}'")).at(path).expected("different names"));
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Partitioner, Parts, Prune};
    use trimill_system::error::Kind;

    const FILE: &str = "
        [defaults]
        input = { path = 'a.txt', format = 'text' }
        partition = { parts = 4, prune = 'none' }
        memory.device = '64MiB'

        [[job]]
        name = 'one'

        [[job]]
        [job.input]
        paths = ['b.txt', 'c.txt']
        [job.partition]
        parts = 'auto'
        partitioner = 'random'
    ";

    /// The first fault is an error.
    fn parsed(text: &str, path: &str, sets: &[Override], only: &[String]) -> Result<Vec<BatchJob>> {
        resolved(text, Path::new(path), sets, only)?.into_iter().collect()
    }

    fn batch(sets: &[&str], only: &[&str]) -> Result<Vec<BatchJob>> {
        let sets: Vec<Override> = sets.iter().map(|set| Override::parse(set).unwrap()).collect();
        let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
        parsed(FILE, "/jobs/study.toml", &sets, &only)
    }

    fn parts(n: u32) -> Parts {
        Parts::Exactly(std::num::NonZeroU32::new(n).unwrap())
    }

    #[test]
    fn jobs_override_the_defaults_key_by_key() {
        let batch = batch(&[], &[]).unwrap();
        let [one, two] = batch.as_slice() else { panic!("two jobs") };
        assert_eq!((one.name.as_str(), two.name.as_str()), ("one", "job-2"));
        assert_eq!(one.job.inputs, [Path::new("/jobs/a.txt")]);
        assert_eq!((one.job.settings.partition.parts(), one.job.settings.partition.prune()), (parts(4), Prune::None));
        // `paths` replaces the defaults' `path`; the defaults' format stays.
        assert_eq!(two.job.inputs, [Path::new("/jobs/b.txt"), Path::new("/jobs/c.txt")]);
        assert_eq!(two.job.settings.input.format, one.job.settings.input.format);
        let partition = &two.job.settings.partition;
        assert_eq!((partition.parts(), partition.prune()), (Parts::Auto, Prune::None));
        assert_eq!(*partition.partitioner(), Partitioner::Random);
        assert_eq!(two.job.settings.memory.device, Some(Bytes::mib(64)));
    }

    #[test]
    fn overrides_win_in_the_order_given() {
        let batch = batch(&["partition.parts=8", "job.one.partition.parts=9", "job.job-2.input.path=-"], &[]).unwrap();
        assert_eq!(batch[0].job.settings.partition.parts(), parts(9));
        assert_eq!(batch[1].job.settings.partition.parts(), parts(8));
        assert_eq!(batch[1].job.inputs, [Path::new("-")]);
    }

    #[test]
    fn only_selects_and_unknown_names_are_refused() {
        assert_eq!(batch(&[], &["job-2"]).unwrap().len(), 1);
        let error = batch(&[], &["onne"]).unwrap_err().to_string();
        assert!(error.starts_with("--only: ") && error.contains("did you mean `one`?"), "{error}");
        let error = batch(&["job.onne.partition.parts=3"], &[]).unwrap_err().to_string();
        assert!(error.starts_with("--set: ") && error.contains("did you mean `one`?"), "{error}");
    }

    #[test]
    fn settings_of_one_job_are_distinguished_from_those_of_all() {
        let batch = batch(&["count.tile=64", "job.one.partition.seed=5"], &[]).unwrap();
        let [one, two] = batch.as_slice() else { panic!("two jobs") };
        assert_eq!((one.job.settings.count.tile, one.stated.count.tile), (Some(64), None));
        assert_eq!(one.stated.partition.parts, None);
        assert_eq!((one.stated.partition.seed, two.stated.partition.seed), (Some(5), None));
        assert_eq!(two.stated.partition.partitioner, Some(Partitioner::Random));
    }

    #[test]
    fn what_is_no_job_file_is_not_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let (long, odd) = (dir.path().join("long"), dir.path().join("odd"));
        File::create(&long).unwrap().set_len(1 << 40).unwrap();
        std::fs::write(&odd, b"[[job]]\nname = '\xff'\n").unwrap();
        for (path, found) in [
            (Path::new("/dev/zero"), "is neither a file nor a pipe"),
            (dir.path(), "is a directory"),
            (&long, "is longer than 16.0 MiB"),
            (&odd, "is not text in UTF-8"),
        ] {
            let error = read(path, &[], &[]).unwrap_err();
            assert_eq!(error.kind(), Kind::Usage);
            assert!(error.to_string().contains(found) && error.to_string().contains("a job file"), "{error}");
        }
    }

    #[test]
    fn a_file_without_jobs_or_with_twins_or_two_readers_of_standard_input_is_refused() {
        let twins = "[[job]]\nname='a'\n[[job]]\nname='a'\n";
        for (text, hint) in [
            ("", "no job"),
            ("job = []", "no job"),
            (twins, "two jobs"),
            ("[defaults]\ninput.path='-'\n[[job]]\n[[job]]", "both read standard input"),
            ("[[job]]\nname=' '", "empty"),
            ("[[job]]\nname=\"a\\nb\"", r#"the name "a\nb"; expected one line"#),
        ] {
            let error = parsed(text, "f.toml", &[], &[]).unwrap_err();
            assert_eq!(error.kind(), Kind::Usage);
            assert!(error.to_string().starts_with("f.toml: ") && error.to_string().contains(hint), "{error}");
        }
        assert_eq!(read(Path::new("/nowhere.toml"), &[], &[]).unwrap_err().kind(), Kind::Data);
    }
}
