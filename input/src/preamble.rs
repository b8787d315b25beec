//! The lines before the first arc of an edge list: comments, and possibly a header, which is a line of names (`source,target`), a single number, or
//! two or three numbers that the rest of the file must confirm ([`super::header`]). That is rarely needed: most lists soon have ids above the first
//! line's first number, which is then not the number of vertices. Reads at most 64 KiB after the first line that is no comment.

use std::sync::Once;

use super::columns::{Columns, mixes_separators};
use super::file::InputFile;
use super::head::Head;
use super::header::{Header, HeaderNumbers, LONG};
use super::metis_rows::MetisHeader;
use super::names::columns::{Separator, names_of};
use super::number::{columns, shown, whole};
use super::pairs::is_blank_or_comment;
use super::{ends, metis};
use trimill_system::{Error, Result};

/// The most bytes that are read after the first line that is no comment.
pub(super) const SAMPLE: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// Bytes, after decompression, before the first arc.
    pub(super) skip: u64,
    pub(super) lines: u64,
    pub(super) columns: Columns,
}

#[derive(Debug, Default)]
pub(super) struct FirstLine {
    pub(super) line: u64,
    pub(super) text: String,
    /// Whether names of columns, in it or in a comment, say that the ends of arcs are in the first two.
    pub(super) names_ends: bool,
    /// The names, in it, of the columns that are taken for the ends of arcs, unless the user says that it is a header.
    pub(super) ends: Option<[String; 2]>,
    pub(super) arc: Start,
    pub(super) header: Start,
    pub(super) kind: FirstLineKind,
    /// Set if it could be the header of a METIS file.
    pub(super) metis: Option<MetisHeader>,
    /// The number of rows, if it could be a METIS file whose rows all have the same number of columns.
    pub(super) metis_rows: Option<u64>,
    /// How many edges a comment before it announces.
    pub(super) announced: Option<u64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum FirstLineKind {
    #[default]
    Arc,
    /// Names, or what the user calls a header. `unusual`: whether other columns than those that are taken could hold the ends of arcs.
    Names {
        unusual: bool,
    },
    Count,
    /// Possibly the numbers of a header.
    Sizes(HeaderNumbers),
}

/// Reads up to the first arc; in a file of comments only, arcs begin at its end.
pub(super) fn read(file: &InputFile, choice: Option<Header>) -> Result<FirstLine> {
    let mut head = Head::new(file)?;
    let Some(first) = content(&mut head)? else {
        let end = Start { skip: head.end, lines: head.number, columns: Columns::TWO };
        return Ok(FirstLine { line: end.lines, arc: end, header: end, ..FirstLine::default() });
    };
    let FirstContent { text: ref line, start: skip, number, .. } = first;
    let mut header = Start { skip: head.end, lines: number, columns: Columns::TWO };
    let text = shown(line.trim_ascii());
    let separator = Separator::of(line.trim_ascii());
    let names = if choice == Some(Header::No) { None } else { names(line, separator) };
    let in_comment = if choice.is_none() && names.is_none() { first.names_in_comment() } else { None };
    let names_ends = names.as_ref().or(in_comment.as_ref()).is_some_and(|names| ends::places(names) == Some((0, 1)));
    let index = match (&names, &in_comment) {
        (Some(names), _) => index_column(names, separator),
        (None, Some(names)) => first.comment_names_index(names),
        (None, None) => Ok(false),
    };
    let index = index.map_err(|error| head.error_of(error))?;
    let arc_index = index && names.is_none();
    let separated = |content: &FirstContent| Separator::of(&content.text).byte();
    let of_arc = Columns::of(line, arc_index.then(|| separated(&first)));
    let arc = Start { skip, lines: number - 1, columns: of_arc.unwrap_or(Columns::TWO) };
    let second = content(&mut head)?;
    let found = second.as_ref().and_then(|second| Columns::of(&second.text, index.then(|| separated(second))));
    header.columns = found.unwrap_or(header.columns);
    let is_table = found.is_some() && choice.is_none();
    let taken = |names: &Vec<String>| names.get(usize::from(index)..)?.first_chunk::<2>().cloned();
    let ends = names.as_ref().filter(|_| is_table).and_then(taken);
    let is_count = whole(line.trim_ascii()).is_some();
    let kind = match (choice, &names, &second) {
        (Some(Header::No), ..) => FirstLineKind::Arc,
        (Some(Header::Yes), ..) => FirstLineKind::Names { unusual: false },
        (None, Some(names), _) => {
            let found_columns = header.columns.count + u32::from(index);
            // A second line without columns is reported when it is read.
            if found.is_some() && names.len() as u32 + 1 == found_columns {
                return Err(head
                    .error(format!("a line with {found_columns} columns"))
                    .expected(format!("{}, as in the header '{text}'", names.len()))
                    .advice(
                        "name all columns, or leave out the one that numbers the lines; if the ends are the first two, delete the header",
                    ));
            }
            let unusual = header.columns.count > 2 && ends::places(names).is_none();
            let third = second.as_ref().and_then(|second| columns(&second.text).nth(2)).and_then(whole);
            if unusual && !index && third.is_some() && ends::begin_with_a_key(names) {
                let found = format!("the header '{text}', whose first column may number the lines");
                let error = Error::data(&file.path, found).at_line(number);
                return Err(error.expected("the ends of arcs in the first two columns").advice(format!(
                    "write them first, as by {}; if they are there, add --header yes",
                    separator.cut(2, 3)
                )));
            }
            FirstLineKind::Names { unusual }
        }
        (None, None, _) if arc_index => FirstLineKind::Arc,
        (None, None, _) if is_count => FirstLineKind::Count,
        (None, None, None) => FirstLineKind::Arc,
        (None, None, Some(second)) => sizes_or_arc(&mut head, &first, &header, second)?,
    };
    let data = if kind == FirstLineKind::Arc { Some(&first) } else { second.as_ref() };
    if let Some(data) = data {
        data.check_separators(file, index)?;
        let is_settled = choice.is_some() || names.is_some() || names_ends || index;
        let arcs = if kind == FirstLineKind::Arc { &arc } else { &header };
        let is_list = matches!(kind, FirstLineKind::Arc | FirstLineKind::Count) && arcs.columns.count > 2;
        if is_list && !is_settled {
            check_tails(file, arcs, data)?;
        }
    }
    let alike = arc.columns == header.columns || matches!(kind, FirstLineKind::Sizes(_));
    let metis = metis::parse_header(line.trim_ascii()).filter(|_| choice.is_none() && !text.contains(','));
    let of_metis = metis.as_ref().filter(|_| second.is_some() && alike);
    let metis_rows = of_metis.and_then(|metis| metis.rows_of(header.columns.count.into()));
    let announced = first.announced;
    Ok(FirstLine { line: number, text, names_ends, ends, arc, header, kind, metis, metis_rows, announced })
}

/// Warns of a long list if the first of three columns of integers only numbers its lines, as far as [`SAMPLE`] shows. As a tail, each vertex would
/// have one arc; a third column that is always the same, such as a weight of 1, does not hold ends of arcs. Not for lists after a line `n m`: if that
/// is the header of a METIS file, its rows may begin so.
fn check_tails(file: &InputFile, arcs: &Start, first: &FirstContent) -> Result<()> {
    let mut head = Head::new(file)?;
    let (mut lines, mut next, mut least, mut most) = (0, None::<u64>, u64::MAX, 0);
    while head.end < arcs.skip + SAMPLE {
        let is_before = head.number < arcs.lines;
        let Some(line) = head.next()? else { break };
        if is_before || is_blank_or_comment(line) {
            continue;
        }
        let numbers: Vec<u64> = columns(line.trim_ascii()).map_while(whole).take(3).collect();
        let [number, _, third] = numbers[..] else { return Ok(()) };
        if next.is_some_and(|next| next != number) {
            return Ok(());
        }
        next = number.checked_add(1);
        (least, most) = (third.min(least), third.max(most));
        lines += 1;
    }
    if lines < LONG || least == most {
        return Ok(());
    }
    tracing::warn!(
        "{}: the first column grows by one from line to line, as if it numbered them: edges are read from the first two columns; if they are in others, \
         write these first, as by {}",
        file.path.display(),
        Separator::of(&first.text).cut(2, 3)
    );
    Ok(())
}

pub(super) struct FirstContent {
    comment: Vec<u8>,
    pub(super) announced: Option<u64>,
    pub(super) text: Vec<u8>,
    pub(super) start: u64,
    pub(super) number: u64,
}

pub(super) fn content(head: &mut Head<'_>) -> Result<Option<FirstContent>> {
    let (mut comment, mut announced) = (Vec::new(), None);
    while let Some(line) = head.next()? {
        if is_blank_or_comment(line) {
            let words = line.trim_ascii();
            let of_konect = words.strip_prefix(b"%").map(<[u8]>::trim_ascii_start);
            if of_konect.is_some_and(|words| words.split(u8::is_ascii_whitespace).next() == Some(b"bip")) {
                return Err(head
                    .error("a bipartite graph (% bip), whose columns number different vertices")
                    .expected("one set of ids in both columns")
                    .advice("a bipartite graph has no triangles; to read it anyway, give the second column ids of its own and delete this line"));
            }
            comment = words.get(1..).unwrap_or_default().trim_ascii().to_vec();
            announced = announced.or_else(|| announced_edges(words));
            continue;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text).to_vec();
        return Ok(Some(FirstContent { comment, announced, text, start: head.start, number: head.number }));
    }
    Ok(None)
}

/// The number of edges in a comment such as `# Nodes: 40 Edges: 160` (SNAP), `% 160 40 40` (KONECT: edges, vertices twice), or `% 40 40 160`.
fn announced_edges(comment: &[u8]) -> Option<u64> {
    let (sign, text) = comment.split_at_checked(1)?;
    let words: Vec<&[u8]> = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(8).collect();
    if let Some(at) = words.iter().position(|word| *word == b"Edges:") {
        return whole(words.get(at + 1)?);
    }
    match words.iter().map(|word| whole(word)).collect::<Option<Vec<u64>>>()?[..] {
        [edges, rows, columns] if sign == b"%" && rows == columns => Some(edges),
        [rows, columns, edges] if sign == b"%" && rows == columns => Some(edges),
        _ => None,
    }
}

/// Warns, `once`, if a list announces more edges than all lists have lines. It is usual to announce fewer: some files list each edge twice.
pub(super) fn note_cut<'l>(lists: impl Iterator<Item = (Option<u64>, &'l InputFile)>, lines: u64, once: &Once) {
    let announced = lists.filter_map(|(edges, file)| Some((edges?, &file.path)));
    if let Some((edges, path)) = announced.max().filter(|&(edges, _)| edges > lines) {
        once.call_once(|| {
            let path = path.display();
            tracing::warn!("{path}: a comment announces {edges} edges, and there are {lines}: is the file whole?");
        });
    }
}

impl FirstContent {
    fn check_separators(&self, file: &InputFile, index: bool) -> Result<()> {
        let separator = Separator::of(&self.text);
        // An index column ends at a comma, or blanks separate it, too.
        let in_index = index && separator != Separator::Comma && mixes_separators(&self.text, None);
        if !in_index && !mixes_separators(&self.text, index.then(|| separator.byte())) {
            return Ok(());
        }
        let found = format!("'{}', with commas and blanks between columns", shown(self.text.trim_ascii()));
        Err(Error::data(&file.path, found)
            .at_line(self.number)
            .expected("one of the two")
            .advice("write numbers without commas in them, and the same between all columns"))
    }

    /// The names of all columns, if the comment above has them: as many words as there are columns.
    fn names_in_comment(&self) -> Option<Vec<String>> {
        let of_all = |names: &Vec<String>| names_of(&self.text).is_ok_and(|columns| columns.len() == names.len());
        names(&self.comment, Separator::of(&self.comment)).filter(of_all)
    }

    /// Whether these names in the comment say that the first column numbers the lines. Errors: the ends of arcs are in other columns. Words between
    /// blanks may be prose: they only count if the first one is a usual name of such a column.
    fn comment_names_index(&self, names: &[String]) -> Result<bool> {
        match (Separator::of(&self.comment), ends::places(names)) {
            (_, None) => Ok(false),
            (Separator::Blanks, places) => Ok(places == Some((1, 2)) && ends::numbers_rows(&names[0])),
            (separator, _) if separator != Separator::of(&self.text) => Ok(false),
            (separator, _) => index_column(names, separator)
                .map_err(|error| error.also("if the comment above the first arc is wrong, delete it")),
        }
    }
}

/// Whether a line of numbers may be a header, by the lines after it, or must be an arc.
fn sizes_or_arc(
    head: &mut Head<'_>,
    line: &FirstContent,
    header: &Start,
    second: &FirstContent,
) -> Result<FirstLineKind> {
    let FirstContent { text: line, start, .. } = line;
    let numbers: Vec<u64> = columns(line).map_while(whole).collect();
    let first = Columns::of(line, None);
    let alike = first.is_some_and(|first| first == header.columns || first.text && header.columns.text);
    let (n, m) = match numbers[..] {
        // `n m`, or `n m d ...` as Graphs.jl writes it.
        [n, m] if first.is_some_and(|first| first.count == 2) || is_of_graphs_jl(line) => (n, m),
        [n, other, m] if n == other && first.is_some_and(|first| first.count == 3) => (n, m),
        [m, n, other] if n == other && first.is_some_and(|first| first.count == 3) => (n, m),
        _ => return Ok(FirstLineKind::Arc),
    };
    // As arcs, `n n m` and `n n` would be loops.
    let tail = columns(&second.text).next().and_then(whole).filter(|_| numbers.len() == 2 && n != m);
    let goes_on = tail.is_some_and(|tail| tail == n || tail == m);
    if n == 0 || m == 0 {
        return Ok(FirstLineKind::Arc);
    }
    let sizes = FirstLineKind::Sizes(HeaderNumbers { n, m, alike, goes_on });
    if !alike {
        return Ok(sizes);
    }
    let largest = |line: &[u8]| columns(line).take(2).filter_map(whole).max().unwrap_or(0);
    let (mut lines, mut beyond) = (1u64, u64::from(largest(&second.text) > n));
    while head.end < header.skip + SAMPLE {
        let Some(line) = head.next()? else { return Ok(sizes) };
        if !is_blank_or_comment(line) {
            lines += 1;
            beyond += u64::from(largest(line) > n);
        }
    }
    // An arc if ids exceed n, and the number of lines, estimated from their average length, is far from m.
    let bytes = head.file.bytes as f64 / ((head.end - start) as f64 / lines as f64);
    let most = if head.file.compression.is_some() { 16.0 * bytes } else { 2.0 * bytes };
    let m = m as f64;
    let may_be = (m >= bytes / 2.0 && m <= most) || (2.0 * m >= bytes / 2.0 && 2.0 * m <= most);
    Ok(if beyond >= 2 && !may_be { FirstLineKind::Arc } else { sizes })
}

/// Whether a line continues like a header of Graphs.jl: `n,m,u,...`, or `d` for a directed graph.
fn is_of_graphs_jl(line: &[u8]) -> bool {
    let kind = columns(line).nth(2);
    kind.is_some_and(|kind| matches!(kind, b"u" | b"d" | b"\"u\"" | b"\"d\""))
}

/// The names of columns in lower case, if the first two are words, or the first is empty.
fn names(line: &[u8], separator: Separator) -> Option<Vec<String>> {
    std::str::from_utf8(line).ok().filter(|text| !text.chars().any(|c| c.is_control() && c != '\t'))?;
    // Before the first tab between names there may be an empty one.
    let names = names_of(if separator == Separator::Tab { line } else { line.trim_ascii() }).ok()?;
    let bare = |name: &String| name.trim().trim_matches(['"', '\'']).to_lowercase();
    let names: Vec<String> = names.iter().map(bare).collect();
    let word = |name: &str| name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == ':');
    let named = match names.as_slice() {
        [] => false,
        [only] => word(only),
        [first, second, ..] => (first.is_empty() || word(first)) && word(second),
    };
    named.then_some(names)
}

/// Whether the first column numbers the lines, so that arcs are in the second and third.
pub(super) fn index_column(names: &[String], separator: Separator) -> Result<bool> {
    match ends::places(names) {
        Some((0, 1)) => Ok(false),
        Some((1, 2)) => Ok(true),
        Some((one, other)) => {
            Err(Error::data("", format!("the ends of arcs in columns {} and {}", one + 1, other + 1))
                .expected("them in the first two columns")
                .advice(format!("write these first, as by {}", separator.cut(one + 1, other + 1))))
        }
        None => Ok(names.len() > 2 && names.first().is_some_and(|name| ends::is_index(name))),
    }
}
