//! `trimill generate` as typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};

use trimill::program::execute::GenerateRequest;
use trimill::program::{Family, InputTable, Job, RowArcs, SUFFIXES, Tables, from_one};
use trimill::{Bytes, Result};

/// `trimill generate`
#[derive(Debug)]
pub(crate) struct GenerateCommand {
    family: Family,
    pub(crate) file: FileArgs,
    /// What a product is made from.
    graph: Option<GraphArgs>,
}

/// Where the graph goes.
#[derive(Debug, Clone, Args)]
pub(crate) struct FileArgs {
    /// The file: .bin for pairs of u32, little-endian; .txt for text; .graph for a BVGraph, with .properties and .offsets beside it; .sg
    /// for GAP's format; - for pairs of u32 on standard output, such as '| trimill count - --format bin-u32' reads.
    /// Files .graph and .sg list the neighbours of each vertex; unless they are made from a given graph, this takes 8 bytes of memory for each edge
    /// and 16 for each vertex
    #[arg(short, long, value_name = "FILE", value_parser = edge_file, help_heading = "Output")]
    pub(crate) output: PathBuf,

    /// Which arcs of an edge a .graph or .sg file has
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", help_heading = "Output")]
    pub(crate) arcs: RowArcs,

    /// Replace a file that is there already
    #[arg(long, help_heading = "Output")]
    force: bool,

    /// CPU threads [default: all cores]
    #[arg(long, value_parser = from_one::<NonZeroUsize>, value_name = "N", help_heading = "Count")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

fn edge_file(typed: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(typed);
    match path.extension().and_then(|suffix| suffix.to_str()) {
        _ if typed == "-" => Ok(path),
        Some("bin" | "txt" | "graph" | "sg") => Ok(path),
        _ => Err(format!("the suffix names no format; expected a name that ends in {SUFFIXES}")),
    }
}

/// A graph from which another one is made.
#[derive(Debug, Clone, Args)]
pub(crate) struct GraphArgs {
    /// The graph's file; it is cleaned first
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputTable,

    /// The most memory of the host for cleaning [default: half of the RAM, or of the limit of the process's control groups]
    #[arg(long, value_name = "BYTES", help_heading = "Memory")]
    pub(crate) host_memory: Option<Bytes>,

    /// The directory for temporary files
    #[arg(long, value_name = "DIR", help_heading = "Cache and work")]
    pub(crate) work_dir: Option<PathBuf>,
}

impl GraphArgs {
    fn job(&self, threads: Option<NonZeroUsize>) -> Result<Box<Job>> {
        let mut tables = Tables { input: self.input.clone(), ..Tables::default() };
        tables.input.path = Some(self.graph.clone());
        (tables.memory.host, tables.count.threads) = (self.host_memory, threads);
        tables.work.dir.clone_from(&self.work_dir);
        Job::resolve(None, &tables, std::path::Path::new("")).map(Box::new)
    }
}

impl GenerateCommand {
    pub(crate) fn request(self) -> Result<GenerateRequest> {
        let graph = self.graph.map(|graph| graph.job(self.file.threads)).transpose()?;
        let FileArgs { arcs, output, force, threads, .. } = self.file;
        Ok(GenerateRequest { family: self.family, graph, arcs, output, force, threads })
    }
}

/// The families are sub-commands that `trimill-generate` declares; each takes a file, too, and some a graph.
impl Args for GenerateCommand {
    fn augment_args(command: Command) -> Command {
        let with_file = |family: Command| {
            let about = family.get_about().cloned().unwrap_or_default();
            let family = if is_product(family.get_name()) { GraphArgs::augment_args(family) } else { family };
            // Added arguments bring their own description along.
            FileArgs::augment_args(family).about(about)
        };
        let command = Family::augment_subcommands(command).mut_subcommands(with_file);
        command.subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn is_product(family: &str) -> bool {
    ["blowup", "copies", "tensor-complete"].contains(&family)
}

impl FromArgMatches for GenerateCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let family = Family::from_arg_matches(matches)?;
        let (name, typed) = matches.subcommand().ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        let graph = is_product(name).then(|| GraphArgs::from_arg_matches(typed)).transpose()?;
        Ok(Self { family, file: FileArgs::from_arg_matches(typed)?, graph })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
