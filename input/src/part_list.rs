//! Lists of a graph's files, such as `edges.paths.gz`: a path or URL on each line, as Common Crawl publishes its graphs. A path is relative to the
//! list's folder, or to a server's root: if the folder ends with the names that a path begins with (`HOST/a/b/edges.paths.gz` with a line
//! `a/b/part-0.gz`), these are the same folders. Files in the folder of their list are found there. A list on a server must not name local files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::compression::Compression;
use super::file::InputFile;
use super::hints::BYTE_ORDER_MARK;
use trimill_system::url::{is_url, public};
use trimill_system::{Error, Result};

const SUFFIX: &str = ".paths";

const MOST_BYTES: u64 = 64 << 20;

pub(super) fn is_named(input: &Path) -> bool {
    let name = public(input).to_string_lossy().into_owned();
    Compression::stripped(&name).ends_with(SUFFIX)
}

pub(super) fn parts(list: &InputFile) -> Result<Vec<PathBuf>> {
    let bytes = list.head(MOST_BYTES + 1)?;
    let wrong = |line: usize, found: &str| {
        Error::data(&list.path, found)
            .at_line(line as u64 + 1)
            .expected("the path or the URL of a file on each line, as the name of this list says")
            .advice("give a file that holds edges another name")
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong(0, &format!("more than {MOST_BYTES} bytes")));
    }
    let (mut parts, is_remote) = (Vec::new(), is_url(&list.path));
    let lines = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let Ok(text) = std::str::from_utf8(line) else { return Err(wrong(number, "a line that is not UTF-8")) };
        if text.split_ascii_whitespace().all(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(wrong(number, "a line of numbers"));
        }
        let named = Path::new(text);
        parts.push(match is_url(named) {
            true => named.to_path_buf(),
            false if is_remote && (text.starts_with('/') || text.split('/').any(|name| name == "..")) => {
                return Err(wrong(number, "a path that is not below the folder of the list"));
            }
            false => located(&list.path, named),
        });
    }
    if parts.is_empty() {
        Err(Error::data(&list.path, "names no files").expected("a path on each line"))
    } else {
        Ok(parts)
    }
}

fn located(list: &Path, part: &Path) -> PathBuf {
    if part.is_absolute() {
        return part.to_path_buf();
    }
    let list = list.as_os_str().as_bytes();
    let folder = &list[..list.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1)];
    let at = |root: &[u8]| PathBuf::from(OsStr::from_bytes(&[root, part.as_os_str().as_bytes()].concat()));
    // The longest end of the folder that is also a beginning of the path, in whole names.
    let begins = (0..folder.len()).filter(|&at| at == 0 || folder[at - 1] == b'/');
    let common = begins.into_iter().find(|&at| part.as_os_str().as_bytes().starts_with(&folder[at..]));
    let found = at(&folder[..common.unwrap_or(folder.len())]);
    if is_url(&found) || found.exists() {
        return found;
    }
    let beside = part.file_name().map(|name| PathBuf::from(OsStr::from_bytes(&[folder, name.as_bytes()].concat())));
    beside.filter(|beside| beside.exists()).unwrap_or(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_or_to_what_it_has_in_common_with_them() {
        for (list, part, found) in [
            ("https://host/a/b/e.paths.gz", "part-0.gz", "https://host/a/b/part-0.gz"),
            ("https://host/a/b/e.paths.gz", "edges/part-0.gz", "https://host/a/b/edges/part-0.gz"),
            ("https://host/a/b/e.paths.gz", "a/b/edges/part-0.gz", "https://host/a/b/edges/part-0.gz"),
            ("https://host/x/a/b/e.paths.gz", "a/b/part-0.gz", "https://host/x/a/b/part-0.gz"),
            ("https://host/a/b/e.paths.gz", "b/part-0.gz", "https://host/a/b/part-0.gz"),
            ("https://host/ab/e.paths.gz", "b/part-0.gz", "https://host/ab/b/part-0.gz"),
            ("https://host/a/b/e.paths.gz", "a/part-0.gz", "https://host/a/b/a/part-0.gz"),
            ("s3://bucket/a/e.paths", "a/part-0.gz", "s3://bucket/a/part-0.gz"),
            ("/nowhere/a/e.paths", "a/part-0.gz", "/nowhere/a/part-0.gz"),
            ("/nowhere/a/e.paths", "/b/part-0.gz", "/b/part-0.gz"),
            ("e.paths", "nowhere/part-0.gz", "nowhere/part-0.gz"),
        ] {
            assert_eq!(located(Path::new(list), Path::new(part)), Path::new(found), "{list} {part}");
        }
        for (name, is_list) in [
            ("a.paths", true),
            ("a.paths.gz", true),
            ("https://host/a.paths.zst?token=x.txt", true),
            ("a.paths.txt", false),
            ("https://host/a.txt?x=.paths", false),
        ] {
            assert_eq!(is_named(Path::new(name)), is_list, "{name}");
        }
    }
}
