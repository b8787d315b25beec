"""The functions of the package: short forms of the questions to a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeAlias

from trimill import _native, _progress
from trimill._graph import Prepared
from trimill._graphs import GraphLike, Source, source_of
from trimill._metis import command
from trimill._result import Plan, Result, Trusses, Vertices, naming, result_of
from trimill._settings import refuse

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trimill._settings import Settings


def count(
    graph: GraphLike,
    *,
    source: Hashable = None,
    target: Hashable = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Counts the triangles of a graph, exactly.

    >>> import scipy.sparse
    >>> cycle = scipy.sparse.csr_array(([1, 1, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> trimill.count(cycle, device_memory="16MB").triangles
    1

    :param graph: whatever :class:`trimill.Graph` takes
    :param source: the column of a table with one end of each edge; by default the first of its only two
    :param target: the column with the other end
    :param progress: whether a bar is shown; by default on a terminal and in a notebook, if tqdm is installed
    :param settings: how it is counted: the settings of ``docs/jobs.md``, such as ``device_memory``, ``threads``,
        ``backend``, ``method``
    :raises DataError: files or arrays that are missing, malformed or damaged
    :raises UsageError: settings that do not exist or contradict each other
    :raises ResourceError: a budget, a disk or a device that does not suffice; where only a file of counts could not be
        written, its ``result`` is the result
    :raises TypeError: an object that is no graph
    """
    found = _checked(graph, source, target, settings)
    labels = found.nodes.labels
    with naming(labels):
        return result_of(_run(_native.count, found, progress, settings), labels)


def plan(
    graph: GraphLike,
    *,
    source: Hashable = None,
    target: Hashable = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Plan:
    """What counting would take, partition by partition, and the smallest budgets that suffice. Counts nothing.

    >>> import numpy
    >>> plan = trimill.plan((numpy.array([0, 1, 2]), numpy.array([1, 2, 0])), device_memory="16MB")
    >>> plan.fits, len(plan.partitions), plan.device_memory
    (True, 1, 16000000)

    Parameters and exceptions are those of :func:`count`.
    """
    return Plan.from_json(_run(_native.plan, _checked(graph, source, target, settings), progress, settings))


def clustering(
    graph: GraphLike,
    *,
    source: Hashable = None,
    target: Hashable = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Vertices:
    """Counts the triangles at each vertex, for its local clustering coefficient: a short form of ``Graph(..).table()``.

    >>> import numpy
    >>> vertices = trimill.clustering((numpy.array([5, 6, 7, 7]), numpy.array([6, 7, 5, 8])))
    >>> vertices.id.tolist(), vertices.degree.tolist(), vertices.triangles.tolist()
    ([5, 6, 7, 8], [2, 2, 3, 1], [1, 1, 1, 0])
    >>> vertices.coefficient.round(3).tolist()
    [1.0, 1.0, 0.333, 0.0]

    Parameters and exceptions are those of :func:`count`; ``result`` of what is returned is its result.
    """
    refuse("clustering", ("per_vertex", "lcc", "run_dir"), settings)
    return _prepared(graph, source, target, progress, settings).at_vertices(settings)


def truss(
    graph: GraphLike,
    *,
    source: Hashable = None,
    target: Hashable = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> Trusses:
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

    ``docs/truss.md`` says what peeling takes. Where only the sizes are needed, ``count(graph, truss=True).truss`` has
    them.
    Parameters and exceptions are those of :func:`count`; ``result`` of what is returned is its result.
    """
    refuse("truss", ("per_edge", "lcc", "truss", "run_dir"), settings)
    return _prepared(graph, source, target, progress, settings).peel(settings)


def _prepared(
    graph: GraphLike, source: Hashable, target: Hashable, progress: bool | None, settings: Settings
) -> Prepared:
    return Prepared(source_of(graph, source, target), settings, progress)


_Work: TypeAlias = Callable[["_native.Edges", "Settings", "list[str]", "_progress.Bars | None"], str]


def _run(work: _Work, found: Source, progress: bool | None, settings: Settings) -> str:
    return _progress.shown(progress, lambda bars: work(found.edges, settings, command(settings), bars))


def _checked(graph: GraphLike, source: Hashable, target: Hashable, settings: Settings) -> Source:
    found = source_of(graph, source, target)
    found.nodes.check_files(settings)
    return found
