"""From the objects of callers to edges that the compiled part reads: paths, arrays, matrices, tables.

What an object is, is decided by its attributes, so no other package is imported for it. What could be meant in two ways
is refused.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

from trimill._errors import DataError, UsageError
from trimill._native import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Table(Protocol):
    """A table with Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Matrix(Protocol):
    """A sparse matrix of SciPy."""

    @property
    def format(self) -> str: ...
    def tocsr(self) -> Any: ...


FilePath: TypeAlias = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
#: What can be counted.
Graph: TypeAlias = Union[FilePath, "list[FilePath]", Matrix, "tuple[Any, Any]", Table]

_PATHS = (str, bytes, os.PathLike)

#: The device of memory of the CPU in DLPack.
_CPU = 1


def edges_of(graph: Graph) -> Edges:
    """The edges of a graph.

    :raises TypeError: an object that is no graph
    :raises UsageError: arrays, matrices or tables that hold no ids
    :raises DataError: arrays, matrices or tables whose numbers are no edges
    """
    if isinstance(graph, _PATHS):
        return _files([graph])
    if isinstance(graph, list) and graph and all(isinstance(path, _PATHS) for path in graph):
        return _files(graph)
    if isinstance(graph, tuple) and len(graph) == 2:
        names = ("the first array", "the second array")
        return Edges.pairs(_column(graph[0], names[0]), _column(graph[1], names[1]), names, None)
    if hasattr(graph, "tocsr") and hasattr(graph, "format"):
        return _matrix(graph)
    if hasattr(graph, "__arrow_c_stream__"):
        # A table of pandas would bring its index as a column.
        table = graph.reset_index(drop=True) if hasattr(graph, "reset_index") else graph
        # What has no length is a stream. It can be read once, and has no rows afterwards.
        return Edges.table(table.__arrow_c_stream__(), once=not hasattr(table, "__len__"))
    raise TypeError(f"cannot count an object of the type {_name(graph)}; {_advice(graph)}")


def _files(paths: list[FilePath]) -> Edges:
    names = [os.fsencode(path) for path in paths]
    if b"-" in names:
        raise UsageError("standard input cannot be counted from Python; expected the path of a file")
    return Edges.files([os.fsdecode(name) for name in names])


def _matrix(matrix: Any) -> Edges:
    if matrix.format not in ("csr", "csc", "coo"):
        raise UsageError(
            f"a sparse matrix in the format {matrix.format}; expected csr, csc or coo; convert it: matrix.tocsr()"
        )
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(f"a matrix of shape {matrix.shape}; expected a square one, the adjacency matrix of a graph")
    if matrix.format == "coo":
        row, col = _column(matrix.row, "row"), _column(matrix.col, "col")
        return Edges.pairs(row, col, ("row", "col"), matrix.shape[0])
    indptr, indices = _column(matrix.indptr, "indptr"), _column(matrix.indices, "indices")
    if len(indptr) != matrix.shape[0] + 1:
        raise DataError(f"indptr: {len(indptr)} numbers; expected {matrix.shape[0] + 1}, one more than there are rows")
    # SciPy lets the arrays be longer than the matrix.
    return Edges.matrix(indptr, indices[: max(int(indptr[-1]), 0)])


def _column(column: Any, name: str) -> NDArray[Any]:
    """``column`` as an array of NumPy over the same memory."""
    import numpy

    if isinstance(column, numpy.ma.MaskedArray) and numpy.ma.is_masked(column):
        raise DataError(f"{name}: masked entries; expected a vertex in every place; drop them: array.compressed()")
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
        found = f"{name}: an array of {array.dtype}"
        raise UsageError(f"{found}; expected integers; if that is what it holds, convert it: array.astype('int64')")
    if array.ndim != 1:
        raise UsageError(
            f"{name}: an array of shape {array.shape}; expected one dimension; "
            "the edges in the rows of an array are (array[:, 0], array[:, 1])"
        )
    if not array.dtype.isnative or not array.flags.aligned:
        found = "in the other byte order" if not array.dtype.isnative else "that is not aligned"
        raise UsageError(f"{name}: an array {found}; convert it: array.astype('{array.dtype.newbyteorder('=').name}')")
    return array


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


def _advice(graph: object) -> str:
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):
        return "convert it: networkx.to_scipy_sparse_array(graph, weight=None)"
    if hasattr(graph, "columns"):
        return "expected a table with __arrow_c_stream__, which pandas has from version 2.2 on"
    if hasattr(graph, "ndim"):
        return "the edges in the rows of an array are (array[:, 0], array[:, 1])"
    return "expected a path, a list of paths, a sparse matrix of SciPy, a tuple of two arrays, or a table"
