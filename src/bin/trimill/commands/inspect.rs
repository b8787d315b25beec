//! `trimill inspect`, `doctor` and `cache`: show files, the machine and the cached graphs.

use super::{CommandContext, CommandOutcome};
use crate::cli::{CacheCommand, DoctorCommand, InspectCommand};
use crate::text::{reports, value};
use trimill::Result;
use trimill::program::execute;

pub(super) fn run(command: &InspectCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let report = execute::inspect(&command.spill, command.verify, &context.control)?;
    context.report(command.json, &report, value::text)
}

pub(super) fn doctor(command: &DoctorCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let DoctorCommand { work_dir, cache_dir, measure, .. } = command;
    let report = execute::doctor(work_dir.as_deref(), cache_dir.as_deref(), *measure, &context.control)?;
    context.report(command.json, &report, reports::doctor)
}

pub(super) fn cache(command: CacheCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let (report, what, as_json) = match command {
        CacheCommand::List(cache) => (execute::cache::list(cache.cache_dir.as_deref())?, "holds", cache.json),
        CacheCommand::Remove { which, max, cache } => {
            (execute::cache::remove(cache.cache_dir.as_deref(), &which, max)?, "removed", cache.json)
        }
        CacheCommand::Clear(cache) => (execute::cache::clear(cache.cache_dir.as_deref())?, "removed", cache.json),
    };
    context.report(as_json, &report, |report| reports::cache(report, what))
}
