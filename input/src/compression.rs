//! How a file is compressed.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
    pub(super) const SUFFIXES: [&str; 4] = [".gz", ".zst", ".zstd", ".bz2"];

    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skippable(head) {
            Some(Self::Zstd)
        } else if is_bzip2(head) {
            Some(Self::Bzip2)
        } else {
            None
        }
    }

    pub(super) fn is_named(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        Self::SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
    }

    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Gzip => ("gzip", ".gz"),
            Self::Zstd => ("zstd", ".zst"),
            Self::Bzip2 => ("bzip2", ".bz2"),
        }
    }
}

/// A zstd frame without contents, magic 0x184D2A50 to 0x184D2A5F; `pzstd` writes one before each other frame.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    let rest = head.strip_prefix(b"BZh").and_then(|rest| rest.split_first());
    rest.is_some_and(|(size, rest)| matches!(size, b'1'..=b'9') && (rest.starts_with(&BLOCK) || rest.starts_with(&END)))
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
                    Some(0) if !padded => break true,
                    Some(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "bytes after its padding")),
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
