//! `trimill verify`

use super::{CommandContext, CommandOutcome, job_of};
use crate::cli::VerifyCommand;
use crate::text::reports;
use trimill::program::{execute, paths};
use trimill::{Error, Result};

pub(super) fn run(command: &VerifyCommand, context: &mut CommandContext<'_>) -> Result<CommandOutcome> {
    let job = job_of(&command.tables())?;
    paths::check(&[job.paths()])?;
    let (report, written) = Error::answered(execute::verify(job.clone(), &context.control))?;
    let said = context.report_beside(job.output.files.take_standard_output(), command.json, &report, reports::verify);
    let unwritten = written.err().map(|error| context.tell("", &error));
    said.map(|_| unwritten)
}
