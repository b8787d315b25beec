//! A server on this machine, which answers as a test tells it: with objects, and with faults.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The path and the query.
    pub(crate) target: String,
    /// The headers, their names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// How many requests came before.
    pub(crate) number: usize,
}

impl Asked {
    /// The first and the last byte that are asked for.
    pub(crate) fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// The connection is closed after this many bytes of the body.
    pub(crate) cut: Option<usize>,
    /// A pause in the middle of the body.
    pub(crate) pause: Duration,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn redirect(to: impl Into<String>) -> Self {
        Self { headers: vec![("Location", to.into())], ..Self::status(302) }
    }

    /// Cuts every other answer, from the first on.
    pub(crate) fn often_cut(self, asked: &Asked) -> Self {
        Self { cut: asked.number.is_multiple_of(2).then_some(self.body.len() / 2), ..self }
    }
}

/// An object, with the headers that identify its version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) bytes: Vec<u8>,
    pub(crate) tag: Option<String>,
    pub(crate) modified: Option<&'static str>,
}

impl Object {
    pub(crate) fn tagged(bytes: impl Into<Vec<u8>>, tag: &str) -> Self {
        Self { bytes: bytes.into(), tag: Some(tag.into()), modified: None }
    }

    /// The answer of a server without faults.
    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        if asked.headers.get("if-match").is_some_and(|wanted| Some(wanted) != self.tag.as_ref()) {
            return Answer::status(412);
        }
        let Some((first, last)) = asked.range() else {
            return Answer { body: self.bytes.clone(), ..Answer::status(200) };
        };
        let (length, end) = (self.bytes.len(), self.bytes.len().min(last + 1));
        if first >= length {
            return Answer { headers: vec![("Content-Range", format!("bytes */{length}"))], ..Answer::status(416) };
        }
        let mut headers = vec![("Content-Range", format!("bytes {first}-{}/{length}", end - 1))];
        headers.extend(self.tag.clone().map(|tag| ("ETag", tag)));
        headers.extend(self.modified.map(|modified| ("Last-Modified", modified.to_owned())));
        Answer { headers, body: self.bytes[first..end].to_vec(), ..Answer::status(206) }
    }
}

/// A server that runs until the test ends.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, all) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || serve(&stream, &*answer, &all));
            }
        });
        Self { port, asked }
    }

    pub(crate) fn of(object: Object) -> Self {
        Self::faulty(object, |_, answer| answer)
    }

    /// What `fault` makes of the answers about an object.
    pub(crate) fn faulty(object: Object, fault: impl Fn(&Asked, Answer) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(move |asked| fault(asked, object.answer(asked)))
    }

    /// A server that cuts every other answer.
    pub(crate) fn cutting(object: Object) -> Self {
        Self::faulty(object, |asked, answer| answer.often_cut(asked))
    }

    /// The answers after the first one are of another version.
    pub(crate) fn changing(object: Object) -> Self {
        let later = Object { tag: Some("\"later\"".into()), ..object.clone() };
        Self::start(move |asked| if asked.number < 1 { object.answer(asked) } else { later.answer(asked) })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, answer: &(dyn Fn(&Asked) -> Answer + Send + Sync), all: &Mutex<Vec<Asked>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let headers = lines.by_ref().take_while(|line| !line.is_empty());
        let headers = headers.filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_ascii_lowercase(), value.to_owned()))
        });
        let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut asked = Asked { target, headers: headers.collect(), number: 0 };
        {
            let mut all = all.lock().unwrap();
            asked.number = all.len();
            all.push(asked.clone());
        }
        // The client may have closed the connection.
        if send(stream, &answer(&asked)).is_none() {
            break;
        }
    }
}

/// Sends an answer; `None` if the connection ends with it.
fn send(mut stream: &TcpStream, answer: &Answer) -> Option<()> {
    let Answer { status, headers, body, cut, pause } = answer;
    let mut head = format!("HTTP/1.1 {status} -\r\n");
    if !headers.iter().any(|(name, _)| *name == "Content-Length") {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.extend(headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    let sent = &body[..cut.unwrap_or(body.len())];
    let (one, other) = sent.split_at(sent.len() / 2);
    stream.write_all(one).ok()?;
    if !pause.is_zero() {
        stream.flush().ok()?;
        thread::sleep(*pause);
    }
    stream.write_all(other).ok()?;
    if cut.is_some() {
        let _ = stream.shutdown(std::net::Shutdown::Both);
        return None;
    }
    Some(())
}
