//! How a file is compressed.

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use trimill_system::Error;

/// Compressions that are not read: the name, the first bytes, the suffix, the command that writes the plain bytes.
const OTHERS: [(&str, &[u8], &str, &str); 6] = [
    ("xz", b"\xfd7zXZ\0", ".xz", "xz -dc"),
    ("lzma", b"\x5d\0\0", ".lzma", "xz -dc"),
    ("lz4", b"\x04\x22\x4d\x18", ".lz4", "lz4 -dc"),
    ("compress", b"\x1f\x9d", ".z", "gzip -dc"),
    ("7-Zip", b"7z\xbc\xaf\x27\x1c", ".7z", "7z x -so"),
    ("RAR", b"Rar!\x1a\x07", ".rar", "unrar p -inul"),
];

/// Raw numbers do not begin with a mark of this many bytes by chance.
const SURE: usize = 6;

/// The error for a file that is compressed in one of these ways. If the mark is shorter, `name` must have the suffix, if it is given.
pub(super) fn not_read(head: &[u8], name: Option<&Path>) -> Option<Error> {
    let named = |end: &str| name.is_none_or(|name| name.to_string_lossy().to_ascii_lowercase().ends_with(end));
    let found = OTHERS.iter().find(|(_, first, end, _)| head.starts_with(first) && (first.len() >= SURE || named(end)));
    found.map(|(name, _, _, command)| {
        Error::data("", format!("is compressed by {name}, which is not read"))
            .expected("a plain file, or one compressed by gzip, bzip2 or zstd")
            .advice(format!("decompress it: {command} FILE | trimill count -"))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
    const SUFFIXES: [&str; 4] = [".gz", ".zst", ".zstd", ".bz2"];

    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            // Also skippable frames; `pzstd` writes one before each data frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            head => is_bzip2(head).then_some(Self::Bzip2),
        }
    }

    pub(super) fn is_named(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        Self::SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
    }

    pub(super) fn stripped(name: &str) -> &str {
        Self::SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
    }

    /// The file at `path`, or the compressed one of that name, if only that is there.
    pub(super) fn found(path: PathBuf) -> PathBuf {
        if path.is_file() {
            return path;
        }
        Self::SUFFIXES.iter().map(|suffix| with_suffix(&path, suffix)).find(|packed| packed.is_file()).unwrap_or(path)
    }

    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Gzip => ("gzip", ".gz"),
            Self::Zstd => ("zstd", ".zst"),
            Self::Bzip2 => ("bzip2", ".bz2"),
        }
    }
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    let rest = head.strip_prefix(b"BZh").and_then(|rest| rest.split_first());
    rest.is_some_and(|(size, rest)| matches!(size, b'1'..=b'9') && (rest.starts_with(&BLOCK) || rest.starts_with(&END)))
}

const MEMBER: [u8; 2] = [0x1f, 0x8b];

fn after(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("bytes after {what}"))
}

/// The plain bytes of all members of a gzip file. As in the program `gzip`, zeros after the last one are padding.
pub(super) struct GzipMembers<R>(Option<GzDecoder<R>>);

impl<R: BufRead> GzipMembers<R> {
    pub(super) fn new(from: R) -> Self {
        Self(Some(GzDecoder::new(from)))
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let mut padded = false;
            let rest = member.get_mut();
            let more = loop {
                let bytes = rest.fill_buf()?;
                match bytes.iter().position(|&byte| byte != 0) {
                    _ if bytes.is_empty() => break false,
                    Some(0) if !padded && (bytes.starts_with(&MEMBER) || *bytes == MEMBER[..1]) => break true,
                    Some(0) if !padded => return Err(after("its end")),
                    Some(_) => return Err(after("its padding")),
                    None => {}
                }
                padded = true;
                let zeros = bytes.len();
                rest.consume(zeros);
            };
            self.0 = self.0.take().filter(|_| more).map(|ended| GzDecoder::new(ended.into_inner()));
        }
        Ok(0)
    }
}
