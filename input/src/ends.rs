//! The usual names of columns that hold the ends of arcs, and whether several tables have these in the same columns.

use std::path::Path;

use trimill_system::text::printable;
use trimill_system::url::public;
use trimill_system::{Error, Result};

const TAILS: [&str; 21] = [
    "source", "src", "from", "tail", "u", "node1", "id1", "sourceid", "srcid", "fromid", "fromnodeid",
    "grapharsrcindex", "startid", "sourcenode", "fromnode", "vertex1", "user1", "nodeid1", "citing", "follower",
    "subject",
];
const HEADS: [&str; 24] = [
    "target", "dst", "dest", "destination", "to", "head", "v", "node2", "id2", "targetid", "dstid", "destid", "toid",
    "tonodeid", "graphardstindex", "endid", "targetnode", "tonode", "vertex2", "user2", "nodeid2", "cited", "followee",
    "object",
];

/// The places of the columns of tails and heads, smaller place first, by the lower-case names of all columns.
pub(super) fn places(names: &[String]) -> Option<(usize, usize)> {
    let place = |known: &[&str]| names.iter().position(|name| known.contains(&plain(name).as_str()));
    let (tail, head) = (place(&TAILS)?, place(&HEADS)?);
    Some((tail.min(head), tail.max(head)))
}

fn plain(name: &str) -> String {
    name.replace(|c: char| !c.is_alphanumeric(), "")
}

/// Refuses tables whose arc ends are in columns named differently than in the first table, unless both names are usual for ends.
pub(super) fn check_alike<'a>(mut tables: impl Iterator<Item = (&'a Path, [String; 2])>) -> Result<()> {
    let Some((first, names)) = tables.next() else { return Ok(()) };
    let are_usual = |names: &[String; 2]| places(&names.each_ref().map(|name| name.to_lowercase())).is_some();
    let shown = |names: &[String; 2]| printable(&names.join("' and '")).into_owned();
    let alike = |other: &[String; 2]| {
        other.iter().zip(&names).all(|(a, b)| plain(&a.to_lowercase()) == plain(&b.to_lowercase()))
    };
    match tables.find(|(_, other)| !(alike(other) || are_usual(&names) && are_usual(other))) {
        Some((path, other)) => Err(Error::data(path, format!("the ends of edges in the columns '{}'", shown(&other)))
            .expected(format!("them in '{}', as in {}", shown(&names), public(first).display()))
            .advice("read files of one table only")),
        None => Ok(()),
    }
}

/// Whether the first of three or more columns, by its lower-case name, is a key or a time of the rows, and not of the same kind as the second.
pub(super) fn begin_with_a_key(names: &[String]) -> bool {
    let [first, second, third, ..] = names else { return false };
    let (first, second, third) = (plain(first), plain(second), plain(third));
    let is_id = |name: &str| name.ends_with("id");
    let stem = ["row", "edge", "time"].into_iter().find(|stem| first.starts_with(stem));
    let is_key = stem.is_some() || matches!(first.as_str(), "id" | "no" | "n" | "key" | "x" | "date" | "year");
    let alike = match (stem, second.as_str()) {
        (None, second) => matches!((first.as_str(), second), ("x", "y") | ("n", "m")),
        (Some(stem), second) => second.starts_with(stem) || stem == "row" && second.starts_with("col"),
    };
    let ids = is_id(&first) && is_id(&second) && !(is_key && is_id(&third));
    (is_key || is_id(&first)) && !ids && (!alike || is_id(&first) != is_id(&second))
}

pub(super) fn numbers_rows(name: &str) -> bool {
    is_index(name) || matches!(plain(name).as_str(), "id" | "edgeid" | "rowid" | "linkid" | "idx")
}

/// Whether a lower-case name is that of a column that numbers the rows, as Python and R write it.
pub(super) fn is_index(name: &str) -> bool {
    name.is_empty() || name == "index" || name.starts_with("unnamed") || name.starts_with("__index_level_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_column_unlike_the_second_may_be_a_key() {
        let begins = |header: &str| begin_with_a_key(&header.split(',').map(str::to_owned).collect::<Vec<_>>());
        for header in [
            "id,a,b", "edge_id,a,b", "edge_id,edge_a,edge_b", "rowid,a,b", "x,v1,v2", "time,src_ip_id,dst_ip_id",
            "timestamp,i,j", "date,caller,callee", "year,a,b", "no.,a,b", "n,a,b", "key,a,b", "id,user_id,friend_id",
            "uid,friend,count",
        ] {
            assert!(begins(header), "{header}");
        }
        for header in [
            "id,a", "user_id,item_id", "userid,itemid,weight", "userid,itemid,orderid", "id,friend_id,weight",
            "row,col,data", "row_id,column_id,v", "edge_1,edge_2,w", "x,y,w", "a,b,c",
        ] {
            assert!(!begins(header), "{header}");
        }
    }
}
