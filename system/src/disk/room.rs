//! Whether what is known to be written fits, before it is begun.

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::free_disk::free_disk;

/// What will be written to a directory.
#[derive(Debug, Clone, Copy)]
pub struct DiskNeed<'a> {
    /// Its name, for messages: `the graph file`.
    pub what: &'a str,
    pub dir: &'a Path,
    /// The bytes that it takes at least, and at most.
    pub least: Bytes,
    pub most: Bytes,
    /// The option that names another directory.
    pub option: &'a str,
}

/// The free space for unprivileged users on the disk of `dir`.
pub fn free_space(dir: &Path) -> Result<Bytes> {
    free_disk(dir).map_err(|e| Error::write(dir, e))
}

impl DiskNeed<'_> {
    /// Warns if it may not fit.
    ///
    /// # Errors
    /// It is certain not to fit.
    pub fn check(&self) -> Result<()> {
        self.check_within(free_space(self.dir)?)
    }

    fn check_within(&self, free: Bytes) -> Result<()> {
        let Self { what, dir, least, most, option } = *self;
        if least > free {
            return Err(Error::resource(format!("{free} free on its disk"))
                .at(dir)
                .expected(format!("at least {least} for {what}"))
                .advice(format!("free some space or name another {option}")));
        }
        if most > free {
            tracing::warn!(
                "{}: {what} may take up to {most}, and {free} are free; {option} names another",
                dir.display()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn what_cannot_fit_is_refused_with_the_numbers() {
        let [least, most] = [3u64, 9].map(|gib| Bytes(gib << 30));
        let need = DiskNeed { what: "the buckets", dir: Path::new("/scratch"), least, most, option: "--work-dir" };
        assert!(need.check_within(least).is_ok() && need.check_within(most).is_ok());
        let error = need.check_within(Bytes(least.get() - 1)).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        let text = error.to_string();
        for part in ["/scratch", "3.0 GiB for the buckets", "--work-dir"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
