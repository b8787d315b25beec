//! Inputs named by a URL: which ones these are, and what of a URL may be shown. A URL's user, query and fragment may be credentials (as in a
//! presigned URL), so only its scheme, host and path are ever logged, shown or stored.

use std::borrow::Cow;
use std::path::Path;

/// Shown in place of a URL whose parts cannot be distinguished.
const HIDDEN: &str = "(not a valid URL)";

/// The scheme of a URL and what follows its `://`; `None` if `path` is no URL.
pub fn split(path: &Path) -> Option<(String, String)> {
    let text = path.to_string_lossy();
    let (scheme, rest) = text.split_once("://")?;
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || b"+.-".contains(&letter));
    is_scheme.then(|| (scheme.to_owned(), rest.to_owned()))
}

pub fn is_url(path: &Path) -> bool {
    split(path).is_some()
}

/// What may be shown of a path: all of it; of a URL its scheme, host and path.
pub fn public(path: &Path) -> Cow<'_, Path> {
    let Some((scheme, rest)) = split(path) else { return Cow::Borrowed(path) };
    // Slashes before the host, which some readers of URLs ignore.
    let named = rest.trim_start_matches(['/', '\\']);
    let slashes = &rest[..rest.len() - named.len()];
    let named = named.split(['?', '#']).next().unwrap_or_default();
    let (authority, path) = named.split_at(named.find(['/', '\\']).unwrap_or(named.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    // If a password contains one of the characters above, `host` is a part of it and no valid host.
    let shown =
        if is_host(host) { format!("{scheme}://{slashes}{host}{path}") } else { format!("{scheme}://{HIDDEN}") };
    Cow::Owned(shown.into())
}

/// Whether `host` is a name or an address, with or without a port.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_name = match in_brackets {
        Some(address) => address.chars().all(|c| c.is_ascii_hexdigit() || ":.".contains(c)),
        None => !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-._".contains(c)),
    };
    is_name && port.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_url_only_scheme_host_and_path_are_shown() {
        for (url, shown) in [
            ("https://host/a/b.txt", "https://host/a/b.txt"),
            ("https://user:password@host:8080/a?X-Amz-Signature=1#x", "https://host:8080/a"),
            ("HTTP://host", "HTTP://host"),
            ("http://[::1]:80/a", "http://[::1]:80/a"),
            ("s3://bucket/a/@b/c", "s3://bucket/a/@b/c"),
            ("https://host/a?b@c/d", "https://host/a"),
            ("https:////user:password@host/a", "https:////host/a"),
            ("file:///tmp/nothing.txt", "file:///tmp/nothing.txt"),
            ("https://user:pass#word@host/a", "https://(not a valid URL)"),
            ("https://user:pass/word@host/a", "https://(not a valid URL)"),
            ("https://us er:password@host\\b/a", "https://host\\b/a"),
            ("https://", "https://(not a valid URL)"),
            ("ftp://user:password@host/a", "ftp://host/a"),
        ] {
            assert!(is_url(Path::new(url)), "{url}");
            assert_eq!(public(Path::new(url)), Path::new(shown), "{url}");
        }
        for path in ["a/b?c#d", "user@host:/a", "://a", "./http://a?b", "a b://c?d", "-"] {
            assert!(!is_url(Path::new(path)), "{path}");
            assert_eq!(public(Path::new(path)), Path::new(path));
        }
    }
}
