//! Settings by name, for callers whose users name them: by keys of job files, or flags where keys are unclear. The program's own settings have none.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::{Number, Value};

use crate::job::file::Tables;
use crate::job::parse::likely;
use crate::job::suggest::did_you_mean;
use trimill_system::{Bytes, Error, Result};

/// The value of a setting that is made by its name.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Setting {
    /// The default, as if nothing had been set.
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

macro_rules! setting_from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Setting {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

setting_from!(bool => Flag, i32 => Integer, u32 => Integer, i64 => Integer, u64 => Integer, f64 => Real);
setting_from!(&str => Text, String => Text);

impl From<usize> for Setting {
    fn from(number: usize) -> Self {
        (number as u64).into()
    }
}

impl From<Bytes> for Setting {
    fn from(bytes: Bytes) -> Self {
        bytes.get().into()
    }
}

impl<T: Into<Self>> From<Vec<T>> for Setting {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}

impl Setting {
    /// The value as a job's tables read it.
    fn value(self) -> Result<Value> {
        Ok(match self {
            Self::Default => Value::Null,
            Self::Flag(flag) => flag.into(),
            Self::Integer(number) => match (u64::try_from(number), i64::try_from(number)) {
                (Ok(number), _) => number.into(),
                (_, Ok(number)) => number.into(),
                _ => return Err(Error::usage("a number of more than 64 bits").expected("a smaller one")),
            },
            Self::Real(number) => match Number::from_f64(number) {
                Some(number) => number.into(),
                None => return Err(Error::usage(number.to_string()).expected("a finite number")),
            },
            Self::Text(text) => text.into(),
            Self::List(list) => list.into_iter().map(Self::value).collect::<Result<Vec<_>>>()?.into(),
        })
    }
}

/// Settings that are named as their flags, not their keys. The key `dir` is named after its table, too.
const RENAMED: &[(&str, &str)] = &[
    ("/cache/enabled", "cache"),
    ("/cache/max", "cache_max"),
    ("/memory/block", "block_bytes"),
    ("/memory/device", "device_memory"),
    ("/memory/host", "host_memory"),
    ("/partition/metis/contract", "metis_contract"),
    ("/spill/keep", "keep_spill"),
    ("/spill/to", "spill_to"),
];

/// Settings of the program alone, and the input, which is a graph's.
const NAMELESS: &[&str] = &["/input/path", "/input/paths", "/output/dir", "/output/trace"];

/// The JSON pointers of the settings, by name.
static PLACES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut places = BTreeMap::new();
    if let Ok(tables) = serde_json::to_value(Tables::default()) {
        add_places(&tables, "", &mut places);
    }
    places
});

fn add_places(table: &Value, at: &str, places: &mut BTreeMap<String, String>) {
    for (key, value) in table.as_object().into_iter().flatten() {
        let place = format!("{at}/{key}");
        if value.is_object() {
            add_places(value, &place, places);
        } else if !NAMELESS.contains(&place.as_str()) && !at.starts_with("/cluster") {
            let renamed = RENAMED.iter().find(|(renamed, _)| *renamed == place).map(|(_, name)| (*name).into());
            let name = renamed.unwrap_or_else(|| if key == "dir" { format!("{}_dir", &at[1..]) } else { key.clone() });
            places.insert(name, place);
        }
    }
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PLACES.keys().map(String::as_str)
}

/// The key, in a job file, of what a flag such as `--work-dir` sets.
pub fn key_of(flag: &str) -> Option<String> {
    let place: &str = match flag {
        // Named otherwise, or without a name here.
        "--no-cache" => "/cache/enabled",
        "--output" => "/output/dir",
        "--spill" => "/spill/to",
        "--trace" => "/output/trace",
        _ => PLACES.get(&flag.strip_prefix("--")?.replace('-', "_"))?,
    };
    Some(place[1..].replace('/', "."))
}

pub(super) fn set(tables: &mut Tables, name: &str, setting: Setting) -> Result<()> {
    let Some(place) = PLACES.get(name) else {
        return Err(Error::usage(format!("unknown setting `{name}`{}", did_you_mean(name, names()))));
    };
    let value = setting.value().map_err(|error| error.at(name))?;
    let changed = serde_json::to_value(&*tables).and_then(|mut all| {
        if let Some(old) = all.pointer_mut(place) {
            *old = value;
        }
        serde_json::from_value(all)
    });
    let mut changed: Tables = changed.map_err(|error| {
        let message = error.to_string();
        Error::usage(format!("{message}{}", likely(&message))).at(name)
    })?;
    if name == "work_dir" {
        let dir = std::mem::replace(&mut changed.work.dir, tables.work.dir.take());
        set_work_dir(&mut changed, dir);
    }
    *tables = changed;
    Ok(())
}

/// Sets the directory for temporary files, and for spills, too, unless another directory was set for them.
pub(super) fn set_work_dir(tables: &mut Tables, dir: Option<PathBuf>) {
    let before = std::mem::replace(&mut tables.work.dir, dir);
    if tables.spill.dir.is_none() || tables.spill.dir == before {
        tables.spill.dir.clone_from(&tables.work.dir);
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::job::Partitioner;
    use trimill_system::error::Kind;

    #[test]
    fn each_setting_has_its_own_name() {
        let tables = serde_json::to_value(Tables::default()).unwrap();
        let is_setting = |place: &str| tables.pointer(place).is_some_and(Value::is_null);
        assert!(NAMELESS.iter().chain(RENAMED.iter().map(|(place, _)| place)).all(|place| is_setting(place)));
        // No two settings have the same name.
        let settings = |table: &Value| table.as_object().unwrap().values().filter(|value| value.is_null()).count();
        let all: usize = tables.as_object().unwrap().values().map(settings).sum();
        let others = settings(&tables["cluster"]) + NAMELESS.len();
        assert_eq!(PLACES.len(), all + settings(&tables["partition"]["metis"]) - others);
        assert_eq!((PLACES["threads"].as_str(), PLACES["run_dir"].as_str()), ("/count/threads", "/run/dir"));
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
        set(&mut tables, "block_bytes", Bytes(70_000).into()).unwrap();
        set(&mut tables, "threads", 2_usize.into()).unwrap();
        set(&mut tables, "parts", 3.into()).unwrap();
        set(&mut tables, "parts", Setting::Default).unwrap();
        let text = "memory = { device = 16_000_000_000, block = 70_000 }\ncount = { devices = [0, 1], threads = 2 }\n\
                    cache.enabled = false\nspill.dir = 'spill'\nwork.dir = 'work'";
        let mut expected: Tables = toml::from_str(text).unwrap();
        expected.partition.seed = Some(u64::MAX);
        assert_eq!(tables, expected);
        let mut other = Tables::default();
        for dir in ["work", "elsewhere"] {
            set(&mut other, "work_dir", dir.into()).unwrap();
            let dir = Some(PathBuf::from(dir));
            assert_eq!((&other.spill.dir, &other.work.dir), (&dir, &dir));
        }
        let named = crate::Options::new().set("spill_dir", "spill").unwrap().work_dir("work").tables;
        let dirs = [named.spill.dir, named.work.dir];
        assert_eq!(dirs, ["spill", "work"].map(|dir| Some(PathBuf::from(dir))));

        for (name, value, words) in [
            ("parst", 3.into(), "did you mean `parts`?"),
            ("parts", 0.into(), "parts: 0 is not a number of parts"),
            ("parts", Setting::Real(1.5), "parts: "),
            ("parts", f64::NAN.into(), "parts: NaN; expected a finite number"),
            ("devices", vec![f64::INFINITY].into(), "devices: inf; expected a finite number"),
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

        // A value that JSON cannot hold stays unchanged.
        let path = PathBuf::from(OsStr::from_bytes(b"\xff"));
        tables.work.dir = Some(path.clone());
        set(&mut tables, "seed", 2.into()).unwrap();
        assert_eq!(tables.work.dir, Some(path.clone()));
        tables.partition.partitioner = Some(Partitioner::File(path));
        let error = set(&mut tables, "seed", 3.into()).unwrap_err();
        assert!(error.to_string().contains("UTF-8"), "{error}");
    }
}
