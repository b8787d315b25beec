//! The names of the columns that hold the ends of arcs, in formats whose columns have names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trimill_system::Error;

/// The columns with the tails and with the heads of arcs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[String; 2]", into = "[String; 2]")]
#[cfg_attr(
    feature = "cli",
    derive(schemars::JsonSchema),
    schemars(extend("items" = { "type": "string", "minLength": 1 }, "uniqueItems" = true))
)]
pub struct ColumnNames([String; 2]);

impl ColumnNames {
    /// The names of two different columns.
    ///
    /// # Errors
    /// An empty name, or the same one twice.
    pub fn new(tail: &str, head: &str) -> Result<Self, Error> {
        if tail.is_empty() || head.is_empty() {
            return Err(Error::usage("a column has an empty name").expected("the names of two columns"));
        }
        if tail == head {
            let found = format!("the column '{tail}' is named twice");
            return Err(Error::usage(found).expected("the columns of both ends of an edge"));
        }
        Ok(Self([tail.into(), head.into()]))
    }

    /// The name of the column with the tails, and of that with the heads.
    pub fn ends(&self) -> &[String; 2] {
        &self.0
    }
}

impl TryFrom<[String; 2]> for ColumnNames {
    type Error = Error;

    fn try_from([tail, head]: [String; 2]) -> Result<Self, Error> {
        Self::new(&tail, &head)
    }
}

impl From<ColumnNames> for [String; 2] {
    fn from(names: ColumnNames) -> Self {
        names.0
    }
}

impl FromStr for ColumnNames {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match *text.split(',').map(str::trim).collect::<Vec<_>>() {
            [tail, head] => Self::new(tail, head),
            _ => {
                let found = format!("'{text}' does not name two columns");
                Err(Error::usage(found).expected("TAIL,HEAD such as src,dst"))
            }
        }
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_different_names_are_taken() {
        let names: ColumnNames = "src, dst".parse().unwrap();
        assert_eq!(names.ends(), &["src", "dst"]);
        assert_eq!(serde_json::from_str::<ColumnNames>("[\"src\",\"dst\"]").unwrap(), names);
        assert_eq!(serde_json::to_string(&names).unwrap(), "[\"src\",\"dst\"]");
        for text in ["src", "src,dst,weight", "", ",", "src,", "a,a"] {
            assert!(text.parse::<ColumnNames>().is_err(), "{text}");
        }
        for text in ["[\"a\"]", "[\"a\",\"a\"]", "[\"\",\"a\"]", "\"a,b\""] {
            assert!(serde_json::from_str::<ColumnNames>(text).is_err(), "{text}");
        }
    }
}
