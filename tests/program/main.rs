//! The program as users run it, and its documents.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod command_line;
#[path = "../common/mod.rs"]
mod common;
mod messages;
mod methods_doc;
mod outputs;
mod performance_doc;
mod pipes;
mod plan;
mod readme;
mod refusals;
mod report;
mod schema;
mod space;
