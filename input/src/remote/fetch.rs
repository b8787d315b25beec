//! An object of a server, fetched in ranges of one version. The version is the length, and the strong ETag, or else the time of modification. Each
//! request names the ETag, and each reply is compared. Bytes that came before a connection broke are kept.

use std::error::Error as _;
use std::ops::Range;
use std::path::Path;

use futures_util::TryStreamExt;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};
use reqwest::StatusCode;

use super::client::RefusedReply;
use super::{RemoteLimits, StoredAt};
use crate::detect::PARQUET;
use crate::stat::changed;
use trimill_system::mapped::with_capacity;
use trimill_system::{Error, Result};

/// What to do if one of several objects has an unreadable key.
pub(super) const OTHERS: &str = "name the other objects one by one";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObjectVersion {
    pub(super) bytes: u64,
    pub(super) tag: Option<String>,
    /// The time of modification in seconds since 1970, if there is no strong ETag; 0 if the server does not give it.
    modified: i64,
}

pub(super) struct ObjectReader {
    pub(super) stored: StoredAt,
    pub(super) version: ObjectVersion,
    limits: RemoteLimits,
    /// The first bytes, and of a Parquet file the last ones, which need not be fetched again.
    pub(super) head: Vec<u8>,
    tail: Vec<u8>,
}

enum FetchFailure {
    /// A retry would fail, too.
    Permanent(Error),
    /// A retry may succeed.
    Temporary(Error),
}

impl ObjectVersion {
    fn of(meta: &ObjectMeta) -> Self {
        let tag = meta.e_tag.clone().filter(|tag| tag.starts_with('"'));
        let modified = if tag.is_some() { 0 } else { meta.last_modified.timestamp() };
        Self { bytes: meta.size, tag, modified }
    }

    fn difference(&self, now: &Self) -> String {
        if self.bytes != now.bytes {
            format!("it had {} bytes and now has {}", self.bytes, now.bytes)
        } else if self.tag != now.tag {
            "its ETag differs".into()
        } else {
            "its time of modification differs".into()
        }
    }
}

impl ObjectReader {
    /// `most`: first bytes that are kept.
    pub(super) async fn open(stored: StoredAt, limits: RemoteLimits, most: u64) -> Result<Self> {
        let first = || {
            let version = stored.version.clone();
            let options = GetOptions { range: Some(GetRange::Bounded(0..most)), version, ..GetOptions::default() };
            stored.store.get_opts(&stored.at, options)
        };
        let found = retry(&stored.name, limits, first).await?;
        let version = ObjectVersion::of(&found.meta);
        if version.tag.is_none() && version.modified == 0 {
            let name = stored.name.display();
            tracing::warn!(
                "{name}: its server tells neither a strong ETag nor a time of modification: a change while it is read goes unseen"
            );
        }
        let mut reader = Self { stored, version, limits, head: Vec::new(), tail: Vec::new() };
        let bytes = reader.version.bytes;
        let most = most.min(bytes);
        let mut head = with_capacity(most as usize);
        if let Err(FetchFailure::Permanent(error)) = reader.take(found, &mut head).await {
            return Err(error);
        }
        // The rest, if the connection broke.
        let rest = reader.fetch(head.len() as u64..most).await?;
        head.extend(rest);
        // The end of a Parquet file is read next.
        if head.starts_with(PARQUET) && bytes > most {
            reader.tail = reader.fetch(bytes - most.min(bytes - most)..bytes).await?;
        }
        reader.head = head;
        Ok(reader)
    }

    pub(super) async fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let wanted = (range.end - range.start) as usize;
        let (mut bytes, mut failures) = (with_capacity(wanted), 0);
        while bytes.len() < wanted {
            let before = bytes.len();
            let Err(failure) = self.part(range.start + before as u64..range.end, &mut bytes).await else { continue };
            if bytes.len() > before {
                failures = 0;
            }
            pause(failure, &mut failures, self.limits).await?;
        }
        Ok(bytes)
    }

    /// Appends the bytes of a range to `into`, or those that come before it breaks off.
    async fn part(&self, range: Range<u64>, into: &mut Vec<u8>) -> Result<(), FetchFailure> {
        let (if_match, version) = (self.version.tag.clone(), self.stored.version.clone());
        let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match, version, ..GetOptions::default() };
        let found = self.stored.store.get_opts(&self.stored.at, options).await.map_err(|error| self.failure(&error))?;
        let now = ObjectVersion::of(&found.meta);
        if now != self.version {
            let how = self.version.difference(&now);
            return Err(FetchFailure::Permanent(changed(&self.stored.name, &how)));
        }
        self.take(found, into).await
    }

    async fn take(&self, found: GetResult, into: &mut Vec<u8>) -> Result<(), FetchFailure> {
        let mut missing = (found.range.end - found.range.start) as usize;
        let mut stream = found.into_stream();
        while let Some(bytes) = stream.try_next().await.map_err(|error| self.failure(&error))? {
            let now = bytes.len().min(missing);
            into.extend_from_slice(&bytes[..now]);
            missing -= now;
            if now < bytes.len() {
                let found = "its server sent more bytes than it announced";
                return Err(FetchFailure::Permanent(Error::data(&self.stored.name, found)));
            }
        }
        if missing == 0 {
            return Ok(());
        }
        let found = "its server sent fewer bytes than it announced";
        Err(FetchFailure::Temporary(Error::data(&self.stored.name, found)))
    }

    /// The bytes of a range, if they were fetched at opening.
    pub(super) fn kept(&self, range: &Range<u64>) -> Option<&[u8]> {
        let after_tail = self.version.bytes - self.tail.len() as u64;
        [(&self.head, 0), (&self.tail, after_tail)].into_iter().find_map(|(kept, start)| {
            let from = range.start.checked_sub(start)? as usize;
            kept.get(from..from.checked_add((range.end - range.start) as usize)?)
        })
    }

    fn failure(&self, error: &object_store::Error) -> FetchFailure {
        let name = &self.stored.name;
        match status(error) {
            Some(StatusCode::PRECONDITION_FAILED) => FetchFailure::Permanent(changed(name, "its ETag differs")),
            // The range was valid for the previous version of the object.
            Some(StatusCode::RANGE_NOT_SATISFIABLE) => FetchFailure::Permanent(changed(name, "it is shorter")),
            _ => failure(name, error),
        }
    }
}

/// Repeats a request for `name` until it succeeds or fails permanently.
pub(super) async fn retry<T, F: Future<Output = object_store::Result<T>>>(
    name: &Path,
    limits: RemoteLimits,
    request: impl Fn() -> F,
) -> Result<T> {
    let mut failures = 0;
    loop {
        match request().await {
            Ok(reply) => return Ok(reply),
            Err(error) => pause(failure(name, &error), &mut failures, limits).await?,
        }
    }
}

/// Waits before a retry. Errors: a permanent one, or one more in a row than `limits` permit.
async fn pause(failure: FetchFailure, failures: &mut usize, limits: RemoteLimits) -> Result<()> {
    match failure {
        FetchFailure::Temporary(error) if *failures < limits.retries => tracing::debug!("{error}: tried again"),
        FetchFailure::Temporary(error) | FetchFailure::Permanent(error) => return Err(error),
    }
    tokio::time::sleep(limits.pause * (1u32 << *failures)).await;
    *failures += 1;
    Ok(())
}

fn failure(name: &Path, error: &object_store::Error) -> FetchFailure {
    let is_permanent =
        matches!(error, object_store::Error::NotSupported { .. } | object_store::Error::InvalidPath { .. })
            || refused(error).is_some_and(|reply| !reply.is_temporary());
    let failed = failed(name, error);
    if is_permanent { FetchFailure::Permanent(failed) } else { FetchFailure::Temporary(failed) }
}

fn refused(error: &object_store::Error) -> Option<&RefusedReply> {
    std::iter::successors(error.source(), |&inner| inner.source()).find_map(|inner| inner.downcast_ref())
}

fn status(error: &object_store::Error) -> Option<StatusCode> {
    refused(error).and_then(RefusedReply::status)
}

/// The innermost cause of an error, which contains no URL.
pub(super) fn cause(error: &object_store::Error) -> String {
    match refused(error) {
        Some(reply) => reply.to_string(),
        None => std::iter::successors(error.source(), |&inner| inner.source())
            .last()
            .map_or_else(|| error.to_string(), ToString::to_string),
    }
}

pub(super) fn unreadable_key(name: &Path) -> Error {
    Error::data(name, "a key that is not read: it begins or ends with /, has / twice in a row, or a part . or ..")
        .expected("names with one / between them")
        .advice("name that object by its https URL")
}

fn failed(name: &Path, error: &object_store::Error) -> Error {
    if matches!(error, object_store::Error::NotSupported { .. }) {
        return Error::data(name, "its server sends it as a whole only")
            .expected("a server that answers requests for ranges of bytes, as most do")
            .advice("download it first");
    }
    if matches!(error, object_store::Error::InvalidPath { .. }) {
        return unreadable_key(name).also(OTHERS);
    }
    let failed = Error::data(name, format!("cannot be read ({})", cause(error)));
    match status(error) {
        Some(StatusCode::RANGE_NOT_SATISFIABLE) => {
            Error::data(name, "is empty").expected("a file that holds a graph")
        }
        Some(StatusCode::NOT_FOUND) => {
            failed.advice("check the URL; it may name one object, or in S3 a prefix of several, which ends with /")
        }
        Some(StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED) => failed.advice(match name.starts_with("s3:") {
            true => "check the URL, and the credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile in ~/.aws, or --cloud-credentials on a machine of a cloud",
            false => "check the URL, its user, and whether it has expired",
        }),
        _ => failed,
    }
}
