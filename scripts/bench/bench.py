"""Shared by the benchmark scripts: graphs with known counts, runs of the program, tables and their archive."""

import argparse
import datetime
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Graphs of tests/data that are blown up, and their triangles.
BLOWN_UP = {
    "crawl": ("cnr-2000.graph", 20_977_629), "slash": ("soc-Slashdot0902.txt.gz", 602_592),
    "facebook": ("facebook_combined.txt", 1_612_010), "hepth": ("ca-HepTh.txt", 28_339),
}
KRON_TRIANGLES = {
    10: 74_720, 16: 15_656_287, 18: 82_728_031, 20: 423_625_371, 22: 2_111_140_967, 23: 4_670_391_762, 24: 10_283_205_554,
    27: 106_873_365_648,
}
URAND_TRIANGLES = {20: 5_492, 22: 5_514}
# A configuration is run once if its first run takes longer.
REPEAT_BELOW_SECONDS = 60


class Wrong(Exception):
    """A wrong result."""


class Graph:
    """A graph by its name: kronS, urandS (GAP, scale S), crawlK (cnr-2000 blown up K times), crawlKp (the same with permuted ids), slashK,
    facebookK, hepthK (other graphs of tests/data, blown up) or kingsN (king's moves on N x N squares, as kings500 or kings4k)."""

    def __init__(self, name):
        match = re.fullmatch(r"(kron|urand|kings|" + "|".join(BLOWN_UP) + r")([1-9]\d*)((?<=\d)k|(?<=\d)p)?", name)
        if match and match[3] and (match[1], match[3]) not in [("kings", "k"), ("crawl", "p")]:
            match = None
        family, size = (match[1], int(match[2]) * (1000 if match[3] == "k" else 1)) if match else (None, 0)
        # Each block of 2 x 2 squares has four triangles, and there are no others.
        known = {"kron": KRON_TRIANGLES.get(size), "urand": URAND_TRIANGLES.get(size), "kings": 4 * (size - 1)**2}
        known |= {name: triangles * size**3 for name, (_, triangles) in BLOWN_UP.items()}
        if known.get(family) is None:
            kron, urand = (", ".join(map(str, scales)) for scales in (KRON_TRIANGLES, URAND_TRIANGLES))
            raise argparse.ArgumentTypeError(f"'{name}' is no graph with a known count; expected kronS (S of {kron}), "
                                             f"urandS (S of {urand}), kingsN, crawlKp, or {', '.join(f'{name}K' for name in BLOWN_UP)}")
        self.name, self.triangles = name, known[family]
        self.recipe = {
            "kron": ["gap-kron", "--scale", str(size)],
            "urand": ["gap-urand", "--scale", str(size)],
            "kings": ["kings-grid", "--rows", str(size), "--columns", str(size)],
        }.get(family) or ["blowup", f"tests/data/{BLOWN_UP[family][0]}", "--copies", str(size),
                          *(["--permute", "1"] if name.endswith("p") else [])]
        self.path = self.csr_bytes = self.edges = None


class Bench:
    """Runs the program and keeps its output."""

    def __init__(self, options, method=None):
        """`method`: the method on a GPU, for scripts that measure one method and not the program's default."""
        self.options = options
        self.method = method if options.backend == "cuda" else None
        folder = os.environ.get("TRIMILL_BIN_DIR")
        self.program = (Path(folder) if folder else ROOT / "target/release").resolve() / "trimill"
        if not self.program.exists():
            sys.exit("there is no program trimill: build it with `cargo build --release`, or name its folder with TRIMILL_BIN_DIR")
        self.work = options.work_dir.resolve()
        self.records, self.tables, self.stage = [], [], None
        doctor = json.loads(subprocess.run([self.program, "doctor", "--json"], check=True, capture_output=True).stdout)
        if options.backend == "cuda" and not doctor["gpus"]:
            sys.exit(f"no usable GPU: {doctor['no_gpu']}; --backend cpu tries the script out")
        self.work.mkdir(parents=True, exist_ok=True)
        self.head = {
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": {"gpus": [gpu["name"] for gpu in doctor["gpus"]], "cores": doctor["cores"]},
            "version": doctor["version"],
            "command": self.without_paths(shlex.join([f"scripts/bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])),
        }

    def run(self, words, program=None, limit=None, environment=None):
        """The program's answer as JSON, or that of another build; None if it ended with an error or took longer than `limit` seconds
        (--limit). `environment` is added to its environment."""
        limit = limit or self.options.limit
        words = [str(word) for word in words]
        start = time.monotonic()
        child = subprocess.Popen([program or self.program, *words], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        try:
            answer, said = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            # Interrupted, not killed, so that it ends its child processes.
            child.send_signal(signal.SIGINT)
            answer, said = child.communicate()
            said = f"stopped after {limit} s\n{said}"
        record = {
            "stage": self.stage,
            "command": self.without_paths(" ".join(["trimill", *words])),
            "exit_code": child.returncode,
            "seconds": round(time.monotonic() - start, 3),
        }
        if child.returncode == 0:
            record["result"] = json.loads(self.without_paths(answer))
        else:
            record["error"] = self.without_paths(said.strip())
        self.records.append(record)
        self.save()
        return record.get("result")

    def without_paths(self, text):
        text = text.replace(str(self.work), "WORK").replace(str(ROOT), ".")
        home = os.path.expanduser("~")
        return text.replace(f"{home}/", "~/") if home != "/" else text

    def flags(self, cache=None):
        """The arguments of every command; with `cache` False, without a cache."""
        kept = ["--no-cache"] if cache is False else ["--cache-dir", cache or self.work / "cache"]
        method = ["--method", self.method] if self.method else []
        return ["--backend", self.options.backend, *method, *kept, "--work-dir", self.work / "tmp", "--json", "--quiet"]

    def checked(self, graph, result):
        if result["triangles"] != graph.triangles:
            raise Wrong(f"{graph.name}: {result['triangles']} triangles; expected {graph.triangles}: {self.records[-1]['command']}")
        for partition in result["partitions"]:
            if partition["peak_bytes"] > result["device_memory"]:
                raise Wrong(f"{graph.name}: partition {partition['id']} took {partition['peak_bytes']} bytes of a budget of "
                            f"{result['device_memory']}: {self.records[-1]['command']}")
        return result

    def must(self, words):
        result = self.run(words)
        if result is None:
            raise Wrong(f"{self.records[-1]['command']}: {self.records[-1]['error']}")
        return result

    def plan(self, graph, *flags):
        return self.must(["plan", graph.path, *flags, *self.flags()])

    def count(self, graph, *flags, cache=None):
        """One count, which must succeed."""
        return self.checked(graph, self.must(["count", graph.path, *flags, *self.flags(cache)]))

    def counts(self, graph, *flags):
        """The counts of a configuration; empty if the program cannot count it."""
        results = []
        while len(results) < self.options.runs:
            result = self.run(["count", graph.path, *flags, *self.flags()])
            if result is None:
                return []
            results.append(self.checked(graph, result))
            if self.records[-1]["seconds"] > REPEAT_BELOW_SECONDS:
                break
        return results

    def generate(self, graph, suffix="bin", folder="."):
        """The graph's file, in a folder of the work directory."""
        graph.path = self.work / folder / f"{graph.name}.{suffix}"
        graph.path.parent.mkdir(parents=True, exist_ok=True)
        if not graph.path.exists():
            self.must(["generate", *graph.recipe, "--output", graph.path, "--json"])

    def make(self, graph):
        """The graph's file, and the size of its oriented CSR."""
        self.generate(graph)
        result = self.count(graph)
        graph.edges, graph.csr_bytes = result["edges"], 8 * (result["vertices"] + 1) + 4 * result["edges"]

    def save(self):
        output = self.options.output
        output.parent.mkdir(parents=True, exist_ok=True)
        lines = ",\n".join("  " + json.dumps(record, separators=(",", ":")) for record in self.records)
        head = json.dumps(self.head | {"tables": self.tables}, indent=1, ensure_ascii=False)[:-2]
        beside = output.with_name(output.name + ".part")
        beside.write_text(f'{head},\n "runs": [\n{lines}\n ]\n}}\n', encoding="utf-8")
        beside.replace(output)

    def say(self, text):
        """Prints a table, or a line instead, and keeps it."""
        self.tables.append(text)
        print(text, end="\n\n", flush=True)
        self.save()

    def show(self, title, note, heads, rows):
        """Prints a table with a first column of text and others of numbers."""
        lines = [f"### {title}", "", note, "", f"| {' | '.join(heads)} |", f"| --- |{' --: |' * (len(heads) - 1)}"]
        lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
        self.say("\n".join(lines))


def stage(result, *names):
    return sum(stage["seconds"] for stage in result["stages"] if stage["name"] in names)


def median(results, *names):
    return statistics.median(stage(result, *names) for result in results)


def positive(text):
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number above 0")
    return number


def arguments(about, graphs, runs, limit, work="target/bench", backend=None, output=True):
    """A parser with the arguments that all scripts have, and these defaults. Without `backend` the CPU counts. `output`: an archive must be named."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=lambda names: [Graph(name) for name in names.split(",")], default=graphs, metavar="NAMES",
                        help="comma-separated; default: %(default)s")
    parser.add_argument("--runs", type=positive, default=runs, help="of each, whose median is shown; default: %(default)s")
    if backend:
        parser.add_argument("--backend", choices=["cuda", "cpu"], default=backend, help="default: %(default)s")
    else:
        parser.set_defaults(backend="cpu")
    parser.add_argument("--limit", type=positive, default=limit, metavar="SECONDS",
                        help="a run that takes longer is stopped; default: %(default)s")
    parser.add_argument("--work-dir", type=Path, default=ROOT / work, metavar="DIR", help=f"for graphs, their cache and spills; default: {work}")
    parser.add_argument("--output", type=Path, required=output, metavar="FILE",
                        help="where all runs are archived as JSON, such as docs/results/NAME.json")
    return parser


def ended(main):
    """Runs a script; a wrong result ends it with exit code 1."""
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"error: {wrong}")
