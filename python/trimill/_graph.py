"""A graph that is prepared once, and then asked any number of questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from trimill import _native, _progress
from trimill._graphs import GraphLike, Source, source_of, watched
from trimill._metis import command
from trimill._result import Result, Supports, Trusses, Vertices, naming, result_of
from trimill._settings import refuse

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from trimill._result import _Names
    from trimill._settings import Settings

_Answer = TypeVar("_Answer")
_Question: TypeAlias = Callable[["Settings", "list[str]", "_progress.Bars | None"], _Answer]

#: Settings of the files and the result of a single count, which a graph for several questions does not take.
_OF_COUNTS = (
    "per_vertex",
    "by_degree",
    "lcc",
    "directed",
    "per_edge",
    "by_k",
    "clustering",
    "truss",
    "k",
    "force",
    "report",
    "against",
    "run_dir",
)

#: Settings of how files are read, which a single count of what was read does not take.
_OF_READING = ("format", "header", "columns", "names", "cloud_credentials")

#: Settings of a count that reads the input, perhaps again.
_OF_INPUT = ("lcc", "run_dir")


class Graph:
    """A graph that is read and prepared once, and then asked any number of questions, each of which only counts.

    >>> import trimill
    >>> graph = trimill.Graph([(5, 6), (6, 7), (7, 5), (7, 8)])
    >>> graph
    <trimill.Graph: 4 vertices, 4 edges>
    >>> graph.count().triangles, graph.transitivity()
    (1, 0.6)
    >>> graph.vertices.tolist(), graph.triangles().tolist(), graph.degrees().tolist()
    ([5, 6, 7, 8], [1, 1, 1, 0], [2, 2, 3, 1])

    Vertices are all that the object has: the nodes of a graph of NetworkX, igraph or NetworKit, the rows of a matrix,
    also those without an edge; of files, pairs, arrays and tables those with an edge.

    Answers are kept, and their arrays cannot be written. A graph of another library that is changed afterwards gives
    the new answer: one of NetworkX says whether it was changed, those of igraph and NetworKit are read again for each
    question, unless ``follow`` is false. Anything else is taken as it is now.

    :param graph: a path or a list of paths, a list of pairs of vertices, an array of integers of shape ``(m, 2)`` or
        ``(2, m)``, a tuple of two arrays of shape ``(m,)``, a sparse matrix of SciPy, a table of pandas, polars or
        Arrow, a graph of NetworkX, igraph or NetworKit, or the data of a graph of PyTorch Geometric
    :param source: the column of a table with one end of each edge; by default the first of its only two
    :param target: the column with the other end
    :param follow: whether changes of a graph of another library are followed
    :param progress: whether a bar is shown; by default on a terminal and in a notebook, if tqdm is installed
    :param settings: how it is prepared and counted, as for :func:`trimill.count`; what a count writes is none of them
    :raises DataError: files or arrays that are missing, malformed or damaged
    :raises UsageError: settings that do not exist or contradict each other, arrays that hold no ids
    :raises ResourceError: a budget, a disk or a device that does not suffice
    :raises TypeError: an object that is no graph
    """

    def __init__(
        self,
        graph: GraphLike,
        *,
        source: Hashable = None,
        target: Hashable = None,
        follow: bool = True,
        progress: bool | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        refuse("Graph", _OF_COUNTS, settings)
        # Watched from before the read on, so that a change during it is noticed.
        unchanged = watched(graph) if follow else None
        prepared = Prepared(source_of(graph, source, target), settings, progress)
        self._followed = graph if follow and prepared.nodes.read else None
        #: The graph that was read last, and a check whether it is still current; both are set once it is prepared.
        self._state = prepared, unchanged

    def _now(self) -> Prepared:
        """What is prepared, anew if a graph of another library was changed."""
        prepared, unchanged = self._state
        if self._followed is None or (unchanged and unchanged()):
            return prepared
        unchanged = watched(self._followed)
        source = source_of(self._followed)
        if not source.nodes.equals(prepared.nodes):
            prepared = Prepared(source, prepared.settings, prepared.progress)
        self._state = prepared, unchanged
        return prepared

    @property
    def vertices(self) -> _Names:
        """All vertices, in the order of all answers: their ids, ascending, or their names where they have names."""
        return self._now().vertices

    @property
    def edge_count(self) -> int:
        """The edges, without loops and repeated ones."""
        return self._now().native.edges

    def __len__(self) -> int:
        """The number of vertices."""
        return self._now().vertex_count

    def count(self, **settings: Unpack[Settings]) -> Result:
        """Counts the triangles.

        :param settings: settings of this count alone, also files that it writes, as for :func:`trimill.count`, without
            ``lcc`` and ``run_dir``
        """
        refuse("Graph.count", _OF_READING, settings, "counts what was read before; expected this setting in Graph()")
        refuse("Graph.count", _OF_INPUT, settings, "counts what was read before; expected this in trimill.count()")
        prepared = self._now()
        return prepared.count(settings) if settings else prepared.counted

    def triangles(self) -> NDArray[numpy.int64]:
        """The triangles with a corner at each vertex."""
        return self._now().table.triangles

    def degrees(self) -> NDArray[numpy.int64]:
        """The neighbours of each vertex."""
        return self._now().degrees

    def clustering(self) -> NDArray[numpy.float64]:
        """The local clustering coefficient of each vertex: its triangles as a share of the pairs of its neighbours.

        It is 0 for degrees 0 and 1.
        """
        return self._now().table.coefficient

    def average_clustering(self) -> float:
        """The average of :meth:`clustering` over all vertices, as NetworkX defines it; 0 without vertices.

        >>> trimill.Graph([(5, 6), (6, 7), (7, 5), (7, 8)]).average_clustering()
        0.5833333333333334
        """
        return self._now().average_clustering

    def transitivity(self) -> float:
        """Three times the triangles, as a share of the paths of two edges; 0 without these."""
        return self._now().transitivity

    def table(self) -> Vertices:
        """Id, degree, triangles and clustering coefficient of each vertex: ``pandas.DataFrame(graph.table())``."""
        return self._now().table

    def supports(self) -> Supports:
        """The triangles on each edge: ``pandas.DataFrame(graph.supports())``.

        >>> supports = trimill.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]).supports()
        >>> supports.u.tolist(), supports.v.tolist(), supports.triangles.tolist()
        (['a', 'a', 'b', 'c'], ['b', 'c', 'c', 'd'], [1, 1, 1, 0])
        """
        return self._now().supports

    def truss(self, k: int | None = None) -> Trusses:
        """The trussness of each edge, and the sizes of all trusses; with ``k``, the edges of that truss alone.

        See :func:`trimill.truss`.
        """
        prepared = self._now()
        if k not in prepared.trusses:
            prepared.trusses[k] = prepared.peel({"k": k})
        return prepared.trusses[k]

    def __repr__(self) -> str:
        return f"<trimill.Graph: {len(self):,} vertices, {self.edge_count:,} edges>"

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        return f"<p>{repr(self)[1:-1]}</p>"


class Prepared:
    """What was read of a graph, prepared, with the answers so far."""

    def __init__(self, source: Source, settings: Settings, progress: bool | None) -> None:
        source.nodes.check_files(settings)
        self.nodes = source.nodes
        self.settings = settings
        self.progress = progress
        self.native = _progress.shown(progress, lambda bars: _native.prepare(source.edges, settings, bars))
        #: By ``k``.
        self.trusses: dict[int | None, Trusses] = {}

    def _ask(self, question: _Question[_Answer], more: Settings) -> _Answer:
        """The answer to a question, with ``more`` settings than those of the graph."""
        self.nodes.check_files(more)
        settings: Settings = {**self.settings, **more}
        with naming(self.nodes.labels):
            return _progress.shown(self.progress, lambda bars: question(settings, command(settings), bars))

    def _result(self, text: str) -> Result:
        return result_of(text, self.nodes.labels)

    def count(self, more: Settings) -> Result:
        """Counts the triangles."""
        return self._result(self._ask(self.native.count, more))

    @cached_property
    def counted(self) -> Result:
        return self.count({})

    def at_vertices(self, more: Settings) -> Vertices:
        """Counts the triangles at each vertex."""
        import numpy

        # The result has a summary of the counts, as with the setting `clustering`.
        self.nodes.check_files({**more, "clustering": True})
        result, ids, degrees, triangles = self._ask(self.native.at_vertices, more)
        self._with_edge = ids, degrees
        degree, corners = self.degrees, self._of_all(ids, triangles.view(numpy.int64))
        # Without pairs of neighbours there are no triangles, and 0 / 1 is 0.
        # In floating point, since the pairs of a hub may exceed 64 bits.
        coefficient = 2.0 * corners / numpy.maximum(degree * (degree - 1.0), 1.0)
        columns: dict[str, Any] = {
            "id": self.vertices,
            "degree": degree,
            "triangles": corners,
            "coefficient": coefficient,
        }
        return Vertices(columns, self._result(result))

    @cached_property
    def table(self) -> Vertices:
        return self.at_vertices({})

    @cached_property
    def _with_edge(self) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint32]]:
        """The ids of the vertices with an edge, and their degrees."""
        return self.native.degrees(self.settings)

    def _of_all(self, ids: NDArray[numpy.uint64], some: NDArray[Any]) -> NDArray[Any]:
        """The values of all vertices from those of the vertices with an edge; 0 for the others. Read-only."""
        import numpy

        nodes, values = self.nodes, some
        if nodes.ids is not None:
            values = numpy.zeros(len(nodes.ids), some.dtype)
            values[numpy.searchsorted(nodes.ids, ids)] = some
        elif nodes.count is not None and nodes.count != len(ids):
            values = numpy.zeros(nodes.count, some.dtype)
            values[ids] = some
        values.flags.writeable = False
        return values

    @cached_property
    def _labels(self) -> NDArray[numpy.object_] | None:
        """The name of each id, where vertices have names; ids with loops only are included."""
        import numpy

        if self.nodes.labels is None:
            return None
        names = numpy.empty(len(self.nodes.labels), object)
        # One by one: NumPy would take tuples apart.
        for place, name in enumerate(self.nodes.labels):
            names[place] = name
        return names

    @cached_property
    def vertices(self) -> _Names:
        import numpy

        nodes = self.nodes
        ids = nodes.ids
        if ids is None:
            ids = self._with_edge[0] if nodes.count is None else numpy.arange(nodes.count, dtype=numpy.uint64)
        vertices = self._named(ids)
        vertices.flags.writeable = False
        return vertices

    @property
    def vertex_count(self) -> int:
        nodes = self.nodes
        if nodes.ids is not None:
            return len(nodes.ids)
        return self.native.vertices if nodes.count is None else nodes.count

    @cached_property
    def degrees(self) -> NDArray[numpy.int64]:
        import numpy

        ids, degrees = self._with_edge
        return self._of_all(ids, degrees.astype(numpy.int64))

    @cached_property
    def average_clustering(self) -> float:
        if self.settings.get("names"):
            # There are no arrays of vertices with names. All vertices of files have an edge.
            clustering = self.count({"clustering": True}).clustering
            return clustering.average_clustering if clustering else 0.0
        coefficients = self.table.coefficient
        return math.fsum(coefficients) / len(coefficients) if len(coefficients) else 0.0

    @property
    def transitivity(self) -> float:
        # Both results have it; use the one that is already there.
        return (self.table.result if "table" in self.__dict__ else self.counted).transitivity

    @cached_property
    def supports(self) -> Supports:
        result, u, v, triangles = self._ask(self.native.on_edges, {})
        return Supports({"u": self._named(u), "v": self._named(v), "triangles": triangles}, self._result(result))

    def peel(self, more: Settings) -> Trusses:
        """Finds the trussness of each edge."""
        result, u, v, trussness = self._ask(self.native.on_edges, {**more, "truss": True})
        return Trusses({"u": self._named(u), "v": self._named(v), "trussness": trussness}, self._result(result))

    def _named(self, ids: NDArray[numpy.uint64]) -> _Names:
        return ids if self._labels is None else self._labels[ids]
