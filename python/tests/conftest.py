"""Shared by all tests, which test the installed package on the data of the program's tests."""

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


@pytest.fixture(params=["plain", "sparse", "names", "loops", "none", "no edges", "reversed"])
def nx_graph(request):
    """Graphs of NetworkX with and without names, isolated nodes, loops, and of no node at all."""
    match request.param:
        case "plain":
            return networkx.gnp_random_graph(40, 0.4, seed=3)
        case "sparse":
            return networkx.gnp_random_graph(200, 0.01, seed=4)
        case "names":
            graph = networkx.relabel_nodes(networkx.karate_club_graph(), {7: "seven", 8: (8, "eight"), 9: 9.5})
            graph.add_nodes_from(["alone", frozenset({1})])
            return graph
        case "loops":
            graph = networkx.complete_graph(6)
            graph.add_edges_from([(0, 0), (7, 7), (5, 5)])
            return graph
        case "none":
            return networkx.Graph()
        case "no edges":
            return networkx.empty_graph(5)
        case "reversed":
            graph = networkx.Graph()
            graph.add_nodes_from(range(30, 0, -1))
            graph.add_edges_from(networkx.gnp_random_graph(30, 0.3, seed=1).edges)
            return graph


@pytest.fixture
def interrupts():
    """Ctrl-C as in a program of its own, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def triangles_of(graph):
    """The number of triangles of a graph, counted by NetworkX."""
    return sum(networkx.triangles(graph).values()) // 3


def columns_of(graph, dtype=numpy.int64):
    """The edges of a graph as two arrays."""
    edges = numpy.array(graph.edges, dtype=dtype).reshape(-1, 2)
    return numpy.ascontiguousarray(edges[:, 0]), numpy.ascontiguousarray(edges[:, 1])


def complete(n):
    """The edges of the complete graph of ``n`` vertices, each once."""
    return numpy.tril_indices(n, -1)
