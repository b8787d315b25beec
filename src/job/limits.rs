//! Limits of settings, and what the schema says of them.

#[cfg(feature = "cli")]
use schemars::{Schema, SchemaGenerator, json_schema};

use trimill_system::Bytes;
#[cfg(feature = "cli")]
use trimill_system::bytes::PATTERN;

/// Larger budgets are lowered to this: more than any machine has, and its sums and shares stay below 2^64.
pub(super) const MOST_MEMORY: Bytes = Bytes(1 << 60);

#[cfg(feature = "cli")]
pub(super) fn budget(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "integer", "null"],
        "minimum": 1,
        "pattern": format!("^(?![0.]*[^0-9.]*$){}", PATTERN.trim_start_matches('^'))
    })
}

#[cfg(feature = "cli")]
pub(super) fn tile(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "enum": [0, null] }, { "type": "integer", "minimum": 64, "maximum": 1024 }] })
}
