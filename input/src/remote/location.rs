//! What a URL names.

use std::path::{Path, PathBuf};

use reqwest::Url;

use trimill_system::url::split;
use trimill_system::{Error, Result};

const EXPECTED: &str = "http://HOST/PATH, https://HOST/PATH or s3://BUCKET/KEY";

pub(super) enum RemoteLocation {
    /// The whole URL, which must not be shown.
    Http(Url),
    /// The key as typed; a prefix of keys ends with `/`, or is empty. `version`: of the object, if not the latest one.
    S3 { bucket: String, key: String, version: Option<String> },
}

impl RemoteLocation {
    pub(super) fn of(input: &Path) -> Result<Self> {
        let wrong = |found: String| Error::usage(found).at(input).expected(EXPECTED);
        let Some((scheme, rest)) = split(input) else { return Err(wrong("not a URL".into())) };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => {
                let url = input.to_str().and_then(|text| Url::parse(text).ok()).filter(Url::has_host);
                url.map(Self::Http).ok_or_else(|| wrong("not a valid URL".into()))
            }
            // The names of the scheme in Hadoop and Spark.
            "s3" | "s3a" | "s3n" => Self::in_bucket(&rest).map_err(wrong),
            "file" => Err(wrong("the URL of a file".into()).advice("name the file by its path")),
            other => Err(wrong(format!("a URL of the scheme {other}, which is not read")).advice("download it first")),
        }
    }

    fn in_bucket(rest: &str) -> Result<Self, String> {
        let (rest, version) = match rest.split_once("?versionId=") {
            Some((rest, version)) if !version.is_empty() && !version.contains('&') => (rest, Some(version)),
            _ => (rest, None),
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if rest.contains(['?', '#'])
            || bucket.contains('@')
            || version.is_some_and(|version| version.contains(['?', '#']))
        {
            return Err("an s3 URL with a user, a fragment, or a query other than ?versionId=; credentials come from the environment, and a pattern may have * and [...]".into());
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            return Err("an s3 URL without the name of a bucket".into());
        }
        if version.is_some() && (key.is_empty() || key.ends_with('/')) {
            return Err("a version of a prefix; only an object has versions".into());
        }
        Ok(Self::S3 { bucket: bucket.into(), key: key.into(), version: version.map(str::to_owned) })
    }

    /// The part that may be shown.
    pub(super) fn name(&self) -> PathBuf {
        match self {
            Self::Http(url) => {
                let mut url = url.clone();
                url.set_query(None);
                url.set_fragment(None);
                // These fail only for URLs without a host.
                let _ = (url.set_password(None), url.set_username(""));
                PathBuf::from(String::from(url))
            }
            Self::S3 { bucket, key, .. } => PathBuf::from(format!("s3://{bucket}/{key}")),
        }
    }
}

pub(super) fn is_of_http(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_apart_and_shown_without_credentials() {
        for (input, name) in [
            ("https://user:password@Host:443/a%20b.txt?token=1#x", "https://host/a%20b.txt"),
            ("HTTP://host", "http://host/"),
            ("s3://bucket/a b%20/c.parquet", "s3://bucket/a b%20/c.parquet"),
            ("S3://bucket", "s3://bucket/"),
            ("s3a://bucket/a/", "s3://bucket/a/"),
            ("s3://bucket/a?versionId=3/L4kqtJ", "s3://bucket/a"),
        ] {
            assert_eq!(RemoteLocation::of(Path::new(input)).unwrap().name(), Path::new(name));
        }
        let other_query = "s3://bucket/a: an s3 URL with a user, a fragment, or a query other than";
        for (input, said) in [
            ("https://user:pass#word@host/a", "https://(not a valid URL): not a valid URL; expected http://HOST/PATH"),
            ("https://host:x/a", "https://(not a valid URL): not a valid URL"),
            ("s3://bucket/a?version=1", other_query),
            ("s3://bucket/a?versionId=1&x=2", other_query),
            ("s3://bucket/a/?versionId=1", "s3://bucket/a/: a version of a prefix"),
            ("s3:///a", "s3:///a: an s3 URL without the name of a bucket"),
            ("file:///a", "file:///a: the URL of a file"),
        ] {
            let error = RemoteLocation::of(Path::new(input)).err().unwrap().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
