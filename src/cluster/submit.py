#!/usr/bin/env python3
"""Counts the @SHARDS@ shards of a run with HyperQueue, each as one task, then merges them; waits for the end.

    pip install 'hyperqueue>=0.23'
    python3 submit.py [SERVER-DIRECTORY]      without it, that of the user: ~/.hq-server

A task whose worker is lost starts again elsewhere, up to `crashes` - 1 times. If tasks fail, all are submitted again, up to `tries` times:
what is counted stays, so only those that failed have something to do. Logs are in job-ID/ beside this file.
"""

import sys

from hyperqueue import Client, Job
from hyperqueue.client import FailedJobsException
from hyperqueue.ffi.protocol import ResourceRequest

program = @PROGRAM@
run = @RUN@
shards = @SHARDS@
cpus = @CPUS@
gpus = @GPUS_OR_0@
memory, memory_of_merge = @ASKED_OR_0@, @MERGE_ASKED_OR_0@  # MiB of a task, and of the merge; 0: not asked for
how = ["--threads", "@CPUS@", "--host-memory", "@HOST_MIB@MiB"]
how_to_merge = ["--threads", "@CPUS@", "--host-memory", "@MERGE_HOST_MIB@MiB"]
on = "@ON@".split()
tries = 3
crashes = 5


def new_job():
    job = Job(name="trimill", default_workdir=run + "/hq", max_fails=None)

    def task(words, resources, after=()):
        log = "%{CWD}/job-%{JOB_ID}/%{TASK_ID}"
        settings = {"stdout": log + ".stdout", "stderr": log + ".stderr", "crash_limit": crashes}
        return job.program([program, *words], resources=resources, deps=after, **settings)

    def of_worker(mib):
        return {"mem": mib} if mib else {}

    # For gpus/nvidia HyperQueue sets CUDA_VISIBLE_DEVICES.
    gpus_of_worker = {"gpus/nvidia": gpus} if gpus else {}
    counts = []
    for shard in range(shards):
        resources = ResourceRequest(cpus=cpus, resources={**gpus_of_worker, **of_worker(memory)})
        counts.append(task(["count", "--run-dir", run, "--shard", f"{shard}/{shards}", *on, *how], resources))
    # It starts when all of them have succeeded.
    task(["merge", run, *how_to_merge], ResourceRequest(cpus=cpus, resources=of_worker(memory_of_merge)), counts)
    return job


def main():
    client = Client(*sys.argv[1:])
    for _ in range(tries):
        job = client.submit(new_job())
        try:
            client.wait_for_jobs([job])
            return
        except FailedJobsException as error:
            print(f"job {job.id}: {error}", file=sys.stderr)
    sys.exit(1)


main()
