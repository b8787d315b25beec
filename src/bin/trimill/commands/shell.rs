//! `trimill completions` and `trimill man`: both made from the command line's own description.

use clap::{Command, CommandFactory};

use super::{CommandContext, CommandOutcome};
use crate::cli::Cli;
use trimill::program::{suggest, unwritten};
use trimill::{Error, Result};

pub(super) fn completions(shell: clap_complete::Shell, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    // Through a buffer: the generator panics if its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "trimill", &mut script);
    context.say(&String::from_utf8_lossy(&script))
}

/// `command`: the names of a command and of those below it; none: trimill itself.
pub(super) fn man(command: &[String], context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let mut root = Cli::command();
    root.build();
    let (mut described, mut called) = (&root, "trimill".to_owned());
    for name in command {
        let names = described.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name);
        let hint = suggest::did_you_mean(name, names);
        let found = described.find_subcommand(name);
        described = found.ok_or_else(|| Error::usage(format!("{called} has no command '{name}'{hint}")))?;
        called = format!("{called} {name}");
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(described.clone()).render(&mut page).map_err(unwritten)?;
    context.say(&String::from_utf8_lossy(&page))
}
