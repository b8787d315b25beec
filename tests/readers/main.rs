//! The readers on real graphs and on every kind of bad input, through the public interface.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archives;
mod bad_binary;
mod bad_tables;
mod bad_text;
mod bvgraph;
mod columns;
#[path = "../common/mod.rs"]
mod common;
mod dialects;
mod fixtures;
mod formats;
mod real;
mod repository;
mod rows;
mod stop;
mod support;
