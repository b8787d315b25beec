//! The HTML report (`--report`) and the trace (`--trace`), written whole or not at all. They replace a file only if it is empty, or an earlier report
//! or trace, so that a mistyped name does not destroy a graph.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::json::Json;
pub use super::page::page;
use super::page::{EarlierResult, MARK, PageEntry, ResultKind};
use super::{PlanReport, RunResult, SCHEMA_VERSION, trace};
use crate::job::Job;
use crate::rates::MachineRates;
use trimill_system::{Bytes, Error, Result, disk};

const HEAD: u64 = 4096;

/// The most spans of a track in a page, and of all tracks: keeps a page of a thousand partitions below 2 MB.
const SPANS_OF_TRACK: usize = 2000;
const SPANS: usize = 5000;

/// A result with a million partitions is smaller.
const LARGEST_RESULT: u64 = 1 << 30;

/// Checks that a report may take the place of `path`: of nothing, an empty file or an earlier report. Errors: `Kind::Usage` for another file.
pub fn check_report(path: &Path) -> Result<()> {
    check(path, MARK, "a report")
}

/// As [`check_report`], for a trace.
pub fn check_trace(path: &Path) -> Result<()> {
    check(path, trace::MARK, "a trace")
}

/// As [`check_report`], for a comparison as JSON.
pub fn check_comparison(path: &Path) -> Result<()> {
    check(path, "  \"machine\": {\n    \"processor\": ", "a comparison")
}

fn check(path: &Path, mark: &str, what: &str) -> Result<()> {
    let replaced = disk::file_of_output(path)?.and_then(|file| file.metadata().ok());
    if replaced.is_none_or(|found| found.len() == 0) {
        return Ok(());
    }
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| Error::read(path, error))?;
    file.take(HEAD).read_to_end(&mut head).map_err(|error| Error::read(path, error))?;
    if memchr::memmem::find(&head, mark.as_bytes()).is_some() {
        return Ok(());
    }
    Err(Error::usage(format!("is there already, and is not {what} of trimill"))
        .at(path)
        .expected(format!("a new name, or {what}, which is replaced"))
        .advice("name another file"))
}

/// Reads the result of an earlier count, from `--json` or `result.json`. Errors: `Kind::Data` if the file cannot be read, or is no result.
fn earlier(path: &Path) -> Result<EarlierResult> {
    let wrong = |found: String| {
        Error::data(path, found)
            .expected("the result of one count, as 'trimill count --json' prints it")
            .advice("name a file of such a result with --against")
    };
    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| Error::read(path, error))?;
    file.take(LARGEST_RESULT + 1).read_to_end(&mut text).map_err(|error| Error::read(path, error))?;
    if text.len() as u64 > LARGEST_RESULT {
        return Err(wrong(format!("is larger than {}", Bytes(LARGEST_RESULT))));
    }
    let value: Value =
        serde_json::from_slice(&text).map_err(|error| wrong(format!("is not one JSON object ({error})")))?;
    let has = |name| value.get(name).is_some();
    let version =
        value.get("schema_version").and_then(Value::as_u64).filter(|&version| version != u64::from(SCHEMA_VERSION));
    let other = match (has("error"), has("graphs"), has("parts_reason")) {
        (true, ..) => Some("is a failure".into()),
        (_, true, _) => Some("is a comparison of methods".into()),
        (.., true) => Some("is a plan".into()),
        _ => version.map(|version| format!("has version {version}, this program knows {SCHEMA_VERSION}")),
    };
    if let Some(other) = other {
        return Err(wrong(other));
    }
    let result: RunResult = serde_json::from_slice(&text).map_err(|error| wrong(format!("is no result ({error})")))?;
    let shown = RunResult { timeline: None, degrees: None, ..result };
    let json = shown.line().map_err(|error| Error::defect(format!("a result cannot be written as JSON: {error}")))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(EarlierResult { name, json })
}

impl Job {
    /// The result that the page compares with. To be read before the job begins, which may overwrite the file.
    pub fn earlier(&self) -> Result<Option<EarlierResult>> {
        self.settings.output.against.as_deref().map(earlier).transpose()
    }

    /// Its count, for a page, beside an `earlier` result.
    pub fn page_of_count(&self, result: &RunResult, earlier: Option<EarlierResult>) -> Result<PageEntry> {
        let timeline = result.timeline.clone().map(|timeline| {
            let each = SPANS / timeline.tracks.len().max(1);
            timeline.with_at_most(each.min(SPANS_OF_TRACK))
        });
        let shown = RunResult { timeline, ..result.clone() };
        Ok(PageEntry {
            job: self.repeated(result),
            rates: Some(self.rates()),
            against: earlier,
            ..PageEntry::new(ResultKind::Count, self.title(), &shown)?
        })
    }

    fn page_of_plan(&self, plan: &PlanReport) -> Result<PageEntry> {
        let chosen = RunResult {
            backend: plan.backend.clone(),
            method: plan.method.clone(),
            partitioner: plan.partitioner.clone(),
            mode: plan.mode,
            prune: plan.prune,
            device_memory: plan.device_memory,
            host_memory: plan.host_memory,
            ..RunResult::default()
        };
        Ok(PageEntry {
            job: self.repeated(&chosen),
            rates: Some(self.rates()),
            ..PageEntry::new(ResultKind::Plan, self.title(), plan)?
        })
    }

    fn rates(&self) -> MachineRates {
        MachineRates::of(self.settings.cache.dir.as_deref())
    }

    /// Writes the page and the trace of its count where it asks for them. Errors: `Kind::Resource`.
    pub fn write_views(&self, result: &RunResult, earlier: Option<EarlierResult>) -> Result<()> {
        let output = &self.settings.output;
        let page = |file| write_report(file, &[self.page_of_count(result, earlier)?]);
        let trace = |file| write_trace(file, &self.title(), result);
        let written = [output.report.as_deref().map_or(Ok(()), page), output.trace.as_deref().map_or(Ok(()), trace)];
        Error::worst_of(written)
    }

    /// Writes the page of its plan if it asks for one. Errors: `Kind::Resource`.
    pub fn write_plan(&self, plan: &PlanReport) -> Result<()> {
        let page = |file| write_report(file, &[self.page_of_plan(plan)?]);
        self.settings.output.report.as_deref().map_or(Ok(()), page)
    }
}

/// Writes a page to `path`. Errors: `Kind::Resource`; an older file then stays as it was.
pub fn write_report(path: &Path, entries: &[PageEntry]) -> Result<()> {
    disk::write_outputs(&[(path, page(entries).as_bytes())])
}

/// Writes the trace of a count to `path`; an empty one if an earlier start counted without a timeline.
fn write_trace(path: &Path, title: &str, result: &RunResult) -> Result<()> {
    let timeline = result.timeline.clone().unwrap_or_default();
    disk::write_outputs(&[(path, trace::trace(title, &timeline).as_bytes())])
}
