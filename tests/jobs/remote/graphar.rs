//! Graphs of GraphAr on a server: a description names several files, and each is requested with the user and the query of the description's URL.

use std::fs;

use super::{contents, serve};
use crate::common::job::fixture;
use crate::common::place::{Place, stderr};
use crate::common::server::{Answer, Object, Server};

/// The files below a fixture by their names, and its triangles by networkx.
fn graphar(name: &str) -> (Vec<(String, Vec<u8>)>, u64) {
    let prefix = format!("{}/", fixture(name).display());
    let files = contents(&fixture(name)).into_iter();
    let counts = fs::read_to_string(fixture("counts.tsv")).unwrap();
    let row = counts.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|row| row[0] == name).unwrap();
    let files = files.map(|(path, bytes)| (path.strip_prefix(&prefix).unwrap().to_owned(), bytes));
    (files.collect(), row[3].parse().unwrap())
}

#[test]
fn a_graph_of_graphar_is_read_by_its_description() {
    let place = Place::new();
    for name in ["graphar", "graphar-csv"] {
        let (files, triangles) = graphar(name);
        // Every other answer is cut, and the folder requires a user and a query.
        let served = files.clone();
        let server = Server::start(move |asked| {
            let found = served.iter().find(|(name, _)| asked.target == format!("/a%20b/{name}?sig=hunter2"));
            match found {
                Some((name, bytes)) if asked.headers.contains_key("authorization") => {
                    Object::tagged(bytes.clone(), &format!("\"{name}\"")).answer(asked).often_cut(asked)
                }
                Some(_) => Answer::status(401),
                None => Answer::status(404),
            }
        });
        for description in ["friends.graph.yml", "person_knows_person.edge.yaml"] {
            let url = format!("http://me:hunter2@127.0.0.1:{}/a b/{description}?sig=hunter2", server.port);
            let output = place.run(&["count", &url, "--no-cache", "-vvv", "--json"]);
            let said = stderr(&output);
            assert!(output.status.success() && !said.contains("hunter2") && !said.contains("me:"), "{said}");
            let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(result["triangles"], triangles, "{name} {description}");
        }
        // A file that is missing is named. Some are not asked for; of the chunks, only the first and the last are taken away.
        let stays = ["/offset/", "vertex.yaml", "part0/chunk1", "part0/chunk2", "part1/"];
        for missing in files.iter().map(|(name, _)| name).filter(|name| !stays.iter().any(|part| name.contains(part))) {
            let served: Vec<_> = files.iter().filter(|(name, _)| name != missing).cloned().collect();
            let server = serve(served);
            let said = format!("{}: cannot be read (404 Not Found)", server.url(missing));
            place.refuses(&["count", &server.url("friends.graph.yml"), "--no-cache"], 1, &[&said]);
        }
    }
}

#[test]
fn a_graph_of_graphar_is_in_the_cache_until_a_chunk_changes() {
    let place = Place::new();
    let (files, triangles) = graphar("graphar");
    let chunks: Vec<String> =
        files.iter().map(|file| file.0.clone()).filter(|name| name.contains("/adj_list/")).collect();
    assert_eq!(chunks.len(), 6);
    let changed = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let now = std::sync::Arc::clone(&changed);
    let server = Server::start(move |asked| match files.iter().find(|(name, _)| asked.target == format!("/{name}")) {
        Some((name, bytes)) => {
            let version = u8::from(*name == *now.lock().unwrap());
            Object::tagged(bytes.clone(), &format!("\"{version}\"")).answer(asked)
        }
        None => Answer::status(404),
    });
    let cached = || {
        let result = place.answer(&["count", "--cache-dir", "cache", &server.url("friends.graph.yml")]);
        assert_eq!(result["triangles"], triangles);
        result["stages"][0]["name"] == "cached"
    };
    assert!(!cached() && cached());
    for chunk in chunks {
        *changed.lock().unwrap() = chunk.clone();
        assert!(!cached() && cached(), "{chunk}");
    }
}

#[test]
fn a_description_on_a_server_names_its_own_files_only() {
    let place = Place::new();
    let begin = "src_type: a\ndst_type: a\nsrc_chunk_size: 1\nchunk_size: 1\nadj_lists: [{file_type: csv}]\nprefix: ";
    let usual = format!("{begin}e/");
    let (edge, graph) = (usual.as_str(), "edges: [g.edge.yml]\nprefix: ");
    let chunks = |size: &str| edge.replace("src_chunk_size: 1\n", size);
    let half = format!("src_chunk_size: {}\n", 1u64 << 63);
    let many = u64::MAX.to_le_bytes();
    for (graph, edge, said) in [
        (format!("{graph}/etc/"), edge.into(), "g.graph.yml: the path '/etc/', which is not below its folder"),
        (format!("{graph}../"), edge.into(), "g.graph.yml: the path '../', which is not below its folder"),
        (format!("{graph}http://u:pw@host/x?q"), edge.into(), "g.graph.yml: files at 'http://host/x'"),
        (graph.into(), format!("{begin}/etc/"), "g.edge.yml: the path '/etc/', which is not below its folder"),
        ("edges: [/etc/g.edge.yml]".into(), edge.into(), "the path '/etc/g.edge.yml'"),
        (graph.into(), chunks(""), "g.edge.yml: no number 'src_chunk_size'"),
        (graph.into(), edge.into(), "e/unordered_by_source/vertex_count: more than 1048576 parts"),
        (graph.into(), chunks(&half), "edge_count0: more than 1048576 chunks"),
        (graph.into(), format!("{edge}{}", "#".repeat(1 << 20)), "g.edge.yml: 1048"),
    ] {
        let server = serve(vec![
            ("g.graph.yml", graph.into_bytes()),
            ("g.edge.yml", edge.into_bytes()),
            ("e/unordered_by_source/vertex_count", many.to_vec()),
            ("e/unordered_by_source/edge_count0", many.to_vec()),
            ("e/unordered_by_source/edge_count1", many.to_vec()),
        ]);
        place.refuses(&["count", &server.url("g.graph.yml"), "--no-cache"], 1, &[said]);
    }
}
