//! Settings by name, for callers whose users name them: a name and a value in, a setting of the job out.
//!
//! The names are those of the fields of a resolved [`Job`](crate::job::Job). Settings of the program alone (what it writes, clusters)
//! are none of them.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::job::file::{Tables, likely};
use crate::job::suggest::did_you_mean;

/// The value of a setting that is made by its name.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// As if it was not made.
    Default,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// Another number.
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
    /// The value as the tables of a job are read from; `None` for a whole number of more than 64 bits.
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
        /// The names of all settings.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Where they are in the tables of a job, in the same order.
        #[cfg(test)]
        const PLACES: &[&str] = &[$(concat!(stringify!($table), $(".", stringify!($key)),+)),*];

        /// Keeps `value`; `None` for an unknown name.
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
    per_edge: output.per_edge;
    cache: cache.enabled;
    cache_dir: cache.dir;
    cache_max: cache.max;
    work_dir: work.dir;
    prepare: work.prepare;
    run_dir: run.dir;
}

/// Makes a setting.
///
/// # Errors
/// [`crate::error::Kind::Usage`]: an unknown name, with the likely one; a value that the setting cannot have.
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
