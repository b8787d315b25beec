"""Reports of real jobs, made by the program: the page, and the JSON that the same run printed."""

import json
import subprocess
from pathlib import Path

import assembled
import samples

DATA = Path(__file__).resolve().parent.parent / "data"

# Names of jobs, what each is, and its command line.
JOBS = [
    ("count", "count", ["count", DATA / "ca-HepTh.txt", "--clustering"]),
    ("partitions", "count", ["count", DATA / "soc-Slashdot0902.txt.gz", "--parts", "300", "--partitioner", "random"]),
    ("few", "count", ["count", DATA / "cnr-2000.graph", "--device-memory", "4MiB", "--backend", "cpu"]),
    ("plan", "plan", ["plan", DATA / "cnr-2000.graph", "--device-memory", "4MiB", "--backend", "cpu"]),
    ("plan-many", "plan", ["plan", DATA / "soc-Slashdot0902.txt.gz", "--parts", "40", "--partitioner", "random", "--device-memory", "800KiB"]),
    ("bench", "bench", ["bench", DATA / "ca-HepTh.txt", DATA / "wiki-Vote.txt", "--runs", "2", "--timeout", "3", "--methods", "auto,forward,lstc@cuda"]),
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


def has_reports(program):
    text = subprocess.run([program, "count", "--help"], capture_output=True, text=True, check=True).stdout
    return "--report" in text


def kind_of(result, kind):
    return "failure" if "error" in result else kind


def made(program, folder):
    """The reports of all jobs."""
    flag = has_reports(program)
    batch = folder / "jobs.toml"
    batch.write_text(JOB_FILE)
    reports = []
    for name, kind, words in [*JOBS, ("run", "count", ["run", batch])]:
        page = folder / f"{name}.html"
        more = ["--no-cache"] if kind != "count" or name != "run" else []
        command = [program, *words, *(more if words[0] != "run" else []), "--json", "--quiet", *(["--report", page] if flag else [])]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        lines = [(kind_of(json.loads(line), kind), line + "\n") for line in ran.stdout.splitlines()]
        if not lines:
            raise SystemExit(f"{command}: {ran.stderr}")
        if not flag:
            titles = [json.loads(line).get("job") or name for _, line in lines]
            entries = [assembled.entry(kind, title, line, "input.path = 'a'\n", samples.RATES) for title, (kind, line) in zip(titles, lines)]
            page.write_text(assembled.page(entries))
        reports.append(Report(name, page, lines))
    return reports


def assembled_report(name, folder, *entries):
    """A report of made-up results: pairs of a kind and an object."""
    path = folder / f"{name}.html"
    lines = [(kind, json.dumps(result) + "\n") for kind, result in entries]
    path.write_text(assembled.page([assembled.entry(kind, f"{name} {i}", line, "a = 1\n", samples.RATES) for i, (kind, line) in enumerate(lines)]))
    return Report(name, path, lines)
