//! How a file is compressed.

/// How a file is compressed, which its first bytes determine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
}

impl Compression {
    /// How many first bytes determine it.
    pub(super) const HEAD: u64 = 10;

    /// The suffixes of compressed files.
    pub(super) const SUFFIXES: [&str; 4] = [".gz", ".zst", ".zstd", ".bz2"];

    /// The compression of a file with these first bytes.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else if is_bzip2(head) {
            Some(Self::Bzip2)
        } else {
            None
        }
    }

    /// The name of the method, and the usual suffix.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Gzip => ("gzip", ".gz"),
            Self::Zstd => ("zstd", ".zst"),
            Self::Bzip2 => ("bzip2", ".bz2"),
        }
    }
}

/// `BZh`, the size of blocks, and the mark of a block or of the end.
fn is_bzip2(head: &[u8]) -> bool {
    const BLOCK: [u8; 6] = [0x31, 0x41, 0x59, 0x26, 0x53, 0x59];
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    let rest = head.strip_prefix(b"BZh").and_then(|rest| rest.split_first());
    rest.is_some_and(|(size, rest)| matches!(size, b'1'..=b'9') && (rest.starts_with(&BLOCK) || rest.starts_with(&END)))
}
