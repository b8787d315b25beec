//! Objects of servers (`http://`, `https://`, `s3://`), read in ranges, many at a time, without a copy on disk. Input: URLs, and prefixes of buckets
//! (`s3://BUCKET/PREFIX/`), which stand for their objects as a directory does for its files. Output: objects of known size and version ([`fetch`]). A
//! fetch that breaks off is continued; one that returns another version is an error. [`ahead`] fetches what a reader will need next; [`network`] runs
//! all of this on threads of its own.
//!
//! Any part of a URL beside scheme, host and path may be a credential: only [`client`] knows it, and adds it as a request is sent, so that
//! no error or log of other libraries can show it. Credentials for S3 come from the environment, else requests are not signed. Memory: the
//! first bytes of all objects, [`HEADS`] together, as many last ones of Parquet files, and what a reader fetches ahead.

mod ahead;
mod client;
mod described;
mod fetch;
mod location;
mod network;
mod object;
mod profile;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path as ObjectPath;
use object_store::{ClientOptions, ObjectStore, RetryConfig, StaticCredentialProvider};

use super::hints::TELLING;
use super::part_names::{is_note, keeps_versions};
use super::storage::NamedInput;
use client::RemoteClient;
pub(super) use described::graphar;
use fetch::{OTHERS, ObjectReader};
use location::RemoteLocation;
use network::Network;
use object::RemoteObject;
use profile::AwsProfile;
use trimill_system::url::is_url;
use trimill_system::{Control, Error, Result};

/// The most first bytes of an object: they come with its size, are kept, and tell the format.
const HEAD: u64 = 128 << 10;

/// The most first bytes of all objects together. If these are many, fewer of each are kept, but at least [`TELLING`].
const HEADS: u64 = 16 << 20;

#[derive(Debug, Clone, Copy)]
struct RemoteLimits {
    redirects: usize,
    /// The most consecutive failures of a request, or of a range without a byte received in between.
    retries: usize,
    connect: Duration,
    /// The longest time without a byte.
    idle: Duration,
    /// The pause after the first failure; it doubles with each one.
    pause: Duration,
    requests: usize,
}

impl RemoteLimits {
    const USUAL: Self = Self {
        redirects: 10,
        retries: 6,
        connect: Duration::from_secs(10),
        idle: Duration::from_secs(30),
        pause: Duration::from_millis(100),
        requests: 64,
    };
}

/// Disables the library's own retries: they would accept an object of which only the weak ETag is the same.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

struct StoredAt {
    store: Arc<dyn ObjectStore>,
    at: ObjectPath,
    name: PathBuf,
    /// `None` for the latest one.
    version: Option<String>,
}

/// Opens the URLs among `paths`, each of which then stands for one object; other paths stay. `cloud`: whether to ask a metadata service for
/// credentials. `window`: bytes that a thread may fetch at once. Errors: `Kind::Usage`: malformed URLs; `Kind::Data`: unreadable objects.
pub(super) fn open(paths: &[PathBuf], cloud: bool, window: u64, control: &Control) -> Result<Vec<NamedInput>> {
    Opener::new(cloud, window, control, RemoteLimits::USUAL)?.open(paths)
}

struct Opener {
    network: Arc<Network>,
    client: RemoteClient,
    cloud: bool,
    window: u64,
    buckets: RefCell<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl Opener {
    fn new(cloud: bool, window: u64, control: &Control, limits: RemoteLimits) -> Result<Self> {
        let network = Arc::new(Network::new(control, limits)?);
        Ok(Self { client: RemoteClient::new(limits)?, network, cloud, window, buckets: RefCell::default() })
    }

    fn open(&self, paths: &[PathBuf]) -> Result<Vec<NamedInput>> {
        let mut named: Vec<(PathBuf, Option<StoredAt>)> = Vec::new();
        for path in paths {
            if is_url(path) {
                named.extend(self.stored(path)?.into_iter().map(|stored| (stored.name.clone(), Some(stored))));
            } else {
                named.push((path.clone(), None));
            }
        }
        let head = (HEADS / named.len().max(1) as u64).clamp(TELLING, HEAD);
        let begin = |stored| self.network.begin(ObjectReader::open(stored, self.network.limits, head));
        let begun: Vec<_> = named.into_iter().map(|(path, stored)| (path, stored.map(begin))).collect();
        let opened = begun.into_iter().map(|(path, opening)| {
            let Some(opening) = opening else { return Ok(NamedInput { path, object: None }) };
            let object = RemoteObject::new(opening.wait()??, Arc::clone(&self.network), self.window);
            Ok(NamedInput { path, object: Some(Arc::new(object)) })
        });
        opened.collect()
    }

    fn stored(&self, path: &Path) -> Result<Vec<StoredAt>> {
        let location = RemoteLocation::of(path)?;
        let name = location.name();
        match location {
            RemoteLocation::Http(url) => {
                let store = HttpBuilder::new()
                    .with_url(name.to_string_lossy())
                    .with_client_options(ClientOptions::new().with_allow_http(true))
                    .with_retry(no_retries())
                    .with_http_connector(self.client.for_url(url))
                    .build();
                let store = store.map_err(|error| unusable(&name, &error))?;
                Ok(vec![StoredAt { store: Arc::new(store), at: ObjectPath::default(), name, version: None }])
            }
            RemoteLocation::S3 { bucket, key, version } => {
                let store = self.bucket(&bucket, &name)?;
                let named = |keys: Vec<ObjectPath>| -> Vec<StoredAt> {
                    let stored = |at: ObjectPath| StoredAt {
                        store: Arc::clone(&store),
                        name: PathBuf::from(format!("s3://{bucket}/{at}")),
                        at,
                        version: None,
                    };
                    keys.into_iter().map(stored).collect()
                };
                if key.is_empty() || key.ends_with('/') {
                    let keys = self.under(&store, &parsed(&key, &name)?, |_| true, &name)?;
                    if keys.is_empty() {
                        return Err(Error::data(&name, "has no object that could be a graph")
                            .expected("a prefix with files of one graph, whose names do not begin with . or _"));
                    }
                    return Ok(named(keys));
                }
                // A pattern without matches may itself be the key of an object, as it may be the name of a file. A version is that of one object.
                if let Some((prefix, pattern)) = pattern(&key).filter(|_| version.is_none()) {
                    let exact = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
                    let matches = |key: &ObjectPath| pattern.matches_with(key.as_ref(), exact);
                    let keys = self.under(&store, &parsed(prefix, &name)?, matches, &name)?;
                    if !keys.is_empty() {
                        return Ok(named(keys));
                    }
                }
                Ok(vec![StoredAt { store, at: parsed(&key, &name)?, name: name.clone(), version }])
            }
        }
    }

    fn bucket(&self, bucket: &str, name: &Path) -> Result<Arc<dyn ObjectStore>> {
        if let Some(store) = self.buckets.borrow().get(bucket) {
            return Ok(Arc::clone(store));
        }
        let mut builder = from_environment();
        let profile = AwsProfile::read()?;
        let is_set = |builder: &AmazonS3Builder, keys: [AmazonS3ConfigKey; 2]| {
            keys.iter().any(|key| builder.get_config_value(key).is_some())
        };
        use AmazonS3ConfigKey::{
            AccessKeyId, DefaultRegion, Endpoint, Region, S3Endpoint, SecretAccessKey, SkipSignature,
        };
        if let Some(region) = profile.get("region").filter(|_| !is_set(&builder, [Region, DefaultRegion])) {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = profile.endpoint().filter(|_| !is_set(&builder, [Endpoint, S3Endpoint])) {
            builder = builder.with_endpoint(endpoint);
        }
        let endpoint = [S3Endpoint, Endpoint].iter().find_map(|key| builder.get_config_value(key));
        if endpoint.is_some_and(|endpoint| !location::is_of_http(&endpoint)) {
            return Err(Error::usage(
                "the address of its server, which AWS_ENDPOINT_URL or the profile gives, is no URL",
            )
            .at(name)
            .expected("https://HOST, perhaps with a port"));
        }
        let is_unsigned = builder.get_config_value(&SkipSignature).is_some_and(|value| !is_off(&value));
        if !is_unsigned && !is_set(&builder, [AccessKeyId, SecretAccessKey]) {
            builder = match profile.keys()? {
                Some(keys) => builder.with_credentials(Arc::new(StaticCredentialProvider::new(keys))),
                None if self.cloud => builder,
                None => builder.with_skip_signature(true),
            };
        }
        let builder = builder.with_bucket_name(bucket).with_retry(no_retries()).with_allow_http(true);
        let built = builder.with_http_connector(self.client.clone()).build();
        let store: Arc<dyn ObjectStore> = Arc::new(built.map_err(|error| unusable(name, &error))?);
        self.buckets.borrow_mut().insert(bucket.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    /// The keys of the objects under a prefix, sorted; empty objects and notes of programs are left out, as in a directory.
    fn under(
        &self,
        store: &Arc<dyn ObjectStore>,
        prefix: &ObjectPath,
        is_meant: impl Fn(&ObjectPath) -> bool,
        name: &Path,
    ) -> Result<Vec<ObjectPath>> {
        let (limits, lister, at, of) = (self.network.limits, Arc::clone(store), prefix.clone(), name.to_path_buf());
        let list = async move { fetch::retry(&of, limits, || lister.list(Some(&at)).try_collect::<Vec<_>>()).await };
        let listed = self.network.begin(list).wait()??;
        let logs = listed.iter().map(|object| &object.location).filter(|key| is_meant(key));
        if let Some(error) = logs.flat_map(|key| Path::new::<str>(key.as_ref()).ancestors()).find_map(keeps_versions) {
            return Err(error.at(name));
        }
        let is_left_out = |key: &ObjectPath| {
            let below = key.prefix_match(prefix).into_iter().flatten();
            below.into_iter().any(|part| is_note(part.as_ref().as_bytes()))
        };
        let mut keys: Vec<ObjectPath> = listed
            .into_iter()
            .filter(|object| object.size > 0 && !is_left_out(&object.location) && is_meant(&object.location))
            .map(|object| object.location)
            .collect();
        keys.sort_unstable();
        // The library leaves out a `/` at either end of a key, which then is that of another object.
        if keys.contains(prefix) || keys.windows(2).any(|two| two[0] == two[1]) {
            return Err(fetch::unreadable_key(name).also(OTHERS));
        }
        Ok(keys)
    }
}

/// The key of an object, or a prefix, which may end with `/`. The library would leave out a `/` at the beginning.
fn parsed(key: &str, name: &Path) -> Result<ObjectPath> {
    let path = ObjectPath::parse(key).ok().filter(|_| !key.starts_with('/'));
    path.ok_or_else(|| fetch::unreadable_key(name))
}

/// Settings from environment variables; empty ones are ignored, as by AWS's programs.
fn from_environment() -> AmazonS3Builder {
    let texts =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let set = texts.filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty());
    let keys = set.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value)));
    keys.fold(AmazonS3Builder::new(), |builder, (key, value)| builder.with_config(key, value))
}

fn is_off(value: &str) -> bool {
    ["0", "n", "no", "off", "false"].contains(&&*value.to_ascii_lowercase())
}

/// A key with `*` or `[...]` as a pattern, and the prefix that its matches have in common.
fn pattern(key: &str) -> Option<(&str, Pattern)> {
    let wild = key.find(['*', '['])?;
    let prefix = key[..wild].rfind('/').map_or("", |end| &key[..end]);
    Some((prefix, Pattern::new(key).ok()?))
}

fn unusable(name: &Path, error: &object_store::Error) -> Error {
    Error::usage(format!("cannot be opened ({})", fetch::cause(error)))
        .at(name)
        .advice("the variables of the environment for S3 are in docs/remote.md")
}

#[cfg(test)]
mod tests;
