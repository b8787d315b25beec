//! GraphAr graphs on servers: the URL of a description, or a prefix in S3, stands for the chunks with edges. The URL's user and query go with each
//! request for a file of the graph, since all files are below its folder.

use std::path::{Path, PathBuf};

use reqwest::Url;

use super::location::RemoteLocation;
use super::{Opener, RemoteLimits, fetch, parsed, pattern};
use crate::graphar::places::{GrapharFiles, check_length};
use crate::graphar::{NamedFiles, is_named};
use trimill_system::{Control, Error, Result};

/// The edges of the graph that a URL stands for; `None` if it names something else.
pub(crate) fn graphar(url: &Path, cloud: bool, window: u64, control: &Control) -> Result<Option<NamedFiles>> {
    let location = RemoteLocation::of(url)?;
    let is_prefix = matches!(&location, RemoteLocation::S3 { key, .. } if key.is_empty() || key.ends_with('/'));
    let name = location.name();
    if !is_prefix && !is_named(&name) {
        return Ok(None);
    }
    let url = match location {
        RemoteLocation::S3 { version: Some(_), .. } => {
            return Err(Error::usage("a version of a description of GraphAr")
                .at(name)
                .expected("its URL without a version: those of its files are not known"));
        }
        RemoteLocation::S3 { .. } => None,
        RemoteLocation::Http(url) => Some(url),
    };
    let files = ServedGraphar { opener: Opener::new(cloud, window, control, RemoteLimits::USUAL)?, url };
    if !is_prefix {
        files.whole(&name)?; // before its folder is listed
    }
    let Some(edges) = NamedFiles::of(&files, &name)? else { return Ok(None) };
    let chunks = edges.files.iter().map(|chunk| files.whole(chunk)).collect::<Result<_>>()?;
    Ok(Some(NamedFiles { files: chunks, ..edges }))
}

/// The paths of its files are the parts of URLs that may be shown.
struct ServedGraphar {
    opener: Opener,
    /// As the user named it; `None` in S3.
    url: Option<Url>,
}

impl ServedGraphar {
    /// A file's URL with the credentials of the named one. Errors: a key that would match other objects, too.
    fn whole(&self, file: &Path) -> Result<PathBuf> {
        let Some(named) = &self.url else {
            let is_pattern =
                matches!(RemoteLocation::of(file)?, RemoteLocation::S3 { key, .. } if pattern(&key).is_some());
            return if is_pattern {
                Err(Error::data(file, "a key of a graph of GraphAr that is a pattern")
                    .expected("keys without '*' and '['")
                    .advice("copy the graph to a folder of another name"))
            } else {
                Ok(file.to_path_buf())
            };
        };
        let Some(mut url) = file.to_str().and_then(|file| Url::parse(file).ok()) else { return Ok(file.to_path_buf()) };
        // These fail only for URLs without a host.
        let _ = (url.set_username(named.username()), url.set_password(named.password()));
        url.set_query(named.query());
        Ok(PathBuf::from(String::from(url)))
    }
}

impl GrapharFiles for ServedGraphar {
    /// The objects in a folder of a bucket, not those in its subfolders.
    fn entries(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let RemoteLocation::S3 { bucket, key, .. } = RemoteLocation::of(folder)? else { return Ok(Vec::new()) };
        let store = self.opener.bucket(&bucket, folder)?;
        let (limits, at, name) = (self.opener.network.limits, parsed(&key, folder)?, folder.to_path_buf());
        let list = async move { fetch::retry(&name, limits, || store.list_with_delimiter(Some(&at))).await };
        let listed = self.opener.network.begin(list).wait()??;
        let path = |object: object_store::ObjectMeta| PathBuf::from(format!("s3://{bucket}/{}", object.location));
        let mut paths: Vec<PathBuf> = listed.objects.into_iter().map(path).collect();
        paths.sort_unstable();
        Ok(paths)
    }

    fn are_listed(&self) -> bool {
        false
    }

    fn read(&self, files: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
        let urls: Vec<PathBuf> = files.iter().map(|file| self.whole(file)).collect::<Result<_>>()?;
        let opened = self.opener.open(&urls)?.into_iter().filter_map(|input| input.object);
        let contents = opened.map(|object| {
            check_length(object.name(), object.bytes())?;
            object.fetch(0..object.bytes()).map_err(|error| Error::read(object.name(), error))
        });
        contents.collect()
    }
}
