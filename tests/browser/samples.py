"""Results that no run on a machine without GPUs gives: one of an H200, and others whose figures are made up; the fields are those of docs/result.md."""

import copy
import gzip
import json
import random
from pathlib import Path

from jobs import made_up_report

# A count on an H200 in 16 random partitions, as docs/report.md shows it.
ON_H200 = Path(__file__).resolve().parents[2] / "docs/results/timeline-h200.json.gz"


def timeline(gpus=1, spans=60, merged=1):
    """Threads that read, GPUs that copy and compute, and host threads that wait for rows for half of the time.

    On each GPU: kernel of 4 ms, then a wait of 6 ms for rows with a copy in its last 2 ms; `spans` times."""
    draw = random.Random(1)
    stages = [("cached", 0.0, 0.02), ("plan", 0.02, 0.01), ("count", 0.03, 0.01 * spans)]
    tracks = [track("stages", "stages", None, [span(name, start, took) for name, start, took in stages])]
    tracks.append(track("reading", "reading", None, [
        span(f"row block {i}", 0.03 + 0.01 * i, 0.006 + 0.002 * draw.random(), 5_000_000, i // 10) for i in range(spans)]))
    for gpu in range(gpus):
        counting, copies, kernels = [], [], []
        for i in range(spans):
            start = 0.03 + 0.01 * i
            counting.append(span("rows", start + 0.004, 0.006, None, i // 10, True, merged))
            counting.append(span(f"row block {i}", start, 0.004, None, i // 10))
            copies.append(span(f"row block {i + 1}", start + 0.008, 0.002, 4_000_000, i // 10))
            kernels.append(span(f"row block {i}", start, 0.004, None, i // 10))
        tracks += [
            track(f"GPU {gpu} counting", "counting", gpu, counting),
            track(f"GPU {gpu} copies", "copies", gpu, copies),
            track(f"GPU {gpu} kernels", "kernels", gpu, kernels),
        ]
    return {"tracks": tracks, "seconds": 0.03 + 0.01 * spans}


def track(name, kind, device, spans):
    return {"name": name, "kind": kind, "device": device, "spans": spans}


def span(name, start, seconds, count=None, partition=None, waiting=False, merged=1):
    return {"name": name, "start": round(start, 6), "seconds": round(seconds, 6), "busy": round(seconds, 6), "bytes": count, "partition": partition,
            "waiting": waiting, "merged": merged}


def on_gpus(result, gpus=1, **more):
    """The result of a count as if `gpus` GPUs had counted it."""
    made = copy.deepcopy(result)
    made.update(backend="cuda", method="packed", timeline=timeline(gpus, **more), driver_host_bytes=300 << 20)
    made["methods"] = [{"method": "packed", "seconds": 0.4}, {"method": "lstc", "seconds": None}]
    for i, partition in enumerate(made["partitions"]):
        partition["device"] = i % gpus
    made["devices"] = [{
        "device": gpu, "name": "NVIDIA H200", "partitions": len(made["partitions"]) // gpus, "triangles": made["triangles"] // gpus,
        "stream_bytes": 1 << 30, "seconds": 1.25, "budget_bytes": made["device_memory"], "peak_bytes": made["device_memory"] - 4096,
        "context_bytes": 620 << 20, "used_bytes": made["device_memory"] + (640 << 20),
    } for gpu in range(gpus)]
    kernel = {"name": "kernel", "seconds": 0.24, "bytes_in": 0, "bytes_out": 0}
    moved = {"name": "copy", "seconds": 0.12, "bytes_in": 240_000_000, "bytes_out": 240_000_000}
    made["stages"] = made["stages"] + [moved, kernel]
    return made


def with_problems(report):
    """The report of a comparison with a wrong count (of the slowest, whose bar ends where the axis does), a refusal and a slow method."""
    made = copy.deepcopy(report)
    methods = made["graphs"][0]["methods"]
    methods[0]["seconds"] = {"median": 9.99, "min": 9.99, "max": 9.99}
    methods[0].update(correct=False, triangles=[made["graphs"][0]["triangles"] + 1])
    nothing = dict.fromkeys(["counted_by", "parts", "kernel_seconds", "copy_seconds", "preprocess_seconds", "seconds", "edges_per_second",
                             "probes_per_second", "device_bytes", "host_bytes", "kernel_speedup", "speedup", "correct"])
    for name, kind, message in [("lstc", "resource", "no CUDA driver is installed; install the NVIDIA driver, or count on the CPU"),
                                ("edge-iterator", "timeout", "a run took more than the 3 s that were left")]:
        methods.append({"method": name, "backend": "cuda", "warmed_up": False, "runs": [], "triangles": [], **nothing,
                        "problem": {"kind": kind, "message": message}})
    return made


def with_unread(report):
    """The report of a comparison whose second graph could not be read."""
    made = copy.deepcopy(report)
    problem = {"kind": "data", "message": "bad.txt:2: 'x'; expected two non-negative integers; if ids are names, add --names"}
    made["graphs"][1].update(graph="bad.txt", vertices=0, edges=0, probes=0, triangles=None, reference=None, preparation=[], problem=problem, methods=[])
    return made


def reports(folder, real):
    """Reports of made-up results, which start from those of real jobs."""
    results = {report.name: report.results[0][1] for report in real}
    unfit = copy.deepcopy(results["plan"])
    unfit.update(fits=False, device_memory=3_500_000, advice=["use a budget of 4 MiB", "or more parts"])
    for partition in unfit["partitions"]:
        partition["fits"] = partition["peak_bytes_predicted"] <= unfit["device_memory"]
    full = copy.deepcopy(results["plan"])
    spills = {"what": "spilled partitions", "directory": "/scratch", "least_bytes": 3 << 30, "most_bytes": 9 << 30, "option": "--work-dir"}
    full.update(fits=False, disks=[{"free_bytes": 2 << 30, "least_bytes": 3 << 30, "most_bytes": 9 << 30, "needs": [spills]}])
    return [
        made_up_report("h200", folder, ("count", json.loads(gzip.decompress(ON_H200.read_bytes())))),
        made_up_report("gpu", folder, ("count", on_gpus(results["cnr-2000"]))),
        made_up_report("gpus", folder, ("count", on_gpus(results["cnr-2000"], gpus=4, spans=100))),
        made_up_report("unfit", folder, ("plan", unfit)),
        made_up_report("full", folder, ("plan", full)),
        made_up_report("problems", folder, ("bench", with_problems(results["bench"]))),
        made_up_report("unread", folder, ("bench", with_unread(results["bench"]))),
    ]
