//! Edge lists as text: one arc a line, its tail and head in the first two columns. SNAP (`#` comments, tabs), KONECT (`%` comments, more columns),
//! Graph Challenge (`u v 1`), GAPBS `.el`, CSV, also with a column that numbers the lines. Ids are delivered as written, up to `u64::MAX - 1`. The
//! first line that is neither blank nor a comment may be a header ([`preamble`](super::preamble)); if only the rest of the file shows that, it is
//! read once more before the first scan. A list without an arc is an error. All lines have the same columns. Files may be compressed
//! ([`text_blocks`](super::text_blocks)).

use std::sync::{Once, OnceLock};

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::columns::Columns;
use super::ends::check_alike;
use super::file::InputFile;
use super::format::Format;
use super::head::Head;
use super::header::{ArcStatistics, Gather, Header, HeaderNumbers, HeaderVerdict, LONG, judge};
use super::number::{columns, whole};
use super::pairs;
use super::preamble::{self, FirstLine, FirstLineKind, Start};
use super::text_blocks::{TextLines, parse_all};
use super::{ArcSink, Reader};
use trimill_system::control::{Control, NOTE, Task, Unit};
use trimill_system::{Error, Result};

pub(super) struct EdgeListText {
    lists: Vec<List>,
    window: u64,
    named: bool,
    /// Whether ids may be names, if the user says so.
    names: bool,
    /// Whether the note on columns, one for all files, was logged.
    noted: Once,
    /// Whether it was logged that lines may be missing.
    cut_noted: Once,
}

struct List {
    file: InputFile,
    first: FirstLine,
    start: OnceLock<Start>,
}

#[inline(always)]
fn check_ids(tail: u64, head: u64) -> Result<()> {
    if tail.max(head) == u64::MAX {
        let found = format!("the id {}, which is too large", u64::MAX);
        return Err(Error::data("", found).expected(format!("ids up to {}", u64::MAX - 1)));
    }
    Ok(())
}

impl EdgeListText {
    /// `header`: what the first line of each file is; `format`: the one that the user named, or Graphalytics.
    pub(super) fn open(
        files: Vec<InputFile>,
        header: Option<Header>,
        format: Option<Format>,
        window: u64,
    ) -> Result<Self> {
        let lists = files
            .into_iter()
            .map(|file| {
                let first = preamble::read(&file, header)?;
                Ok(List { file, first, start: OnceLock::new() })
            })
            .collect::<Result<Vec<List>>>()?;
        // Parts of a table that was split, whose header only the first one has.
        let is_other =
            |list: &&List| !list.first.names_ends && list.columns().index.is_none() && list.columns().count > 2;
        if let Some(numbered) = lists.iter().find(|list| list.columns().index.is_some())
            && let Some(other) = lists.iter().find(is_other)
        {
            return Err(other.is_unlike(numbered));
        }
        check_alike(lists.iter().filter_map(|list| Some((&*list.file.path, list.first.ends.clone()?)))).map_err(
            |error| error.also("if the first two columns of all files hold the ends of edges, add --header yes"),
        )?;
        let (named, names) = (format.is_some(), format != Some(Format::Graphalytics));
        Ok(Self { lists, window, named, names, noted: Once::new(), cut_noted: Once::new() })
    }

    fn start(&self, list: &List, control: &Control) -> Result<Start> {
        if let Some(&start) = list.start.get() {
            return Ok(start);
        }
        let metis_rows = match list.first.metis_rows {
            Some(rows) if !self.named && list.begins_as_metis(rows)? => Some(rows),
            _ => None,
        };
        let gather = |n| {
            let gather = Gather::new(n);
            let task = control.task("header", Some(list.file.bytes), Unit::Bytes);
            self.scan_lists(&[(list, list.first.header)], &gather, control, &task)?;
            let rest = gather.finish();
            let metis = metis_rows == Some(rest.lines) && list.may_be_metis(&rest)?;
            if metis { Err(list.is_metis()) } else { Ok(rest) }
        };
        let start = match list.first.kind {
            FirstLineKind::Arc => {
                if metis_rows.is_some() {
                    gather(u64::MAX)?;
                }
                list.first.arc
            }
            FirstLineKind::Names { .. } => list.first.header,
            FirstLineKind::Count => list.note_header(),
            FirstLineKind::Sizes(declared) => {
                let rest = gather(declared.n)?;
                match judge(declared, &rest) {
                    HeaderVerdict::Arc if rest.lines < LONG && !self.named && list.has_rows_of_metis()? => {
                        return Err(list.is_metis());
                    }
                    HeaderVerdict::Arc => list.first.arc,
                    // As many rows as vertices: a METIS file with a wrong number of edges in its header, or a list with weights.
                    HeaderVerdict::Header if !declared.alike && !self.named && list.may_be_metis(&rest)? => {
                        return Err(list.is_metis());
                    }
                    HeaderVerdict::Header => list.note_header(),
                    HeaderVerdict::Either => return Err(list.is_either(declared, &rest)),
                    HeaderVerdict::Neither => return Err(list.is_neither(declared, &rest)),
                }
            }
        };
        Ok(*list.start.get_or_init(|| start))
    }

    /// Returns the number of arcs in each list.
    fn scan_lists(
        &self,
        lists: &[(&List, Start)],
        sink: &dyn ArcSink,
        control: &Control,
        task: &Task,
    ) -> Result<Vec<u64>> {
        let mut texts = Vec::with_capacity(lists.len());
        for (List { file, .. }, Start { skip, lines, .. }) in lists {
            texts.push(TextLines { file, skip: *skip, before: *lines, window: self.window, task });
        }
        parse_all(&texts, control, &|number, lines| {
            let (list, start) = lists[number];
            let mut batch = ArcBatch::new(sink, control);
            let advice = pairs::Advice { differs: list.first.advice(), names: self.names };
            pairs::parse(lines, start.columns, check_ids, advice, &mut batch)?;
            Ok(batch.finish()?)
        })
    }
}

impl FirstLine {
    fn advice(&self) -> &'static str {
        let is_possible = self.metis.as_ref().is_some_and(|metis| {
            let n = u128::from(metis.vertices);
            u128::from(metis.edges) <= n * (n - 1) / 2
        });
        if is_possible {
            "if it is a METIS file, name it with --format metis"
        } else {
            "each line of an edge list holds one arc; other formats are named with --format"
        }
    }
}

impl List {
    fn columns(&self) -> Columns {
        match self.first.kind {
            FirstLineKind::Arc => self.first.arc.columns,
            _ => self.first.header.columns,
        }
    }

    fn is_unlike(&self, other: &Self) -> Error {
        let path = other.file.path.display();
        self.error(format!("'{}', where the ends of arcs are taken from the first two columns", self.first.text))
            .expected(format!("them in the second and third one, as the names of the columns in {path} say"))
            .advice("write these names into each file, or write only the columns with the ends of arcs")
    }

    /// Logs that the first line is a header; returns where the arcs begin.
    fn note_header(&self) -> Start {
        let FirstLine { line, text, header, kind, .. } = &self.first;
        let path = self.file.path.display();
        // One number cannot be an arc.
        let otherwise = match kind {
            FirstLineKind::Count => "",
            _ => "; with --header no it is read as an arc",
        };
        tracing::info!(target: NOTE, "{path}:{line}: '{text}' is a header{otherwise}");
        *header
    }

    fn note(&self, start: Start) -> Option<String> {
        let (FirstLine { line, text, kind, .. }, path) = (&self.first, self.file.path.display());
        let first = 1 + u32::from(start.columns.index.is_some());
        match kind {
            FirstLineKind::Names { unusual: true } => Some(format!(
                "{path}:{line}: columns {first} and {} of '{text}' are taken for the ends of edges",
                first + 1
            )),
            FirstLineKind::Names { .. } => None,
            _ => {
                (start.columns.count > 3).then(|| format!("{path}: columns 3 to {} are not read", start.columns.count))
            }
        }
    }

    fn sample_end(&self) -> u64 {
        self.first.header.skip + preamble::SAMPLE
    }

    /// Whether all lines of a list hold zeros and ones only, or integers in more columns than edges have attributes.
    fn has_only_entries(&self, Start { lines, columns: Columns { index, count, .. }, .. }: Start) -> Result<bool> {
        let is_integer = |number: &[u8]| whole(number.strip_prefix(b"-").unwrap_or(number)).is_some();
        self.all_after(lines, u64::MAX, |line| {
            let mut entries = columns(line.trim_ascii()).skip(index.is_some().into());
            pairs::is_blank_or_comment(line)
                || entries.all(|entry| matches!(entry, b"0" | b"1") || count >= 8 && is_integer(entry))
        })
    }

    /// Whether a list may begin like a METIS file of `rows` rows; most edge lists do not.
    fn begins_as_metis(&self, rows: u64) -> Result<bool> {
        let Some(header) = &self.first.metis else { return Ok(false) };
        let mut lines = 0;
        self.all_after(self.first.line, self.sample_end(), |line| {
            if pairs::is_blank_or_comment(line) {
                return true;
            }
            lines += 1;
            let neighbour = columns(line.trim_ascii()).nth(header.before_neighbours as usize).and_then(whole);
            lines <= rows && neighbour.is_some_and(|id| (1..=header.vertices).contains(&id))
        })
    }

    /// Whether a list could also be a METIS file: as many lines as vertices, blank ones included.
    fn may_be_metis(&self, rest: &ArcStatistics) -> Result<bool> {
        let Some(header) = &self.first.metis else { return Ok(false) };
        if (rest.least == 0 && header.before_neighbours == 0) || rest.lines > header.vertices {
            return Ok(false);
        }
        let mut lines = rest.lines;
        let are_fewer = self.all_after(self.first.line, u64::MAX, |line| {
            lines += u64::from(line.trim_ascii().is_empty());
            lines < header.vertices
        })?;
        Ok(!are_fewer)
    }

    /// Whether the lines of a short list are rows of a METIS file, perhaps with a wrong header: each neighbour lists the vertex, too.
    fn has_rows_of_metis(&self) -> Result<bool> {
        let mut rows: Vec<Vec<u64>> = Vec::new();
        self.all_after(self.first.line, self.sample_end(), |line| {
            if !line.starts_with(b"%") {
                rows.push(columns(line.trim_ascii()).map_while(whole).collect());
            }
            true
        })?;
        let row_of = |vertex: u64| rows.get(usize::try_from(vertex.checked_sub(1)?).ok()?);
        let list_each_other = |vertex, &neighbour: &u64| {
            neighbour != vertex && row_of(neighbour).is_some_and(|row| row.contains(&vertex))
        };
        Ok((1..).zip(&rows).all(|(vertex, row)| row.iter().all(|neighbour| list_each_other(vertex, neighbour))))
    }

    /// Whether `fits` holds for all lines after line `after` that begin before byte `end`. Stops at the first other one.
    fn all_after(&self, after: u64, end: u64, mut fits: impl FnMut(&[u8]) -> bool) -> Result<bool> {
        let mut head = Head::new(&self.file)?;
        while head.end < end {
            let is_after = head.number >= after;
            let Some(line) = head.next()? else { break };
            if is_after && !fits(line) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn error(&self, found: String) -> Error {
        Error::data(&self.file.path, found).at_line(self.first.line)
    }

    fn is_without_arcs(&self) -> Error {
        let error = match self.first.text.as_str() {
            "" => Error::data(&self.file.path, "holds no arcs, only comments and blank lines"),
            header => self.error(format!("'{header}' and no arc after it")),
        };
        error.expected("lines of two non-negative integers")
    }

    fn is_either(&self, HeaderNumbers { n, m, .. }: HeaderNumbers, rest: &ArcStatistics) -> Error {
        let first = &self.first.text;
        self.error(format!(
            "the first line, '{first}', could be a header ({n} vertices, {m} edges) or an edge, and the {} lines after it do not tell",
            rest.lines
        ))
        .advice("say which: --header yes, or --header no")
    }

    fn is_neither(&self, HeaderNumbers { n, m, .. }: HeaderNumbers, rest: &ArcStatistics) -> Error {
        self.error(format!("'{}' has other columns than the lines after it", self.first.text))
            .expected(format!(
                "an arc, or a header; as one it would announce {m} edges of {n} vertices, and there are {} lines with ids up to {}",
                rest.lines, rest.most
            ))
            .advice(format!("--header yes skips it; {}", self.first.advice()))
    }

    fn is_dense(&self, Start { lines, columns, .. }: Start) -> Error {
        let (rows, first) = (columns.count, u32::from(columns.index.is_some()));
        let delimiter = if self.first.text.contains(',') { ", delimiter=','" } else { "" };
        self.error(format!("{rows} lines of {rows} integers look like a dense adjacency matrix"))
            .expected("lines of two vertices")
            .advice(format!(
                "write it as a sparse one: python3 -c \"import numpy as np, scipy.sparse as sp; \
                 sp.save_npz('NEW.npz', sp.csr_matrix(np.loadtxt('FILE'{delimiter}, skiprows={lines}, usecols=range({first}, {}))))\"; \
                 if it is an edge list, name it with --format text",
                first + rows
            ))
    }

    fn is_metis(&self) -> Error {
        self.error("may be a METIS file or an edge list with a header".into())
            .expected("lines that only one of the two can have")
            .advice("name it with --format metis or with --format text")
    }
}

impl Reader for EdgeListText {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.lists.iter().map(|list| list.file.lines_at_most()).sum();
        SourceFacts { arcs_at_most, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        let with_start = |list| Ok((list, self.start(list, control)?));
        let lists: Vec<_> = self.lists.iter().map(with_start).collect::<Result<_>>()?;
        if let Some(note) = lists.iter().find_map(|(list, start)| list.note(*start)) {
            self.noted.call_once(|| tracing::info!(target: NOTE, "{note}"));
        }
        let found = self.scan_lists(&lists, sink, control, task)?;
        let arcs: u64 = found.iter().sum();
        let announced = self.lists.iter().map(|list| (list.first.announced, &list.file));
        preamble::note_cut(announced, arcs, &self.cut_noted);
        for (&(list, start), &arcs) in lists.iter().zip(&found) {
            let rows = start.columns.count;
            if !self.named && rows > 2 && arcs == u64::from(rows) && list.has_only_entries(start)? {
                return Err(list.is_dense(start));
            }
        }
        match self.lists.iter().zip(found).find(|(_, found)| *found == 0) {
            Some((list, _)) if self.lists.len() > 1 => Err(list
                .is_without_arcs()
                .advice("leave the file out; in a directory, remove it, or put _ before its name")),
            Some((list, _)) => Err(list.is_without_arcs()),
            None => Ok(arcs),
        }
    }
}
