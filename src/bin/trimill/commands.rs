//! The commands: each runs what the library executes for a parsed [`Command`], and writes its report to the outputs of a [`CommandContext`].
//! [`CommandOutcome`]s and errors become exit codes only in `main.rs`.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::cli::{AnswerArgs, Command};
use crate::text::result::ShownTables;
use trimill::program::execute::Helper;
use trimill::program::{Job, Method, Tables, json, printable, schema};
use trimill::{Backend, Control, Error, Kind, Result};

pub(crate) mod bench;
mod checks;
pub(crate) mod cluster;
pub(crate) mod count;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod run;
pub(crate) mod shell;
#[cfg(test)]
mod tests;

pub(crate) struct CommandContext<'a> {
    /// Standard output: the result.
    pub(crate) out: &'a mut dyn Write,
    /// Standard error: errors of a batch's jobs, and its summary if results are JSON.
    pub(crate) err: &'a mut dyn Write,
    pub(crate) terminal: bool,
    /// Whether nothing but errors is wanted on standard error.
    pub(crate) quiet: bool,
    pub(crate) control: Control,
    /// This program, in which METIS and the methods of a comparison run, too.
    pub(crate) program: Option<PathBuf>,
}

/// How a command ended that has printed everything: none for 'done', else the kind of the worst error.
pub(crate) type CommandOutcome = Option<Kind>;

/// Runs `command`. The error that stopped it is not printed yet.
pub(crate) fn run(command: Command, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    match command {
        Command::Count(command) => count::run(&command, context),
        Command::Truss(command) => count::truss(&command, context),
        Command::Run(command) => run::run(&command, context),
        Command::Prepare(command) => cluster::prepare(&command, context),
        Command::Merge(command) => cluster::merge(&command, context),
        Command::Cluster(command) => cluster::cluster(&command, context),
        Command::Plan(command) => count::plan(&command, context),
        Command::Partition(command) => count::partition(&command, context),
        Command::Inspect(command) => inspect::run(&command, context),
        Command::Verify(command) => count::verify(&command, context),
        Command::Bench(command) => bench::run(&command, context),
        Command::BenchChild => bench::child(context),
        Command::Generate(command) => generate::run(command, context),
        Command::Doctor(command) => inspect::doctor(&command, context),
        Command::Cache(command) => inspect::cache(command, context),
        Command::Completions { shell } => shell::completions(shell, context),
        Command::Man { command } => shell::man(&command, context),
        Command::Schema => context.say(&schema(Method::names(Backend::Auto))),
        Command::MetisChild { arguments } => trimill::metis_child(arguments).map(|()| None),
    }
}

impl CommandContext<'_> {
    fn metis(&self) -> Option<Helper> {
        self.program.clone().map(Helper::metis)
    }

    fn shown(&self, how: &AnswerArgs) -> ShownTables {
        match (how.details == Some(true), self.terminal) {
            (false, _) => ShownTables::None,
            (true, true) => ShownTables::Short,
            (true, false) => ShownTables::Whole,
        }
    }

    fn say(&mut self, text: &str) -> Result<CommandOutcome> {
        write_text(self.out, text).map(|()| None)
    }

    /// Prints an error that occurred beside the result, and returns its kind; `of` is the prefix of the message.
    fn tell(&mut self, of: &str, error: &Error) -> Kind {
        self.print_error_text(&format!("{of}{error}"));
        error.kind()
    }

    fn tell_failed(&mut self, of: &str, done: Result<()>) -> CommandOutcome {
        done.err().map(|error| self.tell(of, &error))
    }

    fn print_error_text(&mut self, what: &str) {
        // If standard error cannot be written, there is nowhere to report it.
        let _ = writeln!(self.err, "error: {}", printable(what));
    }

    /// Writes `report` as a JSON line, or as text; on standard error if a `table` of counts takes standard output.
    fn answer<R: json::Json>(
        &mut self,
        how: &AnswerArgs,
        table: bool,
        report: &R,
        text: impl FnOnce(&R, ShownTables) -> String,
    ) -> Result<CommandOutcome> {
        let shown = self.shown(how);
        let out = if table { &mut *self.err } else { &mut *self.out };
        match how.json {
            true => json::write_line(out, report),
            false => write_text(out, &printable(&text(report, shown))),
        }
        .map(|()| None)
    }

    fn report<R: json::Json>(
        &mut self,
        as_json: bool,
        report: &R,
        text: impl FnOnce(&R) -> String,
    ) -> Result<CommandOutcome> {
        let how = AnswerArgs { json: as_json, details: None };
        self.answer(&how, false, report, |report, _| text(report))
    }
}

fn write_text(out: &mut dyn Write, text: &str) -> Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(json::unwritten)
}

/// The job of a command line whose flags are `tables`; checks that its files exist.
fn job_of(tables: &Tables) -> Result<Job> {
    job_for(tables, false)
}

/// As [`job_of`]; `elsewhere`: the job is for another machine, which has a GPU.
fn job_for(tables: &Tables, elsewhere: bool) -> Result<Job> {
    let mut job = Job::resolve(None, tables, Path::new(""))?;
    checks::check(&mut job, tables, elsewhere)?;
    job.check_files()?;
    Ok(job)
}
