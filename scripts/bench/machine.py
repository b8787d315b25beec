"""What a machine's disk and memory can do: dd past the page cache, and plain copies on one core and on all."""

import multiprocessing
import os
import re
import subprocess
import time

from bench import Wrong

COPIED = 256 << 20
COPY_SECONDS = 1.0


def dd(path, gibibytes, direction):
    """Bytes per second by dd, and whether it bypassed the page cache."""
    ends = {"write": ["if=/dev/zero", f"of={path}", "conv=fsync"], "read": [f"if={path}", "of=/dev/null"]}[direction]
    flag = {"write": "oflag=direct", "read": "iflag=direct"}[direction]
    for flags in [[flag], []]:
        command = ["dd", *ends, *flags, "bs=8M", f"count={128 * gibibytes}"]
        child = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"})
        found = re.search(r"(\d+) bytes.* copied, ([\d.e+-]+) s", child.stderr)
        if child.returncode == 0 and found:
            return int(found[1]) / float(found[2]), bool(flags)
    raise Wrong(f"dd: {child.stderr.strip()}")


def copy_alone(barrier, rates):
    source, target = bytearray(os.urandom(1 << 20) * (COPIED >> 20)), bytearray(COPIED)
    view = memoryview(target)
    barrier.wait()
    copied, start = 0, time.monotonic()
    while time.monotonic() - start < COPY_SECONDS:
        view[:] = source
        copied += COPIED
    rates.put(copied / (time.monotonic() - start))


def copies(processes):
    """Bytes per second that `processes` processes copy together."""
    barrier, rates = multiprocessing.Barrier(processes), multiprocessing.Queue()
    children = [multiprocessing.Process(target=copy_alone, args=(barrier, rates)) for _ in range(processes)]
    for child in children:
        child.start()
    total = sum(rates.get() for _ in children)
    for child in children:
        child.join()
    return total


def yardsticks(folder, gibibytes):
    """The current speed of the machine, in bytes per second; dd writes and reads a file of `gibibytes` in `folder`."""
    path = folder / "dd"
    try:
        (write, written_past), (read, read_past) = (dd(path, gibibytes, way) for way in ("write", "read"))
    finally:
        path.unlink(missing_ok=True)
    cores = len(os.sched_getaffinity(0))
    return {"disk_write": write, "disk_read": read, "past_the_page_cache": written_past and read_past,
            "copy_one_core": copies(1), "copy_all_cores": copies(cores), "cores": cores}
