//! `trimill completions` and `trimill man`: both made from the command line's own description.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, ArgAction, Command, CommandFactory, Id};

use super::{CommandContext, CommandOutcome};
use crate::cli::Cli;
use trimill::program::{json, suggest};
use trimill::{Error, Result};

pub(super) fn completions(shell: clap_complete::Shell, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    context.say(&script(shell))
}

fn script(shell: clap_complete::Shell) -> String {
    // Through a buffer: the generator panics if its output is closed.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown_commands(), "trimill", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// `command`: the names of a command and its sub-command; if empty, the page is that of trimill itself.
pub(super) fn man(command: &[String], context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    context.say(&page(command)?)
}

fn page(command: &[String]) -> Result<String> {
    // There are no pages of `help`.
    let mut root = shown_commands().disable_help_subcommand(true);
    root.build();
    let (mut described, mut called) = (&root, "trimill".to_owned());
    for name in command {
        let hint = suggest::did_you_mean(name, described.get_subcommands().map(Command::get_name));
        let found = described.find_subcommand(name);
        described = found.ok_or_else(|| Error::usage(format!("{called} has no command '{name}'{hint}")))?;
        called = format!("{called} {name}");
    }
    let program = format!("trimill {}", root.get_version().unwrap_or_default());
    let mut page = Vec::new();
    // An empty date would be left out, and the version take its place.
    clap_mangen::Man::new(described.clone()).date(" ").source(program).render(&mut page).map_err(json::unwritten)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// The command line without hidden commands and options, which the generators would offer.
fn shown_commands() -> Command {
    let mut root = Cli::command();
    root.build();
    shown(&root)
}

/// A copy of a built command, without clap's own options and `help`, which clap adds again.
fn shown(command: &Command) -> Command {
    let text = |text: Option<&StyledStr>| -> Resettable<StyledStr> { text.cloned().into() };
    let is_shown = |arg: &&Arg| {
        use ArgAction::{Help, HelpLong, HelpShort, Version};
        !arg.is_hide_set() && !matches!(arg.get_action(), Help | HelpShort | HelpLong | Version)
    };
    // Clap asserts that all arguments which another one names exist.
    let alone = |arg: &Arg| {
        let conflicts = command.get_arg_conflicts_with(arg).into_iter().filter(is_shown).map(Arg::get_id);
        let none = || Resettable::<Id>::Reset;
        let alone = arg.clone().requires(none()).required_unless_present(none()).conflicts_with(none());
        // clap_mangen leaves out the description of an option that `-h` hides.
        alone.conflicts_with_all(conflicts).hide_short_help(false)
    };
    let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
    let copy = Command::new(command.get_name().to_owned())
        .about(text(command.get_about()))
        .long_about(text(command.get_long_about()))
        .after_help(text(command.get_after_help()))
        .after_long_help(text(command.get_after_long_help()))
        .subcommand_required(command.is_subcommand_required_set())
        .args(command.get_arguments().filter(is_shown).map(alone))
        .subcommands(below.map(shown));
    match command.get_version() {
        Some(version) => copy.version(version.to_owned()),
        None => copy,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All commands that are shown, built: their names from the program's on, and their descriptions as typed.
    pub(in crate::commands) fn commands() -> Vec<(Vec<String>, Command)> {
        fn add(command: &Command, names: &[String], all: &mut Vec<(Vec<String>, Command)>) {
            all.push((names.to_vec(), command.clone()));
            let below = command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
            below.for_each(|below| add(below, &[names, &[below.get_name().to_owned()]].concat(), all));
        }
        let (mut root, mut all) = (Cli::command(), Vec::new());
        root.build();
        add(&root, &["trimill".to_owned()], &mut all);
        assert!(all.len() > 25, "{}", all.len());
        all
    }

    #[test]
    fn completions_offer_what_help_shows() {
        let scripts = [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish].map(script);
        for script in &scripts {
            assert!(script.contains("device-memory") && !script.contains("-child"));
        }
        for (names, command) in commands() {
            let help = command.clone().render_long_help().to_string();
            // Descriptions are indented further than the options.
            let options = help.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --"));
            let shown: BTreeSet<&str> = options
                .filter_map(|line| line.split([' ', '[', '=', '.']).find(|word| word.starts_with("--")))
                .collect();
            let label = names.join("__subcmd__").replace('-', "__subcmd__");
            let (_, of_command) = scripts[0].split_once(&format!("\n        {label})\n            opts=\"")).unwrap();
            let (offered, _) = of_command.split_once('"').unwrap();
            let offered: BTreeSet<&str> = offered.split(' ').filter(|word| word.starts_with("--")).collect();
            assert_eq!(offered, shown, "{names:?}");
        }
    }

    #[test]
    fn manual_pages_describe_every_option() {
        let mut described = 0;
        for (names, command) in commands() {
            let page = page(&names[1..]).unwrap();
            let lines: Vec<&str> = page.lines().collect();
            for (i, _) in lines.iter().enumerate().filter(|(_, line)| **line == ".TP") {
                let body = lines.get(i + 2).copied().unwrap_or_default();
                assert!(!body.is_empty() && !body.starts_with('.'), "{names:?}: {}: '{body}'", lines[i + 1]);
                described += 1;
            }
            let title = lines.iter().find(|line| line.starts_with(".TH ")).unwrap();
            assert!(title.contains(env!("CARGO_PKG_VERSION")), "{title}");
            for option in command.get_arguments().filter_map(|arg| arg.get_long().filter(|_| !arg.is_hide_set())) {
                assert!(page.contains(&option.replace('-', r"\-")), "{names:?}: {option}");
            }
            assert!(!page.contains(r"\-help(1)") && !page.contains(r"\-child"), "{names:?}");
        }
        assert!(described > 200, "{described}");
        assert!(page(&["bench-child".to_owned()]).is_err());
    }
}
