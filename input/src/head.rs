//! The first lines of a text file, one after another: banners, headers, comments.

use std::io::{BufRead, Read};

use super::columns::has_bare_cr;
use super::file::InputFile;
use super::hints::{BYTE_ORDER_MARK, bare_cr, is_utf16, utf16};
use super::lines::{LONGEST_LINE, too_long};
use trimill_system::{Error, Result};

pub(super) struct Head<'a> {
    pub(super) file: &'a InputFile,
    stream: Box<dyn BufRead + 'a>,
    line: Vec<u8>,
    pub(super) number: u64,
    /// Where the current line begins, after a byte order mark.
    pub(super) start: u64,
    pub(super) end: u64,
}

impl<'a> Head<'a> {
    pub(super) fn new(file: &'a InputFile) -> Result<Self> {
        Ok(Self { file, stream: file.stream(None)?, line: Vec::new(), number: 0, start: 0, end: 0 })
    }

    /// The next line, with its line end; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = self
            .stream
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)
            .map_err(|e| self.file.damaged(e))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.start = self.end;
        self.end += read as u64;
        if read as u64 == LONGEST_LINE && !self.line.ends_with(b"\n") {
            return Err(self.error_of(too_long(&self.line)));
        }
        if has_bare_cr(&self.line) {
            return Err(self.error_of(bare_cr()));
        }
        let is_first = self.number == 1;
        if is_first && is_utf16(&self.line) {
            return Err(self.error_of(utf16()));
        }
        let mark = if is_first && self.line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        self.start += mark as u64;
        Ok(Some(&self.line[mark..]))
    }

    /// The next line that is not blank and does not begin with `%`.
    pub(super) fn next_content(&mut self) -> Result<Option<Vec<u8>>> {
        while let Some(line) = self.next()? {
            if !matches!(line.trim_ascii().first(), None | Some(b'%')) {
                return Ok(Some(line.trim_ascii().to_vec()));
            }
        }
        Ok(None)
    }

    pub(super) fn error(&self, found: impl Into<String>) -> Error {
        self.error_of(Error::data("", found))
    }

    pub(super) fn error_of(&self, error: Error) -> Error {
        error.at(&self.file.path).at_line(self.number.max(1))
    }
}
