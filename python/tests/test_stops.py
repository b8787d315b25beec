"""Counts run without the GIL, and stop on signals and exceptions; bars show what they do."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy
import pyarrow
import pytest
from conftest import complete

import trimill
from trimill import _progress

#: A graph that takes seconds: half of the complete graph, each edge many times.
LONG = tuple(numpy.tile(column, 12) for column in complete(1500))


def threads():
    """The names of the threads of this process."""
    for thread in Path("/proc/self/task").glob("*/comm"):
        # The thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield thread.read_text().strip()


@pytest.fixture
def stopped(tmp_path):
    """Checks that a count that was stopped leaves nothing behind."""
    yield
    deadline = time.monotonic() + 60
    while "trimill" in set(threads()):
        assert time.monotonic() < deadline, "the thread of the count goes on"
        time.sleep(0.05)
    assert not list((tmp_path / "tmp").iterdir())


@pytest.fixture
def alarm():
    """Starts a timer that calls a handler after some seconds, and then at intervals."""
    before = signal.getsignal(signal.SIGALRM)

    def begin(handler, *seconds):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *seconds)

    yield begin
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_stops_the_count(interrupts, stopped):
    fired = threading.Event()

    def interrupt():
        fired.set()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            trimill.count(LONG)
    assert fired.is_set()
    # The next count is not stopped.
    assert trimill.count(complete(10)).triangles == 120


def test_an_interrupt_stops_the_numbering_of_names(interrupts, stopped):
    names = pyarrow.array([f"name {number}" for number in range(1000)])
    column = names.take(pyarrow.array(numpy.random.default_rng(1).integers(0, 1000, 8_000_000)))
    table = pyarrow.table({"u": column, "v": column})

    def seconds():
        begun = time.monotonic()
        with contextlib.suppress(KeyboardInterrupt):
            trimill._native.Edges.table(table.__arrow_c_stream__())
        return time.monotonic() - begun

    whole = seconds()
    threading.Timer(whole / 10, os.kill, (os.getpid(), signal.SIGINT)).start()
    assert seconds() < whole / 2


def test_an_exception_of_a_signal_handler_is_raised(stopped, alarm):
    class Asked(Exception):
        pass

    def handler(number, frame):
        raise Asked

    alarm(handler, 0.2)
    with pytest.raises(Asked):
        while True:
            trimill.count(LONG)


def test_handlers_that_do_not_raise_do_not_stop_it(alarm):
    calls, answers = [], set()
    alarm(lambda number, frame: calls.append(number), 0.01, 0.05)
    while not calls:
        answers.add(trimill.count(complete(500)).triangles)
    answers.add(trimill.count(LONG).triangles)
    assert answers <= {500 * 499 * 498 // 6, 1500 * 1499 * 1498 // 6}


def interrupted(program, times):
    """Runs a program and interrupts it ``times`` times, once it has printed a line; returns what it prints then."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(times):
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        return process.communicate(timeout=60)[0]


def test_a_pipe_that_nobody_writes_to_is_left(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    program = f"""
import signal, trimill
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    trimill.count({str(tmp_path / "pipe.txt")!r}, format="text", header="no")
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    assert interrupted(program, 1) == "stopped\n"


def test_a_second_interrupt_does_not_wait():
    """A table whose producer hangs cannot be stopped."""
    program = """
import os, pyarrow, signal, threading, trimill

def batches():
    print("ready", flush=True)
    threading.Event().wait()
    yield

signal.signal(signal.SIGINT, signal.default_int_handler)
schema = pyarrow.schema({"u": pyarrow.int64(), "v": pyarrow.int64()})
try:
    trimill.count(pyarrow.RecordBatchReader.from_batches(schema, batches()))
except KeyboardInterrupt:
    print("left", flush=True)
    os._exit(0)
"""
    assert interrupted(program, 2) == "left\n"


def test_other_threads_run_meanwhile():
    steps, end = [], threading.Event()

    def step():
        while not end.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=step)
    thread.start()
    begin = time.perf_counter()
    trimill.count(LONG)
    finish = time.perf_counter()
    end.set()
    thread.join()
    assert finish - begin > 0.1
    # If the GIL were held, there would be steps before and after the count only.
    assert sum(begin < at < finish for at in steps) > 10


def test_counts_in_several_threads_at_once():
    sizes = list(range(20, 60))
    answers = {}

    def count(size):
        answers[size] = trimill.count(complete(size)).triangles

    threads = [threading.Thread(target=count, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: n * (n - 1) * (n - 2) // 6 for n in sizes}


class Bar:
    """A bar that records what is done with it."""

    made = []

    def __init__(self, **options):
        self.options, self.n, self.closed = options, 0, False
        Bar.made.append(self)

    def update(self, more):
        assert not self.closed
        self.n += more

    def close(self):
        self.closed = True


@pytest.fixture
def bars(monkeypatch):
    Bar.made = []
    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    return Bar.made


def test_bars_show_the_tasks(bars):
    while not bars:
        trimill.count(LONG, progress=True)
    assert all(bar.closed for bar in bars)
    for bar in bars:
        assert bar.options["total"] is None or 0 <= bar.n <= bar.options["total"]
        assert bar.options["desc"] and bar.options["leave"] is False


def test_tasks_become_bars():
    Bar.made = []
    shown = _progress.Bars(Bar)
    shown([(1, "read", 100, "B", 30, False), (2, "count", None, "partitions", 0, False)])
    shown([(1, "read", 100, "B", 100, True), (2, "count", None, "partitions", 2, False), (3, "short", 1, "B", 1, True)])
    read, count = Bar.made
    assert [read.options[name] for name in ("desc", "total", "unit")] == ["read", 100, "B"]
    assert (read.n, read.closed) == (100, True)
    assert (count.options["desc"], count.options["unit"], count.n, count.closed) == ("count", " partitions", 2, False)
    shown.close()
    assert count.closed


def test_bars_of_tqdm(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    shown = _progress.bars(True)
    shown([(1, "read", 100, "B", 30, False)])
    shown.close()
    assert "read:" in sys.stderr.getvalue() and "/100" in sys.stderr.getvalue()


def test_where_bars_are_shown(monkeypatch):
    assert _progress.bars(False) is None
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert _progress.bars(None) is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert _progress.bars(None) is not None
    closed = io.StringIO()
    closed.close()
    for none in [None, types.SimpleNamespace(write=print), closed]:
        monkeypatch.setattr("sys.stderr", none)
        assert _progress.bars(None) is None
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setattr("trimill._progress._in_notebook", lambda: True)
    assert _progress.bars(None) is not None
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert _progress.bars(None) is None
    with pytest.raises(ImportError, match="progress"):
        _progress.bars(True)


def test_an_error_of_a_bar_stops_the_count(monkeypatch, stopped):
    class Broken(Bar):
        def __init__(self, **options):
            raise OSError("the terminal is gone")

    monkeypatch.setattr("tqdm.auto.tqdm", Broken)
    with pytest.raises(OSError, match="terminal is gone"):
        while True:
            trimill.count(LONG, progress=True)


def test_nothing_is_printed(capfd):
    trimill.count(complete(50))
    with pytest.raises(trimill.Error):
        trimill.count("missing")
    assert capfd.readouterr() == ("", "")


def test_warnings_are_logged(tmp_path, caplog):
    """A graph in the cache that is damaged is made again, and a warning says so."""
    (tmp_path / "graph.txt").write_text("0 1\n1 2\n2 0\n")
    settings = {"format": "text", "header": "no", "cache_dir": tmp_path / "own"}
    trimill.count(tmp_path / "graph.txt", **settings)
    (cached,) = (tmp_path / "own").glob("*.trimgraf")
    cached.write_bytes(bytes(cached.stat().st_size))
    assert not caplog.records
    assert trimill.count(tmp_path / "graph.txt", **settings).triangles == 1
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("trimill", "WARNING")
    assert cached.name in record.getMessage() and "it is made again" in record.getMessage()
