//! Files of Java properties: names and values, as WebGraph and Graphalytics write them.

use std::collections::HashMap;

/// The values of a file, by their names.
pub(super) struct PropertyValues(HashMap<String, String>);

impl PropertyValues {
    /// Of the text of a file: `name=value` in each line, comments after `#` or `!`, escapes by `\`.
    pub(super) fn of(text: &str) -> Self {
        let line = |line: &str| {
            let (name, value) = line.trim_start().split_once(['=', ':'])?;
            Some((name.trim_end().to_owned(), value.trim().replace('\\', "")))
        };
        Self(text.lines().filter(|text| !text.trim_start().starts_with(['#', '!'])).filter_map(line).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let parsed = |value: &str| value.parse().map_err(|_| format!("'{name}' is '{value}', no number"));
        self.get(name).map(parsed).transpose()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
