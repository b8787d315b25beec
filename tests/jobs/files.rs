//! Which files are trusted: changing inputs, stale or other users' cached graphs, readable folders, directories that are no run directories.

mod folders;
mod inputs;
mod place;
mod sharing;

pub(crate) use place::dated;
