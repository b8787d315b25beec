//! Resolves paths, so that different ways of writing one directory compare equal.

use std::path::{Component, Path, PathBuf};

use trimill_system::disk::{end_of_links, file_of_output};

/// The file or directory that `path` leads to, whether or not it exists yet: without symbolic links, `.` and `..`.
pub fn place(path: &Path) -> PathBuf {
    let mut place = PathBuf::new();
    for component in std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).components() {
        match component {
            Component::CurDir => {}
            // `place` has no links, so its parent is the real one.
            Component::ParentDir => drop(place.pop()),
            other => {
                place.push(other);
                place = place.canonicalize().unwrap_or_else(|_| to_nowhere(place));
            }
        }
    }
    place
}

/// The file that an output goes to, if it is one.
pub fn file_of(output: &Path) -> Option<PathBuf> {
    // A path that cannot be an output is refused when it is opened.
    file_of_output(output).ok().flatten().map(|file| place(&file))
}

/// Whether nothing is in `dir`, or it is not there.
pub fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none())
}

/// The target of a link if it does not exist yet; other paths stay.
fn to_nowhere(path: PathBuf) -> PathBuf {
    match path.is_symlink() {
        // A circle of links leads to a link again.
        true => Some(end_of_links(&path)).filter(|end| !end.is_symlink()).map_or(path, |end| place(&end)),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_way_to_a_directory_is_one_place() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("there/below")).unwrap();
        symlink("there", at("link")).unwrap();
        symlink("there/below", at("deep")).unwrap();
        symlink("../new", at("there/up")).unwrap();
        symlink("there/up", at("further")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (way, end) in [
            ("there", "there"),
            ("./there", "there"),
            ("new/../there", "there"),
            ("link", "there"),
            ("link/", "there"),
            ("deep/..", "there"),
            ("link/below/../new", "there/new"),
            ("new", "new"),
            ("further", "new"),
            ("link/up/file", "new/file"),
            ("circle", "circle"),
            ("x/./y/../../new", "new"),
        ] {
            assert_eq!(place(&at(way)), root.join(end), "{way}");
        }
        assert_eq!(place(Path::new("x/..")), std::env::current_dir().unwrap().canonicalize().unwrap());
        assert_eq!(place(Path::new("/..")), Path::new("/"));
    }
}
