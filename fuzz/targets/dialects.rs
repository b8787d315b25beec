//! A known graph in a text dialect, with one deviation: reading it must give the right arcs or an error.
//!
//! The bytes choose the graph, the dialect, how lines are written, the deviation and its place, the file's name and its compression. It is always
//! clear which graph is meant: no deviation removes an arc from a list that does not say how many arcs it has, and none turns an id into another one.
//! One exception: a header with a wrong number of edges may be the first arc of a list that begins with its largest id.

use std::collections::BTreeSet;

use trimill::testing::input::format::Format;

use super::{Place, edges, is_told};

type Edges = BTreeSet<(u64, u64)>;

/// Choices, one byte each.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, end: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        // Two bytes if 256 choices are not enough.
        if end <= 256 { usize::from(first) % end.max(1) } else { (usize::from(first) << 8 | self.below(256)) % end }
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// A graph with triangles on 3 to 14 vertices, each of which has an edge: a path and chords, in any order and direction.
fn graph(choices: &mut Choices<'_>) -> (u64, Vec<(u64, u64)>) {
    let n = 3 + choices.below(12) as u64;
    let mut edges: Edges = (1..n).map(|v| (v - 1, v)).collect();
    if choices.below(2) == 1 {
        edges.insert((0, n - 1));
    }
    for _ in 0..choices.below(24) {
        let (u, v) = (choices.below(n as usize) as u64, choices.below(n as usize) as u64);
        if u != v {
            edges.insert((u.min(v), u.max(v)));
        }
    }
    let mut arcs: Vec<(u64, u64)> = edges.into_iter().collect();
    match choices.below(4) {
        0 => {}
        1 => arcs.reverse(),
        2 => arcs.iter_mut().for_each(|(u, v)| (*u, *v) = (*v, *u)),
        _ => {
            for at in (1..arcs.len()).rev() {
                arcs.swap(at, choices.below(at + 1));
            }
            arcs.iter_mut().filter(|_| choices.below(2) == 1).for_each(|(u, v)| (*u, *v) = (*v, *u));
        }
    }
    (n, arcs)
}

/// A text and its first id.
#[derive(Default)]
struct Text {
    lines: Vec<String>,
    base: u64,
    /// The line of the header, whose numbers may be changed.
    header: Option<usize>,
    arcs: usize,
    metis: bool,
    matrix: bool,
    /// Whether lines end with arbitrary text, or begin with an arbitrary weight.
    free: bool,
}

impl Text {
    /// The numbers `n m` of the header of an edge list.
    fn numbers_of_header(&self) -> Option<(u64, u64)> {
        self.header.filter(|_| !self.metis && !self.matrix)?;
        self.lines.iter().find_map(|line| {
            let mut numbers = line.split([' ', '\t', ',', '\u{feff}']).filter(|word| !word.is_empty());
            Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
        })
    }
}

fn metis((n, arcs): &(u64, Vec<(u64, u64)>), choices: &mut Choices<'_>) -> Text {
    let alone = choices.below(3) as u64;
    let mut lines = vec!["% a comment".to_string(); choices.below(2)];
    let header = lines.len();
    let (fmt, before, after) =
        choices.one(&[("", "", ""), ("", "", ""), (" 1", "", " 7"), (" 10", "3 ", ""), (" 100", "5 ", "")]);
    lines.push(format!("{} {}{fmt}", n + alone, arcs.len()));
    for vertex in 0..n + alone {
        let other_end = |&(u, v): &(u64, u64)| if u == vertex { Some(v) } else { (v == vertex).then_some(u) };
        let successors: BTreeSet<u64> = arcs.iter().filter_map(other_end).collect();
        let row: Vec<String> = successors.iter().map(|successor| format!("{}{after}", successor + 1)).collect();
        lines.push(format!("{before}{}", row.join(" ")));
    }
    let free = !before.is_empty();
    Text { lines, base: 1, header: Some(header), arcs: header + 1, metis: true, free, ..Text::default() }
}

fn matrix((n, arcs): &(u64, Vec<(u64, u64)>), choices: &mut Choices<'_>) -> Text {
    let (field, value) = choices.one(&[("pattern", ""), ("real", " -1.5e3"), ("integer", " 7")]);
    let symmetry = choices.one(&["general", "symmetric"]);
    let mut lines = vec![format!("%%MatrixMarket matrix coordinate {field} {symmetry}"), "% a comment".into()];
    lines.push(format!("{n} {n} {}", arcs.len()));
    lines.extend(arcs.iter().map(|(u, v)| format!("{} {}{value}", u.max(v) + 1, u.min(v) + 1)));
    Text { lines, base: 1, header: Some(2), arcs: 3, matrix: true, ..Text::default() }
}

fn list((n, arcs): &(u64, Vec<(u64, u64)>), choices: &mut Choices<'_>) -> Text {
    let base = choices.below(2) as u64;
    let separator = choices.one(&[" ", "\t", ",", ", ", "  "]);
    let rest = choices.one(&["", "", "1", "0.5", "1 1082008561", "{}", "{'weight': 3}"]);
    let rest = if rest.is_empty() { String::new() } else { format!("{separator}{}", rest.replace(' ', separator)) };
    let both = choices.below(3) == 0;
    let mut lines = Vec::new();
    let which = choices.below(11);
    match which {
        0 => lines.extend(["# Nodes: 1 Edges: 1".to_string(), "# FromNodeId\tToNodeId".into()]),
        1 => lines.extend(["% sym unweighted".to_string(), format!("% {} {n} {n}", arcs.len())]),
        2 => lines.push(["source", "target"].join(separator.trim_start_matches([' ', '\t']).get(..1).unwrap_or(" "))),
        3 => lines.push(if rest.is_empty() { ",src,dst".into() } else { ",src,dst,w".into() }),
        4 => lines.push(n.to_string()),
        5 | 6 => lines.push(format!("{n}{separator}{}", arcs.len())),
        7 => lines.push(format!("{n},{},u,graph,2,Int64,simplegraph", arcs.len())),
        8 => lines.push(format!("{n} {n} {}", arcs.len())),
        _ => {}
    }
    let (header, index) = ((5..9).contains(&which).then_some(0), which == 3);
    let begin = lines.len();
    let mut number = 0;
    for &(u, v) in arcs {
        for (u, v) in [(u, v), (v, u)].into_iter().take(1 + usize::from(both)) {
            let index = if index { format!("{number},") } else { String::new() };
            lines.push(format!("{index}{}{separator}{}{rest}", u + base, v + base));
            number += 1;
        }
    }
    let free = rest.contains('{');
    Text { lines, base, header, arcs: begin, free, ..Text::default() }
}

/// Makes one deviation. Returns the end of each line.
fn deviate(text: &mut Text, foreign: bool, choices: &mut Choices<'_>) -> Vec<&'static str> {
    let usual = choices.one(&["\n", "\n", "\r\n"]);
    let which = choices.below(26);
    let at = choices.below(text.lines.len());
    let arc = text.arcs + choices.below(text.lines.len() - text.arcs);
    let counted = text.metis || text.matrix;
    // A single number in the first line is a header.
    let may_be_cut = counted || text.header.is_some() || arc > text.arcs;
    let line = &mut text.lines[arc];
    let within = choices.below(line.len().max(1));
    let middle = line.char_indices().nth(within).map_or(line.len(), |(at, _)| at);
    let digit = |at: usize, line: &str| line.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    match which {
        1 => text.lines.insert(arc, String::new()),
        2 => text.lines.insert(arc, choices.one(&["# c", "% c", "  # c", "// c", "c c", "; c", "% c\r% c"]).into()),
        3 => text.lines.push(choices.one(&["", "", "\u{1a}", "# end", "%"]).into()),
        4 => text.lines[at].insert_str(0, choices.one(&[" ", "\t", "  "])),
        5 => text.lines[at].push_str(choices.one(&[" ", "\t", " \t"])),
        6 => text.lines[at].insert(0, '\u{feff}'),
        7 => text.lines[0].insert(0, '\u{feff}'),
        8 => line.push_str(choices.one(&[" 1", ",1", "\t0.5", ",", ",,", " x", " 1 2", ";", " # c"])),
        9 if may_be_cut => *line = line.split([' ', '\t', ',']).next().unwrap_or_default().to_string(),
        10 => *line = line.replace([' ', '\t', ','], choices.one(&[";", "|", ",,", ":", ", ,", "\u{a0}", "\"", " , "])),
        11 => *line = format!("\"{}\"", line.replace([' ', '\t', ','], "\",\"")),
        // A character is inserted into a number, or anywhere, but none that makes another number or a comment.
        12 if digit(middle, line) && middle > 0 => {
            line.insert_str(middle, choices.one(&["-", "x", ".", "e", "\r", "\0", "'"]))
        }
        13 if middle > 0 && digit(middle, line) && digit(middle - 1, line) => {
            line.insert_str(middle, choices.one(&[" ", "\t", ",", ";"]));
        }
        14 => line.insert(middle, '\r'),
        // Lines are cut in two, joined, or duplicated.
        15 if may_be_cut && middle > 0 && digit(middle - 1, line) => line.insert(middle, '\n'),
        // Only if enough lines remain that the joined line differs from them.
        16 if !text.free && text.lines.len() > text.arcs + 3 && arc + 1 < text.lines.len() => {
            let next = text.lines.remove(arc + 1);
            text.lines[arc].push_str(&format!(" {next}"));
        }
        17 => text.lines.insert(arc, text.lines[arc].clone()),
        18 if counted || text.header.is_some() => drop(text.lines.remove(arc)),
        19..=21 => {
            if let Some(header) = text.header {
                let words: Vec<&str> = text.lines[header].split_inclusive(|c: char| !c.is_ascii_digit()).collect();
                // `n n m` whose first two differ is an arc with a weight.
                let twice = !counted && words.len() == 3;
                let spoiled = if twice { 2 } else { choices.below(if text.matrix { 3 } else { 2 }) };
                let spoiled = spoiled.min(words.len() - 1);
                // In a short list, a header with fewer vertices than there are is taken for an arc.
                let least = if spoiled == 0 && (foreign || !counted) { 0 } else { -1000 };
                let more = choices.one(&[1i64, -1, 2, -2, 1000]).max(least);
                let spoil = |(i, word): (usize, &&str)| {
                    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
                    match digits.parse::<i64>() {
                        Ok(number) if i == spoiled => format!("{}{}", (number + more).max(1), &word[digits.len()..]),
                        _ => (*word).to_string(),
                    }
                };
                text.lines[header] = words.iter().enumerate().map(spoil).collect();
            }
        }
        22 if text.header.is_some() => text.lines.insert(0, choices.one(&["% bip", "# c", "%"]).into()),
        22 => {
            text.lines.insert(0, choices.one(&["% bip unweighted", "# c", "%", "u v", "x", "p edge 3 2", "c c"]).into())
        }
        _ => {}
    }
    let mut ends = vec![usual; text.lines.len()];
    match which {
        23 => ends.fill("\r"),
        24 if at >= text.arcs && !text.free && ends.len() > text.arcs + 3 => {
            ends[at] = choices.one(&["\r", "\u{2028}", "\r\n", "\r\r\n", "\n\r"]);
        }
        24 => ends[0] = choices.one(&["\r", "\r\n", "\n", "\r\r\n"]),
        25 => *ends.last_mut().expect("a header at least") = choices.one(&["", "\r", "\0"]),
        _ => {}
    }
    ends
}

pub(super) fn check(place: &Place, bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let graph = graph(&mut choices);
    let known: Edges = graph.1.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
    let mut text = match choices.below(4) {
        0 => metis(&graph, &mut choices),
        1 => matrix(&graph, &mut choices),
        _ => list(&graph, &mut choices),
    };
    // If its header is wrong, a METIS file whose rows have weights and one length is also a valid edge list.
    let weights = text.metis && text.free;
    let names = match (text.metis, text.matrix) {
        _ if weights => &["g.metis", "g.graph", "out.graph"][..],
        (true, _) => {
            &["g.metis", "g.graph", "out.graph", "mesh", "g.txt", "g.adj", "out.g", "g.csv", "g.bin", "g.edges"][..]
        }
        (_, true) => &["g.mtx", "g", "g.txt", "out.mtx", "g.metis", "g.sg", "g.bin"],
        _ => &[
            "g.txt", "g.csv", "g.el", "g", "out.g", "g.edges", "g.jlg", "g.graph", "g.metis", "g.mtx", "g.bin", "g.sg",
        ],
    };
    let name = choices.one(names);
    // A METIS file whose name does not say so.
    let foreign = text.metis && !["metis", "graph"].iter().any(|suffix| name.ends_with(suffix));
    let ends = deviate(&mut text, foreign, &mut choices);
    let written: String = text.lines.iter().zip(ends).flat_map(|(line, end)| [line, end]).collect();
    let wide = choices.below(64) == 1;
    let bytes: Vec<u8> =
        if wide { written.encode_utf16().flat_map(u16::to_le_bytes).collect() } else { written.clone().into_bytes() };
    let (name, bytes) = match choices.below(5) {
        1 => (format!("{name}.zst"), zstd::bulk::compress(&bytes, 1).expect("in memory")),
        _ => (name.to_string(), bytes),
    };
    let named = match choices.below(6) {
        1 if text.metis => Some(Format::Metis),
        1 if text.matrix => Some(Format::MatrixMarket),
        1 => Some(Format::Text),
        _ => None,
    };
    let path = place.write(&name, bytes);
    match edges::read(&path, named) {
        // A BVGraph has two files, so the suffix may differ.
        Err(error) => is_told(&error, &path.with_extension("")),
        Ok(arcs) => {
            let base = |id: u64| id.wrapping_sub(text.base);
            let arcs = arcs.expect("a small graph");
            let edge = |(u, v): (u64, u64)| (base(u).min(base(v)), base(u).max(base(v)));
            let found: Edges = arcs.iter().copied().filter(|(u, v)| u != v).map(edge).collect();
            let header = text.numbers_of_header().filter(|&(_, m)| m + 1 != arcs.len() as u64).map(edge);
            let is_first_arc = header.is_some_and(|header| {
                found.contains(&header) && found.iter().all(|edge| *edge == header || known.contains(edge))
            });
            assert!(
                found == known || is_first_arc,
                "{name} as {named:?}: {found:?} instead of {known:?} from {written:?}"
            );
        }
    }
    std::fs::remove_file(path).expect("it was written");
}
