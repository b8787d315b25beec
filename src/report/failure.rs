//! What is reported instead of a result when a job fails.

use serde::{Deserialize, Serialize};

use trimill_system::{Error, Kind};

/// A job that failed, as one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The job's name, where it has one.
    pub job: Option<String>,
    /// Why.
    pub error: Reason,
}

/// The kind of an error, and its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// `data`, `usage`, `resource`, `defect` or `interrupted`; in a comparison also `timeout` or `crash`.
    pub kind: String,
    /// The error's text.
    pub message: String,
}

impl Failure {
    /// The failure of the job called `job`.
    pub fn new(job: Option<&str>, error: &Error) -> Self {
        Self { job: job.map(str::to_owned), error: Reason::from(error) }
    }
}

impl From<&Error> for Reason {
    fn from(error: &Error) -> Self {
        Self { kind: kind_name(error.kind()).into(), message: error.to_string() }
    }
}

/// The name of a kind in JSON.
pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Data => "data",
        Kind::Usage => "usage",
        Kind::Resource => "resource",
        Kind::Interrupted => "interrupted",
        _ => "defect",
    }
}
