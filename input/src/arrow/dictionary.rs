//! Dictionaries: a column may store numbers in place of texts; each text is stored once, in a message of its own. All texts of one file's
//! dictionaries are held in memory, within a limit. [`super::stored_dictionary`] reads them.

use std::collections::HashMap;

#[derive(Default)]
pub(super) struct TextDictionary {
    pub(super) bytes: Vec<u8>,
    pub(super) ends: Vec<u64>,
    /// The numbers of missing texts, ascending.
    pub(super) missing: Vec<u64>,
}

impl TextDictionary {
    pub(super) fn text(&self, number: u64) -> Result<&[u8], String> {
        let Some(&end) = self.ends.get(number as usize) else {
            return Err(format!("the number {number} of a dictionary of {} texts", self.ends.len()));
        };
        if self.missing.binary_search(&number).is_ok() {
            return Err(format!("a null, by number {number} of its dictionary,"));
        }
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        Ok(&self.bytes[begin as usize..end as usize])
    }

    pub(super) fn held(&self) -> u64 {
        (self.bytes.len() + size_of_val(&self.ends[..]) + size_of_val(&self.missing[..])) as u64
    }
}

pub(super) struct TextDictionaries {
    by_id: HashMap<i64, TextDictionary>,
    pub(super) messages: usize,
    pub(super) limit: u64,
}

impl TextDictionaries {
    pub(super) fn within(limit: u64) -> Self {
        Self { by_id: HashMap::new(), messages: 0, limit }
    }

    pub(super) fn get(&self, id: i64) -> Option<&TextDictionary> {
        self.by_id.get(&id)
    }

    /// The dictionary of the next message, and how many bytes it may take.
    pub(super) fn next(&mut self, id: i64) -> (&mut TextDictionary, u64) {
        self.messages += 1;
        let others = self.by_id.iter().filter(|(other, _)| **other != id).map(|(_, texts)| texts.held());
        let room = self.limit.saturating_sub(others.sum());
        (self.by_id.entry(id).or_default(), room)
    }
}
