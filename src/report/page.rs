//! Reports as one HTML page, with charts, that needs no network. Input: the JSON of results, as `--json` prints it, and what the page says of each.
//! Output: the template in `page/` with style, scripts, the chart library with licences, and data. Time and memory: the size of the results and 0.8
//! MB; 1,000 partitions with 5,000 spans make less than 2 MB. A browser ends a script element at `</script`, even inside a string, so each `<` in the
//! data, which occurs only in strings, is written as `\u003c`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::VERSION;
use super::json::Json;
use super::partitions::{COLUMNS, PartitionColumn};
use crate::rates::MachineRates;
use trimill_system::{Error, Result};

/// Near the beginning of every page, and of no other file.
pub const MARK: &str = "<meta name=\"generator\" content=\"trimill\">";

const TEMPLATE: &str = include_str!("page/template.html");
const STYLE: &str = include_str!("page/style.css");
/// Apache ECharts, made by `scripts/make-charts`.
const LIBRARY: &str = include_str!("page/echarts.js");

/// Licences of the library and of what is bundled with it.
const LICENCES: [&str; 5] = [
    include_str!("page/echarts-LICENSE.txt"),
    include_str!("page/echarts-NOTICE.txt"),
    include_str!("page/zrender-LICENSE.txt"),
    include_str!("page/tslib-LICENSE.txt"),
    include_str!("page/d3-LICENSE.txt"),
];

/// In the order of dependencies; the last one starts.
const SCRIPTS: [&str; 15] = [
    include_str!("page/format.js"),
    include_str!("page/data.js"),
    include_str!("page/dom.js"),
    include_str!("page/charts.js"),
    include_str!("page/waits.js"),
    include_str!("page/summary.js"),
    include_str!("page/memory.js"),
    include_str!("page/timeline.js"),
    include_str!("page/rates.js"),
    include_str!("page/degrees.js"),
    include_str!("page/trusses.js"),
    include_str!("page/against.js"),
    include_str!("page/plan.js"),
    include_str!("page/bench.js"),
    include_str!("page/main.js"),
];

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultKind {
    /// A count: [`crate::report::RunResult`].
    Count,
    /// A plan: [`crate::report::PlanReport`].
    Plan,
    /// A comparison of methods: [`crate::report::BenchReport`].
    Bench,
    /// A job that failed: [`crate::report::Failure`].
    Failure,
}

/// A result, and what the page says of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageEntry {
    /// The kind of the result.
    pub kind: ResultKind,
    /// The heading: the job's name or the input's.
    pub title: String,
    /// The job file that repeats the job, as TOML.
    pub job: Option<String>,
    /// The limits with which the stages are compared.
    pub rates: Option<MachineRates>,
    /// The result as `--json` prints it.
    #[serde(skip)]
    pub json: String,
    /// An earlier result beside it.
    pub against: Option<EarlierResult>,
}

/// A result of an earlier count, with which a page compares.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct EarlierResult {
    /// The name of its file.
    pub name: String,
    /// The result, without its timeline and degrees, as `--json` prints it.
    #[serde(skip)]
    pub json: String,
}

impl PageEntry {
    /// An entry without a job and rates.
    pub fn new(kind: ResultKind, title: String, report: &dyn Json) -> Result<Self> {
        let unwritten = |error| Error::defect(format!("a report cannot be written as JSON: {error}"));
        let json = report.line().map_err(unwritten)?;
        Ok(Self { kind, title, job: None, rates: None, json, against: None })
    }
}

#[derive(Serialize)]
struct PageContext<'a> {
    version: &'static str,
    /// Seconds since 1970, UTC.
    created: u64,
    columns: &'a [PartitionColumn],
    entries: &'a [PageEntry],
}

/// The page.
pub fn page(entries: &[PageEntry]) -> String {
    let size: usize = entries.iter().map(|entry| entry.json.len()).sum();
    let mut page = String::with_capacity(LIBRARY.len() + 2 * size + (200 << 10));
    // In one pass, so that inserted text is not searched for markers.
    let mut chunks = TEMPLATE.split("<!-- insert ");
    page.push_str(chunks.next().unwrap_or_default());
    for chunk in chunks {
        let (name, rest) = chunk.split_once(" -->").unwrap_or((chunk, ""));
        match name {
            "style" => page.push_str(STYLE),
            "licences" => page.push_str(&escaped(&LICENCES.join("\n\n"))),
            "data" => push_data(&mut page, entries),
            "library" => page.push_str(LIBRARY),
            _ => SCRIPTS.iter().for_each(|script| page.push_str(script)),
        }
        page.push_str(rest);
    }
    page
}

fn push_data(page: &mut String, entries: &[PageEntry]) {
    for (entry, number) in entries.iter().zip(1..) {
        push_json(page, &format!("class=\"result\" id=\"result-{number}\""), entry.json.trim());
        if let Some(earlier) = &entry.against {
            push_json(page, &format!("class=\"earlier\" id=\"result-{number}-earlier\""), earlier.json.trim());
        }
    }
    let created = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let context = PageContext { version: VERSION, created, columns: &COLUMNS, entries };
    // Cannot fail: only texts and numbers are serialised.
    push_json(page, "id=\"context\"", &serde_json::to_string(&context).unwrap_or_default());
}

fn push_json(page: &mut String, attributes: &str, json: &str) {
    page.push_str(&format!("<script type=\"application/json\" {attributes}>"));
    page.push_str(&json.replace('<', "\\u003c"));
    page.push_str("</script>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests;
