//! Graphs of GraphAr: files that its own software wrote are tested in `fixtures.rs`; here are the choice of edges, and refusals.

use std::path::PathBuf;

use trimill::Result;
use trimill::testing::input::files_of;

use super::support::{Folder, read, read_files, refused};
use crate::common::packed::{zipped, zst};
use crate::common::place::files;

/// The description of edges between two types of vertices, in chunks of 2.
fn edges(tails: &str, name: &str, heads: &str) -> String {
    format!(
        "src_type: {tails}\nedge_type: {name}\ndst_type: {heads}\nchunk_size: 2\nprefix: edge/{name}/\n\
         adj_lists:\n  - {{ordered: true, aligned_by: dst, file_type: orc}}\n  - ordered: true\n    aligned_by: src\n    file_type: csv\n"
    )
}

type ReadArcs = Result<Vec<(u64, u64)>>;

/// A folder with persons who know and like each other and own things.
fn social() -> Folder {
    let dir = Folder::new();
    dir.write("social.graph.yml", "edges:\n- knows.edge.yml\n- 'likes.edge.yml' # twice\n- owns.edge.yml\n");
    for (name, heads) in [("knows", "person"), ("likes", "person"), ("owns", "thing")] {
        dir.write(&format!("{name}.edge.yml"), edges("person", name, heads));
    }
    // A name in the older form.
    dir.write("likes.edge.yml", edges("person", "likes", "person").replace("_type: person", "_label: person"));
    for (name, chunk, rows) in [
        ("knows", "part0/chunk0", "0,1\n1,2\n"),
        ("knows", "part0/chunk1", "2,0\n"),
        ("knows", "part2/chunk0", "3,4\n"),
        ("likes", "part0/chunk0", "5,6\n"),
        ("owns", "part0/chunk0", "0,0\n"),
    ] {
        let text = format!("_graphArSrcIndex,_graphArDstIndex\n{rows}");
        dir.write(&format!("edge/{name}/ordered_by_source/adj_list/{chunk}"), text);
        dir.write(&format!("edge/{name}/ordered_by_source/adj_list/{}.crc", chunk.replace('/', "/.")), "crc");
    }
    for (part, count) in [(0, 3u64), (1, 0), (2, 1)] {
        dir.write(&format!("edge/knows/ordered_by_source/edge_count{part}"), count.to_le_bytes());
    }
    dir
}

fn read_in(dir: &Folder, names: &[&str]) -> ReadArcs {
    read_files(&names.iter().map(|name| dir.path(name)).collect::<Vec<_>>())
}

fn refuses(dir: &Folder, names: &[&str], parts: &[&str]) {
    refused(read_in(dir, names), parts);
}

/// Reads archives of the folder: by tar, by tar and compressed, by zip.
fn read_archives(dir: &Folder) -> Vec<(&'static str, ReadArcs)> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all(".", dir.path("")).unwrap();
    let tar = tar.into_inner().unwrap();
    let member = |path: PathBuf| {
        let name = path.strip_prefix(dir.path("")).unwrap();
        (format!("social/{}", name.display()), std::fs::read(&path).unwrap())
    };
    let members: Vec<_> = files(&dir.path("")).into_iter().map(member).collect();
    let members: Vec<_> = members.iter().map(|(name, bytes)| (&name[..], &bytes[..])).collect();
    let place = Folder::new();
    [("g.tar.zst", zst(&tar)), ("g.tar", tar), ("g.zip", zipped(&members))]
        .map(|(name, bytes)| (name, read(&place.write(name, bytes))))
        .into()
}

/// Checks that archives of the folder are [`refused`] by errors that name them.
fn archives_refuse(dir: &Folder, parts: &[&str]) {
    for (name, found) in read_archives(dir) {
        refused(found, &[&[&*format!("{name}: ")][..], parts].concat());
    }
}

#[test]
fn edges_of_one_type_are_taken() {
    let dir = social();
    let knows = [(0, 1), (1, 2), (2, 0), (3, 4)];
    assert_eq!(read_in(&dir, &["knows.edge.yml"]).unwrap(), knows);
    assert_eq!(read_in(&dir, &["likes.edge.yml"]).unwrap(), [(5, 6)]);
    assert_eq!(read_in(&dir, &["knows.edge.yml", "likes.edge.yml"]).unwrap(), [&knows[..], &[(5, 6)]].concat());
    for name in ["", "social.graph.yml"] {
        refuses(&dir, &[name], &["3 types of edges", "knows.edge.yml, ", "name one of these files as the input"]);
    }
    refuses(&dir, &["owns.edge.yml"], &["edges from 'person' to 'thing', whose ids both begin with 0"]);
    dir.write("owns.edge.yml", edges("thing", "owns", "thing"));
    refuses(&dir, &["knows.edge.yml", "owns.edge.yml"], &["vertices of type 'thing'; expected 'person'"]);
    dir.write("other.graph.yaml", "edges: []\n");
    refuses(&dir, &[""], &["2 graphs: "]);
    refuses(&dir, &["other.graph.yaml"], &["lists no edges"]);
    std::fs::remove_file(dir.path("other.graph.yaml")).unwrap();
    dir.write("social.graph.yml", "name: social\nprefix: ./\nedges: [knows.edge.yml]\n");
    assert_eq!(read_in(&dir, &[""]).unwrap(), knows);
    assert_eq!(files_of(&[dir.path("")]).unwrap().len(), 3);
    // The files of the graph are in the folder that it names.
    std::fs::create_dir(dir.path("data")).unwrap();
    std::fs::rename(dir.path("edge"), dir.path("data/edge")).unwrap();
    let told = ["of format orc", "ordered_by_source/adj_list of format csv", "expected a directory of chunks"];
    refuses(&dir, &[""], &told);
    dir.write("social.graph.yml", "prefix: data/\nedges: [knows.edge.yml]\n");
    assert_eq!(read_in(&dir, &[""]).unwrap(), knows);
    assert_eq!(read_in(&dir, &["knows.edge.yml"]).unwrap(), knows);
}

#[test]
fn a_graph_in_an_archive_is_read() {
    let dir = social();
    archives_refuse(&dir, &["3 types of edges"]);
    dir.write("social.graph.yml", "edges: [knows.edge.yml]\n");
    // A list beside it is not a second graph.
    dir.write("notes.csv", "9,9\n");
    for (name, found) in read_archives(&dir) {
        assert_eq!(found.unwrap(), [(0, 1), (1, 2), (2, 0), (3, 4)], "{name}");
    }
    // In an archive a description is found by its name.
    std::fs::copy(dir.path("knows.edge.yml"), dir.path("knows.yml")).unwrap();
    dir.write("social.graph.yml", "edges: [knows.yml]\n");
    archives_refuse(&dir, &["knows.yml: is too long, or is not named as descriptions are"]);
    // The files of the graph are in a folder beside its description.
    std::fs::create_dir(dir.path("data")).unwrap();
    std::fs::rename(dir.path("edge"), dir.path("data/edge")).unwrap();
    dir.write("social.graph.yml", "prefix: ./data/./\nedges: [./knows.edge.yml]\n");
    for (name, found) in read_archives(&dir) {
        assert_eq!(found.unwrap().len(), 4, "{name}");
    }
    // An archive must not name files of this machine.
    for prefix in [dir.path("data").to_str().unwrap(), "../data/"] {
        dir.write("social.graph.yml", format!("prefix: {prefix}\nedges: [knows.edge.yml]\n"));
        archives_refuse(&dir, &[&format!("social.graph.yml: the path '{prefix}', which is not below")]);
    }
    dir.write("social.graph.yml", "prefix: data/\nedges: [knows.edge.yml]\n");
    std::fs::remove_file(dir.path("data/edge/knows/ordered_by_source/adj_list/part0/chunk1")).unwrap();
    archives_refuse(&dir, &["adj_list/part0: 1 chunk "]);
    dir.write("more.graph.yml", "edges: [likes.edge.yml]\n");
    archives_refuse(&dir, &["2 graphs: ", "unpack it first"]);
}

#[test]
fn a_chunk_that_is_a_folder_is_refused() {
    // One of several chunks, and the only one.
    for (edges, chunk) in [("knows", "part0/chunk1"), ("likes", "part0/chunk0")] {
        let dir = social();
        dir.write("social.graph.yml", format!("edges: [{edges}.edge.yml]\n"));
        let chunk = format!("edge/{edges}/ordered_by_source/adj_list/{chunk}");
        std::fs::remove_file(dir.path(&chunk)).unwrap();
        dir.write(&format!("{chunk}/data"), "2,0\n");
        refuses(&dir, &[""], &[&chunk, "is a directory"]);
        archives_refuse(&dir, &[&format!("{chunk}: is a folder; expected a file of edges")]);
    }
}

#[test]
fn a_graph_that_is_not_whole_is_refused() {
    let fewer = "3 edges in all chunks; expected 4, as the files edge_count say; fetch the graph again";
    for (name, text, parts) in [
        ("@/adj_list/part0/chunk0", None, &["1 chunk (numbers 1); expected 2 chunks"][..]),
        ("@/adj_list/part0/chunk1", None, &["expected 2 chunks of 2 edges, from chunk0 on"]),
        ("@/adj_list/part2/chunk0", None, &["0 chunks", "expected 1 chunk of", "fetch the graph"]),
        ("@/adj_list/part0/chunk0", Some("_graphArSrcIndex,_graphArDstIndex\n0,1\n"), &[fewer]),
        ("@/adj_list/part1/chunk0", Some("9,9\n"), &["1 chunk (", "expected 0 chunks"]),
        ("@/edge_count1", Some("1"), &["edge_count1: 1 bytes; expected 8"]),
        ("@/edge_count2", None, &["edge_count2: does not exist", "the edges of this part"]),
        ("knows.edge.yml", Some("prefix: *x\n"), &["knows.edge.yml: no YAML"]),
        ("knows.edge.yml", Some("src_type: a\ndst_type: a\n"), &["no number 'chunk_size'"]),
        ("knows.edge.yml", Some("src_type: a\nchunk_size: 2\n"), &["no 'dst_type'"]),
        ("social.graph.yml", Some("prefix: /no/\nedges: [knows.edge.yml]\n"), &["'/no/'", "set 'prefix: ./'"]),
        ("social.graph.yml", Some("prefix: s3://b/\nedges: [knows.edge.yml]\n"), &["files at 's3://b/'"]),
    ] {
        let (dir, name) = (social(), name.replace('@', "edge/knows/ordered_by_source"));
        match text {
            Some(text) => drop(dir.write(&name, text)),
            None => std::fs::remove_file(dir.path(&name)).unwrap(),
        }
        refuses(&dir, &["knows.edge.yml"], parts);
    }
}
