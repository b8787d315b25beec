//! The long texts of `--help`: examples, and what names mean. A paragraph is one line, wrapped to the terminal's width; examples fit 80 columns.

/// Short enough that a screen of 24 lines still shows the first commands to try.
pub(crate) const FIRST: &str = "\
Examples:
  trimill count crawl.graph
      on whatever this machine has
  trimill plan crawl.graph --device-memory 16GB
      how long would it take, and how much memory would it need?

Each command explains itself: 'trimill count -h', or '--help' for all of it. Exit codes: 'trimill --help'.";

pub(crate) const TRIMILL: &str = "\
Examples:
  trimill count crawl.graph
      on whatever this machine has
  trimill count soc.txt.gz --device-memory 2GiB
      with no more than 2 GiB on the device
  trimill plan crawl.graph --device-memory 16GB
      how long would it take, and how much memory would it need?
  trimill run configs/quick-start.toml
      a batch of jobs

Standard output carries the answer, standard error everything else.

Exit codes:
  0    done
  1    data that is missing, empty, malformed or damaged
  2    a wrong command line or job file
  3    a budget, disk, directory or device that does not allow what was asked
  101  a defect of trimill
  130  stopped by Ctrl-C, SIGTERM, SIGHUP or SIGXCPU; a later one ends at once";

pub(crate) const MORE: &str = "All options, in groups, and examples: --help";

pub(crate) const COUNT: &str = "\
Examples:
  trimill count crawl.graph
      a BVGraph, with crawl.properties beside it
  trimill count edges-1.txt edges-2.txt --format text
      one graph in two files
  zcat big.txt.gz | trimill count - --format text --json
      from standard input, the answer as JSON
  trimill generate gap-kron --scale 24 -o - | trimill count - --format bin-u32
      pairs of u32 from a pipe, which are read once and not copied
  trimill count crawl.graph --partitioner random --prune zero-indegree
      as LSTC does it
  trimill count crawl.graph --device-memory 4GiB --output results/crawl
      the answer on standard output, result.json and partitions.tsv in results/crawl
  trimill count crawl.graph --per-vertex - | sort -k3,3nr | head
      the triangles at each vertex on standard output, the answer on standard error
  trimill count crawl.graph --clustering --report crawl.html
      a page that shows the partitions' memory, what ran when, and the degrees
  trimill count crawl.graph --run-dir runs/crawl
      if it is stopped and started again, it goes on where it stopped
  trimill count /scratch/crawl
      partitions that `trimill partition`, or a count with --keep-spill, left there

A partition that does not fit the budget is split until it does, so there may be more than --parts. \
The fields of the JSON object are described in docs/result.md.";

pub(crate) const TRUSS: &str = "\
Examples:
  trimill truss crawl.graph
      the largest k, and the size of its truss
  trimill truss crawl.graph --per-edge trussness.parquet --by-k trusses.tsv
      the trussness of each edge, and the size of the truss of each k
  trimill truss crawl.graph --k 20 --per-edge truss-20.tsv
      the edges of the 20-truss

The k-truss is the largest subgraph in which each edge is in k - 2 triangles of the subgraph or more. An \
edge's trussness is the largest k whose truss has it: see docs/truss.md.";

pub(crate) const TRUSS_PER_EDGE: &str = "\
Write the trussness of each edge to FILE, whose name decides the format; rows are in the order of u and v, ids of the input:
  .tsv, .csv  u, v, trussness of each edge, u below v; also with .gz
              or .zst
  .parquet    the same columns, in builds with that feature
  -           as .tsv, on standard output";

pub(crate) const RUN: &str = "\
Examples:
  trimill run study.toml --check
  trimill run study.toml --set memory.device=2GiB --set job.a.partition.parts=64
  trimill run study.toml --only crawl --json > results.jsonl

A job file has [defaults] and any number of [[job]], described in docs/jobs.md. Relative paths are \
taken from the folder of the file, in --set as well. A job that fails does not stop the others; a \
table at the end says how each of them went, and the exit code is the highest of all. Ctrl-C stops \
the batch.";

pub(crate) const PREPARE: &str = "\
Examples:
  trimill prepare crawl.graph --run-dir /shared/crawl --shards 16
  trimill prepare crawl.graph --run-dir /shared/crawl --device-memory 70GiB
  trimill count --run-dir /shared/crawl --shard 0/16
  trimill merge /shared/crawl

Shards 0 to 15 may be counted by any processes, on any nodes that see the directory, at any time, and \
more than once: what is counted already is not counted again. A machine without a GPU can prepare for GPUs: say with --device-memory \
how much memory one has. docs/clusters.md has the details.";

pub(crate) const MERGE: &str = "\
Examples:
  trimill merge /shared/crawl
  trimill merge /shared/crawl --json

Prints what `trimill count` would have printed, and writes the files that `trimill prepare` was asked for. \
If partitions are missing, the exit code is 3, and the message names them and the commands that count them.";

pub(crate) const CLUSTER: &str = "\
Examples:
  trimill cluster slurm /shared/crawl --shards 16 --time 4:00:00
  trimill cluster hq /shared/crawl --shards 16 --gpus-per-task 0

The scripts are plain text and may be changed before they are submitted.";

pub(crate) const PLAN: &str = "\
Examples:
  trimill plan crawl.graph --device-memory 16GB
  trimill plan crawl.graph --device-memory 16GB --parts 64 --prune none --json

The graph is read and prepared (and kept in the cache), but nothing is spilled or counted, and no file of \
vertices or edges is written. Seconds are estimates, from the rates that `trimill doctor --measure` measured if it did. Budgets may be \
those of another machine: on a machine without a GPU, --device-memory plans for a GPU of that size, unless there is \
--backend cpu, and --host-memory may be more than this machine has. If something does not fit, the exit \
code is 3, and the plan says what to change.";

pub(crate) const PARTITION: &str = "\
Examples:
  trimill partition crawl.graph --parts 32 --spill-dir /scratch/crawl
  trimill inspect /scratch/crawl --verify
  trimill count /scratch/crawl --device-memory 4GiB

Writes one file for each partition, and a manifest; docs/spill-format.md describes them. `trimill \
count` takes the directory in place of a graph, as often as you like, and reads no other file.";

pub(crate) const INSPECT: &str = "\
Examples:
  trimill inspect /scratch/crawl
  trimill inspect /scratch/crawl --verify --json";

pub(crate) const VERIFY: &str = "\
Examples:
  trimill verify karate.mtx
  trimill verify soc.txt --json

It shares no counting code with `trimill count`, is slow, and holds the whole graph in memory.";

pub(crate) const BENCH: &str = "\
Examples:
  trimill bench crawl.graph
      all methods that this machine can run, five times each
  trimill bench k20.bin k22.bin --methods auto,lstc --json --report b.html
      some of them on two graphs, as JSON and as a page
  trimill bench crawl.graph --methods auto,bitmap@cpu --device-memory 1GiB
      out of core, and compared with the CPU of the same machine

Each graph is prepared once and then counted from the cache; no time includes the preparation. A \
round counts by every method, each round begins with another one, and the first only warms \
up. Each method runs in a process of its own, so that a crash or a timeout ends that method alone. \
A method that cannot count has a row with the reason. The exit code is 1 when a count differs from \
the reference: --expect, else --verify, else the baseline's count, else the first. --output and \
--report are written anew after each graph. The columns and the JSON are described in docs/bench.md.";

pub(crate) const METHODS: &str = "\
The methods, by the names of docs/methods.md [default: all that this machine can run]. `auto` is what \
`trimill count` takes by itself. NAME@cpu and NAME@cuda say where it runs; otherwise --backend does.";

pub(crate) const TIMEOUT: &str = "\
The most time for all runs of a method on a graph. A method that would take longer runs fewer times, and \
one that does take longer is stopped.";

pub(crate) const GENERATE: &str = "\
Examples:
  trimill generate gap-kron --scale 22 --output k22.bin
  trimill generate stars 3-4-5-9-16-25 --kind B1k --output stars.bin
  trimill generate blowup crawl.graph --copies 20 --output big.bin
  trimill generate kings-grid --rows 1000 --columns 1000 --output grid.txt

The suffix of the file decides how edges are written: .bin as pairs of u32 (little-endian), .txt as text, .graph as a BVGraph, .sg as GAP's format. \
The same command makes the same file on any number of threads.";

pub(crate) const DOCTOR: &str = "\
Examples:
  trimill doctor
  trimill doctor --measure
  trimill doctor --work-dir /scratch --json";

pub(crate) const CACHE: &str = "\
Examples:
  trimill cache list
  trimill cache remove crawl.graph
  trimill cache remove --max 20GiB
  trimill cache clear

The cache holds prepared graphs, so that the next job on the same input starts at once. A graph is \
recognised by the path, the size, the time of modification and a hash of the whole input.";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  trimill completions bash > ~/.local/share/bash-completion/completions/trimill
  trimill completions zsh > ~/.zfunc/_trimill
  trimill completions fish > ~/.config/fish/completions/trimill.fish";
