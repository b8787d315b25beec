//! The commands: glue between the command line, the engine and the reports, one file each.
//!
//! Enters: a parsed [`Command`] and a [`Context`]. Leaves: text on the context's outputs, and an [`Outcome`] or an error;
//! exit codes are made of them by the program alone.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::cli::Command;
use trimill::control::Control;
use trimill::count::method::Method;
use trimill::error::{Error, Kind, Result};
use trimill::job::file::Tables;
use trimill::job::schema::schema;
use trimill::job::{Backend, Job};
use trimill::report::json;
use trimill::text::printable;

pub(crate) mod bench;
pub(crate) mod cache;
mod checks;
pub(crate) mod count;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod partition;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod shell;
#[cfg(test)]
mod tests;
pub(crate) mod verify;

use trimill::engine::Engine;

/// Where a command writes, and what stops it.
pub(crate) struct Context<'a> {
    /// Standard output: the answer.
    pub(crate) out: &'a mut dyn Write,
    /// Standard error: what went wrong with a job of a batch, and its summary where the answer is JSON.
    pub(crate) err: &'a mut dyn Write,
    /// Whether `out` is a terminal.
    pub(crate) terminal: bool,
    /// Stops the command and hears of its progress.
    pub(crate) control: Control,
}

/// How a command ended that said all it had to say: none for 'done', or the worst that went wrong on the way.
pub(crate) type Outcome = Option<Kind>;

/// Runs `command`.
///
/// # Errors
/// What stopped it; nothing has been said of it yet.
pub(crate) fn run(engine: &dyn Engine, command: Command, context: &mut Context<'_>) -> Result<Outcome> {
    match command {
        Command::Count(command) => count::run(engine, &command, context),
        Command::Run(command) => run::run(engine, &command, context),
        Command::Plan(command) => plan::run(engine, &command, context),
        Command::Partition(command) => partition::run(engine, &command, context),
        Command::Inspect(command) => inspect::run(engine, &command, context),
        Command::Verify(command) => verify::run(engine, &command, context),
        Command::Bench(command) => bench::run(engine, &command, context),
        Command::BenchChild => bench::child(engine, context),
        Command::Generate(command) => generate::run(engine, command, context),
        Command::Doctor(command) => inspect::doctor(engine, &command, context),
        Command::Cache(command) => cache::run(engine, command, context),
        Command::Completions { shell } => shell::completions(shell, context),
        Command::Man { command } => shell::man(command.as_deref(), context),
        Command::Schema => context.say(&schema(Method::names(Backend::Auto))),
        Command::MetisChild { arguments } => engine.metis_child(&arguments).map(|()| None),
    }
}

impl Context<'_> {
    /// Writes `text` to standard output.
    fn say(&mut self, text: &str) -> Result<Outcome> {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).map_err(json::unwritten)?;
        Ok(None)
    }

    /// Says on standard error what went wrong beside the answer; `of` is whose it is.
    fn tell(&mut self, of: &str, error: &Error) {
        self.complain(&format!("{of}{error}"));
    }

    /// The same in words.
    fn complain(&mut self, what: &str) {
        // Nothing can be done about a standard error that takes nothing.
        let _ = writeln!(self.err, "error: {}", printable(what));
    }

    /// Writes `report` as a JSON line, or as what `text` makes of it.
    fn report<R: Serialize>(&mut self, as_json: bool, report: &R, text: impl FnOnce(&R) -> String) -> Result<Outcome> {
        if as_json {
            json::write_line(self.out, report)?;
            return Ok(None);
        }
        self.say(&printable(&text(report)))
    }
}

/// The job of a command line whose flags are `tables`; its files are there.
fn job_of(tables: &Tables) -> Result<Job> {
    let mut job = Job::resolve(None, tables, Path::new(""))?;
    checks::check(&mut job, tables)?;
    job.check_files()?;
    Ok(job)
}
