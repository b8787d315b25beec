//! Which files are trusted: inputs that change, cached graphs that are stale, crafted or another user's, folders that others
//! can read, directories that are not run directories.

mod crafted;
mod folders;
mod inputs;
mod place;
mod sharing;
