"""From the objects of callers to edges that the compiled part reads.

What an object is, is decided by its attributes, so no other package is imported for it. What could be meant in two ways
is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

from trimill._errors import DataError, UsageError
from trimill._native import Edges

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from trimill._settings import Settings


class Table(Protocol):
    """A table with Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Matrix(Protocol):
    """A sparse matrix of SciPy."""

    @property
    def format(self) -> str: ...
    def tocsr(self) -> Any: ...


class Array(Protocol):
    """An array of NumPy, or of another package that shares its memory with NumPy."""

    def __array__(self) -> Any: ...


class NetworkXGraph(Protocol):
    """A graph of NetworkX."""

    def adjacency(self) -> Iterator[tuple[Any, Any]]: ...


class IGraph(Protocol):
    """A graph of igraph."""

    def vcount(self) -> int: ...
    def get_edgelist(self) -> list[tuple[int, int]]: ...


class NetworKitGraph(Protocol):
    """A graph of NetworKit."""

    def upperNodeIdBound(self) -> int: ...
    def iterEdges(self) -> Iterator[tuple[int, int]]: ...


class EdgeIndex(Protocol):
    """The data of a graph of PyTorch Geometric."""

    @property
    def edge_index(self) -> Any: ...


FilePath: TypeAlias = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Pair: TypeAlias = tuple[Hashable, Hashable]
#: What can be counted.
GraphLike: TypeAlias = Union[
    FilePath,
    "list[FilePath]",
    "Sequence[Pair]",
    "tuple[Array, Array]",
    Array,
    Matrix,
    Table,
    NetworkXGraph,
    IGraph,
    NetworKitGraph,
    EdgeIndex,
]

_PATHS = (str, bytes, os.PathLike)

#: The device of memory of the CPU in DLPack.
_CPU = 1


@dataclass(frozen=True)
class Nodes:
    """What an object says of its vertices beyond its edges."""

    #: Ids are below it; all of them are vertices, unless ``ids`` lists those that are.
    count: int | None = None
    #: The name of each id.
    labels: Sequence[Hashable] | None = None
    #: The ids that are vertices, ascending, where not all of those below ``count`` are.
    ids: NDArray[numpy.uint64] | None = None
    #: What was read of a graph of another library, whose changes are followed.
    read: tuple[NDArray[numpy.int64], ...] = ()

    def check_files(self, settings: Settings) -> None:
        """Refuses files that name vertices, where the compiled part does not have their ids.

        :raises UsageError: one of these settings
        """
        for name in ("per_vertex", "per_edge", "lcc"):
            if self.labels is not None and settings.get(name) is not None:
                method = "supports" if name == "per_edge" else "table"
                if name == "per_edge" and settings.get("truss"):
                    method = "truss"
                raise UsageError(
                    f"{name}: a file of a graph in memory whose vertices have names; expected ids that are numbers "
                    f"there; Graph(..).{method}() has the names"
                )
        summarises = settings.get("clustering") or settings.get("by_degree") is not None
        if self.labels is not None and summarises and settings.get("report") is not None:
            raise UsageError(
                "report: a page that names the vertex with the most triangles by its id, of a graph in memory whose "
                "vertices have names; expected it without clustering and by_degree"
            )
        if self.ids is not None and settings.get("lcc") is not None:
            raise UsageError(
                "lcc: a graph of which nodes were removed, which the file would have; expected one without gaps in its "
                "numbers; Graph(..).table() has the nodes that are left"
            )

    def equals(self, other: Nodes) -> bool:
        """Whether both have read the same of a graph of another library."""
        import numpy

        return (
            self.count == other.count
            and self.labels == other.labels
            and len(self.read) == len(other.read) > 0
            and all(map(numpy.array_equal, self.read, other.read))
        )


@dataclass(frozen=True)
class Source:
    """What a graph has."""

    edges: Edges
    nodes: Nodes = Nodes()


def source_of(graph: GraphLike, source: Hashable = None, target: Hashable = None) -> Source:
    """What a graph has.

    :param source: the column of a table with one end of each edge
    :param target: the column with the other end
    :raises TypeError: an object that is no graph
    :raises UsageError: arrays, matrices or tables that hold no ids
    :raises DataError: arrays, matrices or tables whose numbers are no edges
    """
    thing: Any = graph
    if (source is None) != (target is None):
        raise UsageError("only one of source and target is given; expected both, the columns of a table, or none")
    if source is not None and source == target:
        raise UsageError(f"the column {source!r} is named twice; expected the columns of both ends of an edge")
    ends = None if source is None else (source, target)
    if hasattr(thing, "collect") and hasattr(thing, "collect_schema"):
        raise TypeError(
            f"cannot count an object of the type {_name(graph)}, whose rows are not there yet; collect it: "
            "frame.collect()"
        )
    # A series of pandas or polars, or a column of Arrow, is one column of a table, whatever interfaces it has.
    is_series = not (hasattr(thing, "columns") or hasattr(thing, "schema")) and (
        hasattr(thing, "iloc")
        or (hasattr(thing, "__arrow_c_stream__") and (hasattr(thing, "dtype") or hasattr(thing, "type")))
    )
    if not is_series and (hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "columns")):
        return _table(thing, ends)
    if ends is not None:
        raise UsageError(f"source and target for {_name(graph)}; expected a table, whose columns they name")
    if isinstance(thing, _PATHS):
        return Source(_files([thing]))
    if isinstance(thing, list):
        return Source(_files(thing)) if thing and all(isinstance(path, _PATHS) for path in thing) else _pairs(thing)
    if isinstance(thing, tuple) and len(thing) == 2:
        names = ("the first array", "the second array")
        return Source(Edges.pairs(_column(thing[0], names[0]), _column(thing[1], names[1]), names, None))
    if hasattr(thing, "tocsr") and hasattr(thing, "format"):
        return _matrix(thing)
    for read in (_networkx, _igraph, _networkit):
        found = read(thing)
        if found is not None:
            return found
    if hasattr(thing, "edge_index"):
        nodes = getattr(thing, "num_nodes", None)
        return _array(thing.edge_index, None if nodes is None else int(nodes))
    if not is_series and any(hasattr(thing, name) for name in ("__array__", "__array_interface__", "__dlpack__")):
        return _array(thing, None)
    if isinstance(thing, Iterable) and not isinstance(thing, (dict, tuple)):
        raise TypeError(f"cannot count an object of the type {_name(graph)}; if it has pairs of vertices: list(graph)")
    raise TypeError(
        f"cannot count an object of the type {_name(graph)}; expected a path, a list of pairs, an array of shape "
        "(m, 2) or (2, m), a tuple of two arrays, a sparse matrix of SciPy, a table, or a graph of NetworkX, igraph or "
        "NetworKit"
    )


def _files(paths: list[FilePath]) -> Edges:
    names = [os.fsencode(path) for path in paths]
    if b"" in names:
        raise UsageError("an empty path; expected the path of a file")
    if b"-" in names:
        raise UsageError("standard input cannot be counted from Python; expected the path of a file")
    return Edges.files([os.fsdecode(name) for name in names])


def _pairs(pairs: list[Any]) -> Source:
    import numpy

    wrong = next((place for place, pair in enumerate(pairs) if not _is_pair(pair)), None)
    if wrong is not None:
        found = f"an object of the type {_name(pairs[wrong])} in place {wrong} of a list"
        raise TypeError(f"{found}; expected pairs of vertices, or paths of files")
    names = ("the first of each pair", "the second of each pair")
    ends = list(chain.from_iterable(pairs))
    if all(map(_is_integer, set(map(type, ends)))):
        # NumPy does not compare integers of different types exactly.
        ends = list(map(int, ends))
        least, most = min(ends, default=0), max(ends, default=0)
        if least < -(1 << 63) or (least < 0 and most >= 1 << 63):
            place = next(place for place, end in enumerate(ends) if end < 0)
            raise DataError(f"{names[place % 2]}: the number {ends[place]} in place {place // 2}; expected ids from 0")
        # Numbers from the largest one of 64 bits on are names, not ids.
        if most < (1 << 64) - 1:
            array = numpy.array(ends, numpy.int64 if most < 1 << 63 else numpy.uint64)
            return Source(Edges.pairs(array[::2], array[1::2], names, None))
    index: dict[Hashable, int] = {}
    ids = numpy.fromiter((index.setdefault(end, len(index)) for end in ends), numpy.int64, len(ends))
    if any(map(_is_missing, index)):
        raise DataError("a list of pairs: a missing value; expected a vertex in every place")
    return Source(Edges.pairs(ids[::2], ids[1::2], names, None), Nodes(labels=list(index)))


def _is_pair(pair: object) -> bool:
    return isinstance(pair, (tuple, list)) and len(pair) == 2


def _is_integer(kind: type[Any]) -> bool:
    import numpy

    # Booleans are no ids, and neither are NumPy's time spans, a subclass of its integers.
    return kind is int or (issubclass(kind, numpy.integer) and kind is not numpy.timedelta64)


def _is_missing(end: Any) -> bool:
    """Whether it is ``None``, or a NaN, NaT or NA of Python, NumPy or pandas."""
    import numpy

    if isinstance(end, (float, numpy.generic)):
        return bool(end != end)
    return end is None or type(end).__name__ in ("NAType", "NaTType")


def _array(array: Any, vertices: int | None) -> Source:
    shape: tuple[int, ...] = getattr(array, "shape", ())
    if len(shape) == 2 and shape[0] == shape[1] > 2:
        # A square array is never meant as a list of edges, whatever its entries are.
        raise UsageError(
            f"an array of shape {tuple(shape)}; expected (m, 2) or (2, m), the ends of m edges; "
            "of a dense adjacency matrix: scipy.sparse.csr_array(array)"
        )
    edges = _integers(array, "the array")
    rows, columns = edges.ndim == 2 and edges.shape[1] == 2, edges.ndim == 2 and edges.shape[0] == 2
    if vertices is not None:
        # PyTorch Geometric has one end in each row.
        rows = False
    if rows and columns:
        raise UsageError(
            "an array of shape (2, 2), whose edges could be rows or columns; "
            "write (array[:, 0], array[:, 1]) for edges in rows, (array[0], array[1]) for edges in columns"
        )
    if not rows and not columns:
        expected = "(2, m)" if vertices is not None else "(m, 2) or (2, m)"
        raise UsageError(f"an array of shape {edges.shape}; expected {expected}, the ends of m edges")
    tails, heads = (edges[:, 0], edges[:, 1]) if rows else (edges[0], edges[1])
    names = ("the first column", "the second column") if rows else ("the first row", "the second row")
    return Source(Edges.pairs(tails, heads, names, vertices), Nodes(vertices))


def _table(table: Any, ends: tuple[Hashable, Hashable] | None) -> Source:
    if hasattr(table, "iloc"):
        if ends is not None:
            for name in ends:
                if name not in table.columns:
                    raise UsageError(f"no column {name!r}; expected one of {', '.join(map(repr, table.columns))}")
                if list(table.columns).count(name) > 1:
                    raise UsageError(f"several columns {name!r}; expected one")
            table = table[list(ends)]
        if len(table.columns) == 2:
            # Columns of NumPy need no Arrow.
            first, second = (table.iloc[:, place] for place in (0, 1))
            names = (str(table.columns[0]), str(table.columns[1]))
            if all(
                getattr(column.dtype, "kind", "") in ("i", "u") and not column.hasnans for column in (first, second)
            ):
                return Source(Edges.pairs(_column(first, names[0]), _column(second, names[1]), names, None))
            table = table.set_axis(list(names), axis=1)
            ends = None
        # A table of pandas would bring its index as a column.
        table = table.reset_index(drop=True)
    if not hasattr(table, "__arrow_c_stream__"):
        raise TypeError(
            f"a table of the type {_name(table)} without __arrow_c_stream__, which pandas has from version 2.2 on"
        )
    try:
        stream = table.__arrow_c_stream__()
    except (TypeError, ValueError) as error:
        # If the objects of a column have several types, Arrow names the column and the first object that does not fit.
        found = "; ".join(map(str, error.args))
        raise UsageError(f"table: {found}; expected two columns of integers, or two of text") from error
    # A table without a length is a stream, which can be read once and has no rows afterwards.
    chosen = None if ends is None else (str(ends[0]), str(ends[1]))
    edges = Edges.table(stream, chosen, once=not hasattr(table, "__len__"))
    return Source(edges, Nodes(labels=edges.labels))


def _matrix(matrix: Any) -> Source:
    if matrix.format not in ("csr", "csc", "coo"):
        raise UsageError(
            f"a sparse matrix in the format {matrix.format}; expected csr, csc or coo; convert it: matrix.tocsr()"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"a matrix of shape {matrix.shape}; expected a square one, the adjacency matrix of a graph")
    vertices = int(matrix.shape[0])
    if matrix.format == "coo":
        row, col = _column(matrix.row, "row"), _column(matrix.col, "col")
        return Source(Edges.pairs(row, col, ("row", "col"), vertices), Nodes(vertices))
    indptr, indices = _column(matrix.indptr, "indptr"), _column(matrix.indices, "indices")
    if len(indptr) != vertices + 1:
        raise DataError(f"indptr: {len(indptr)} numbers; expected {vertices + 1}, one more than there are rows")
    # SciPy lets the arrays be longer than the matrix.
    return Source(Edges.matrix(indptr, indices[: max(int(indptr[-1]), 0)]), Nodes(vertices))


def _networkx(graph: Any) -> Source | None:
    if not (hasattr(graph, "adjacency") and hasattr(graph, "is_multigraph")):
        return None
    import numpy

    nodes, rows = [], []
    for node, neighbours in graph.adjacency():
        nodes.append(node)
        rows.append(neighbours)
    numbered = all(type(node) is int and node == place for place, node in enumerate(nodes))
    index = None if numbered else {node: place for place, node in enumerate(nodes)}
    indptr = numpy.zeros(len(nodes) + 1, numpy.int64)
    numpy.cumsum(numpy.fromiter(map(len, rows), numpy.int64, len(nodes)), out=indptr[1:])
    heads: Iterable[Any] = chain.from_iterable(rows)
    if index is not None:
        heads = map(index.__getitem__, heads)
    indices = numpy.fromiter(heads, numpy.int64, int(indptr[-1]))
    labels = None if numbered else nodes
    return Source(Edges.matrix(indptr, indices), Nodes(len(nodes), labels, read=(indptr, indices)))


def watched(graph: Any) -> Callable[[], bool] | None:
    """A function that says whether a graph of NetworkX is unchanged since now; ``None``: it has to be read again.

    From version 3.3 on, NetworkX empties a dictionary of the graph when it is changed, but not if the change fails
    midway; then the number of nodes or of their neighbours is another one.
    """
    cache = getattr(graph, "__networkx_cache__", None)
    # A view has a dictionary of its own, which changes of its graph do not empty.
    if not (isinstance(cache, dict) and hasattr(graph, "adjacency")) or hasattr(graph, "_graph"):
        return None

    def size() -> tuple[int, int] | None:
        try:
            return len(graph), sum(len(neighbours) for _, neighbours in graph.adjacency())
        except RuntimeError:
            # Another thread is changing it.
            return None

    mark, before = cache.setdefault("trimill", object()), size()
    return lambda: before is not None and cache.get("trimill") is mark and size() == before


def _igraph(graph: Any) -> Source | None:
    if not (hasattr(graph, "get_edgelist") and hasattr(graph, "vcount")):
        return None
    import numpy

    edges = graph.get_edgelist()
    ends = numpy.fromiter(chain.from_iterable(edges), numpy.int64, 2 * len(edges)).reshape(-1, 2)
    vertices = int(graph.vcount())
    return Source(
        Edges.pairs(ends[:, 0], ends[:, 1], ("the sources", "the targets"), vertices), Nodes(vertices, read=(ends,))
    )


def _networkit(graph: Any) -> Source | None:
    if not (hasattr(graph, "iterEdges") and hasattr(graph, "upperNodeIdBound")):
        return None
    import numpy

    ends = numpy.fromiter(chain.from_iterable(graph.iterEdges()), numpy.int64).reshape(-1, 2)
    vertices = int(graph.upperNodeIdBound())
    # Nodes that were removed leave gaps.
    nodes = numpy.fromiter(graph.iterNodes(), numpy.int64)
    ids = None if len(nodes) == vertices else nodes.astype(numpy.uint64)
    edges = Edges.pairs(ends[:, 0], ends[:, 1], ("the sources", "the targets"), vertices)
    return Source(edges, Nodes(vertices, ids=ids, read=(ends, nodes)))


def _column(column: Any, name: str) -> NDArray[Any]:
    """``column`` as an array of one dimension, over the same memory."""
    array = _integers(column, name)
    if array.ndim != 1:
        raise UsageError(
            f"{name}: an array of shape {array.shape}; expected one dimension; "
            "the edges in the rows of an array are (array[:, 0], array[:, 1])"
        )
    return array


def _integers(column: Any, name: str) -> NDArray[Any]:
    """``column`` as an array of NumPy over the same memory."""
    import numpy

    if isinstance(column, numpy.ma.MaskedArray) and numpy.ma.is_masked(column):
        found = f"{name}: masked entries"
        raise DataError(f"{found}; expected a vertex in every place; drop them: {_without_masked(column)}")
    if isinstance(column, numpy.ndarray):
        array = numpy.asarray(column)
    elif hasattr(column, "__dlpack__") and hasattr(column, "__dlpack_device__"):
        array = _from_dlpack(column, name)
    elif hasattr(column, "__array__") or hasattr(column, "__array_interface__"):
        array = numpy.asarray(column)
    else:
        raise TypeError(
            f"{name}: an object of the type {_name(column)}; expected an array of integers: numpy.asarray(..)"
        )
    if array.dtype.kind not in "iu":
        nulls = getattr(column, "null_count", 0)
        nulls = nulls() if callable(nulls) else nulls
        if getattr(column, "hasnans", False) or (isinstance(nulls, int) and nulls > 0):
            raise DataError(f"{name}: a missing value; expected a vertex in every place; drop such edges first")
        found = f"{name}: an array of {array.dtype}"
        raise UsageError(f"{found}; expected integers; if that is what it holds, convert it: array.astype('int64')")
    if not array.dtype.isnative or not array.flags.aligned:
        found = "in the other byte order" if not array.dtype.isnative else "that is not aligned"
        raise UsageError(f"{name}: an array {found}; convert it: array.astype('{array.dtype.newbyteorder('=').name}')")
    return array


def _without_masked(column: Any) -> str:
    """Code that drops the edges with a masked end."""
    if column.ndim == 2:
        return f"numpy.ma.compress_{'rows' if column.shape[1] == 2 else 'cols'}(array)"
    return (
        "keep = ~(numpy.ma.getmaskarray(u) | numpy.ma.getmaskarray(v)); "
        "(numpy.ma.getdata(u)[keep], numpy.ma.getdata(v)[keep])"
    )


def _from_dlpack(column: Any, name: str) -> NDArray[Any]:
    import numpy

    device, _ = column.__dlpack_device__()
    if int(device) != _CPU:
        raise UsageError(f"{name}: an array on a device; expected one in the memory of the CPU; copy it there first")
    try:
        array: NDArray[Any] = numpy.from_dlpack(column)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"{name}: {_name(column)} is not shared ({error}); expected an array of integers") from error
    return array


def _name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
