//! What the commands ask the stations for, beside [`crate::job::Job`].
//!
//! The stations themselves stand behind [`crate::commands::engine::Engine`].

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::bytes::Bytes;
use crate::generate::Family;
use crate::job::Job;

/// A graph to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateRequest {
    /// Which.
    pub family: Family,
    /// The graph that a product is made of; it is cleaned first.
    pub graph: Option<Box<Job>>,
    /// The file; its suffix tells how edges are written to it.
    pub output: PathBuf,
    /// CPU threads; none: all cores.
    pub threads: Option<NonZeroUsize>,
}

/// A spill to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectRequest {
    /// A spilled partition, or a directory with a manifest.
    pub path: PathBuf,
    /// Whether everything is decoded and every checksum compared.
    pub verify: bool,
}

/// What is to be removed from the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveRequest {
    /// Keys (a unique beginning will do), or files that graphs were made of. One that the cache has nothing of is an
    /// error of the data.
    pub which: Vec<String>,
    /// Afterwards, what was not used for longest goes until the rest takes at most so much.
    pub max: Option<Bytes>,
}
