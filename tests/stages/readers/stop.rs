//! Input that must be copied before it is read can be stopped: pipes, devices, compressed matrices.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimill::testing::input::format::Format;
use trimill::testing::input::{InputSettings, Source};
use trimill::{Control, Kind};

use super::support::{Folder, data, gz, work_dir};

fn open(path: &Path, format: Option<Format>, control: &Control) -> trimill::testing::error::Result<Source> {
    Source::open_as(&[path.to_path_buf()], InputSettings { format, ..InputSettings::default() }, &work_dir(), control)
}

fn pipe(folder: &Folder) -> PathBuf {
    let (pipe, mode) = (folder.path("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    pipe
}

fn stopped_later() -> Control {
    let control = Control::silent();
    let later = control.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        later.stop();
    });
    control
}

#[test]
fn a_pipe_that_nobody_writes_to_can_be_stopped() {
    let folder = Folder::new();
    let error = open(&pipe(&folder), None, &stopped_later()).unwrap_err();
    assert_eq!(error.kind(), Kind::Interrupted);
}

#[test]
fn a_pipe_that_falls_silent_can_be_stopped() {
    let folder = Folder::new();
    let path = pipe(&folder);
    let (told, hear) = std::sync::mpsc::channel::<()>();
    let to = path.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(to).unwrap();
        pipe.write_all(b"0 1\n1 2\n").unwrap();
        // Stays open.
        let _ = hear.recv();
    });
    let error = open(&path, None, &stopped_later()).unwrap_err();
    assert_eq!(error.kind(), Kind::Interrupted);
    drop(told);
    writer.join().unwrap();
}

#[test]
fn what_never_ends_and_what_is_decompressed_can_be_stopped() {
    let folder = Folder::new();
    let control = Control::silent();
    control.stop();
    let matrix = folder.write("karate.mtx.gz", gz(std::fs::read(data("karate.mtx")).unwrap()));
    let pairs = folder.write("pairs.bin.gz", gz([0; 64]));
    for (path, format) in [(Path::new("/dev/zero"), Some(Format::BinU32)), (&matrix, None), (&pairs, None)] {
        assert_eq!(open(path, format, &control).unwrap_err().kind(), Kind::Interrupted, "{}", path.display());
    }
}
