//! Reports as text, for people at a terminal: tables and lists of names and values.

pub(crate) mod bench;
pub(crate) mod plan;
pub(crate) mod reports;
pub(crate) mod result;
pub(crate) mod table;
pub(crate) mod value;
