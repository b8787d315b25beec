//! `trimill cache`

use super::{CommandContext, CommandOutcome};
use crate::cli::CacheCommand;
use trimill::Result;
use trimill::program::Engine;
use trimill::program::RemoveRequest;

pub(super) fn run(
    engine: &dyn Engine,
    command: CacheCommand,
    context: &mut CommandContext<'_>,
) -> Result<CommandOutcome> {
    let (report, what, as_json) = match command {
        CacheCommand::List { cache } => (engine.cache_list(cache.cache_dir.as_deref())?, "holds", cache.json),
        CacheCommand::Remove { which, max, cache } => {
            let request = RemoveRequest { which, max };
            (engine.cache_remove(cache.cache_dir.as_deref(), &request)?, "removed", cache.json)
        }
        CacheCommand::Clear { cache } => (engine.cache_clear(cache.cache_dir.as_deref())?, "removed", cache.json),
    };
    context.report(as_json, &report, |report| report.table(what))
}
