//! How settings are typed: numbers above zero, names of pages, sizes in the schema; and the long texts of `--help`. Tables fit 80 columns, 10 of
//! them blank, so that they are not wrapped.

use std::num::{IntErrorKind, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use schemars::{Schema, SchemaGenerator, json_schema};

use trimill_system::bytes::PATTERN;

/// A number above zero.
pub fn from_one<T: FromStr<Err = ParseIntError>>(typed: &str) -> Result<T, String> {
    typed.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "the number is too large".into(),
        _ => "expected a whole number from 1 on".into(),
    })
}

pub(super) fn budget(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "integer", "null"],
        "minimum": 1,
        "pattern": format!("^(?![0.]*[^0-9.]*$){}", PATTERN.trim_start_matches('^'))
    })
}

pub(super) fn tile(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "enum": [0, null] }, { "type": "integer", "minimum": 64, "maximum": 1024 }] })
}

/// The name of a page.
pub fn html(typed: &str) -> Result<PathBuf, String> {
    match typed.strip_suffix(".html") {
        Some(name) if !name.is_empty() => Ok(typed.into()),
        _ => Err("expected a name that ends with .html".into()),
    }
}

pub(super) const FORMAT: &str = "\
The format [default: found from content and suffix]:
  bvgraph        WebGraph crawls: .graph, .properties and .offsets
  text           edge lists (SNAP, KONECT, Graph Challenge, CSV)
  matrix-market  coordinate files, pattern, integer or real
  metis          adjacency files, also of KaMinPar and DIMACS
  gapbs-sg       serialised graphs of the GAP Benchmark Suite
  graph500       packed edges of Graph500
  bin-u32        pairs of u32, little-endian
  bin-u64        pairs of u64, little-endian
  npy            NumPy .npy: an array of integers of two columns
  scipy-npz      SciPy .npz: a sparse matrix (CSR, CSC, COO)
  parquet        two columns of integers, in builds with that feature
  arrow          IPC files (Feather) and streams, in such builds
  graphalytics   LDBC Graphalytics: .v, .e and .properties
All may be compressed (.gz, .bz2, .zst), and all but bvgraph alone in an archive (.tar, .tar.gz, .zip). \
A file that could have either of two formats is refused.";

pub(super) const HEADER: &str = "\
Whether the first line of an edge list is a header [default: found from the content]:
  yes  it is skipped, whatever it contains
  no   it is an arc
Without this option, names of columns, a single number, and `n m` are headers; the last where as many \
lines follow and no id is larger than n. A list whose first line could be either a header or an arc is refused.";

pub(super) const PARTITIONER: &str = "\
How vertices are assigned to partitions [default: auto]:
  auto                 rank or contiguous, by their estimates
  rank                 runs of ranks in falling degree order
  random               drawn from --seed
  contiguous           runs of ids, balanced by arcs
  contiguous-vertices  runs of ids, balanced by vertices
  metis                METIS, in a child process
  file:PATH            read from a file, as METIS writes it";

// A flag gives one of the lines that a job file lists.
pub(super) const SBATCH: &str = "\
A line for the script that counts, as it is: a directive such as '#SBATCH --qos=long', or a command such as 'module load cuda'; may be repeated";
pub(super) const MERGE_SBATCH: &str = "A line for the script that merges, as --sbatch";

pub(super) const PRUNE: &str = "\
What is dropped from a partition before it is spilled [default: direct]; with it, the partitioner auto is contiguous:
  none           nothing: the whole induced subgraph
  zero-indegree  proxies without an in-arc, repeatedly, as in LSTC
  direct         what closes no triangle of the partition";

pub(super) const PER_VERTEX: &str = "\
Write the triangles at each vertex with an edge to FILE, whose name decides the format; rows are in the order of the input's ids:
  .tsv, .csv  id, degree, triangles, local clustering coefficient;
              also with .gz or .zst
  .parquet    the same columns, in builds with that feature
  .npy        triangles alone, u64, each at the place of its id
  -           as .tsv, on standard output";

pub(super) const LCC: &str = "\
Write the local clustering coefficient of every vertex to FILE, as LDBC Graphalytics defines it: a line with id and value for each \
vertex of the input, in the order of ids, with 0 for those without an edge. FILE may end with .gz or .zst; `-` is standard output. \
In a directed graph (--directed, or by its .properties) neighbours are joined by an arc in either direction, and the value is the share \
of all possible arcs between them that exist; the input is then read twice.";

pub(super) const PER_EDGE: &str = "\
Write the triangles on each edge to FILE, whose name decides the format; rows are in the order of u and v, ids of the input. \
With --truss the trussness is written instead of the triangles:
  .tsv, .csv  u, v, triangles of each edge, u below v; also with .gz
              or .zst
  .parquet    the same columns, in builds with that feature
  -           as .tsv, on standard output";
