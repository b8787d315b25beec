//! Objects of a server that drops, stalls, truncates, refuses, redirects and replaces, read to the byte or refused.

#[path = "../../../tests/common/server.rs"]
#[allow(dead_code)]
mod server;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use self::server::{Answer, Asked, Object, Server};
use super::*;
use crate::arcs::ArcSource;
use crate::storage::{ReadOrder, RemoteBytes, Storage};
use crate::{InputSettings, Source};
use trimill_system::Kind;

const QUICK: RemoteLimits = RemoteLimits {
    redirects: 3,
    retries: 3,
    connect: Duration::from_secs(5),
    idle: Duration::from_millis(400),
    pause: Duration::from_millis(1),
    requests: 4,
};

/// Bytes in which no two ranges of eight are equal.
fn bytes(length: usize) -> Vec<u8> {
    (0..length.div_ceil(8) as u64)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .take(length)
        .collect()
}

fn opened(url: &str) -> Result<Arc<dyn RemoteBytes>> {
    // Retries of requests have pauses of their own, which the library below chooses.
    let opener = Opener::new(false, 1 << 20, &Control::silent(), QUICK)?;
    let mut inputs = opener.open(&[url.into()])?;
    Ok(inputs.pop().unwrap().object.unwrap())
}

fn all(object: &dyn RemoteBytes) -> std::io::Result<Vec<u8>> {
    let length = object.bytes();
    let mut fetched = Vec::new();
    for start in (0..length).step_by(300_000) {
        fetched.extend(object.fetch(start..length.min(start + 300_000))?);
    }
    for order in [ReadOrder::Stream, ReadOrder::Pages] {
        let mut read = vec![0; length as usize];
        object.forward(0..length, order).read_exact_at(&mut read, 0)?;
        assert!(read == fetched, "{order:?}");
    }
    Ok(fetched)
}

fn read(url: &str) -> Result<Vec<u8>> {
    let object = opened(url)?;
    all(&*object).map_err(|error| Error::read("elsewhere", error))
}

#[test]
fn what_breaks_off_goes_on_where_it_was() {
    let whole = bytes(3_000_000);
    let object = Object::tagged(whole.clone(), "\"1\"");
    // Each answer ends after a third of the bytes that were asked for.
    let server = Server::faulty(object, |_, answer| Answer { cut: Some(answer.body.len().div_ceil(3)), ..answer });
    assert!(read(&server.url("a")).unwrap() == whole);
    let starts: Vec<usize> = server.asked().iter().filter_map(|asked| Some(asked.range()?.0)).collect();
    assert!(starts.iter().any(|start| start % 300_000 == 100_000), "{starts:?}");

    // Without an ETag, and with pauses that are shorter than the limit.
    let object = Object { bytes: whole.clone(), tag: None, modified: Some("Wed, 01 Jan 2025 00:00:00 GMT") };
    let server = Server::faulty(object, |asked, answer| {
        let cut = (asked.number % 3 == 1).then_some(answer.body.len() / 2);
        let pause = Duration::from_millis(if asked.number == 5 { 200 } else { 0 });
        Answer { cut, pause, ..answer }
    });
    assert!(read(&server.url("a")).unwrap() == whole);
}

#[test]
fn a_server_that_is_silent_is_asked_again_and_given_up() {
    let whole = bytes(200_000);
    let object = Object::tagged(whole.clone(), "\"1\"");
    let server = Server::faulty(object.clone(), |asked, answer| {
        let stalls = asked.number == 1;
        Answer { pause: Duration::from_secs(if stalls { 5 } else { 0 }), ..answer }
    });
    assert!(read(&server.url("a")).unwrap() == whole);

    // The connection ends before the first byte, from the second request on.
    let server = Server::faulty(object, |asked, answer| Answer { cut: (asked.number > 0).then_some(0), ..answer });
    let start = Instant::now();
    let error = read(&server.url("a")).unwrap_err();
    assert_eq!(error.kind(), Kind::Data);
    let text = error.to_string();
    assert!(text.starts_with(&format!("{}: cannot be read (", server.url("a"))), "{text}");
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn an_object_that_changes_is_an_error() {
    let whole = bytes(1_000_000);
    let modified = |modified| Object { bytes: whole.clone(), tag: None, modified: Some(modified) };
    let weak = |tag: &str, time| Object { tag: Some(tag.into()), ..modified(time) };
    let (one, two) = ("Wed, 01 Jan 2025 00:00:00 GMT", "Wed, 01 Jan 2025 00:00:01 GMT");
    let longer = Object { bytes: bytes(1_000_001), ..modified(one) };
    for (before, after, said) in [
        (Object::tagged(whole.clone(), "\"1\""), Object::tagged(whole.clone(), "\"2\""), "its ETag differs"),
        (modified(one), modified(two), "its time of modification differs"),
        (modified(one), longer, "it had 1000000 bytes and now has 1000001"),
        (modified(one), Object { bytes: bytes(70_000), ..modified(one) }, "it is shorter"),
        // A weak ETag says nothing about bytes.
        (weak("W/\"1\"", one), weak("W/\"1\"", two), "its time of modification differs"),
        (modified(one), Object::tagged(whole.clone(), "\"1\""), "its ETag differs"),
    ] {
        let server =
            Server::start(move |asked| if asked.number < 2 { before.answer(asked) } else { after.answer(asked) });
        let error = read(&server.url("a")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: changed while it was read ({said})", server.url("a"))), "{error}");
    }
    // The server ignores the conditions of a request.
    let (before, after) = (Object::tagged(whole.clone(), "\"1\""), Object::tagged(whole, "\"2\""));
    let server = Server::start(move |asked| {
        let asked = Asked {
            headers: asked.headers.clone().into_iter().filter(|(name, _)| name == "range").collect(),
            ..asked.clone()
        };
        if asked.number < 2 { before.answer(&asked) } else { after.answer(&asked) }
    });
    let error = read(&server.url("a")).unwrap_err().to_string();
    assert!(error.contains("changed while it was read (its ETag differs)"), "{error}");
}

#[test]
fn answers_that_are_wrong_are_never_read_as_right_ones() {
    let object = Object::tagged(bytes(500_000), "\"1\"");
    type Fault = fn(&Asked, Answer) -> Answer;
    let faults: [(Fault, &str); 5] = [
        (|_, answer| Answer { status: 200, ..answer }, "its server sends it as a whole only"),
        // The server sends fewer bytes than the range has, with a matching length.
        (
            |_, answer| Answer { body: answer.body[..answer.body.len() - 1].to_vec(), ..answer },
            "fewer bytes than it announced",
        ),
        (|_, answer| Answer { body: [&answer.body[..], b"x"].concat(), ..answer }, "more bytes than it announced"),
        // The server sends another range.
        (
            |asked, answer| {
                let (first, last) = asked.range().unwrap();
                let headers =
                    vec![("Content-Range", format!("bytes {}-{last}/500000", first + 1)), ("ETag", "\"1\"".into())];
                Answer { headers, ..answer }
            },
            "cannot be read (Requested",
        ),
        (|_, _| Answer::status(503), "cannot be read (503"),
    ];
    for (fault, said) in faults {
        let after_first = move |asked: &Asked, answer| if asked.number == 0 { answer } else { fault(asked, answer) };
        let server = Server::faulty(object.clone(), after_first);
        let error = read(&server.url("a")).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    for (status, said) in [
        (404, "cannot be read (404 Not Found); check the URL"),
        (403, "cannot be read (403 Forbidden); check the URL, its user, and whether it has expired"),
        (416, "is empty"),
    ] {
        let server = Server::start(move |_| Answer::status(status));
        let error = opened(&server.url("a")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: {said}", server.url("a"))), "{error}");
        assert_eq!(server.asked().len(), 1, "{status}");
    }
    let server = Server::faulty(object, |asked, answer| match asked.number {
        0 => Answer::status(500),
        1 => Answer::status(429),
        _ => answer,
    });
    assert!(read(&server.url("a")).unwrap() == bytes(500_000));
}

#[test]
fn credentials_go_to_the_first_server_only_and_into_no_message() {
    let object = Object::tagged(bytes(100_000), "\"1\"");
    let target = Server::of(object);
    let (to, back) = (target.url("moved?signed=yes"), target.port);
    let server = Server::start(move |_| Answer::redirect(to.clone()));
    let url = format!("http://user:pass%20word@127.0.0.1:{}/a?token=secret#part", server.port);
    assert!(read(&url).unwrap() == bytes(100_000));
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.target == "/a?token=secret"));
    assert!(asked.iter().all(|asked| asked.headers["authorization"] == "Basic dXNlcjpwYXNzIHdvcmQ="));
    let asked = target.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.target == "/moved?signed=yes"));
    assert!(asked.iter().all(|asked| !asked.headers.contains_key("authorization")));

    for answer in [
        Answer::status(403),
        Answer::redirect(format!("http://127.0.0.1:{back}/x?other=secret")),
        Answer::redirect("ftp://user:secret@host/x"),
        Answer::redirect("?secret"),
    ] {
        let server = Server::start(move |_| answer.clone());
        let url = format!("http://user:secret@127.0.0.1:{}/a?token=secret#secret", server.port);
        let said = match read(&url) {
            Ok(_) => continue,
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(said.contains("127.0.0.1") && !said.contains("secret") && !said.contains("user:"), "{said}");
    }
    // No server listens on this port.
    let error = opened("http://user:secret@127.0.0.1:1/a?token=secret").unwrap_err();
    let said = format!("{error} {error:?}");
    assert!(said.contains("http://127.0.0.1:1/a: cannot be read (") && !said.contains("secret"), "{said}");
}

#[test]
fn where_a_redirect_led_is_asked_until_it_refuses() {
    let whole = bytes(1_500_000);
    let object = Object::tagged(whole.clone(), "\"1\"");
    // A redirect target that serves three requests.
    let target = Server::faulty(object, |asked, answer| if asked.number == 3 { Answer::status(403) } else { answer });
    let to = target.url("moved");
    let server = Server::start(move |_| Answer::redirect(to.clone()));
    let object = opened(&format!("http://user:password@127.0.0.1:{}/a", server.port)).unwrap();
    let ranges = (200_000..1_500_000).step_by(130_000).map(|start| start..start + 130_000);
    let fetched: Vec<u8> = ranges.flat_map(|range| object.fetch(range).unwrap()).collect();
    assert!(fetched == whole[200_000..]);
    // The first request, and the one that followed the refusal.
    assert_eq!((server.asked().len(), target.asked().len()), (2, 12));
    assert!(target.asked().iter().all(|asked| !asked.headers.contains_key("authorization")));
}

#[test]
fn a_key_of_a_graph_that_would_stand_for_others_is_refused() {
    for url in ["s3://bucket/x*/G.graph.yml", "s3://bucket/[a]/G.edge.yml"] {
        let error = described::graphar(Path::new(url), false, 1 << 20, &Control::silent()).err().unwrap().to_string();
        assert!(error.contains(url) && error.contains("is a pattern; expected keys without"), "{error}");
    }
}

#[test]
fn a_key_that_begins_with_a_slash_is_not_read_as_another_one() {
    let name = Path::new("s3://graphs//data.txt");
    for key in ["/data.txt", "/", "/folder/", "a//b", "../a"] {
        let error = parsed(key, name).unwrap_err().to_string();
        assert!(error.starts_with("s3://graphs//data.txt: a key that is not read: it begins or"), "{error}");
    }
    assert_eq!(["", "a/", "a/b"].map(|key| parsed(key, name).unwrap().to_string()), ["", "a", "a/b"]);
}

#[test]
fn redirects_end() {
    let server = Server::start(move |asked| Answer::redirect(format!("/{}", asked.number)));
    let error = opened(&server.url("a")).unwrap_err().to_string();
    assert!(error.contains("cannot be read (more than 3 redirects)"), "{error}");
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn a_reader_gets_what_it_asks_for_in_any_order() {
    let whole = bytes(5_000_000);
    let server = Server::of(Object::tagged(whole.clone(), "\"1\""));
    let object = opened(&server.url("a")).unwrap();
    for order in [ReadOrder::Stream, ReadOrder::Pages] {
        let (first, end) = (40_000, 4_900_000);
        let mut reader = object.forward(first..end, order);
        let mut into = vec![0; 100_000];
        // Reads as those of Parquet pages: a little back, forward, far forward, far back.
        for at in [40_000, 45_000, 139_000, 240_000, 230_000, 1_000_000, 3_000_000, 2_999_000, 500_000, 4_850_000] {
            let length = into.len().min((end - at) as usize);
            reader.read_exact_at(&mut into[..length], at).unwrap();
            assert!(into[..length] == whole[at as usize..at as usize + length], "{order:?} {at}");
        }
        assert_eq!(reader.read_at(&mut into, end).unwrap(), 0);
    }
    assert!(Storage::Remote(object).is_remote());
}

#[test]
fn many_objects_share_the_memory_of_their_first_bytes() {
    let whole = bytes(150_000);
    let server = Server::of(Object::tagged(whole.clone(), "\"1\""));
    let opener = Opener::new(false, 1 << 20, &Control::silent(), QUICK).unwrap();
    let urls: Vec<PathBuf> = vec![server.url("a").into(); 256];
    let opened = opener.open(&urls).unwrap();
    // 16 MiB / 256.
    assert!(server.asked().iter().all(|asked| asked.range() == Some((0, 65_535))));
    for input in &opened[254..] {
        assert!(all(&**input.object.as_ref().unwrap()).unwrap() == whole);
    }
}

#[test]
fn a_job_that_is_stopped_waits_for_no_server() {
    let text = "0 1\n".repeat(200_000);
    let server = Server::faulty(Object::tagged(text, "\"1\""), |asked, answer| {
        let pause = Duration::from_secs(if asked.number > 0 { 20 } else { 0 });
        Answer { pause, ..answer }
    });
    let (control, dir) = (Control::silent(), tempfile::tempdir().unwrap());
    let source =
        Source::open_as(&[server.url("a.txt").into()], InputSettings::default(), dir.path(), &control).unwrap();
    let (stopped, start) = (control.clone(), Instant::now());
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stopped.stop();
    });
    assert_eq!(source.scan(&Mutex::<Vec<(u64, u64)>>::default(), &control).unwrap_err().kind(), Kind::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn the_page_has_the_limits_of_the_code() {
    let page = include_str!("../../../docs/remote.md").replace('\n', " ");
    let RemoteLimits { redirects, retries, idle, requests, .. } = RemoteLimits::USUAL;
    for said in [
        format!("brings nothing for {} seconds", idle.as_secs()),
        format!("after {retries} failures in a row"),
        format!("at most {redirects} redirects"),
        format!("at most {requests} requests"),
    ] {
        assert!(page.contains(&said), "{said}");
    }
    let refused: Vec<&str> =
        crate::format::Format::all().into_iter().filter(|f| !f.comes_in_ranges()).map(|f| f.name()).collect();
    assert!(refused.iter().all(|format| !page.contains(&format!("`{format}`"))), "{refused:?}");
}
