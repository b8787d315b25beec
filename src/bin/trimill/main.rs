//! The program: reads the command line, runs the command, and turns its outcome into an exit code.

mod cli;
mod commands;
mod progress;
mod signals;
mod text;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use cli::{Cli, Command, Global, JsonTo, ProgressMode};
use commands::{CommandContext, CommandOutcome};
use progress::ProgressLine;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use trimill::program::{Failure, WORKER, end_at_once, guarded, json, own_process, printable, report_failed_reads};
use trimill::{Control, Error, Kind, Result};

fn main() -> ExitCode {
    own_process();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut out = ClosableOutput { out: io::stdout(), gone: false };
    let code = run(arguments, &mut out, &mut io::stderr());
    if trimill_kernels::any_abandoned() {
        // The driver would wait for the device at the process's end.
        let _ = out.flush();
        end_at_once(code);
    }
    ExitCode::from(code)
}

fn run(arguments: Vec<OsString>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let parse = |typed: ArgMatches| Ok((JsonTo::of(&typed), Cli::from_arg_matches(&typed)?));
    let (json_to, Cli { command, global }) = match Cli::command().try_get_matches_from(&arguments).and_then(parse) {
        Ok(parsed) => parsed,
        // Help and version are results, everything else is a wrong command line.
        Err(error) if error.use_stderr() => {
            refuse(error, &arguments, out, err);
            return code(Kind::Usage);
        }
        Err(error) => {
            return match error.print() {
                Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => {
                    let unwritten = json::unwritten(failed);
                    let _ = writeln!(err, "error: {unwritten}");
                    code(unwritten.kind())
                }
                _ => 0,
            };
        }
    };
    // A worker thread's panic arrives here; its message is on standard error already.
    match guarded(WORKER, || execute(command, &global, out, err)).and_then(|outcome| outcome) {
        Ok(None) => 0,
        Ok(Some(worst)) => code(worst),
        Err(error) => {
            // If even that cannot be written, standard error and the exit code report the error.
            let _ = json_to.write(&Failure::new(None, &error), out, err);
            let _ = writeln!(err, "error: {}", printable(&error.to_string()));
            code(error.kind())
        }
    }
}

fn is_hidden(option: &str, arguments: &[OsString]) -> bool {
    let program = Cli::command();
    let words = arguments.iter().skip(1);
    let command = words.fold(&program, |command, word| command.find_subcommand(word).unwrap_or(command));
    command.get_arguments().any(|arg| arg.is_hide_set() && arg.get_long() == option.strip_prefix("--"))
}

fn refuse(mut error: clap::Error, arguments: &[OsString], out: &mut dyn Write, err: &mut dyn Write) {
    if error.kind() == ErrorKind::UnknownArgument {
        // clap would say how to pass a value that begins with `-`, which a mistyped option is not.
        error.remove(ContextKind::Suggested);
        // Nor does it help to suggest an option that the command would refuse.
        if matches!(error.get(ContextKind::SuggestedArg), Some(ContextValue::String(name)) if is_hidden(name, arguments))
        {
            error.remove(ContextKind::SuggestedArg);
        }
    }
    let rendered = error.render().to_string();
    // The standard library's messages about text that is no number.
    let mut text = rendered.replace("invalid digit found in string", "expected a whole number");
    let file = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(typed)) if Path::new(typed).exists() => Some(typed),
        _ => None,
    };
    let before =
        |typed: &String| arguments.windows(2).find(|pair| pair[1] == **typed).and_then(|pair| pair[0].to_str());
    match (file, file.and_then(before).filter(|word| ["cache", "cluster", "generate"].contains(word))) {
        (Some(file), None) => {
            let command = if file.ends_with(".toml") { "run" } else { "count" };
            text = format!(
                "error: '{file}' is a file, and no command; to count its triangles: trimill {command} {file}\n"
            );
        }
        (Some(file), Some("cluster")) => {
            text = format!(
                "error: '{file}' is no scheduler; expected slurm or hq, and then the run directory of 'trimill prepare': \
                 trimill cluster slurm RUN\n"
            );
        }
        _ => {}
    }
    let message = text.trim_end().strip_prefix("error: ").unwrap_or(text.trim_end());
    let _ = JsonTo::of_words(arguments).write(&Failure::new(None, &Error::usage(message)), out, err);
    match printable(&text) {
        // clap styles what goes to a terminal.
        Cow::Borrowed(same) if same == rendered => drop(error.print()),
        plain => drop(write!(err, "{plain}")),
    }
}

fn execute(command: Command, global: &Global, out: &mut dyn Write, err: &mut dyn Write) -> Result<CommandOutcome> {
    let mode = if global.quiet { ProgressMode::None } else { global.progress };
    let terminal = Terminal::new(io::stderr().is_terminal(), |name| std::env::var_os(name));
    let progress = ProgressLine::new(mode, terminal.moves_cursor);
    log(global, &progress, terminal.colors);
    let stop = Arc::new(AtomicBool::new(false));
    if !matches!(command, Command::MetisChild { .. }) {
        signals::install(&stop)?;
        report_failed_reads();
    }
    let control = Control::new(stop, Arc::clone(&progress.observer));
    let program = std::env::current_exe().ok();
    let (terminal, quiet) = (io::stdout().is_terminal(), global.quiet);
    let mut context = CommandContext { out, err, terminal, quiet, control, program };
    commands::run(command, &mut context)
}

#[derive(Debug, PartialEq)]
struct Terminal {
    moves_cursor: bool,
    colors: bool,
}

impl Terminal {
    /// `TERM=dumb`: a terminal that only appends text. `NO_COLOR`, not empty: no colors (<https://no-color.org>).
    fn new(terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let moves_cursor = terminal && variable("TERM").is_none_or(|name| name != "dumb");
        Self { moves_cursor, colors: moves_cursor && variable("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }
}

/// Log lines go to standard error; bars are hidden while they are written.
fn log(global: &Global, progress: &ProgressLine, colors: bool) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => LevelFilter::ERROR,
        (false, 0) => LevelFilter::WARN,
        (false, 1) => LevelFilter::INFO,
        (false, 2) => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let writer = progress.log_writer();
    let notes = if global.quiet { level } else { level.max(LevelFilter::INFO) };
    let shown = Targets::new().with_default(level).with_target(trimill::program::NOTE, notes);
    let lines =
        tracing_subscriber::fmt::layer().with_target(false).with_ansi(colors).with_writer(move || writer.clone());
    // Fails only if a log is set up already, which is then used.
    let _ = match global.verbose {
        0 => tracing_subscriber::registry().with(lines.without_time()).with(shown).try_init(),
        _ => tracing_subscriber::registry().with(lines).with(shown).try_init(),
    };
}

fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Data => 1,
        Kind::Usage => 2,
        Kind::Resource => 3,
        Kind::Interrupted => signals::INTERRUPTED,
        _ => 101,
    }
}

/// Standard output that its reader may close (`trimill ... | head`): the rest is dropped; files and the exit code follow.
struct ClosableOutput {
    out: io::Stdout,
    gone: bool,
}

impl ClosableOutput {
    fn unless_gone<T>(&mut self, result: io::Result<T>, dropped: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(dropped)
            }
            other => other,
        }
    }
}

impl Write for ClosableOutput {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(text.len());
        }
        let result = self.out.write(text);
        self.unless_gone(result, text.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let result = self.out.flush();
        self.unless_gone(result, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_and_bars_are_for_terminals_that_show_them() {
        for (terminal, variables, moves_cursor, colors) in [
            (true, &[("TERM", "xterm")][..], true, true),
            (true, &[], true, true),
            (true, &[("TERM", "dumb")], false, false),
            (true, &[("TERM", "xterm"), ("NO_COLOR", "1")], true, false),
            (true, &[("NO_COLOR", "")], true, true),
            (false, &[("TERM", "xterm")], false, false),
        ] {
            let variable = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, value)| value.into());
            let expected = Terminal { moves_cursor, colors };
            assert_eq!(Terminal::new(terminal, variable), expected, "{terminal} {variables:?}");
        }
    }
}
