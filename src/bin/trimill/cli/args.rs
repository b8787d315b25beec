//! Which of a job's settings a command takes, and flags that are no settings of a job.

use std::ffi::OsStr;

use clap::builder::{Resettable, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Args, Command, Id};

/// How an answer is printed.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AnswerArgs {
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Also print the tables of partitions, devices and stages
    #[arg(long, action = ArgAction::SetTrue, help_heading = "Output", conflicts_with = "json")]
    pub(crate) details: Option<bool>,
}

/// The options that most people need, of any command on a graph; `--help` shows all.
const USUAL: &str = "format backend device_memory host_memory clustering per_vertex per_edge report details json";

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Hides an option from `-h`, unless it is a usual one, one of `own`, or required.
pub(crate) fn usual(arg: Arg, own: &[&str]) -> Arg {
    let name = arg.get_id().as_str();
    let shown = arg.is_positional() || arg.is_required_set() || has(USUAL, name) || own.contains(&name);
    arg.hide_short_help(!shown)
}

/// Whether `words` has the setting's name or its heading in the help.
pub(crate) fn names(words: &str, arg: &Arg) -> bool {
    has(words, arg.get_id().as_str()) || arg.get_help_heading().is_some_and(|heading| has(words, heading))
}

/// Removes settings from a command that does not take them, by their names or headings: they are not shown, and refused.
pub(crate) fn without(arg: Arg, left_out: &str) -> Arg {
    if !names(left_out, &arg) {
        return arg;
    }
    // What follows a flag is not its value.
    let is_flag = matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
    let equals = is_flag || arg.is_require_equals_set();
    let arg = arg.hide(true).action(ArgAction::Set).num_args(0..=1).require_equals(equals);
    // Else other options that need one of its group would name it.
    let arg = arg.group(Resettable::<Id>::Reset).requires(Resettable::<Id>::Reset);
    arg.default_missing_value("").value_parser(NoSuchOption)
}

/// Refuses an option, with or without a value.
#[derive(Clone)]
struct NoSuchOption;

impl TypedValueParser for NoSuchOption {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, _: &OsStr) -> Result<String, clap::Error> {
        let name = arg.and_then(Arg::get_long).unwrap_or_default();
        Err(command.clone().error(ErrorKind::UnknownArgument, format!("--{name}: this command has no such option")))
    }
}
