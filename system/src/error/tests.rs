//! Tests of errors: their kinds, parts and texts.

use super::*;

#[test]
fn a_limit_of_the_system_is_not_the_fault_of_the_data() {
    for (errno, read, advice) in [
        (Errno::NOENT, Kind::Data, ""),
        (Errno::ACCESS, Kind::Data, ""),
        (Errno::NOMEM, Kind::Resource, "memory"),
        (Errno::MFILE, Kind::Resource, "ulimit -n"),
        (Errno::NFILE, Kind::Resource, "ulimit -n"),
    ] {
        let error = Error::read("graph", errno.into());
        assert_eq!(error.kind(), read, "{error}");
        assert!(error.to_string().starts_with("graph: cannot be read (") && error.to_string().contains(advice));
        assert_eq!(Error::write("graph", errno.into()).kind(), Kind::Resource);
    }
    assert!(Error::write("graph", Errno::FBIG.into()).to_string().contains("ulimit -f"));
    assert!(Error::write("graph", Errno::NOSPC.into()).to_string().contains("are free in"));
    for stream in ["/dev/full", "/dev/stdout", STDOUT] {
        let said = Error::write(stream, Errno::NOSPC.into()).to_string();
        assert!(said.contains("or have it go elsewhere") && !said.contains("are free in"), "{said}");
    }
}

#[test]
fn a_missing_file_can_be_told() {
    let missing = Error::missing("graph");
    assert_eq!((missing.kind(), missing.to_string()), (Kind::Data, "graph: does not exist".into()));
    for error in [missing, Error::read("graph", Errno::NOENT.into())] {
        assert_eq!(error.io_kind(), Some(io::ErrorKind::NotFound), "{error}");
    }
    assert_eq!(Error::write("graph", Errno::ACCESS.into()).io_kind(), Some(io::ErrorKind::PermissionDenied));
    assert_eq!(Error::data("graph", "is empty").io_kind(), None);
}

#[test]
fn the_parts_of_an_error_can_be_read() {
    let error = Error::data("graph", "is empty").expected("edges").advice("check the path");
    let parts = (error.found(), error.was_expected(), error.what_to_do());
    assert_eq!(parts, ("is empty", Some("edges"), Some("check the path")));
    let usage = Error::usage("wrong");
    assert_eq!((usage.found(), usage.was_expected(), usage.what_to_do()), ("wrong", None, None));
}

#[test]
fn causes_say_nothing_that_the_text_says() {
    use std::error::Error as _;

    assert!(Error::read("graph", Errno::NOENT.into()).source().is_none());
    let outer = Error::read("graph", io::Error::other(Outer(io::Error::other("lost"))));
    assert_eq!(outer.to_string(), "graph: cannot be read (outer)");
    assert_eq!(outer.source().map(ToString::to_string), Some("lost".into()));
}

#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("outer")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn sizes_that_are_wrong_are_a_wrong_setting() {
    assert_eq!("512MiB".parse::<Bytes>().ok(), Some(Bytes::mib(512)));
    let error = "many".parse::<Bytes>().err().map(|error| (error.kind(), error.to_string()));
    assert!(error.is_some_and(|(kind, text)| kind == Kind::Usage && text.starts_with("'many' is not a size")));
}
