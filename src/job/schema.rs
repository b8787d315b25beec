//! The JSON schema of job files, for editors: made from the same types that read them.

use super::file::JobFile;

/// The schema as indented JSON with a newline at the end.
pub fn schema() -> String {
    let mut text = format!("{:#}", schemars::schema_for!(JobFile).to_value());
    text.push('\n');
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    #[test]
    fn the_checked_in_schema_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/job.schema.json");
        let checked_in = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            checked_in == super::schema(),
            "schemas/job.schema.json is out of date; renew it with: cargo run -- schema > schemas/job.schema.json"
        );
    }
}
