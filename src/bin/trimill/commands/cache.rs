//! `trimill cache`

use super::{CommandContext, CommandOutcome};
use crate::cli::CacheCommand;
use crate::text::reports;
use trimill::Result;
use trimill::program::execute;

pub(super) fn run(command: CacheCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let (report, what, as_json) = match command {
        CacheCommand::List { cache } => (execute::cache::list(cache.cache_dir.as_deref())?, "holds", cache.json),
        CacheCommand::Remove { which, max, cache } => {
            (execute::cache::remove(cache.cache_dir.as_deref(), &which, max)?, "removed", cache.json)
        }
        CacheCommand::Clear { cache } => (execute::cache::clear(cache.cache_dir.as_deref())?, "removed", cache.json),
    };
    context.report(as_json, &report, |report| reports::cache(report, what))
}
