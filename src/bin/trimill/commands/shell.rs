//! `trimill completions` and `trimill man`: both made from the command line's own description.

use clap::CommandFactory;

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

pub(super) fn man(command: Option<&str>, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let mut root = Cli::command();
    root.build();
    let described = match command {
        None => root,
        Some(name) => {
            let names: Vec<String> =
                root.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect();
            let hint = suggest::did_you_mean(name, names.iter().map(String::as_str));
            let found = root.find_subcommand(name).cloned();
            found.ok_or_else(|| Error::usage(format!("trimill has no command '{name}'{hint}")))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(described).render(&mut page).map_err(unwritten)?;
    context.say(&String::from_utf8_lossy(&page))
}
