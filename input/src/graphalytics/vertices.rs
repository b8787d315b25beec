//! The list of all vertices of a graph, `NAME.v`: one id a line, usually ascending.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::batch::DeliveryFailure;
use crate::file::InputFile;
use crate::head::Head;
use crate::hints::BYTE_ORDER_MARK;
use crate::number::{columns, describe, whole};
use crate::pairs::is_blank_or_comment;
use crate::text_blocks::{TextLines, parse_all};
use trimill_system::control::{Control, Unit};
use trimill_system::mapped::zeros;
use trimill_system::{Error, Result, lock, parallel, unpoisoned};

const SHORTEST_LINE: u64 = 2;

const IDS_PER_BYTE: u64 = 4;

/// A file that lists the vertices of a graph, also those without edges.
pub struct VertexList {
    pub(super) file: InputFile,
    pub(super) edges: InputFile,
    pub(super) declared: Option<u64>,
    pub(super) window: u64,
}

impl VertexList {
    /// The most ids, by the properties or the file's size; roughly, for a compressed list without properties. 8 bytes of memory each.
    pub fn at_most(&self) -> u64 {
        let by_size = match self.file.compression {
            Some(_) => self.file.bytes.saturating_mul(IDS_PER_BYTE),
            None => self.file.bytes.div_ceil(SHORTEST_LINE),
        };
        self.declared.unwrap_or(by_size)
    }

    /// All ids, ascending, read by the current pool. `Kind::Data`: a line that is no id, a duplicate, another number of ids than declared.
    pub fn read(&self, control: &Control) -> Result<Vec<u64>> {
        let task = control.task("vertices", Some(self.file.bytes), Unit::Bytes);
        let marked = self.file.head(BYTE_ORDER_MARK.len() as u64)? == BYTE_ORDER_MARK;
        let skip = if marked { BYTE_ORDER_MARK.len() as u64 } else { 0 };
        let lines = TextLines { file: &self.file, skip, before: 0, window: self.window, task: &task };
        let found = Mutex::new(Vec::new());
        parse_all(&[lines], control, &|_, lines| {
            let ids = parse(lines)?;
            lock(&found).push(ids);
            Ok(0)
        })?;
        self.checked(unpoisoned(found.into_inner()))
    }

    fn checked(&self, mut found: Vec<Vec<u64>>) -> Result<Vec<u64>> {
        // Threads end in any order; sorting by the first id puts the chunks of an ascending list in order again.
        found.sort_unstable_by_key(|ids| ids.first().copied());
        let many: usize = found.iter().map(Vec::len).sum();
        if let Some(declared) = self.declared.filter(|&declared| declared != many as u64) {
            return Err(Error::data(&self.file.path, format!("{many} vertices"))
                .expected(format!("{declared}, as the properties say with meta.vertices"))
                .advice("fetch the files again"));
        }
        let mut all: Vec<u64> = zeros(many);
        let places = parallel::cut(&mut all, found.iter().map(Vec::len));
        parallel::each(places.into_iter().zip(found), |(place, ids)| place.copy_from_slice(&ids));
        if !all.par_windows(2).all(|two| two[0] <= two[1]) {
            all.par_sort_unstable();
        }
        match all.par_windows(2).find_first(|two| two[0] == two[1]) {
            Some(two) => {
                let error = Error::data(&self.file.path, format!("the vertex {} is there twice", two[0]));
                Err(at(error, self.line_of(&self.file, 1, two[0], 2)?).expected("each vertex once"))
            }
            None => Ok(all),
        }
    }

    /// The error for an edge whose end `id` is not in the list. Reads the edges again to find the line.
    pub fn lacks(&self, id: u64) -> Error {
        let error = Error::data(
            &self.edges.path,
            format!("an edge of the vertex {id}, which {} lacks", self.file.path.display()),
        )
        .expected("edges between vertices of the list")
        .advice("fetch the files again");
        at(error, self.line_of(&self.edges, 2, id, 1).ok().flatten())
    }

    /// The line in which `id` occurs the n-th time among the first `ends` columns. Reads line by line: for errors only.
    fn line_of(&self, file: &InputFile, ends: usize, id: u64, nth: usize) -> Result<Option<u64>> {
        let (mut head, mut seen) = (Head::new(file)?, 0);
        while let Some(line) = head.next()? {
            seen += usize::from(columns(line.trim_ascii_end()).take(ends).any(|word| whole(word) == Some(id)));
            if seen == nth {
                return Ok(Some(head.number));
            }
        }
        Ok(None)
    }
}

fn at(error: Error, line: Option<u64>) -> Error {
    match line {
        Some(line) => error.at_line(line),
        None => error,
    }
}

fn parse(lines: &[u8]) -> Result<Vec<u64>, DeliveryFailure> {
    let (mut ids, mut from) = (Vec::with_capacity(lines.len() / 8), 0);
    for end in memchr::memchr_iter(b'\n', lines).chain([lines.len()]) {
        let line = &lines[from.min(end)..end];
        let mut words = columns(line);
        match (words.next().and_then(whole), words.next()) {
            (Some(id), None) if id < u64::MAX => ids.push(id),
            _ if is_blank_or_comment(line) => {}
            _ => {
                let found = match columns(line).count() {
                    0 | 1 => describe(line.trim_ascii()),
                    many => format!("{many} columns"),
                };
                return Err(DeliveryFailure::bad(from, found, "the id of a vertex, a non-negative integer"));
            }
        }
        from = end + 1;
    }
    Ok(ids)
}
