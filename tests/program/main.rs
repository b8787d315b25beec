//! The program as users run it, and its documents.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod command_line;
#[path = "../common/mod.rs"]
mod common;
mod examples;
mod help;
mod how_big_doc;
mod messages;
mod methods_doc;
mod outputs;
mod pipes;
mod plan;
mod readme;
mod refusals;
mod report;
mod space;
