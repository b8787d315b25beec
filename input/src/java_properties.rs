//! Names and values beside graphs: Java properties, as WebGraph and Graphalytics write them, and GraphAr's YAML.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

pub(super) struct PropertyValues(HashMap<String, String>);

impl PropertyValues {
    /// Parses `name=value` lines, with comments after `#` or `!` and escapes by `\`.
    pub(super) fn of(text: &str) -> Self {
        let line = |line: &str| {
            let (name, value) = line.trim_start().split_once(['=', ':'])?;
            Some((name.trim_end().to_owned(), value.trim().replace('\\', "")))
        };
        let text = text.trim_start_matches('\u{feff}');
        Self(text.lines().filter(|text| !text.trim_start().starts_with(['#', '!'])).filter_map(line).collect())
    }

    /// Parses YAML: a value's name is its keys, and numbers in lists, joined by `/`. Aliases are refused: they can stand for more than memory holds.
    pub(super) fn of_yaml(text: &str) -> Result<Self, String> {
        let mut reader = YamlReader::default();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| format!("no YAML: {error}"))?;
            reader.take(event).map_err(|found| format!("{found} in line {}", span.start.line()))?;
        }
        Ok(Self(reader.values))
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

const MOST_LEVELS: usize = 16;

#[derive(Default)]
struct YamlReader {
    values: HashMap<String, String>,
    levels: Vec<YamlLevel>,
    documents: u32,
}

enum YamlLevel {
    Mapping(Option<String>),
    List(usize),
}

impl YamlReader {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document".into());
                }
            }
            Event::Alias(_) => return Err("an alias".into()),
            Event::Scalar(value, ..) => match self.levels.last_mut() {
                Some(YamlLevel::Mapping(key @ None)) => *key = Some(value.into_owned()),
                _ => {
                    let name = self.name();
                    if self.values.insert(name.clone(), value.into_owned()).is_some() {
                        return Err(format!("'{name}' once more"));
                    }
                    self.next();
                }
            },
            Event::MappingStart(..) => self.open(YamlLevel::Mapping(None))?,
            Event::SequenceStart(..) => self.open(YamlLevel::List(0))?,
            Event::MappingEnd | Event::SequenceEnd => {
                self.levels.pop();
                self.next();
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, level: YamlLevel) -> Result<(), String> {
        if matches!(self.levels.last(), Some(YamlLevel::Mapping(None))) {
            return Err("a key that is no text".into());
        }
        if self.levels.len() == MOST_LEVELS {
            return Err(format!("more than {MOST_LEVELS} levels"));
        }
        self.levels.push(level);
        Ok(())
    }

    fn name(&self) -> String {
        let part = |level: &YamlLevel| match level {
            YamlLevel::Mapping(key) => key.clone().unwrap_or_default(),
            YamlLevel::List(number) => number.to_string(),
        };
        self.levels.iter().map(part).collect::<Vec<_>>().join("/")
    }

    /// Called when a value is complete.
    fn next(&mut self) {
        match self.levels.last_mut() {
            Some(YamlLevel::Mapping(key)) => *key = None,
            Some(YamlLevel::List(number)) => *number += 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_in_yaml_have_names_for_their_values() {
        let text = "# a comment\nname: 'a: b'\nprefix: ./ # here\nlist:\n  - {a: true, b: [x, 'y z']}\n  -\n    a: \"q\\\"q\"\nempty: []\n";
        let values = PropertyValues::of_yaml(text).unwrap();
        for (name, value) in [
            ("name", "a: b"),
            ("prefix", "./"),
            ("list/0/a", "true"),
            ("list/0/b/0", "x"),
            ("list/0/b/1", "y z"),
            ("list/1/a", "q\"q"),
        ] {
            assert_eq!(values.get(name), Some(value), "{name}");
        }
        assert_eq!(values.names().count(), 6);
        let deep = format!("a: {}{}", "[".repeat(16), "]".repeat(16));
        for (text, said) in [
            ("a: &x 1\nb: *x", "an alias"),
            ("a: 1\na: 2", "'a' once more"),
            ("a: 1\n---\nb: 2", "a second document"),
            ("? [a, b]\n: 1", "a key that is no text"),
            (&deep, "more than 16 levels"),
            ("a: [1, 2", "no YAML"),
        ] {
            let found = PropertyValues::of_yaml(text).err().unwrap();
            assert!(found.contains(said), "{text}: {found}");
        }
    }
}
