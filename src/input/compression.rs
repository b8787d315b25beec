//! How a file is compressed.

/// How a file is compressed, which its first bytes determine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression of a file with these first bytes.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Self::Zstd)
        } else {
            None
        }
    }
}
