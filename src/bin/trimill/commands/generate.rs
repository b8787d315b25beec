//! `trimill generate`

use super::{CommandContext, CommandOutcome};
use crate::cli::GenerateCommand;
use crate::text::reports;
use trimill::Result;
use trimill::program::{Job, Paths, execute, paths};

pub(super) fn run(command: GenerateCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let as_json = command.file.json;
    let request = command.request()?;
    if let Some(graph) = &request.graph {
        graph.check_files()?;
    }
    let mut files = Paths::forced(request.force);
    for file in request.files() {
        files = files.writes("the generated graph", &file, None);
    }
    let graph = request.graph.as_deref().map(Job::paths);
    paths::check(&graph.into_iter().chain([files]).collect::<Vec<_>>())?;
    let report = execute::generate(&request, &context.control)?;
    match request.files().is_empty() {
        true => Ok(None),
        false => context.report(as_json, &report, reports::generate),
    }
}
