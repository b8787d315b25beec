//! The user's settings of an input.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column_names::ColumnNames;
use super::format::Format;
use super::header::Header;
use trimill_system::{Error, Result};

/// Settings given by the user; everything else is determined from the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSettings {
    pub format: Option<Format>,
    pub header: Option<Header>,
    /// The columns with the ends of edges, in formats whose columns have names.
    pub columns: Option<ColumnNames>,
    /// Whether the ids of edge lists are names.
    pub names: bool,
    /// Whether to ask a cloud's metadata service for credentials of objects in S3.
    pub cloud_credentials: bool,
}

impl InputSettings {
    /// Refuses `--header` and `--names` for formats other than edge lists, and `--columns` for those without names of columns.
    pub fn check(&self, path: &Path, format: Format) -> Result<()> {
        if self.names && !(format == Format::Text || format.is_table()) {
            let error = Error::usage(format!("--names for a file of format {format}, whose ids are numbers"))
                .at(path)
                .expected("an edge list, a Parquet or an Arrow file, whose ids may be text");
            return Err(match self.format {
                Some(_) => error.advice("leave it out"),
                None => error.advice("leave it out, or add --format text if this is an edge list"),
            });
        }
        if self.columns.is_some() && !format.is_table() {
            return Err(Error::usage(format!("--columns for a file of format {format}"))
                .at(path)
                .expected("a Parquet or Arrow file, whose columns have names")
                .advice("leave it out; the ends of edges are the first two columns, or the next two if the names in a header say so"));
        }
        if self.header.is_none() || format == Format::Text {
            return Ok(());
        }
        Err(Error::usage(format!("--header for a file of format {format}"))
            .at(path)
            .expected("an edge list; of other formats it is known whether they have a header")
            .advice("leave it out, or add --format text"))
    }
}
