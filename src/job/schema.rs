//! The JSON schema of job files, for editors: made from the same types that read them.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;

use super::file::JobFile;
use super::job::MOST_MEMORY;
use crate::bytes::PATTERN;

/// The schema as indented JSON with a newline at the end; `methods` are the names of all counting methods.
pub fn schema<'a>(methods: impl Iterator<Item = &'a str>) -> String {
    let mut schema = schemars::schema_for!(JobFile).to_value();
    if let Some(method) = schema.pointer_mut("/$defs/CountTable/properties/method") {
        method["enum"] = methods.map(|name| json!(name)).chain([json!(null)]).collect();
    }
    let mut text = format!("{schema:#}");
    text.push('\n');
    text
}

/// A size above zero.
pub(super) fn budget(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "integer", "null"],
        "minimum": 1,
        "maximum": MOST_MEMORY.get(),
        "pattern": format!("^(?![0.]*[^0-9.]*$){}", PATTERN.trim_start_matches('^'))
    })
}

/// The tile of method `lstc`.
pub(super) fn tile(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "enum": [0, null] }, { "type": "integer", "minimum": 64, "maximum": 1024 }] })
}
