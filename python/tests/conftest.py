"""What all tests use. Tests are of the installed package; data is that of the program's tests."""

import signal
from pathlib import Path

import networkx
import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    """Prepared graphs are kept in a directory of the test, and temporary files in another one."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.fixture(scope="session", params=[1, 2, 3])
def random_graph(request):
    """A random graph of NetworkX, whose triangles it counts."""
    return networkx.gnp_random_graph(40 * request.param, 0.5 / request.param, seed=request.param)


@pytest.fixture
def interrupts():
    """Ctrl-C as in a program of its own, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def triangles_of(graph):
    """The triangles of a graph, counted by NetworkX."""
    return sum(networkx.triangles(graph).values()) // 3


def columns_of(graph, dtype=numpy.int64):
    """The edges of a graph as two arrays."""
    edges = numpy.array(graph.edges, dtype=dtype).reshape(-1, 2)
    return numpy.ascontiguousarray(edges[:, 0]), numpy.ascontiguousarray(edges[:, 1])


def complete(n):
    """The edges of the complete graph of ``n`` vertices, each once."""
    return numpy.tril_indices(n, -1)
