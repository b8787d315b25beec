//! Checks in advance whether what a job will write fits the free space of each disk.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::free_disk::free_disk;

/// What will be written to a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskNeed {
    /// For messages: `the graph file`.
    pub what: String,
    pub directory: PathBuf,
    /// The fewest bytes that it takes. All needs of a job are on the disk at the same time.
    pub least_bytes: Bytes,
    /// The most bytes that it takes.
    pub most_bytes: Bytes,
    /// The option that names another directory.
    pub option: String,
}

/// What will be written to the directories of one disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiskNeeds {
    /// The free space for unprivileged users.
    pub free_bytes: Bytes,
    /// The fewest bytes of all `needs`.
    pub least_bytes: Bytes,
    /// The most bytes of all `needs`.
    pub most_bytes: Bytes,
    /// What will be written there.
    pub needs: Vec<DiskNeed>,
}

/// The free space for unprivileged users on the disk of `dir`.
pub fn free_space(dir: &Path) -> Result<Bytes> {
    free_disk(dir).map_err(|e| Error::write(dir, e))
}

/// Warns if what is needed may not fit. Errors: it certainly does not fit.
pub fn check_room(needs: impl IntoIterator<Item = DiskNeed>) -> Result<()> {
    DiskNeeds::by_disk(needs)?.iter().try_for_each(DiskNeeds::check)
}

impl DiskNeed {
    /// `bytes`: at least, and at most. For the crates of this workspace.
    #[doc(hidden)]
    pub fn new(what: &str, directory: &Path, bytes: [Bytes; 2], option: &str) -> Self {
        let [least_bytes, most_bytes] = bytes;
        Self { what: what.into(), directory: directory.into(), least_bytes, most_bytes, option: option.into() }
    }
}

// For the crates of this workspace.
#[doc(hidden)]
impl DiskNeeds {
    pub fn by_disk(needs: impl IntoIterator<Item = DiskNeed>) -> Result<Vec<Self>> {
        let mut disks: Vec<(u64, Self)> = Vec::new();
        for need in needs {
            let dir = &need.directory;
            let number = std::fs::metadata(dir).map_err(|e| Error::write(dir, e))?.dev();
            match disks.iter_mut().find(|(other, _)| *other == number) {
                Some((_, disk)) => disk.add(need),
                None => {
                    let mut disk = Self::none(free_space(dir)?);
                    disk.add(need);
                    disks.push((number, disk));
                }
            }
        }
        Ok(disks.into_iter().map(|(_, disk)| disk).collect())
    }

    fn none(free_bytes: Bytes) -> Self {
        Self { free_bytes, least_bytes: Bytes::ZERO, most_bytes: Bytes::ZERO, needs: Vec::new() }
    }

    fn add(&mut self, need: DiskNeed) {
        self.least_bytes += need.least_bytes;
        self.most_bytes += need.most_bytes;
        self.needs.push(need);
    }

    pub fn can_fit(&self) -> bool {
        self.least_bytes <= self.free_bytes
    }

    /// Warns if it may not fit. Errors: it certainly does not.
    pub fn check(&self) -> Result<()> {
        let Self { free_bytes: free, least_bytes: least, most_bytes: most, needs } = self;
        let [at_least, at_most] = [|need: &DiskNeed| need.least_bytes, |need: &DiskNeed| need.most_bytes];
        if !self.can_fit() {
            let (dir, parts, options) = named(needs, at_least);
            return Err(Error::resource(format!("{free} free on its disk"))
                .at(dir)
                .expected(format!("at least {least} for {parts}"))
                .advice(format!("free some space or name another {options}"))
                .wanting(*least));
        }
        if most > free {
            let (dir, parts, options) = named(needs, at_most);
            let dir = dir.display();
            tracing::warn!(
                "{dir}: up to {most} may be needed for {parts}, and {free} are free; {options} names another"
            );
        }
        Ok(())
    }
}

/// The directory with the largest need, and the purposes and options of all `needs` that take any bytes.
fn named(needs: &[DiskNeed], bytes: impl Fn(&DiskNeed) -> Bytes) -> (&Path, String, String) {
    let taken: Vec<&DiskNeed> = needs.iter().filter(|need| bytes(need) > Bytes::ZERO).collect();
    let dir = taken.iter().max_by_key(|need| bytes(need)).map_or(Path::new(""), |need| &*need.directory);
    let mut options: Vec<&str> = Vec::new();
    taken.iter().for_each(|need| {
        if !options.contains(&&*need.option) {
            options.push(&need.option)
        }
    });
    let of = |need: &&DiskNeed| format!("{} ({} in {})", need.what, bytes(need), need.directory.display());
    let parts = match &taken[..] {
        [one] => one.what.clone(),
        several => several.iter().map(of).collect::<Vec<_>>().join(", "),
    };
    (dir, parts, options.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn need(what: &str, directory: &str, gib: [u64; 2]) -> DiskNeed {
        let option = if what == "the graph file" { "--cache-dir" } else { "--work-dir" };
        DiskNeed::new(what, Path::new(directory), gib.map(|gib| Bytes(gib << 30)), option)
    }

    fn with_room(free: Bytes, needs: &[DiskNeed]) -> Result<()> {
        let mut disk = DiskNeeds::none(free);
        needs.iter().for_each(|need| disk.add(need.clone()));
        disk.check()
    }

    #[test]
    fn what_cannot_fit_is_refused_with_the_numbers() {
        let (least, needs) = (3u64 << 30, [need("the buckets", "/scratch", [3, 9])]);
        assert!(with_room(Bytes(least), &needs).is_ok() && with_room(Bytes(9 << 30), &needs).is_ok());
        let error = with_room(Bytes(least - 1), &needs).unwrap_err();
        assert_eq!(error.kind(), Kind::Resource);
        let text = error.to_string();
        for part in ["/scratch", "3.0 GiB for the buckets", "--work-dir"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn what_goes_to_one_disk_is_added() {
        let needs = [
            need("the buckets", "/scratch", [3, 9]),
            need("the graph file", "/cache", [4, 5]),
            need("the counts", "/out", [0, 1]),
        ];
        assert!(with_room(Bytes(7 << 30), &needs).is_ok());
        let text = with_room(Bytes((7 << 30) - 1), &needs).unwrap_err().to_string();
        let buckets = "at least 7.0 GiB for the buckets (3.0 GiB in /scratch), the graph file (4.0 GiB in /cache)";
        for part in ["/cache: ", buckets, "name another --work-dir or --cache-dir"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("/out"), "{text}");
    }

    #[test]
    fn directories_of_one_disk_are_found() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let needs = || dirs.iter().map(|dir| need("the buckets", dir.path().to_str().unwrap(), [1, 2]));
        let disks = DiskNeeds::by_disk(needs().chain([need("the graph file", "/proc", [0, 0])])).unwrap();
        let sums: Vec<_> = disks.iter().map(|disk| (disk.needs.len(), disk.most_bytes)).collect();
        assert_eq!(sums, [(2, Bytes(4 << 30)), (1, Bytes::ZERO)]);
        let gone = check_room([need("the buckets", "/gone/below", [0, 1])]).unwrap_err();
        assert!(gone.kind() == Kind::Resource && gone.to_string().contains("/gone/below"), "{gone}");
        // No disk has that much free space.
        let all = needs().map(|need| DiskNeed { least_bytes: Bytes(u64::MAX / 2), ..need });
        assert!(check_room(all).unwrap_err().to_string().contains("the buckets ("));
    }
}
