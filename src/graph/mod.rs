//! Graphs in memory and on disk.
