//! Reads a range of an object in order, and fetches parts ahead. A stream begins with a short part, since often only the beginning is wanted. A
//! column's pages are all wanted: their first part is long, and the previous part is kept. Memory: [`STREAM`] or [`PAGES`] parts ahead, and two.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::fetch::ObjectReader;
use super::network::{Network, PendingWork};
use crate::storage::{ForwardReader, ReadOrder};
use trimill_system::Result;

/// How many parts are fetched ahead.
const STREAM: usize = 3;
const PAGES: usize = 1;

const FIRST: u64 = 256 << 10;

struct ComingPart {
    range: Range<u64>,
    bytes: PendingWork<Result<Vec<u8>>>,
}

#[derive(Default)]
struct FetchedPart {
    start: u64,
    bytes: Vec<u8>,
}

pub(super) struct ReadAhead {
    object: Arc<ObjectReader>,
    network: Arc<Network>,
    order: ReadOrder,
    /// The part of the range that was not requested yet.
    next: u64,
    end: u64,
    /// The sizes of the next and of the largest request.
    part: u64,
    most: u64,
    coming: VecDeque<ComingPart>,
    before: FetchedPart,
    now: FetchedPart,
}

impl FetchedPart {
    /// The part's bytes from `at` on; empty if `at` is outside of it.
    fn from(&self, at: u64) -> &[u8] {
        at.checked_sub(self.start).and_then(|within| self.bytes.get(within as usize..)).unwrap_or_default()
    }
}

impl ReadAhead {
    pub(super) fn new(
        object: Arc<ObjectReader>,
        network: Arc<Network>,
        range: Range<u64>,
        order: ReadOrder,
        most: u64,
    ) -> Self {
        let part = if order == ReadOrder::Stream { FIRST.min(most) } else { most };
        let (coming, before, now) = (VecDeque::new(), FetchedPart::default(), FetchedPart::default());
        let Range { start: next, end } = range;
        let mut ahead = Self { object, network, order, next, end, part, most, coming, before, now };
        if order == ReadOrder::Pages && ahead.fetched(end - 1).is_empty() {
            ahead.request(PAGES);
        }
        ahead
    }

    /// Requests parts until `parts` are in flight or the range ends.
    fn request(&mut self, parts: usize) {
        while self.coming.len() < parts && self.next < self.end {
            let range = self.next..self.end.min(self.next + self.part);
            self.next = range.end;
            self.part = (2 * self.part).min(self.most);
            let (object, wanted) = (Arc::clone(&self.object), range.clone());
            let bytes = self.network.begin(async move { object.fetch(wanted).await });
            self.coming.push_back(ComingPart { range, bytes });
        }
    }

    fn advance(&mut self, at: u64) -> Result<()> {
        while self.coming.front().is_some_and(|part| part.range.end <= at) {
            self.coming.pop_front();
        }
        let follows = match self.coming.front() {
            Some(part) => part.range.contains(&at),
            None => self.next == at,
        };
        if !follows {
            self.coming.clear();
            self.next = at;
        }
        self.request(1);
        let Some(ComingPart { range, bytes }) = self.coming.pop_front() else { return Ok(()) };
        // A stream is fetched ahead only once more than its beginning was read.
        if self.order == ReadOrder::Pages || !self.now.bytes.is_empty() {
            self.request(if self.order == ReadOrder::Stream { STREAM } else { PAGES });
        }
        let fetched = FetchedPart { start: range.start, bytes: bytes.wait()?? };
        let before = std::mem::replace(&mut self.now, fetched);
        if self.order == ReadOrder::Pages {
            self.before = before;
        }
        Ok(())
    }

    fn fetched(&self, at: u64) -> &[u8] {
        let head = usize::try_from(at).ok().and_then(|at| self.object.head.get(at..)).unwrap_or_default();
        let parts = [head, self.now.from(at), self.before.from(at)];
        parts.into_iter().find(|bytes| !bytes.is_empty()).unwrap_or_default()
    }
}

impl ForwardReader for ReadAhead {
    fn read_at(&mut self, into: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.end {
            return Ok(0);
        }
        if self.fetched(at).is_empty() {
            self.advance(at).map_err(io::Error::other)?;
        }
        let fetched = self.fetched(at);
        let read = fetched.len().min(into.len()).min((self.end - at) as usize);
        into[..read].copy_from_slice(&fetched[..read]);
        Ok(read)
    }
}
