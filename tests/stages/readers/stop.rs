//! Input that must be copied before it is read can be stopped: pipes, devices, compressed matrices.

use std::path::Path;
use std::time::Duration;

use trimill::testing::input::format::Format;
use trimill::testing::input::{InputSettings, Source};
use trimill::{Control, Kind};

use super::support::{Folder, data, gz, work_dir};
use crate::common::job::fixture;
use crate::common::place::make_pipe;

fn open(path: &Path, format: Option<Format>, control: &Control) -> trimill::testing::error::Result<Source> {
    Source::open_as(&[path.to_path_buf()], InputSettings { format, ..InputSettings::default() }, &work_dir(), control)
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
    let pipe = folder.path("pipe");
    make_pipe(&pipe);
    assert_eq!(open(&pipe, None, &stopped_later()).unwrap_err().kind(), Kind::Interrupted);
}

#[test]
fn what_never_ends_and_what_is_unpacked_can_be_stopped() {
    let folder = Folder::new();
    let control = Control::silent();
    control.stop();
    for name in ["suitesparse.tar.gz", "repository-times.zip", "csr.npz"] {
        assert_eq!(open(&fixture(name), None, &control).unwrap_err().kind(), Kind::Interrupted, "{name}");
    }
    let matrix = folder.write("karate.mtx.gz", gz(std::fs::read(data("karate.mtx")).unwrap()));
    let pairs = folder.write("pairs.bin.gz", gz([0; 64]));
    for (path, format) in [(Path::new("/dev/zero"), Some(Format::BinU32)), (&matrix, None), (&pairs, None)] {
        assert_eq!(open(path, format, &control).unwrap_err().kind(), Kind::Interrupted, "{}", path.display());
    }
}
