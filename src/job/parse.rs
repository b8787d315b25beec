//! Reads TOML into a struct.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::suggest;
use trimill_system::{Error, Result};

/// What serde calls types, and what users call them.
const PLAIN: [(&str, &str); 5] = [
    ("a nonzero u32", "a whole number from 1 on"),
    ("a nonzero usize", "a whole number from 1 on"),
    ("expected u64", "expected a whole number from 0 on"),
    ("map, expected a sequence", "a table, expected a list of tables: each job begins with [[job]]"),
    ("wanted string or table", "expected a name in quotes"),
];

/// Reads `text` as a `T`. Errors: `Kind::Usage` with `origin` (the file or the flag), the position, a caret and, for unknown names, the likely one.
pub fn parse<T: DeserializeOwned>(text: &str, origin: &Path) -> Result<T> {
    toml::from_str(text).map_err(|error| {
        let mut message = error.to_string().trim_end().to_owned();
        for (technical, plain) in PLAIN {
            message = message.replace(technical, plain);
        }
        if let Some((before, after)) = message.split_once("expected struct ") {
            message = format!("{before}expected a table{}", after.trim_start_matches(char::is_alphanumeric));
        }
        message.push_str(&likely(error.message()));
        let usage = Error::usage(message).at(origin);
        match error.span() {
            Some(span) => {
                let before = &text.as_bytes()[..span.start.min(text.len())];
                usage.at_line(1 + before.iter().filter(|byte| **byte == b'\n').count() as u64)
            }
            None => usage,
        }
    })
}

/// The suggestion for serde's `unknown field ..` and `unknown variant ..`: the first name in backquotes was typed, the others are known.
pub(crate) fn likely(message: &str) -> String {
    if !message.starts_with("unknown ") {
        return String::new();
    }
    let mut names = message.split('`').skip(1).step_by(2);
    names.next().map(|typed| suggest::did_you_mean(typed, names)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::file::JobFile;

    fn refusal(text: &str) -> String {
        let error = parse::<JobFile>(text, Path::new("jobs.toml")).unwrap_err();
        assert_eq!(error.kind(), trimill_system::error::Kind::Usage);
        error.to_string()
    }

    #[test]
    fn every_refusal_has_line_column_caret_and_the_likely_name() {
        let cases = [
            ("[[job]]\n[job.partition]\n  pats = 4\n", 3, 3, "^^^^", "did you mean `parts`?"),
            ("[[job]]\n[job.partiton]\nparts = 4\n", 2, 6, "^^^^^^^^", "did you mean `partition`?"),
            ("[default]\n", 1, 2, "^^^^^^^", "did you mean `defaults`?"),
            ("[defaults]\nname = 'x'\n", 2, 1, "^^^^", "unknown field `name`"),
            ("[[job]]\n[job.partition]\nprune = 'direkt'\n", 3, 9, "^^^^^^^^", "did you mean `direct`?"),
            ("[[job]]\n[job.count]\nbackend = 'cude'\n", 3, 11, "^^^^^^", "did you mean `cuda`?"),
            ("[[job]]\n[job.input]\nformat = 'matrixmarket'\n", 3, 10, "^^^", "did you mean `matrix-market`?"),
            ("[[job]]\n[job.partition]\npartitioner = 'metsi'\n", 3, 15, "^^^^^^^", "did you mean `metis`?"),
            ("[[job]]\n[job.partition]\npartitioner = 'file:'\n", 3, 15, "^^^^^^^", "expected file:PATH"),
            ("[[job]]\n[job.partition]\nparts = 0\n", 3, 9, "^", "0 is not a number of parts"),
            ("[[job]]\n[job.partition]\nparts = -3\n", 3, 9, "^^", "\"auto\" or a number from 1"),
            ("[[job]]\n[job.partition]\nparts = 'many'\n", 3, 9, "^^^^^^", "expected `auto` or a number"),
            ("[[job]]\n[job.memory]\ndevice = '3 parsecs'\n", 3, 10, "^^^^^^^^^", "not a size"),
            ("[[job]]\n[job.memory]\nhost = -5\n", 3, 8, "^^", "expected a size: a number of bytes from 0"),
            ("[[job]]\n[job.memory]\nhost = 1.5\n", 3, 8, "^^^", "expected a size: a number of bytes from 0"),
            ("[[job]]\n[job.partition]\nparts = '8'\n", 3, 9, "^^^", "expected 8, without quotes"),
            ("[[job]]\n[job.count]\ndevices = '0,1'\n", 3, 11, "^^^^^", "a list of GPUs such as [0, 1]"),
            ("[[job]]\n[job.count]\nthreads = 0\n", 3, 11, "^", "expected a whole number from 1 on"),
            ("[[job]]\n[job.partition.metis]\ncontact = 2\n", 3, 1, "^^^^^^^", "did you mean `contract`?"),
            ("[[job]\n", 1, 7, "^", "unclosed"),
            ("[job]\nname = 'x'\n", 1, 1, "^^^^^", "each job begins with [[job]]"),
            ("[[job]]\ninput = 'x'\n", 2, 9, "^^^", "expected a table"),
            ("[[job]]\n[job.input]\nheader = true\n", 3, 10, "^^^^", "expected a name in quotes"),
            ("[[job]]\n[job.output]\ndir = ['a']\n", 3, 7, "^^^^^", "expected path string"),
        ];
        for (text, line, column, caret, hint) in cases {
            let message = refusal(text);
            assert!(message.starts_with(&format!("jobs.toml:{line}: ")), "{message}");
            assert!(message.contains(&format!("at line {line}, column {column}\n")), "{message}");
            assert!(message.contains(caret), "{message}");
            assert!(message.contains(hint), "{message}");
        }
    }

    #[test]
    fn far_names_get_no_suggestion() {
        assert!(!refusal("[[job]]\ncolour = 3\n").contains("did you mean"));
    }
}
