//! The JSON schema of job files, for editors: made from the same types that read them.

use serde_json::json;

use super::file::JobFile;

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
