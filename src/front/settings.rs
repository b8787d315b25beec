//! Settings by name, for callers whose users name them. The names are those of the flags; settings of the program alone (what it writes,
//! clusters) have none.

use serde_json::Value;

use crate::job::file::Tables;
use crate::job::parse::likely;
use crate::job::suggest::did_you_mean;
use trimill_system::{Error, Result};

/// The value of a setting that is made by its name.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// As if it was not made.
    Default,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// A number that need not be whole.
    Real(f64),
    /// A name, a size such as `16GB`, the path of a file.
    Text(String),
    /// Several values.
    List(Vec<Setting>),
}

impl From<bool> for Setting {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i32> for Setting {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u64> for Setting {
    fn from(number: u64) -> Self {
        Self::Integer(number.into())
    }
}

impl From<&str> for Setting {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Setting {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Setting {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl Setting {
    /// The value as a job's tables read it; `None` for a whole number of more than 64 bits.
    fn value(self) -> Option<Value> {
        Some(match self {
            Self::Default => Value::Null,
            Self::Flag(flag) => flag.into(),
            Self::Integer(number) => match u64::try_from(number) {
                Ok(number) => number.into(),
                Err(_) => i64::try_from(number).ok()?.into(),
            },
            Self::Real(number) => number.into(),
            Self::Text(text) => text.into(),
            Self::List(list) => list.into_iter().map(Self::value).collect::<Option<Vec<_>>>()?.into(),
        })
    }
}

/// Names, and where their values are kept.
macro_rules! settings {
    ($($name:ident: $table:ident.$($key:ident).+;)*) => {
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Where they are in a job's tables, in the same order.
        #[cfg(test)]
        const PLACES: &[&str] = &[$(concat!(stringify!($table), $(".", stringify!($key)),+)),*];

        /// `None` for an unknown name.
        fn keep(tables: &mut Tables, name: &str, value: Value) -> Option<serde_json::Result<()>> {
            match name {
                $(stringify!($name) => Some(serde_json::from_value(value).map(|value| tables.$table.$($key).+ = value)),)*
                _ => None,
            }
        }
    };
}

settings! {
    format: input.format;
    header: input.header;
    columns: input.columns;
    names: input.names;
    cloud_credentials: input.cloud_credentials;
    partitioner: partition.partitioner;
    parts: partition.parts;
    seed: partition.seed;
    prune: partition.prune;
    metis_contract: partition.metis.contract;
    device_memory: memory.device;
    host_memory: memory.host;
    block_bytes: memory.block;
    spill_to: spill.to;
    spill_dir: spill.dir;
    keep_spill: spill.keep;
    backend: count.backend;
    devices: count.devices;
    method: count.method;
    block_threads: count.block_threads;
    tile: count.tile;
    device_timeout: count.device_timeout;
    threads: count.threads;
    clustering: output.clustering;
    per_vertex: output.per_vertex;
    by_degree: output.by_degree;
    lcc: output.lcc;
    directed: output.directed;
    per_edge: output.per_edge;
    truss: output.truss;
    k: output.k;
    by_k: output.by_k;
    force: output.force;
    report: output.report;
    against: output.against;
    cache: cache.enabled;
    cache_dir: cache.dir;
    cache_max: cache.max;
    work_dir: work.dir;
    prepare: work.prepare;
    run_dir: run.dir;
}

pub(super) fn set(tables: &mut Tables, name: &str, setting: Setting) -> Result<()> {
    if !NAMES.contains(&name) {
        let hint = did_you_mean(name, NAMES.iter().copied());
        return Err(Error::usage(format!("unknown setting `{name}`{hint}")));
    }
    let Some(value) = setting.value() else {
        return Err(Error::usage("a number of more than 64 bits").at(name).expected("a smaller one"));
    };
    if let Some(Err(error)) = keep(tables, name, value) {
        let message = error.to_string();
        return Err(Error::usage(format!("{message}{}", likely(&message))).at(name));
    }
    // As `Options::work_dir`, unless another directory was named for spills.
    if name == "work_dir" && tables.spill.dir.is_none() {
        tables.spill.dir.clone_from(&tables.work.dir);
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::job::schema::schema;
    use trimill_system::error::Kind;

    /// Settings of the program alone, and the input, which is a graph's.
    const OTHERS: &[&str] = &["input.path", "input.paths", "output.dir", "output.trace"];

    /// The keys of the tables below `table`, with dots between them.
    fn keys(schema: &Value, table: &Value, prefix: &str, all: &mut BTreeSet<String>) {
        for (name, key) in table["properties"].as_object().unwrap() {
            let path = format!("{prefix}{name}");
            let of = key["$ref"].as_str().map(|at| schema.pointer(at.trim_start_matches('#')).unwrap());
            match of.filter(|table| table["properties"].is_object()) {
                Some(table) => keys(schema, table, &format!("{path}."), all),
                None => drop(all.insert(path)),
            }
        }
    }

    #[test]
    fn every_setting_of_a_job_file_has_a_name() {
        let schema: Value = serde_json::from_str(&schema(std::iter::empty())).unwrap();
        let mut all = BTreeSet::new();
        keys(&schema, &schema["$defs"]["Tables"], "", &mut all);
        all.retain(|key| !key.starts_with("cluster."));
        let named: BTreeSet<String> = PLACES.iter().chain(OTHERS).map(|&place| place.into()).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn values_are_checked_and_kept() {
        let mut tables = Tables::default();
        set(&mut tables, "device_memory", "16GB".into()).unwrap();
        set(&mut tables, "devices", vec![0, 1].into()).unwrap();
        set(&mut tables, "seed", u64::MAX.into()).unwrap();
        set(&mut tables, "cache", false.into()).unwrap();
        set(&mut tables, "spill_dir", "spill".into()).unwrap();
        set(&mut tables, "work_dir", "work".into()).unwrap();
        set(&mut tables, "parts", 3.into()).unwrap();
        set(&mut tables, "parts", Setting::Default).unwrap();
        let text = "memory.device = 16_000_000_000\ncount.devices = [0, 1]\ncache.enabled = false\nspill.dir = 'spill'\n\
                    work.dir = 'work'";
        let mut expected: Tables = toml::from_str(text).unwrap();
        expected.partition.seed = Some(u64::MAX);
        assert_eq!(tables, expected);
        let mut other = Tables::default();
        set(&mut other, "work_dir", "work".into()).unwrap();
        assert_eq!(other.spill.dir, other.work.dir);

        for (name, value, words) in [
            ("parst", 3.into(), "did you mean `parts`?"),
            ("parts", 0.into(), "parts: 0 is not a number of parts"),
            ("parts", Setting::Real(1.5), "parts: "),
            ("seed", Setting::Integer(-1), "seed: "),
            ("seed", Setting::Integer(1 << 64), "64 bits"),
            ("prune", "direkt".into(), "did you mean `direct`?"),
            ("device_memory", "3 parsecs".into(), "device_memory: '3 parsecs' is not a size"),
            ("cache", "yes".into(), "cache: "),
        ] {
            let error = set(&mut tables, name, value).unwrap_err();
            assert!(error.kind() == Kind::Usage && error.to_string().contains(words), "{error}");
        }
        assert_eq!(tables, expected, "a wrong value changes nothing");
    }
}
