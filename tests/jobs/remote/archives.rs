//! Archives on a server: of a zip only the member with the graph is fetched, a tar is read up to it; damaged and crafted ones.

use std::fs;

use zip::CompressionMethod;

use super::counts;
use crate::common::job::data;
use crate::common::packed::{gz, tarred, zipped, zipped_by, zst};
use crate::common::place::Place;
use crate::common::server::{Object, Server};

/// Archives with the graph and a member of incompressible bytes, past which only a tar archive has to be read.
fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let text = fs::read(data("ca-HepTh.txt")).unwrap();
    let noise: Vec<u8> =
        (0..1u64 << 18).flat_map(|i| xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes()).to_le_bytes()).collect();
    let packed = gz(&text);
    let plain = [("README.bin", &noise[..]), ("x/ca-HepTh.txt", &text), ("x/README", b"about")];
    let stored = [("picture.jpg", &noise[..]), ("ca-HepTh.txt.gz", &packed), ("page.html", &noise)];
    vec![
        ("deflated.zip", zipped(&plain)),
        ("stored.zip", zipped_by(CompressionMethod::Stored, &stored)),
        ("g.tar", tarred(&plain)),
        ("g.tar.zst", zst(tarred(&plain))),
    ]
}

#[test]
fn the_graph_in_an_archive_is_fetched_without_the_other_members_of_a_zip() {
    let place = Place::new();
    for (name, bytes) in archives() {
        let object = Object::tagged(bytes, "\"1\"");
        let server = Server::of(object.clone());
        counts(&place, &["count", &server.url(name), "--no-cache"]);
        let ranges = server.asked().into_iter().filter_map(|asked| asked.range());
        let fetched: usize = ranges.map(|(first, last)| last + 1 - first).sum();
        if name.ends_with(".zip") {
            assert!(fetched < 2 << 20, "{name}: {fetched} bytes in {:?}", server.asked());
        }
        let server = Server::cutting(object.clone());
        counts(&place, &["count", &server.url(name), "--no-cache", "--threads", "1", "--host-memory", "64MiB"]);
        let server = Server::changing(object);
        let said = format!("{}: changed while it was read (its ETag differs)", server.url(name));
        place.refuses(&["count", &server.url(name)], 1, &[&said]);
    }
}

#[test]
fn a_damaged_zip_on_a_server_is_refused_as_on_a_disk() {
    let place = Place::new();
    let zip = zipped(&[("g.txt", "3 4\n".repeat(500).as_bytes())]);
    let directory = zip.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    let altered = |at: usize, bytes: &[u8]| {
        let mut zip = zip.clone();
        zip[directory + at..][..bytes.len()].copy_from_slice(bytes);
        zip
    };
    for (bytes, said) in [
        (zip[..zip.len() - 1].to_vec(), "the zip archive is damaged"),
        (altered(16, &[1, 2, 3, 4]), "the member 'g.txt' is damaged (its checksum differs)"),
        // What the list says of the compressed size, and of where the member begins.
        (altered(20, &[5, 0, 0, 0]), "the member 'g.txt' is damaged"),
        (altered(42, &[0xff, 0xff, 0xff, 0x7f]), "the zip archive is damaged"),
    ] {
        let server = Server::of(Object::tagged(bytes, "\"1\""));
        place.refuses(&["count", &server.url("g.zip"), "--no-cache"], 1, &[&server.url("g.zip"), said]);
    }
}
