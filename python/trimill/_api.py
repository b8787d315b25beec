"""The functions of the package."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trimill import _native, _progress
from trimill._errors import ResourceError, UsageError
from trimill._graphs import edges_of
from trimill._result import Plan, Result, Trusses, Vertices

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trimill._graphs import Graph
    from trimill._settings import Settings


def count(graph: Graph, *, progress: bool | None = None, **settings: Unpack[Settings]) -> Result:
    """Counts the triangles of a graph, exactly.

    >>> import scipy.sparse
    >>> cycle = scipy.sparse.csr_array(([1, 1, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> trimill.count(cycle, device_memory="16MB").triangles
    1

    :param graph: a path, a list of paths, a sparse matrix of shape ``(n, n)``, a tuple of two integer arrays of shape
        ``(m,)``, or a table of two integer columns
    :param progress: whether a bar is shown; by default on a terminal and in a notebook, if tqdm is installed
    :param settings: how it is counted: the settings of ``docs/jobs.md``, such as ``device_memory``, ``threads``,
        ``backend``, ``method``
    :raises DataError: files or arrays that are missing, malformed or damaged
    :raises UsageError: settings that do not exist or contradict each other
    :raises ResourceError: a budget, a disk or a device that does not suffice; where only a file of counts could not be
        written, its ``result`` is the result
    :raises TypeError: an object that is no graph
    """
    return Result.from_json(_run(_native.count, graph, progress, settings))


def plan(graph: Graph, *, progress: bool | None = None, **settings: Unpack[Settings]) -> Plan:
    """What counting would take, partition by partition, and the smallest budgets that suffice. Counts nothing.

    >>> import numpy
    >>> plan = trimill.plan((numpy.array([0, 1, 2]), numpy.array([1, 2, 0])), device_memory="16MB")
    >>> plan.fits, len(plan.partitions), plan.device_memory
    (True, 1, 16000000)

    Parameters and exceptions are those of :func:`count`.
    """
    return Plan.from_json(_run(_native.plan, graph, progress, settings))


def clustering(graph: Graph, *, progress: bool | None = None, **settings: Unpack[Settings]) -> Vertices:
    """Counts the triangles at each vertex, for its local clustering coefficient.

    >>> import numpy
    >>> vertices = trimill.clustering((numpy.array([5, 6, 7, 7]), numpy.array([6, 7, 5, 8])))
    >>> vertices.id.tolist(), vertices.degree.tolist(), vertices.triangles.tolist()
    ([5, 6, 7, 8], [2, 2, 3, 1], [1, 1, 1, 0])
    >>> vertices.coefficient.round(3).tolist()
    [1.0, 1.0, 0.333, 0.0]

    Vertices without an edge are not listed. Takes 28 bytes a vertex for the arrays, and a temporary file of about as
    many in ``work_dir``.
    Parameters and exceptions are those of :func:`count`; ``result`` of what is returned is its result.
    """
    with _table("clustering", ["per_vertex", "run_dir"], settings) as table:
        settings["per_vertex"] = table
        answer = count(graph, progress=progress, **settings)
        columns = _native.read_vertices(table, answer.vertices)
    return Vertices(dict(zip(("id", "degree", "triangles", "coefficient"), columns, strict=True)), answer)


def truss(graph: Graph, *, progress: bool | None = None, **settings: Unpack[Settings]) -> Trusses:
    """Finds the trussness of each edge, and the size of the truss of each k.

    The k-truss is the largest subgraph in which every edge is in at least ``k - 2`` triangles of the subgraph; the
    trussness of an edge is the largest k whose truss has it.

    >>> import numpy
    >>> trusses = trimill.truss((numpy.array([5, 6, 7, 7]), numpy.array([6, 7, 5, 8])))
    >>> trusses.u.tolist(), trusses.v.tolist(), trusses.trussness.tolist()
    ([5, 5, 6, 7], [6, 7, 7, 8], [3, 3, 3, 2])
    >>> trusses.largest_k, [(truss.k, truss.vertices, truss.edges) for truss in trusses.by_k]
    (3, [(2, 4, 4), (3, 3, 3)])

    With ``k``, peeling ends at the truss of this k, and the edges are those of it:

    >>> trimill.truss((numpy.array([5, 6, 7, 7]), numpy.array([6, 7, 5, 8])), k=3).v.tolist()
    [6, 7, 7]

    Takes 20 bytes an edge for the arrays, and a temporary file of about as many in ``work_dir``; ``docs/truss.md``
    says what peeling takes. Where only the sizes are needed, ``count(graph, truss=True).truss`` has them.
    Parameters and exceptions are those of :func:`count`; ``result`` of what is returned is its result.
    """
    with _table("truss", ["per_edge", "truss", "run_dir"], settings) as table:
        settings["per_edge"] = table
        settings["truss"] = True
        answer = count(graph, progress=progress, **settings)
        until = answer.truss.until or 0
        edges = next((size.edges for size in answer.truss.by_k if size.k >= until), 0)
        columns = _native.read_trussness(table, edges)
    return Trusses(dict(zip(("u", "v", "trussness"), columns, strict=True)), answer)


@contextmanager
def _table(function: str, refused: list[str], settings: Settings) -> Iterator[Path]:
    """The path of a temporary table, which a count writes and ``function`` reads.

    :raises UsageError: one of the ``refused`` settings
    :raises ResourceError: no directory for it
    """
    for name in refused:
        if settings.get(name) is not None:
            raise UsageError(
                f"{name}: {function}() returns the counts as arrays; expected this setting in count() only"
            )
    try:
        folder = tempfile.TemporaryDirectory(prefix="trimill-", dir=settings.get("work_dir"))
    except OSError as error:
        raise ResourceError(f"{error}; expected a directory for temporary files; name another work_dir") from error
    with folder as name:
        yield Path(name, "table.tsv")


_Work: TypeAlias = Callable[["_native.Edges", "Settings", "list[str]", "_progress.Bars | None"], str]


def _run(work: _Work, graph: Graph, progress: bool | None, settings: Settings) -> str:
    bars = _progress.bars(progress)
    try:
        return work(edges_of(graph), settings, _metis(), bars)
    finally:
        if bars is not None:
            bars.close()


def _metis() -> list[str]:
    """The command of a process that runs METIS: this interpreter, with nothing of its surroundings.

    Empty where there is none.
    """
    if not sys.executable:
        return []
    return [sys.executable, "-I", "-S", os.path.join(os.path.dirname(os.path.abspath(__file__)), "_metis.py")]
