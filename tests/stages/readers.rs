//! The readers on real graphs and on every kind of bad input, through the public interface.

mod archives;
mod arrow;
mod bad_binary;
mod bad_tables;
mod bad_text;
mod bvgraph;
mod columns;
mod dialects;
mod fixtures;
mod formats;
mod graphar;
mod rows;
mod stop;
pub(crate) mod support;
