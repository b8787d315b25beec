//! The JSON schema of job files, for editors: made from the same types that read them.

use serde_json::json;

use super::file::JobFile;

/// The schema as indented JSON with a newline at the end; `methods` are the names of all counting methods.
pub fn schema<'a>(methods: impl Iterator<Item = &'a str>) -> String {
    let mut schema = schemars::schema_for!(JobFile).to_value();
    if let Some(method) = schema.pointer_mut("/$defs/CountTable/properties/method") {
        method["enum"] = methods.map(|name| json!(name)).chain([json!(null)]).collect();
    }
    // Settings of METIS in a job with another partitioner; those in `[defaults]` are for the jobs that have METIS.
    let metis = json!({ "properties": { "partitioner": { "const": "metis" } }, "required": ["partitioner"] });
    let default = json!({ "not": { "required": ["partitioner"] } });
    let contracted = json!({ "properties": { "metis": { "required": ["contract"] } }, "required": ["metis"] });
    let jobs = |partition: serde_json::Value| {
        let of_job = json!({ "properties": { "partition": { "if": contracted, "then": partition } } });
        json!({ "properties": { "job": { "items": of_job } } })
    };
    schema["if"] = json!({ "properties": { "defaults": { "properties": { "partition": metis }, "required": ["partition"] } }, "required": ["defaults"] });
    schema["then"] = jobs(json!({ "anyOf": [metis, default] }));
    schema["else"] = jobs(metis);
    let mut text = format!("{schema:#}");
    text.push('\n');
    text
}
