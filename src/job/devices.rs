//! Which GPUs of the machine count, and where spilled partitions wait for them.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "cli")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use trimill_system::Error;
use trimill_system::integers::exact;

/// The GPUs that count, by the driver's numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Devices {
    /// Every GPU that the driver shows.
    All,
    /// The GPUs with these numbers, at least one. A GPU that is named several times gets as many workers, which share its budget.
    List(Vec<u32>),
}

impl Default for Devices {
    /// The driver's first.
    fn default() -> Self {
        Self::List(vec![0])
    }
}

const EXPECTED: &str = "`all`, or the numbers of GPUs such as 0,1";

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.pad("all"),
            Self::List(list) => f.pad(&list.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for Devices {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "all" {
            return Ok(Self::All);
        }
        let list = text.split(',').map(|number| number.trim().parse()).collect::<Result<_, _>>();
        list.map(Self::List).map_err(|_| Error::usage(format!("'{text}' names no GPUs")).expected(EXPECTED))
    }
}

impl Serialize for Devices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::List(list) => serializer.collect_seq(list),
        }
    }
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"all\" or a list of GPUs such as [0, 1]")]
        enum TypedDevices {
            Word(String),
            List(Vec<f64>),
        }
        let list: Option<Vec<u32>> = match TypedDevices::deserialize(deserializer)? {
            TypedDevices::Word(word) if word == "all" => return Ok(Self::All),
            TypedDevices::Word(_) => None,
            TypedDevices::List(list) => list.into_iter().map(|number| u32::try_from(exact(number)?).ok()).collect(),
        };
        let list = list.filter(|list| !list.is_empty()).map(Self::List);
        list.ok_or_else(|| de::Error::custom("expected \"all\" or a list of GPUs such as [0, 1]"))
    }
}

#[cfg(feature = "cli")]
impl JsonSchema for Devices {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Devices".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
        json_schema!({
            "description": "The GPUs that count: \"all\", or a list of the driver's numbers.",
            "anyOf": [{ "const": "all" }, { "type": "array", "items": number, "minItems": 1 }]
        })
    }
}

/// Where spilled partitions wait until they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum SpillTo {
    /// On disk.
    #[default]
    Disk,
    /// In the host's memory, up to half of what its budget leaves after counting; the others on disk.
    Memory,
}

impl fmt::Display for SpillTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_gpus_is_read_as_it_is_written() {
        for (text, json, devices) in [
            ("all", "\"all\"", Devices::All),
            ("0", "[0]", Devices::default()),
            ("2,0,0", "[2,0,0]", Devices::List(vec![2, 0, 0])),
        ] {
            assert_eq!(text.parse::<Devices>().unwrap(), devices);
            assert_eq!(devices.to_string(), text);
            assert_eq!(serde_json::to_string(&devices).unwrap(), json);
            assert_eq!(serde_json::from_str::<Devices>(json).unwrap(), devices);
        }
        for wrong in ["", "first", "0,", "-1", "0 1"] {
            assert!(wrong.parse::<Devices>().is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Devices>("[]").is_err());
        assert!(serde_json::from_str::<Devices>("[-1]").is_err());
    }
}
