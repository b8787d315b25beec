//! `trimill generate`

use super::{Context, Outcome};
use crate::cli::GenerateCommand;
use trimill::Result;
use trimill::program::Engine;
use trimill::program::GenerateReport;

pub(super) fn run(engine: &dyn Engine, command: GenerateCommand, context: &mut Context<'_>) -> Result<Outcome> {
    let (request, as_json) = command.request()?;
    if let Some(graph) = &request.graph {
        graph.check_files()?;
    }
    let report = engine.generate(&request, &context.control)?;
    context.report(as_json, &report, GenerateReport::table)
}
