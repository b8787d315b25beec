//! The usual names of columns that hold the ends of arcs.

const TAILS: [&str; 13] = [
    "source",
    "src",
    "from",
    "tail",
    "u",
    "node1",
    "id1",
    "sourceid",
    "srcid",
    "fromid",
    "fromnodeid",
    "grapharsrcindex",
    "startid",
];
const HEADS: [&str; 16] = [
    "target",
    "dst",
    "dest",
    "destination",
    "to",
    "head",
    "v",
    "node2",
    "id2",
    "targetid",
    "dstid",
    "destid",
    "toid",
    "tonodeid",
    "graphardstindex",
    "endid",
];

/// The places of the columns of tails and heads, smaller place first, by the lower-case names of all columns.
pub(super) fn places(names: &[String]) -> Option<(usize, usize)> {
    let plain = |name: &String| name.replace(|c: char| !c.is_alphanumeric(), "");
    let place = |known: &[&str]| names.iter().position(|name| known.contains(&plain(name).as_str()));
    let (tail, head) = (place(&TAILS)?, place(&HEADS)?);
    Some((tail.min(head), tail.max(head)))
}

/// Whether a lower-case name is that of a column that numbers the rows, as Python and R write it.
pub(super) fn is_index(name: &str) -> bool {
    name.is_empty() || name == "index" || name.starts_with("unnamed") || name.starts_with("__index_level_")
}
