//! Job files, and the same text as an argument of `--set`.

use std::path::Path;

use trimill::testing::error::Kind;
use trimill::testing::job::batch;
use trimill::testing::job::file::{JobFile, Tables};
use trimill::testing::job::overrides::Override;
use trimill::testing::job::parse::parse;

use super::Place;

pub(super) fn check(_: &Place, bytes: &[u8]) {
    // `batch::read` refuses files that are not UTF-8.
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let origin = Path::new("folder/jobs.toml");
    if let Err(error) = Override::parse(text) {
        assert_eq!(error.kind(), Kind::Usage, "{error}");
    }
    let jobs = batch::resolved(text, origin, &[], &[]).unwrap_or_else(|error| vec![Err(error)]);
    assert!(!jobs.is_empty());
    for job in jobs {
        match job {
            Ok(entry) => assert!(!entry.job.title().is_empty() && !entry.job.inputs.is_empty()),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Usage, "{error}");
                assert!(error.to_string().starts_with("folder/jobs.toml"), "{error}");
            }
        }
    }
    if let Ok(file) = parse::<JobFile>(text, origin) {
        let written = toml::to_string(&file.defaults).expect("tables as text");
        assert_eq!(parse::<Tables>(&written, origin).expect("written tables"), file.defaults, "{written}");
    }
}
