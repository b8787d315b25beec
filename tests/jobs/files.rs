//! Which files are trusted: changing inputs, stale, crafted or other users' cached graphs, readable folders, directories that are no run directories.

mod crafted;
mod folders;
mod inputs;
mod place;
mod sharing;
