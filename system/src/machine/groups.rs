//! The memory limits of the control groups that the process is in, and what they leave. Input: `/proc/self/cgroup`, which names the groups, and
//! `/proc/self/mountinfo`, which says where their files are. A limit holds for all groups below, so the least one from the process's group up to the
//! mount counts, in versions 1 and 2 alike: schedulers limit a job, not its steps.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::bytes::Bytes;

/// `None` if there is no limit. Paths are below `root`, which is `/` except in tests.
pub(super) fn limit(root: &Path) -> Option<Bytes> {
    least(root, Mount::limit)
}

/// What the limits leave beside what is used; as [`limit`].
pub(super) fn free(root: &Path) -> Option<Bytes> {
    least(root, Mount::free)
}

/// The least figure of all groups that the process is in.
fn least(root: &Path, of: fn(&Mount, &Path) -> Option<u64>) -> Option<Bytes> {
    let read = |name: &str| String::from_utf8_lossy(&fs::read(root.join(name)).unwrap_or_default()).into_owned();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let found = mounts.lines().filter_map(Mount::of_line).filter_map(|mount| {
        let group = groups.lines().find_map(|line| mount.group_of_line(line))?;
        mount.least(root, group, of)
    });
    found.min().map(Bytes)
}

/// A control group hierarchy that may limit memory, and where it is mounted.
struct Mount {
    point: PathBuf,
    top: PathBuf,
    /// What `/proc/self/cgroup` calls it; empty in version 2.
    controller: &'static str,
    limit_file: &'static str,
    used_file: &'static str,
    /// The key in `memory.stat` of used bytes, also of groups below, that are page cache, which the system takes back first.
    cached: &'static str,
}

impl Mount {
    /// From a line such as `35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory`.
    fn of_line(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3).map(unescaped);
        let (top, point) = (mount.next()?.into(), mount.next()?.into());
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1).unwrap_or_default());
        match kind {
            "cgroup2" => Some(Self {
                point,
                top,
                controller: "",
                limit_file: "memory.max",
                used_file: "memory.current",
                cached: "inactive_file",
            }),
            "cgroup" if options.split(',').any(|option| option == "memory") => Some(Self {
                point,
                top,
                controller: "memory",
                limit_file: "memory.limit_in_bytes",
                used_file: "memory.usage_in_bytes",
                cached: "total_inactive_file",
            }),
            _ => None,
        }
    }

    /// The group of this hierarchy, from a line such as `4:cpu,memory:/slurm/job_7`.
    fn group_of_line<'l>(&self, line: &'l str) -> Option<&'l Path> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|controller| controller == self.controller).then(|| Path::new(group))
    }

    /// The least figure of `group` and its visible ancestors. In a container `group` may be a name on the host; then the mounted group counts.
    fn least(&self, root: &Path, group: &Path, of: fn(&Self, &Path) -> Option<u64>) -> Option<u64> {
        let normal = |path: &&Path| !path.components().any(|part| part == Component::ParentDir);
        let below = group.strip_prefix(&self.top).ok().filter(normal).unwrap_or(Path::new(""));
        let point = root.join(self.point.strip_prefix("/").unwrap_or(&self.point));
        let groups = point.join(below);
        groups.ancestors().take_while(|dir| dir.starts_with(&point)).filter_map(|dir| of(self, dir)).min()
    }

    /// Without a limit a group says `max`, or in version 1 a number beyond all memory; version 2's root group says nothing.
    fn limit(&self, dir: &Path) -> Option<u64> {
        fs::read_to_string(dir.join(self.limit_file)).ok()?.trim().parse().ok()
    }

    fn free(&self, dir: &Path) -> Option<u64> {
        let limit = self.limit(dir)?;
        let text = |file: &str| fs::read_to_string(dir.join(file)).unwrap_or_default();
        let used: u64 = text(self.used_file).trim().parse().unwrap_or(0);
        let stat = text("memory.stat");
        let mut figures = stat.lines().filter_map(|line| line.split_once(' '));
        let cached = figures.find(|(key, _)| *key == self.cached).and_then(|(_, bytes)| bytes.parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    }
}

/// A path in a line, with spaces, tabs, line ends and backslashes written as a backslash and three octal digits.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(field.to_owned(), |field, (escape, character)| field.replace(escape, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const UNLIMITED: &str = "9223372036854771712";

    fn found(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<u64> {
        of_files(groups, mounts, files, limit)
    }

    fn of_files(groups: &str, mounts: &str, files: &[(&str, &str)], of: fn(&Path) -> Option<Bytes>) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        let own = [("proc/self/cgroup", groups), ("proc/self/mountinfo", mounts)];
        for (path, text) in own.iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        of(root.path()).map(Bytes::get)
    }

    #[test]
    fn the_least_limit_from_the_group_to_the_mount_counts_in_both_versions() {
        let old_mount = "30 23 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                         31 23 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:8 - cgroup cgroup rw,memory\n";
        let new_mount = "31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:8 - cgroup2 cgroup2 rw,nsdelegate\n";
        let in_step = "/slurm/uid_7/job_9/step_0/task_0";
        let old_groups = format!("9:cpu:/other\n4:hugetlb,memory:{in_step}\n0::/\n");
        let places = [in_step, "/slurm/uid_7/job_9/step_0", "/slurm/uid_7/job_9", ""];
        for (groups, mount, folder, file, none) in [
            (old_groups, old_mount, "sys/fs/cgroup/memory", "memory.limit_in_bytes", UNLIMITED),
            (format!("0::{in_step}\n"), new_mount, "sys/fs/cgroup", "memory.max", "max\n"),
        ] {
            // In GiB; 0 is no limit.
            for (limits, least) in [
                ([0, 0, 0, 0], None),
                ([0, 0, 5, 0], Some(5)),
                ([9, 7, 5, 6], Some(5)),
                ([3, 7, 5, 6], Some(3)),
                ([0, 0, 0, 2], Some(2)),
            ] {
                let paths = places.map(|group| format!("{folder}{group}/{file}"));
                let texts = limits.map(|gib: u64| if gib == 0 { none.to_owned() } else { (gib * GIB).to_string() });
                let files: Vec<_> = paths.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
                let limit = found(&groups, mount, &files).filter(|&limit| limit < 1 << 60);
                assert_eq!(limit, least.map(|gib| gib * GIB), "{limits:?}");
            }
        }
    }

    #[test]
    fn the_least_that_a_group_leaves_is_free_and_so_is_its_page_cache() {
        for (groups, mount, folder, names, stat) in [
            (
                "4:memory:/job/step\n",
                "31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                "sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes"],
                "inactive_file 1\ntotal_inactive_file",
            ),
            (
                "0::/job/step\n",
                "31 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                "sys/fs/cgroup",
                ["memory.max", "memory.current"],
                "active_file 1\ninactive_file",
            ),
        ] {
            // Of both groups the limit, what is used, and what of that is page cache, in GiB.
            for (job, step, least) in [
                ([8, 7, 2], [6, 1, 0], 3),
                ([9, 3, 1], [6, 5, 1], 2),
                ([4, 5, 0], [6, 1, 0], 0),
                ([4, 1, 3], [9, 0, 0], 4),
            ] {
                let files = [("job", job), ("job/step", step)].map(|(group, gib)| {
                    let [limit, used, cached] = gib.map(|gib: u64| (gib * GIB).to_string());
                    let texts = [(names[0], limit), (names[1], used), ("memory.stat", format!("{stat} {cached}\n"))];
                    texts.map(|(name, text)| (format!("{folder}/{group}/{name}"), text))
                });
                let files: Vec<_> = files.iter().flatten().map(|(path, text)| (path.as_str(), text.as_str())).collect();
                assert_eq!(of_files(groups, mount, &files, free), Some(least * GIB), "{job:?} {step:?}");
            }
            let limit = (2 * GIB).to_string();
            let path = format!("{folder}/job/{}", names[0]);
            assert_eq!(of_files(groups, mount, &[(&path, &limit)], free), Some(2 * GIB));
            assert_eq!(of_files(groups, mount, &[], free), None);
        }
    }

    #[test]
    fn containers_and_odd_names_are_understood_and_missing_files_mean_no_limit() {
        let limit = (2 * GIB).to_string();
        // The mount shows the container's group, whichever name the process has for it.
        for (group, top) in [("/docker/ab", "/docker/ab"), ("/docker/ab", "/"), ("/", "/docker/ab"), ("/../up", "/")] {
            let groups = format!("0::{group}\n");
            let mount = format!("31 23 0:27 {top} /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
            assert_eq!(found(&groups, &mount, &[("sys/fs/cgroup/memory.max", &limit)]), Some(2 * GIB), "{group} {top}");
        }
        let mount = "31 23 0:27 / /sys/my\\040groups rw - cgroup2 cgroup rw\n";
        assert_eq!(found("0::/a:b\n", mount, &[("sys/my groups/a:b/memory.max", &limit)]), Some(2 * GIB));
        assert_eq!(found("", "", &[]), None);
        assert_eq!(found("0::/\n", "31 23 0:27 / /\n31 - cgroup2\n", &[("memory.max", &limit)]), None);
    }
}
