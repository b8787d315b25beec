//! An object of a server, as readers see it.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use xxhash_rust::xxh3::xxh3_128;

use super::ahead::ReadAhead;
use super::fetch::ObjectReader;
use super::network::Network;
use crate::storage::{ForwardReader, ReadOrder, RemoteBytes};

pub(super) struct RemoteObject {
    reader: Arc<ObjectReader>,
    network: Arc<Network>,
    window: u64,
}

impl RemoteObject {
    pub(super) fn new(reader: ObjectReader, network: Arc<Network>, window: u64) -> Self {
        Self { reader: Arc::new(reader), network, window }
    }
}

impl RemoteBytes for RemoteObject {
    fn name(&self) -> &Path {
        &self.reader.stored.name
    }

    fn bytes(&self) -> u64 {
        self.reader.version.bytes
    }

    fn tag(&self) -> Option<u128> {
        self.reader.version.tag.as_ref().map(|tag| xxh3_128(tag.as_bytes()))
    }

    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if let Some(kept) = self.reader.kept(&range) {
            return Ok(kept.to_vec());
        }
        let reader = Arc::clone(&self.reader);
        let fetched = self.network.begin(async move { reader.fetch(range).await }).wait();
        fetched.and_then(|fetched| fetched).map_err(io::Error::other)
    }

    fn forward(&self, range: Range<u64>, order: ReadOrder) -> Box<dyn ForwardReader> {
        let range = range.start..range.end.min(self.bytes());
        Box::new(ReadAhead::new(Arc::clone(&self.reader), Arc::clone(&self.network), range, order, self.window / 2))
    }
}

impl fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteObject").field("name", &self.name()).finish_non_exhaustive()
    }
}
