//! `--set key=value`: changes a setting of a job file on the command line, as if it were in the file (relative paths are from the file's folder):
//!
//! - `partition.parts=8` changes all jobs;
//! - `job.NAME.partition.parts=8` changes the job called NAME.
//!
//! A value that is not TOML is taken as text, so quotes are only needed for text that looks like a number or a boolean. Settings apply in order; the
//! last one wins. A wrong key gets the same message as in a file.

use std::collections::BTreeMap;
use std::path::Path;

use toml::Table;

use super::file::Tables;
use super::parse::parse;
use super::suggest;
use trimill_system::{Error, Result};

/// One `--set`.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// The job that it changes; none: all.
    pub job: Option<String>,
    /// The settings, in the tables of a job.
    pub settings: Table,
}

impl Override {
    /// Reads `key=value`.
    pub fn parse(typed: &str) -> Result<Self> {
        let origin = Path::new("--set");
        let mut splits = typed.match_indices('=').map(|(at, _)| (typed[..at].trim(), typed[at + 1..].trim()));
        // A quoted key may have a `=`, and what is before that is no key.
        let is_key = |(key, _): &(&str, &str)| toml::from_str::<Table>(&format!("{key} = 0")).is_ok();
        let Some((key, value)) = splits.clone().find(is_key).or_else(|| splits.next()) else {
            return Err(Error::usage(format!("'{typed}' has no `=`")).at(origin).expected("key=value"));
        };
        let line = format!("{key} = {value}");
        let (line, mut settings) = match toml::from_str::<Table>(&line) {
            Ok(settings) => (line, settings),
            Err(_) => {
                let line = format!("{key} = {}", toml::Value::String(value.to_owned()));
                let settings = parse::<Table>(&line, origin)?;
                (line, settings)
            }
        };
        let Some(jobs) = settings.remove("job") else {
            parse::<Tables>(&line, origin)?;
            return Ok(Self { job: None, settings });
        };
        parse::<BTreeMap<String, BTreeMap<String, Tables>>>(&line, origin)?;
        let mut jobs = table(Some(jobs)).into_iter();
        match (jobs.next(), jobs.next(), settings.is_empty()) {
            (Some((name, settings)), None, true) => Ok(Self { job: Some(name), settings: table(Some(settings)) }),
            _ => Err(Error::usage(format!("'{typed}' does not set one job"))
                .at(origin)
                .expected("job.NAME.table.key=value; --set may be given several times")),
        }
    }
}

/// Refuses a name that no job of the file has.
pub fn known_job(job: &str, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == job) {
        return Ok(());
    }
    let hint = suggest::did_you_mean(job, names.iter().map(String::as_str));
    Err(Error::usage(format!("the file has no job '{job}'{hint}")).expected(format!("one of {}", names.join(", "))))
}

/// Merges `above` into `below`, key by key and table by table; `above` wins.
pub fn overlay(below: &mut Table, above: Table) {
    // One input replaces another, whether written as `path` or as `paths`.
    if let (Some(toml::Value::Table(old)), Some(toml::Value::Table(new))) = (below.get_mut("input"), above.get("input"))
        && (new.contains_key("path") || new.contains_key("paths"))
    {
        old.remove("path");
        old.remove("paths");
    }
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

pub(super) fn table(value: Option<toml::Value>) -> Table {
    match value {
        Some(toml::Value::Table(table)) => table,
        _ => Table::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(typed: &str) -> (Option<String>, Tables) {
        let set = Override::parse(typed).unwrap();
        (set.job, toml::Value::Table(set.settings).try_into().unwrap())
    }

    #[test]
    fn values_are_toml_or_else_text() {
        let parts = |n| Some(super::super::Parts::Exactly(std::num::NonZeroU32::new(n).unwrap()));
        assert_eq!(settings("partition.parts=8").1.partition.parts, parts(8));
        assert_eq!(settings("partition.parts = auto").1.partition.parts, Some(super::super::Parts::Auto));
        assert_eq!(settings("partition.partitioner=metis").1.partition.partitioner.unwrap().to_string(), "metis");
        assert_eq!(settings("memory.device=512MiB").1.memory.device, Some(trimill_system::bytes::Bytes::mib(512)));
        assert_eq!(settings("spill.keep=true").1.spill.keep, Some(true));
        assert_eq!(settings("input.path=a=b.txt").1.input.path.unwrap(), Path::new("a=b.txt"));
        assert_eq!(settings("input.path=a \"b\" c").1.input.path.unwrap(), Path::new("a \"b\" c"));
    }

    #[test]
    fn a_name_confines_it_to_one_job() {
        let (job, tables) = settings("job.crawl.partition.seed=7");
        assert_eq!((job.as_deref(), tables.partition.seed), (Some("crawl"), Some(7)));
        for (name, found) in [("\"a.b\"", "a.b"), ("'a=b'", "a=b"), ("\"a\\\"=b\"", "a\"=b")] {
            assert_eq!(settings(&format!("job.{name}.input.path=c=d")).0.as_deref(), Some(found));
        }
    }

    #[test]
    fn wrong_keys_read_as_in_a_file() {
        for (typed, column, hint) in [
            ("job.crawl.partition.pats=8", 21, "did you mean `parts`?"),
            ("job.crawl.name=x", 11, "unknown field `name`"),
            ("partition.parts='8'", 19, "expected 8, without quotes"),
        ] {
            let error = Override::parse(typed).unwrap_err().to_string();
            assert!(error.starts_with("--set:1: ") && error.contains(&format!("column {column}\n")), "{error}");
            assert!(error.contains('^') && error.contains(hint), "{error}");
        }
        let two = "job={a={partition={parts=3}},b={partition={parts=4}}}";
        let beside = "job.a.partition.parts=3\nother.b.partition.parts=4";
        for typed in ["parts", "=3", "job=3", "job.a=3", "a b=3", two, beside] {
            assert!(Override::parse(typed).is_err(), "{typed}");
        }
    }
}
