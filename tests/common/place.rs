//! A directory to run the program in, with its temporary files and its cache inside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::job::program;

pub(crate) struct Place(tempfile::TempDir, Vec<(&'static str, &'static str)>);

/// Environment variables that would change what the program does.
const ENVIRONMENT: [&str; 13] = [
    "TRIMILL_FAULT", "SLURM_ARRAY_TASK_ID", "HQ_TASK_ID", "JOB_COMPLETION_INDEX", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
    "SLURM_PROCID", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
];

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap(), Vec::new());
        fs::create_dir(place.path("tmp")).unwrap();
        place
    }

    pub(crate) fn without_gpus() -> Self {
        Self::new().with("CUDA_VISIBLE_DEVICES", "")
    }

    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.1.push((name, value));
        self
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A file's text.
    #[track_caller]
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(&program(), words)
    }

    fn command_of(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        for name in ENVIRONMENT {
            command.env_remove(name);
        }
        command
            .args(words)
            .current_dir(self.0.path())
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            .envs(self.1.iter().copied())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a line of a shell, in which `trimill` is the program.
    pub(crate) fn shell(&self, line: &str) -> Output {
        let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
        self.command_of(Path::new("sh"), &["-c", line]).env("PATH", path).output().unwrap()
    }

    /// Runs a command with an injected fault (system/src/disk/faults.rs).
    pub(crate) fn run_with(&self, fault: &str, words: &[&str]) -> Output {
        self.command(words).env("TRIMILL_FAULT", fault).output().unwrap()
    }

    /// What a command prints; it must succeed.
    #[track_caller]
    pub(crate) fn prints(&self, words: &[&str]) -> Vec<u8> {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        output.stdout
    }

    #[track_caller]
    pub(crate) fn answer(&self, words: &[&str]) -> Value {
        serde_json::from_slice(&self.prints(&[words, &["--json", "--quiet"]].concat())).unwrap()
    }

    /// Prepares a job for two shards in the directory `run`, counts them, and merges their counts; `words` are the input and settings.
    #[track_caller]
    pub(crate) fn sharded(&self, run: &str, words: &[&str]) -> Value {
        self.prints(&[&["prepare"], words, &["--run-dir", run, "--shards", "2", "--backend", "cpu"]].concat());
        for shard in ["0/2", "1/2"] {
            self.prints(&["count", "--run-dir", run, "--shard", shard, "--backend", "cpu"]);
        }
        self.answer(&["merge", run])
    }

    /// The command fails with this code, and its message has all of the words.
    #[track_caller]
    pub(crate) fn refuses(&self, words: &[&str], code: i32, said: &[&str]) -> Output {
        let output = self.run(words);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {message}");
        said.iter().for_each(|word| assert!(message.contains(word), "{words:?} does not say '{word}': {message}"));
        output
    }

    /// The least budget that a plan names for counting must be enough, and `less` refused. Returns the plan, the refusal's message and the answer.
    #[track_caller]
    pub(crate) fn least_suffices(&self, flag: &str, words: &[&str], less: fn(u64) -> u64) -> (Value, String, Value) {
        let plan = self.answer(&[&["plan"], words].concat());
        let key = flag.replacen("--", "smallest_", 1).replace('-', "_");
        let least = plan[key].as_u64().unwrap();
        let [less, least] = [less(least), least].map(|bytes| bytes.to_string());
        let refused = self.refuses(&[&["count", flag, &less], words].concat(), 3, &[]);
        (plan, stderr(&refused), self.answer(&[&["count", flag, &least], words].concat()))
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

/// The number behind some words of a message.
#[track_caller]
pub(crate) fn number_after(words: &str, message: &str) -> String {
    let (_, rest) = message.split_once(words).unwrap_or_else(|| panic!("no '{words}' in: {message}"));
    rest.chars().take_while(char::is_ascii_digit).collect()
}

pub(crate) fn make_pipe(path: impl AsRef<Path>) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path.as_ref(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

/// All files and folders below a directory.
pub(crate) fn below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        found.extend(below(&entry.path()));
        found.push(entry.path());
    }
    found
}

/// All files below a directory, sorted.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = below(dir);
    found.retain(|path| !path.is_dir());
    found.sort();
    found
}

/// All that is below a directory with this suffix, sorted.
pub(crate) fn with_suffix(dir: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = below(dir);
    found.retain(|path| path.extension().is_some_and(|its| its == suffix));
    found.sort();
    found
}

pub(crate) fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// A temporary file or folder must be accessible to its owner only.
pub(crate) fn assert_private(path: &Path) {
    assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
}

/// Replaces `to` by a copy of the directory `from`.
pub(crate) fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to)
        } else {
            let _ = fs::copy(path, to).unwrap();
        }
    }
}

/// Runs a command that stops itself (SIGSTOP) by `fault`; after `meanwhile` it continues. Returns what it prints.
pub(crate) fn stopped_by(fault: &str, command: &mut Command, meanwhile: impl FnOnce()) -> Output {
    let child = command.env("TRIMILL_FAULT", fault).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(120);
    let status = format!("/proc/{}/stat", child.id());
    while !fs::read_to_string(&status).is_ok_and(|text| text.rsplit(')').next().unwrap().starts_with(" T")) {
        assert!(Instant::now() < until, "it does not stop");
        sleep(Duration::from_millis(5));
    }
    meanwhile();
    kill_process(Pid::from_child(&child), Signal::CONT).unwrap();
    child.wait_with_output().unwrap()
}

/// A separate small file system in a place, mounted as the folder `small`.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where nothing can be mounted.
    pub(crate) fn mount(place: &Place, size: &str) -> Option<Self> {
        let small = place.path("small");
        std::fs::create_dir_all(&small).unwrap();
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&small).status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(Self(small));
        }
        trimill_kernels::testing::skipped(&"a small file system cannot be mounted here");
        None
    }

    pub(crate) fn end_writing(&self) {
        let remounted = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status();
        assert!(remounted.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg(&self.0).status().unwrap().success());
    }
}
