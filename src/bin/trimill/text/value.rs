//! Any JSON value as text, for reports whose fields are defined elsewhere (`trimill inspect`): plain fields as lines, a list of objects as a table
//! with a column per field, a nested object as lines under its name, fields ending in `bytes` as sizes. `schema_version` is left out.

use serde_json::{Map, Value};

use super::table::{list, plain_grid, thousands, yes};
use trimill::Bytes;

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Object(fields) => object(fields),
        Value::Array(rows) => rows_text(rows),
        plain => format!("{}\n", cell("", plain)),
    }
}

fn object(fields: &Map<String, Value>) -> String {
    let nested = |value: &Value| match value {
        Value::Object(_) => true,
        Value::Array(rows) => rows.iter().any(|row| row.is_object() || row.is_array()),
        _ => false,
    };
    let plain: Vec<(String, String)> = fields
        .iter()
        .filter(|(name, value)| *name != "schema_version" && !nested(value))
        .map(|(name, value)| (name.replace('_', " "), cell(name, value)))
        .collect();
    let mut text = list(&plain.iter().map(|(name, value)| (name.as_str(), value.clone())).collect::<Vec<_>>());
    for (name, value) in fields.iter().filter(|(_, value)| nested(value)) {
        text.push_str(&format!("\n{}\n{}", name.replace('_', " "), self::text(value)));
    }
    text
}

fn rows_text(rows: &[Value]) -> String {
    let mut columns: Vec<&String> = Vec::new();
    for row in rows.iter().filter_map(Value::as_object) {
        for name in row.keys().filter(|name| !columns.contains(name)).collect::<Vec<_>>() {
            columns.push(name);
        }
    }
    if columns.is_empty() {
        return rows.iter().map(|row| format!("{}\n", cell("", row))).collect();
    }
    let headings = columns.iter().map(|name| name.replace('_', "\n")).collect();
    let rows = rows.iter().map(|row| {
        columns
            .iter()
            .map(|name| row.get(name.as_str()).map_or_else(|| "-".into(), |value| cell(name, value)))
            .collect()
    });
    plain_grid(headings, rows)
}

fn cell(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::Bool(truth) => yes(*truth),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(bytes) if name.ends_with("bytes") => Bytes(bytes).to_string(),
            Some(number) if name != "id" && !name.ends_with("version") => thousands(number),
            _ => number.to_string(),
        },
        Value::Array(values) => values.iter().map(|value| cell(name, value)).collect::<Vec<_>>().join(", "),
        Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_become_lines_and_lists_tables() {
        let value = serde_json::json!({
            "file": "p.spill", "raw_bytes": 1_048_576, "arcs": 1234, "whole": true, "none": null, "ranges": [1, 2],
            "schema_version": 1,
            "row_blocks": [{"id": 0, "spill_bytes": 2048}, {"id": 1, "arcs": 5000}],
        });
        let text = text(&value);
        for line in
            ["file       p.spill", "raw bytes  1.0 MiB", "arcs       1,234", "whole      yes", "ranges     1, 2"]
        {
            assert!(text.contains(line), "{text}");
        }
        assert!(!text.contains("schema"), "{text}");
        assert!(text.contains("\nrow blocks\n") && text.contains("2.0 KiB") && text.contains("5,000"), "{text}");
    }
}
