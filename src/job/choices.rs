//! Settings with named values, written the same way on the command line, in job files and in results.

use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

#[cfg(feature = "cli")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde::{de, ser};
use trimill_partitioners::MAX_PARTS;
use trimill_system::Error;
use trimill_system::integers::TextOrWhole;

use super::suggest;

/// How the vertices are assigned to partitions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Partitioner {
    /// `rank` or `contiguous`, whichever is estimated to be faster.
    #[default]
    Auto,
    /// Rank ranges, as few as fit the budget: nothing is spilled, and each range is counted against the graph's rows below it.
    Rank,
    /// Every vertex in a random partition, drawn from the seed.
    Random,
    /// Runs of consecutive ids, balanced by arcs.
    Contiguous,
    /// Runs of consecutive ids with equal numbers of vertices, as in LSTC.
    ContiguousVertices,
    /// METIS, in a child process.
    Metis,
    /// Read from a file: a line for each declared vertex, or lines of `id part`.
    File(PathBuf),
}

impl Partitioner {
    /// All names except `file:PATH`.
    pub const NAMES: [&'static str; 6] = ["auto", "rank", "random", "contiguous", "contiguous-vertices", "metis"];

    /// Whether assigning the vertices again, to another number of parts, costs little.
    pub(crate) fn is_cheap(&self) -> bool {
        !matches!(self, Self::Metis | Self::File(_))
    }
}

impl fmt::Display for Partitioner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Rank => f.pad("rank"),
            Self::Random => f.pad("random"),
            Self::Contiguous => f.pad("contiguous"),
            Self::ContiguousVertices => f.pad("contiguous-vertices"),
            Self::Metis => f.pad("metis"),
            Self::File(path) => f.pad(&format!("file:{}", path.display())),
        }
    }
}

impl FromStr for Partitioner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "rank" => Ok(Self::Rank),
            "random" => Ok(Self::Random),
            "contiguous" => Ok(Self::Contiguous),
            "contiguous-vertices" => Ok(Self::ContiguousVertices),
            "metis" => Ok(Self::Metis),
            _ => match text.strip_prefix("file:") {
                Some(path) if !path.is_empty() => Ok(Self::File(path.into())),
                None if text != "file" => Err(Error::usage(format!("'{text}' is not a partitioner")).expected(
                    format!("{} or file:PATH{}", Self::NAMES.join(", "), suggest::did_you_mean(text, Self::NAMES)),
                )),
                _ => Err(Error::usage(format!("'{text}' names no file")).expected("file:PATH")),
            },
        }
    }
}

impl Serialize for Partitioner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::File(path) if path.to_str().is_none() => {
                Err(ser::Error::custom(format!("'{self}' is not UTF-8; expected the path of a file that is")))
            }
            _ => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Partitioner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(feature = "cli")]
impl JsonSchema for Partitioner {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Partitioner".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How the vertices are assigned to partitions; file:PATH reads the assignment.",
            "anyOf": [{ "enum": Self::NAMES }, { "type": "string", "pattern": "^file:.+$" }]
        })
    }
}

/// The number of partitions into which the graph is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Parts {
    /// As few as fit the budgets.
    #[default]
    Auto,
    /// This many; a part that does not fit is still split.
    Exactly(NonZeroU32),
}

impl Parts {
    pub fn asked(self) -> Option<u32> {
        match self {
            Self::Auto => None,
            Self::Exactly(parts) => Some(parts.get()),
        }
    }

    fn number(number: u64) -> Result<Self, String> {
        let parts = u32::try_from(number).ok().filter(|parts| *parts <= MAX_PARTS).and_then(NonZeroU32::new);
        parts.map(Self::Exactly).ok_or_else(|| {
            format!("{number} is not a number of parts; expected `auto` or a number from 1 to {MAX_PARTS}")
        })
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Exactly(parts) => f.pad(&parts.to_string()),
        }
    }
}

impl FromStr for Parts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u64>() {
            _ if text == "auto" => Ok(Self::Auto),
            Ok(number) => Self::number(number),
            Err(_) => Err(format!("'{text}' is not a number of parts; expected `auto` or a number from 1")),
        }
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Exactly(parts) => serializer.serialize_u32(parts.get()),
        }
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of_text = |text: &str| match text.parse()? {
            Self::Exactly(_) => Err(format!("\"{text}\" is text; expected {text}, without quotes")),
            auto => Ok(auto),
        };
        let expected = "\"auto\" or a number from 1";
        deserializer.deserialize_any(TextOrWhole { expected, of_text, of_number: Self::number })
    }
}

#[cfg(feature = "cli")]
impl JsonSchema for Parts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Parts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of partitions from 1, or \"auto\": as few as fit the budgets.",
            "anyOf": [{ "const": "auto" }, { "type": "integer", "minimum": 1, "maximum": MAX_PARTS }]
        })
    }
}

/// How a device is fed: which rows pass while a partition's resident rows are on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mode {
    /// The rows of the graph below the partition's rank range; nothing is induced, pruned or spilled.
    InPlace,
    /// The rows of the partition's proxies, pruned and spilled with it.
    #[default]
    Spilled,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema, clap::ValueEnum), schemars(transform = gpu_is_cuda))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Backend {
    /// A GPU where there is one that can be used, otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A GPU, through CUDA; exit code 3 where there is none.
    #[cfg_attr(feature = "cli", value(alias = "gpu"))]
    #[serde(alias = "gpu")]
    Cuda,
}

/// Schemas are made without the aliases of values.
#[cfg(feature = "cli")]
fn gpu_is_cuda(schema: &mut Schema) {
    if let Some(values) = schema.get_mut("oneOf").and_then(|values| values.as_array_mut()) {
        values.push(serde_json::json!({ "const": "gpu", "description": "The same as cuda.", "type": "string" }));
    }
}

/// What prepares the graph: reads, cleans and orients the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// The GPU that counts, if the input is large and the memory of GPU and host suffices; otherwise the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// The GPU that counts; an error where it cannot.
    Gpu,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
