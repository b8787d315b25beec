#!/usr/bin/env python3
"""Counts the @SHARDS@ shards of a run with HyperQueue, each as one task, merges them, and waits for that.

    pip install hyperqueue
    python3 submit.py [SERVER-DIRECTORY]

A task whose worker is lost starts again elsewhere. Tasks that fail are submitted again, TRIES times in all; what is counted stays.
"""

import sys

from hyperqueue import Client, Job
from hyperqueue.ffi.protocol import ResourceRequest

PROGRAM = "@PROGRAM@"
RUN = "@RUN@"
SHARDS = @SHARDS@
CPUS = @CPUS@
GPUS = @GPUS_OR_0@
ON = [@ON_LIST@]
TRIES = 3
CRASHES = 5


def task(job, words, resources, deps=()):
    log = "%{CWD}/job-%{JOB_ID}/%{TASK_ID}"
    return job.program(
        [PROGRAM, *words], resources=resources, deps=deps, crash_limit=CRASHES, stdout=f"{log}.stdout", stderr=f"{log}.stderr"
    )


def run():
    """The job: a task a shard, and the merge, which starts when all of them have succeeded."""
    job = Job(name="trimill", default_workdir=f"{RUN}/hq", max_fails=None)
    # A worker lends each task other GPUs and sets CUDA_VISIBLE_DEVICES.
    resources = ResourceRequest(cpus=CPUS, resources={"gpus/nvidia": GPUS} if GPUS else {})
    counts = [
        task(job, ["count", "--run-dir", RUN, "--shard", f"{shard}/{SHARDS}", *ON, "--threads", str(CPUS)], resources)
        for shard in range(SHARDS)
    ]
    task(job, ["merge", RUN], ResourceRequest(cpus=1), counts)
    return job


def main():
    client = Client(*sys.argv[1:])
    for left in reversed(range(TRIES)):
        submitted = client.submit(run())
        if client.wait_for_jobs([submitted], raise_on_error=left == 0):
            break
        print(f"job {submitted.id}: tasks failed; what is missing is submitted again", file=sys.stderr)


main()
