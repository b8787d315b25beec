//! Tells the format of a file: by its content where that is plain, else by its suffix.
//!
//! Content first: a Matrix Market banner, a header of a `.sg` file that agrees with the file's size, text of numbers.
//! Text is an edge list unless the suffix is one of METIS's and the first line fits as a METIS header. A `.graph` that
//! is no text is a BVGraph. Raw pairs can only be told by their suffix. Looks at 64 KiB at most.

use std::path::Path;

use super::bvgraph::Files;
use super::file::InputFile;
use super::format::Format;
use super::gapbs;
use super::metis;
use super::pairs::is_blank_or_comment;
use crate::error::{Error, Result};

const HEAD: u64 = 1 << 16;

/// The BVGraph that `path` names without being a file itself, or as its `.properties`.
pub(super) fn names_bvgraph(path: &Path) -> bool {
    if path.extension().is_some_and(|suffix| suffix == "properties") {
        return true;
    }
    let files = Files::of(path);
    !path.exists() && files.graph != path && (files.graph.is_file() || files.properties.is_file())
}

/// The format of an open file.
///
/// # Errors
/// When it cannot be told; lists the names.
pub(super) fn detect(file: &InputFile) -> Result<Format> {
    let suffix = suffix(&file.path);
    let by_suffix = format_of_suffix(&suffix);
    let head = match file.head(HEAD) {
        Ok(head) => head,
        // Raw numbers that only look like the beginning of a compressed file.
        Err(_) if by_suffix.is_some_and(is_binary) && file.compression.is_some() => return known(by_suffix, file),
        Err(error) => return Err(error),
    };
    if head.get(..14).is_some_and(|banner| banner.eq_ignore_ascii_case(b"%%MatrixMarket")) {
        return Ok(Format::MatrixMarket);
    }
    let text = is_text(&head);
    if suffix == "graph" && !text && file.compression.is_none() {
        return Ok(Format::Bvgraph);
    }
    if file.compression.is_none() && gapbs::fits(&head, file.bytes) {
        return Ok(Format::GapbsSg);
    }
    if text {
        return Ok(match suffix.as_str() {
            "mtx" | "mm" => Format::MatrixMarket,
            "metis" => Format::Metis,
            "graph" if fits_metis(&head, file) => Format::Metis,
            "graph" if Files::of(&file.path).properties.is_file() => Format::Bvgraph,
            _ if by_suffix.is_some_and(is_binary) && !is_numbers(&head) => return known(by_suffix, file),
            _ => Format::Text,
        });
    }
    if file.compression.is_some() && by_suffix.is_some_and(is_binary) {
        return Err(Error::data(&file.path, "a compressed file of a binary format")
            .expected("binary formats as they are; only text is read compressed")
            .advice("decompress it first"));
    }
    known(by_suffix, file)
}

fn known(format: Option<Format>, file: &InputFile) -> Result<Format> {
    format.ok_or_else(|| {
        Error::data(&file.path, "the format cannot be told by content or suffix")
            .advice(format!("name it with --format, one of {}", Format::names()))
    })
}

/// The suffix in lower case, that of the plain file where the file is compressed; `out.NAME` of KONECT gives `out`.
fn suffix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match name.rsplit_once('.') {
        Some(("out", _)) | None => {
            if name.starts_with("out.") {
                "out".into()
            } else {
                String::new()
            }
        }
        Some((_, suffix)) => suffix.to_owned(),
    }
}

fn format_of_suffix(suffix: &str) -> Option<Format> {
    Some(match suffix {
        "txt" | "tsv" | "csv" | "el" | "wel" | "edges" | "edgelist" | "out" => Format::Text,
        "mtx" | "mm" => Format::MatrixMarket,
        "metis" => Format::Metis,
        "sg" => Format::GapbsSg,
        "g500" | "graph500" => Format::Graph500,
        "bin" | "bin32" | "u32" => Format::BinU32,
        "bin64" | "u64" => Format::BinU64,
        "graph" => Format::Bvgraph,
        _ => return None,
    })
}

const fn is_binary(format: Format) -> bool {
    matches!(format, Format::GapbsSg | Format::Graph500 | Format::BinU32 | Format::BinU64)
}

/// Whether all bytes can stand in a text.
fn is_text(head: &[u8]) -> bool {
    !head.iter().any(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c) || byte == 0x7f)
        && match std::str::from_utf8(head) {
            Ok(_) => true,
            // Cut in the middle of a character, or names in Latin-1 in comments of numbers.
            Err(error) => error.error_len().is_none() || is_numbers(head),
        }
}

/// Whether some complete line, or the whole, begins with a digit.
fn is_numbers(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n')
        .take(1000)
        .filter(|line| !is_blank_or_comment(line))
        .take(2)
        .any(|line| line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit))
}

/// Whether the first line fits as the header of a METIS file of this length.
fn fits_metis(head: &[u8], file: &InputFile) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"%"));
    let Some(header) =
        lines.find(|line| !line.trim_ascii().is_empty()).and_then(|line| metis::parse_header(line.trim_ascii()))
    else {
        return false;
    };
    // Lines after the header, less the nothing behind the last line end; blank ones at the end are no vertices.
    let rest: Vec<&[u8]> = lines.collect();
    let seen = rest.iter().rposition(|line| !line.trim_ascii().is_empty()).map_or(0, |last| last + 1) as u64;
    // Each of 2 m neighbours takes a digit and a separator, but for the last one.
    let room = file.compression.is_some() || u128::from(header.edges) * 4 <= u128::from(file.bytes) + 1;
    seen <= header.vertices && room
}
