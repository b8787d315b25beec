//! Detects a file's format: by its content if that is unambiguous, else by its suffix. If two formats are possible, the error names both. The content
//! is: the first bytes of NumPy, SciPy, Parquet and Arrow files, a Matrix Market banner, a `.sg` header that agrees with the file's size, text of
//! numbers. Text that begins like METIS and has rows of different lengths is taken for METIS, which that reader checks. A `.graph` is a METIS file or
//! a BVGraph, never an edge list. Raw pairs are recognised by suffix only. Reads at most 64 KiB, and as much of the end of a `.bin`.

use std::path::Path;

use super::bvgraph::BvGraphFiles;
use super::compression::{Compression, not_read};
use super::file::InputFile;
use super::format::Format;
use super::hints::{BYTE_ORDER_MARK, foreign, is_job_file, is_mostly_text, is_utf16, utf16};
use super::number::{columns, whole};
use super::pairs::is_blank_or_comment;
use super::{gapbs, matrix_market, metis, npy};
use trimill_system::{Error, Result};

const HEAD: u64 = 1 << 16;

pub(super) const PARQUET: &[u8; 4] = b"PAR1";

/// The first bytes of an Arrow file, with padding, and of a message in an Arrow stream.
const ARROW: &[u8] = b"ARROW1\0\0";
const ARROW_MESSAGE: &[u8] = b"\xff\xff\xff\xff";

/// Whether `path` names a BVGraph by its base name, or by a file beside its `.graph`.
pub(super) fn names_bvgraph(path: &Path) -> bool {
    let files = BvGraphFiles::of(path);
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("properties") => true,
        Some("offsets" | "ef") => files.graph.is_file() && files.properties.is_file(),
        _ => !path.exists() && files.graph != path && (files.graph.is_file() || files.properties.is_file()),
    }
}

pub(super) fn detect(file: &InputFile) -> Result<Format> {
    let suffix = suffix(file.name());
    let by_suffix = format_of_suffix(&suffix);
    let binary = by_suffix.filter(|&format| is_binary(format));
    // Raw numbers may begin like a compressed file.
    if file.compression.is_some() && binary.is_some() && !file.is_packed()? {
        return known(by_suffix, &[], file);
    }
    let head = file.head(HEAD)?;
    // Raw numbers may also begin with these few bytes.
    let is_short = |format| format == Format::ScipyNpz || format == Format::Arrow && !head.starts_with(ARROW);
    if let Some(format) = format_of_magic(&head, file)?.filter(|&format| binary.is_none() || !is_short(format)) {
        return Ok(format);
    }
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
    if matrix_market::has_banner(head) {
        return Ok(Format::MatrixMarket);
    }
    let text = is_text(head);
    if suffix == "graph" && !text {
        return Ok(Format::Bvgraph);
    }
    if file.compression.is_none() && gapbs::fits(head, file.bytes) {
        return Ok(Format::GapbsSg);
    }
    if is_utf16(head) {
        return Err(utf16().at(&file.path));
    }
    let no_text = by_suffix.filter(|&format| is_binary(format) || has_magic(format));
    if let Some(other) = no_text.filter(|_| text || is_mostly_text(head)) {
        return Err(Error::data(&file.path, format!("holds text, and its suffix says {other}"))
            .expected("a content and a suffix that agree")
            .advice(format!("name it with --format text or with --format {other}")));
    }
    if !text && suffix == "bin" {
        for (other, every, bytes) in [(Format::BinU64, "other", 8), (Format::Graph500, "third", 12)] {
            if is_wide(head, bytes, file)? {
                return Err(Error::data(&file.path, format!("looks like {other}: nearly every {every} u32 is 0"))
                    .expected("pairs of u32, as its suffix says")
                    .advice(format!("name it with --format {other} or with --format bin-u32")));
            }
        }
    }
    if !text {
        return known(by_suffix, head, file);
    }
    if is_job_file(head) {
        return Err(Error::data(&file.path, "is a job file, not a graph")
            .expected("a file that holds a graph")
            .advice("run its jobs: trimill run FILE"));
    }
    let is_bvgraph = suffix == "graph" && has_properties(file);
    if !is_bvgraph && let Some((name, read)) = foreign(head) {
        let advice = match read {
            Some(read) => format!(
                "write its edges, by NetworkX: python3 -c \"import networkx as nx; nx.write_edgelist(nx.convert_node_labels_to_integers({read}), 'NEW.txt', data=False)\""
            ),
            None => "write its edges as lines of two whole numbers, such as '0 1'".into(),
        };
        return Err(Error::data(&file.path, format!("is a {name} file, which is not read"))
            .expected("an edge list, or another format of --format")
            .advice(advice));
    }
    match suffix.as_str() {
        "mtx" | "mm" => Ok(Format::MatrixMarket),
        "metis" => Ok(Format::Metis),
        "graph" => text_of_graph(head, file),
        _ if is_metis(head, file) => Ok(Format::Metis),
        _ => Ok(Format::Text),
    }
}

fn known(format: Option<Format>, head: &[u8], file: &InputFile) -> Result<Format> {
    let packed = || file.packed_twice(head).or_else(|| not_read(head, None).map(|error| error.at(&file.path)));
    let unknown = || {
        Error::data(&file.path, "the format cannot be told by content or suffix")
            .advice(format!("name it with --format, one of {}", Format::names(|_| true)))
    };
    match format {
        Some(format) if is_binary(format) => Ok(format),
        other => packed().map_or_else(|| other.ok_or_else(unknown), Err),
    }
}

/// Whether a file that could be pairs of `u32` is probably of a wider format: nearly all of its numbers of `bytes` bytes end with a zero `u32`, and
/// it is not a star of vertex 0 with ascending leaves.
fn is_wide(head: &[u8], bytes: usize, file: &InputFile) -> Result<bool> {
    let end_with_zeros = |some: &[u8]| {
        let (numbers, wide) = (some.chunks_exact(bytes), |number: &&[u8]| number[bytes - 4..] == [0; 4]);
        // Among few numbers of 12 bytes, a third that end with zero may be chance.
        (bytes == 8 || numbers.len() >= 8) && 16 * numbers.clone().filter(wide).count() >= 15 * numbers.len()
    };
    let numbers: Vec<u64> = head.as_chunks::<8>().0.iter().map(|&number| u64::from_le_bytes(number)).collect();
    let is_star = numbers.is_sorted_by(|one, next| one < next) || numbers.windows(2).all(|two| two[0] == two[1]);
    if is_star || !end_with_zeros(head) {
        return Ok(false);
    }
    // An arc has two numbers of 8 bytes, or one of 12.
    let arc = if bytes == 8 { 16 } else { 12 };
    if file.compression.is_some() {
        return Ok(head.len() as u64 == HEAD || head.len().is_multiple_of(arc));
    }
    // Arcs that are sorted by their heads may begin so, but do not end so.
    let last = file.window(file.bytes.saturating_sub(HEAD / bytes as u64 * bytes as u64), file.bytes)?;
    Ok(file.bytes.is_multiple_of(arc as u64) && end_with_zeros(&last))
}

fn format_of_magic(head: &[u8], file: &InputFile) -> Result<Option<Format>> {
    Ok(match head {
        head if head.starts_with(npy::header::MAGIC) => Some(Format::Npy),
        head if is_zip(head) => Some(Format::ScipyNpz),
        head if head.starts_with(PARQUET) && (file.compression.is_some() || ends_with(file, PARQUET)?) => {
            Some(Format::Parquet)
        }
        head if head.starts_with(ARROW) || is_arrow_stream(head) => Some(Format::Arrow),
        _ => None,
    })
}

/// Whether an Arrow stream could begin so: with a schema's length, a multiple of 8 whose highest byte is zero.
fn is_arrow_stream(head: &[u8]) -> bool {
    matches!(head.strip_prefix(ARROW_MESSAGE), Some([low, _, _, 0, _, ..]) if low % 8 == 0)
}

pub(super) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

fn ends_with(file: &InputFile, mark: &[u8]) -> Result<bool> {
    let start = file.bytes.saturating_sub(mark.len() as u64);
    Ok(&*file.window(start, file.bytes)? == mark)
}

pub(super) fn by_suffix(path: &Path) -> Option<Format> {
    format_of_suffix(&suffix(path))
}

/// The suffix in lower case, without that of a compression; `out` for KONECT's `out.NAME`, if NAME is no format's suffix.
fn suffix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = Compression::stripped(&name);
    match name.rsplit_once('.') {
        Some((_, suffix)) if format_of_suffix(suffix).is_some() => suffix.to_owned(),
        _ if name.starts_with("out.") => "out".into(),
        Some((_, suffix)) => suffix.to_owned(),
        None => String::new(),
    }
}

fn format_of_suffix(suffix: &str) -> Option<Format> {
    Some(match suffix {
        "txt" | "tsv" | "csv" | "el" | "wel" | "edges" | "edgelist" | "jlg" | "out" => Format::Text,
        "mtx" | "mm" => Format::MatrixMarket,
        "metis" => Format::Metis,
        "sg" => Format::GapbsSg,
        "g500" | "graph500" => Format::Graph500,
        "bin" | "bin32" | "u32" => Format::BinU32,
        "bin64" | "u64" => Format::BinU64,
        "graph" => Format::Bvgraph,
        "npy" => Format::Npy,
        "npz" => Format::ScipyNpz,
        "parquet" | "pq" => Format::Parquet,
        "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
        _ => return None,
    })
}

/// Whether a format is raw numbers, which may begin like any other format.
pub(super) const fn is_binary(format: Format) -> bool {
    matches!(format, Format::GapbsSg | Format::Graph500 | Format::BinU32 | Format::BinU64)
}

const fn has_magic(format: Format) -> bool {
    matches!(format, Format::Npy | Format::ScipyNpz | Format::Parquet | Format::Arrow)
}

fn is_text(head: &[u8]) -> bool {
    !head.iter().any(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c) || byte == 0x7f)
        && match std::str::from_utf8(head) {
            Ok(_) => true,
            // A character that is cut at the end, or numbers with Latin-1 names in comments.
            Err(error) => error.error_len().is_none() || is_numbers(head),
        }
}

fn is_numbers(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n')
        .take(1000)
        .filter(|line| !is_blank_or_comment(line))
        .take(2)
        .any(|line| line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit))
}

fn text_of_graph(head: &[u8], file: &InputFile) -> Result<Format> {
    let first = lines(head).find(|line| !line.is_empty());
    if first.is_some_and(|line| metis::parse_header(line).is_some()) {
        return Ok(Format::Metis);
    }
    if has_properties(file) {
        return Ok(Format::Bvgraph);
    }
    Err(Error::data(&file.path, "text without the header of a METIS file")
        .expected("'n m [fmt [ncon]]' in the first line of a .graph, or a BVGraph")
        .advice("if it is an edge list, name it with --format text"))
}

/// Whether it is the `.graph` of a BVGraph. A short one may look like text.
fn has_properties(file: &InputFile) -> bool {
    file.compression.is_none() && BvGraphFiles::of(&file.path).properties.is_file()
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|&byte| byte == b'\n').filter(|line| !line.starts_with(b"%")).map(<[u8]>::trim_ascii)
}

/// Whether a text begins like a METIS file and unlike an edge list: rows of different lengths after a header that fits them.
fn is_metis(head: &[u8], file: &InputFile) -> bool {
    let mut rows = lines(head).skip_while(|line| line.is_empty());
    let Some(header) = rows.next().and_then(metis::parse_header) else { return false };
    let mut rows: Vec<&[u8]> = rows.collect();
    // The last line may be cut, or the empty one after the last line end. A byte order mark is no longer there.
    let is_cut = (head.len() + BYTE_ORDER_MARK.len()) as u64 >= HEAD;
    rows.pop_if(|last| is_cut || last.is_empty());
    let seen = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1) as u64;
    // Each of 2 m neighbours takes a digit and a separator, except the last one.
    let room = file.compression.is_some() || u128::from(header.edges) * 4 <= u128::from(file.bytes) + 1;
    let weights = header.before_neighbours > 0 || header.edge_weights;
    let neighbour = |column| whole(column).is_some_and(|id| weights || (1..=header.vertices).contains(&id));
    let mut lengths = rows.iter().filter(|row| !row.is_empty()).map(|row| columns(row).count());
    let first = lengths.next();
    seen <= header.vertices
        && room
        && lengths.any(|length| Some(length) != first)
        && rows.iter().flat_map(|row| columns(row)).all(neighbour)
}
