//! Edge lists whose ids are names, if the user says so: text in UTF-8, taken byte by byte except for [quotes](columns). Lines that begin with `#` or
//! `%` are comments only before the first arc: later they are more likely names. Any text may be a name, so the rest of the file does not tell
//! whether the first line is a header; if it has usual names of columns, the user must decide. Memory: as for numbers, and a batch per thread.

pub(super) mod columns;

use std::sync::Once;

use self::columns::{LONGEST_NAME, NameColumns, Separator, names_of};
use super::arcs::SourceFacts;
use super::batch::DeliveryFailure;
use super::columns::has_bare_cr;
use super::file::InputFile;
use super::head::Head;
use super::header::Header;
use super::hints::{
    BYTE_ORDER_MARK, bare_cr, is_comment_of_dimacs, is_problem_of_dimacs, mark_within, separated_otherwise,
};
use super::number::shown;
use super::pairs::is_blank_or_comment;
use super::preamble::{FirstContent, SAMPLE, content, index_column, note_cut};
use super::text_blocks::{TextLines, parse_all};
use super::{ArcSink, Reader, ends};
use trimill_system::control::{Control, Task};
use trimill_system::{Error, Result};

/// The most arcs of a batch, and bytes of their names; but at least one arc.
const ARCS: usize = 1 << 12;
const NAME_BYTES: usize = 1 << 17;

#[derive(Debug, Default)]
pub struct NamedArcs {
    bytes: Vec<u8>,
    /// Where each name ends; tails and heads alternate.
    ends: Vec<u32>,
}

impl NamedArcs {
    pub fn iter(&self) -> impl Iterator<Item = [&[u8]; 2]> {
        let mut begin = 0;
        self.ends.as_chunks().0.iter().map(move |&[tail, head]: &[u32; 2]| {
            let names = [&self.bytes[begin..tail as usize], &self.bytes[tail as usize..head as usize]];
            begin = head as usize;
            names
        })
    }

    #[cfg(feature = "parquet")]
    pub(super) fn push(&mut self, name: &[u8]) -> Result<(), String> {
        if std::str::from_utf8(name).is_err() {
            return Err("bytes that are not text in UTF-8".into());
        }
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.end(begin)
    }

    fn end(&mut self, begin: usize) -> Result<(), String> {
        match self.bytes.len() - begin {
            0 => Err("an empty name".into()),
            1..=LONGEST_NAME => {
                self.ends.push(self.bytes.len() as u32);
                Ok(())
            }
            longer => Err(format!("a name of {longer} bytes")),
        }
    }

    pub(super) fn deliver_if_full(&mut self, sink: &dyn NameSink, control: &Control) -> Result<()> {
        if self.ends.len() < 2 * ARCS && self.bytes.len() < NAME_BYTES {
            return Ok(());
        }
        control.check()?;
        sink.arcs(self)?;
        self.bytes.clear();
        self.ends.clear();
        Ok(())
    }
}

pub(super) fn names_expected() -> String {
    format!("two names of 1 to {LONGEST_NAME} bytes for each arc")
}

pub trait NameSink: Sync {
    /// Called by many threads. An error stops the reader, which returns it.
    fn arcs(&self, batch: &NamedArcs) -> Result<()>;
}

pub(super) struct NamedEdges {
    lists: Vec<NamedList>,
    window: u64,
    /// Whether it was logged that lines may be missing.
    cut_noted: Once,
}

struct NamedList {
    file: InputFile,
    skip: u64,
    before: u64,
    separator: Separator,
    columns: u32,
    /// The header, if it has usual names of columns: where files were joined, it may be there again.
    header: Option<Vec<u8>>,
    /// The first two columns of any header, in lower case.
    ends: Option<[String; 2]>,
    /// How many edges a comment before them announces.
    announced: Option<u64>,
}

impl NamedEdges {
    pub(super) fn open(files: Vec<InputFile>, header: Option<Header>, window: u64) -> Result<Self> {
        let open = |file| NamedList::open(file, header);
        let lists: Vec<NamedList> = files.into_iter().map(open).collect::<Result<_>>()?;
        // What the user calls a header may be anything, and differ from file to file.
        if lists.iter().any(|list| list.header.is_some()) {
            ends::check_alike(lists.iter().filter_map(|list| Some((&*list.file.path, list.ends.clone()?))))?;
        }
        Ok(Self { lists, window, cut_noted: Once::new() })
    }
}

impl NamedList {
    fn open(file: InputFile, header: Option<Header>) -> Result<Self> {
        let mut head = Head::new(&file)?;
        let no_arcs = || Error::data(&file.path, "holds no arcs").expected("lines of two names");
        let Some(mut first) = content(&mut head)? else { return Err(no_arcs()) };
        let announced = first.announced;
        if header != Some(Header::No) {
            refuse_dimacs(&file)?;
        }
        let text = shown(first.text.trim_ascii());
        let names = names_of(&first.text).map_err(|found| head.error(found))?;
        let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let is_usual = || ends::places(&names).is_some() || names.first().is_some_and(|name| ends::is_index(name));
        let usual_header = (header == Some(Header::Yes) && is_usual()).then(|| first.text.clone());
        if header == Some(Header::Yes) {
            let separator = Separator::of(&first.text);
            if index_column(&names, separator).map_err(|error| head.error_of(error))? {
                return Err(head
                    .error(format!("the header '{text}', whose first column numbers the lines"))
                    .expected("the ends of arcs in the first two columns")
                    .advice(format!("leave that column out, as by {}", separator.cut(2, 3))));
            }
            first = content(&mut head)?.ok_or_else(no_arcs)?;
        } else if header.is_none() && is_usual() {
            return Err(head
                .error(format!("the first line, '{text}', could be a header or an arc of two names"))
                .advice("say which: --header yes, or --header no"));
        }
        let ends = names.first_chunk::<2>().filter(|_| header == Some(Header::Yes)).cloned();
        let FirstContent { text, start, number, .. } = first;
        let separator = Separator::of(&text);
        if separator == Separator::Blanks
            && let Some(advice) = separated_otherwise(&text)
        {
            let found = format!("'{}'", shown(text.trim_ascii()));
            return Err(head.error(found).expected("two names between tabs, commas or blanks").advice(advice));
        }
        let columns = NameColumns::of(&text, separator).count(&mut Vec::new());
        // A wrong line is found again, and reported, when it is read.
        let columns = columns.unwrap_or(2).max(2);
        drop(head);
        let header = usual_header;
        Ok(Self { skip: start, before: number - 1, separator, columns, header, ends, announced, file })
    }

    fn parse(&self, lines: &[u8], sink: &dyn NameSink, control: &Control) -> Result<u64, DeliveryFailure> {
        let valid = std::str::from_utf8(lines).map_or_else(|error| error.valid_up_to(), str::len);
        let (mut batch, mut skipped, mut at, mut arcs) = (NamedArcs::default(), Vec::new(), 0, 0);
        while at < lines.len() {
            let end = memchr::memchr(b'\n', &lines[at..]).map_or(lines.len(), |end| at + end);
            // Not before the loop: of several wrong lines the first is reported, whatever the size of a window is.
            if valid < end {
                let bad = Error::data("", "bytes that are not text in UTF-8").expected("names in UTF-8");
                let bad = bad.advice("convert the file, as by iconv -f LATIN1 -t UTF-8 FILE > NEW");
                return Err(DeliveryFailure::Bad(valid, bad));
            }
            let line = lines[at..end].strip_suffix(b"\r").unwrap_or(&lines[at..end]);
            if !line.trim_ascii().is_empty() {
                self.arc(line, &mut batch, &mut skipped).map_err(|error| DeliveryFailure::Bad(at, error))?;
                arcs += 1;
            }
            batch.deliver_if_full(sink, control)?;
            at = end + 1;
        }
        control.check()?;
        sink.arcs(&batch)?;
        Ok(arcs)
    }

    fn arc(&self, line: &[u8], batch: &mut NamedArcs, skipped: &mut Vec<u8>) -> Result<()> {
        let found = |found: &str| Error::data("", found);
        if memchr::memchr(b'\r', line).is_some() && has_bare_cr(line) {
            return Err(bare_cr());
        }
        if line.starts_with(BYTE_ORDER_MARK) {
            return Err(mark_within());
        }
        if self.header.as_deref() == Some(line) {
            return Err(found("the header once more")
                .expected("it in the first line only")
                .advice("delete this line; if files were joined, name these instead"));
        }
        if is_blank_or_comment(line) {
            return Err(found("a line that begins with # or % after the first arc")
                .expected("comments before all arcs only, since it could be a name")
                .advice("delete the line if it is a comment; a name that begins so is written in quotes"));
        }
        let mut columns = NameColumns::of(line, self.separator);
        for _ in 0..2 {
            let begin = batch.bytes.len();
            if !columns.next(&mut batch.bytes).map_err(found)? {
                return Err(found("a line with one column only").expected("two names"));
            }
            if !columns.quoted && batch.bytes[begin..] == *b"\\N" {
                return Err(found("a missing value, as databases write it: \\N")
                    .expected("two names")
                    .advice("delete the line; a name that is written so must be in quotes"));
            }
            batch.end(begin).map_err(|what| found(&what).expected(names_expected()))?;
        }
        let columns = 2 + columns.count(skipped).map_err(found)?;
        if columns != self.columns {
            return Err(found(&format!("a line with {columns} columns"))
                .expected(format!("{}, as in the first line of arcs", self.columns))
                .advice("write names with blanks or commas in quotes, or separate the columns by tabs"));
        }
        Ok(())
    }
}

/// Refuses a DIMACS file: its lines would be arcs of `a` or `e`.
fn refuse_dimacs(file: &InputFile) -> Result<()> {
    let mut head = Head::new(file)?;
    while head.end < SAMPLE
        && let Some(FirstContent { text, .. }) = content(&mut head)?
    {
        if is_problem_of_dimacs(&text) {
            return Err(head
                .error(format!("'{}'", shown(text.trim_ascii())))
                .expected("an arc of two names")
                .advice(
                    "this looks like a DIMACS file, which is not read: write its edges as an edge list, sed -n 's/^[ae]  *//p' FILE > \
                     NEW.txt; if the line is an arc, add --header no",
                ));
        }
        if !is_comment_of_dimacs(text.trim_ascii()) {
            break;
        }
    }
    Ok(())
}

impl Reader for NamedEdges {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.lists.iter().map(|list| list.file.lines_at_most()).sum();
        SourceFacts { arcs_at_most, has_names: true, ..SourceFacts::default() }
    }

    fn scan(&self, _: &dyn ArcSink, _: &Control, _: &Task) -> Result<u64> {
        Err(Error::defect("names that are read as numbers"))
    }

    fn scan_names(&self, sink: &dyn NameSink, control: &Control, task: &Task) -> Result<u64> {
        let lines = |list| {
            let NamedList { file, skip, before, .. }: &NamedList = list;
            TextLines { file, skip: *skip, before: *before, window: self.window, task }
        };
        let lines: Vec<TextLines<'_>> = self.lists.iter().map(lines).collect();
        let arcs = parse_all(&lines, control, &|list, lines| self.lists[list].parse(lines, sink, control))?;
        let arcs: u64 = arcs.iter().sum();
        note_cut(self.lists.iter().map(|list| (list.announced, &list.file)), arcs, &self.cut_noted);
        Ok(arcs)
    }
}
