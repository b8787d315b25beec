//! Edges as two columns.

use std::ops::Range;

use super::column::Column;
use super::edges::{BATCH, EdgeSource, TakeArcs};
use crate::parallel::chunks;
use trimill_system::{Error, Result};

/// Edges given as two columns of equal length: the ids of their tails and of their heads.
///
/// ```
/// use trimill::{Graph, Options, Pairs};
///
/// let (tails, heads) = (vec![0u32, 1, 2, 2], vec![1i64, 2, 0, 3]);
/// let pairs = Pairs::new(&tails[..], heads)?;
/// assert_eq!(Graph::from_source(pairs).count(&Options::new())?.triangles, 1);
/// # Ok::<(), trimill::Error>(())
/// ```
pub struct Pairs<'a> {
    tails: Box<dyn Column + 'a>,
    heads: Box<dyn Column + 'a>,
    names: [String; 2],
    vertices: Option<u64>,
}

impl<'a> Pairs<'a> {
    /// The edges `(tails[i], heads[i])`. Time: constant.
    ///
    /// # Errors
    /// [`Kind::Data`](trimill_system::error::Kind::Data): columns of different lengths.
    pub fn new(tails: impl Column + 'a, heads: impl Column + 'a) -> Result<Self> {
        if tails.len() != heads.len() {
            return Err(Error::data("edges", format!("{} tails and {} heads", tails.len(), heads.len()))
                .expected("as many of both: edge i is from tail i to head i"));
        }
        let names = ["tails", "heads"].map(Into::into);
        Ok(Self { tails: Box::new(tails), heads: Box::new(heads), names, vertices: None })
    }

    /// What errors call the two columns.
    #[must_use]
    pub fn named(mut self, tails: &str, heads: &str) -> Self {
        self.names = [tails, heads].map(Into::into);
        self
    }

    /// Declares that ids are below `vertices`; a larger one is then an error.
    #[must_use]
    pub fn with_vertices(mut self, vertices: u64) -> Self {
        self.vertices = Some(vertices);
        self
    }
}

impl EdgeSource for Pairs<'_> {
    fn arcs(&self) -> u64 {
        self.tails.len()
    }

    fn vertices(&self) -> Option<u64> {
        self.vertices
    }

    fn read(&self, arcs: Range<u64>, take: &mut TakeArcs<'_>) -> Result<()> {
        let (mut tails, mut heads) = (vec![0; BATCH], vec![0; BATCH]);
        let mut batch = Vec::with_capacity(BATCH);
        for arcs in chunks(arcs, BATCH as u64) {
            let (at, count) = (arcs.start, (arcs.end - arcs.start) as usize);
            let [tail_name, head_name] = &self.names;
            self.tails.read_ids(at, &mut tails[..count]).map_err(|error| error.at(tail_name))?;
            self.heads.read_ids(at, &mut heads[..count]).map_err(|error| error.at(head_name))?;
            batch.clear();
            batch.extend(tails[..count].iter().copied().zip(heads[..count].iter().copied()));
            take(&batch)?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.arcs().saturating_mul(self.tails.width().saturating_add(self.heads.width()))
    }
}
