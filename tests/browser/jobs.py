"""Reports of real jobs, made by the program: the page, and the JSON that the same run printed."""

import json
import subprocess
from pathlib import Path

import made_up

DATA = Path(__file__).resolve().parent.parent / "data"

# Names of jobs, what each is, and its command line; they run in the folder of the graphs.
JOBS = [
    ("count", "count", ["count", "ca-HepTh.txt", "--clustering"]),
    ("partitions", "count", ["count", "soc-Slashdot0902.txt.gz", "--parts", "300", "--partitioner", "random"]),
    ("cnr-2000", "count", ["count", "cnr-2000.graph", "--device-memory", "4MiB", "--backend", "cpu"]),
    ("truss", "count", ["truss", "ca-HepTh.txt"]),
    ("truss-until", "count", ["truss", "karate.mtx", "--k", "4"]),
    ("plan", "plan", ["plan", "cnr-2000.graph", "--device-memory", "4MiB", "--backend", "cpu"]),
    ("plan-many", "plan", ["plan", "soc-Slashdot0902.txt.gz", "--parts", "40", "--partitioner", "random", "--device-memory", "800KiB"]),
    ("bench", "bench", ["bench", "ca-HepTh.txt", "wiki-Vote.txt", "--runs", "2", "--timeout", "3", "--methods", "auto,forward,lstc@cuda",
                        "--host-memory", "1GiB"]),
]

JOB_FILE = f"""[defaults.input]
path = "{DATA / 'ca-HepTh.txt'}"
[defaults.cache]
enabled = false
[[job]]
name = "whole"
[[job]]
name = "missing"
[job.input]
path = "no-such-file.txt"
[[job]]
name = "parts"
[job.partition]
parts = 3
partitioner = "contiguous"
"""


class Report:
    """A page and what it was made from: for each result its kind and the line of JSON."""

    def __init__(self, name, path, lines):
        self.name, self.path, self.lines = name, path, lines
        self.results = [(kind, json.loads(line)) for kind, line in lines]
        self.earlier = None


def kind_of(result, kind):
    return "failure" if "error" in result else kind


def made(program, folder):
    """The reports of all jobs."""
    (folder / "jobs.toml").write_text(JOB_FILE)
    reports = []
    for name, kind, words in JOBS:
        reports.append(ran(program, folder, name, kind, [*words, "--no-cache"]))
    # A count that is compared with an earlier one of the same graph in other partitions.
    earlier = subprocess.run([program, "count", "ca-HepTh.txt", "--json", "--quiet", "--no-cache", "--parts", "5", "--seed", "2"],
                             capture_output=True, check=True, cwd=DATA)
    (folder / "earlier.json").write_bytes(earlier.stdout)
    reports.append(ran(program, folder, "against", "count", ["count", "ca-HepTh.txt", "--no-cache", "--against", folder / "earlier.json"]))
    reports[-1].earlier = json.loads(earlier.stdout)
    return [*reports, ran(program, folder, "run", "count", ["run", folder / "jobs.toml"])]


def ran(program, folder, name, kind, words):
    """The report of a command, and what it printed."""
    page = folder / f"{name}.html"
    command = [program, *words, "--json", "--quiet", "--report", page]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=DATA)
    lines = [(kind_of(json.loads(line), kind), line + "\n") for line in done.stdout.splitlines()]
    if not lines or not page.exists():
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout} {done.stderr}")
    return Report(name, page, lines)


def made_up_report(name, folder, *results, earlier=None):
    """A report of made-up results, pairs of a kind and an object, in the page of a job in `folder`; each against `earlier` if there is one."""
    path = folder / f"{name}.html"
    lines = [(kind, json.dumps(result) + "\n") for kind, result in results]
    entries = [made_up.entry(kind, f"{name} {i}", line, "a = 1\n", made_up.RATES, earlier and json.dumps(earlier)) for i, (kind, line) in enumerate(lines)]
    path.write_text(made_up.page((folder / "count.html").read_text(encoding="utf-8"), entries), encoding="utf-8")
    return Report(name, path, lines)
