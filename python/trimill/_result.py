"""What the functions return: the fields of the library's reports, from their JSON.

So new fields appear by themselves.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Self


class Record(dict[str, Any]):
    """Fields by name: ``record["arcs"]``, or ``record.arcs``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain dictionaries and lists."""
        plain: dict[str, Any] = json.loads(self.to_json())
        return plain

    def to_json(self) -> str:
        """The fields as JSON, as ``trimill count --json`` prints them; numbers are exact."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record whose :meth:`to_json` is ``text``."""
        return cls(json.loads(text, object_hook=Record))


class Result(Record):
    """The result of a count: all fields of ``docs/result.md``.

    Counts are of Python's ``int``, exact up to 128 bits; sizes are in bytes, times in seconds.
    """

    if TYPE_CHECKING:
        triangles: int
        vertices: int
        edges: int
        wedges: int
        #: ``3 * triangles / wedges``.
        transitivity: float
        #: One record for each partition, with its sizes, memory and time: ``pandas.DataFrame(answer.partitions)``.
        partitions: list[Record]
        backend: str
        method: str
        device_memory: int
        host_memory: int
        seconds: float

    def __repr__(self) -> str:
        return (
            f"<trimill.Result: {self.triangles:,} triangles, {self.vertices:,} vertices, {self.edges:,} edges, "
            f"transitivity {self.transitivity:.6g}, {_partitions(self)}, {self.seconds:.3g} s>"
        )


class Plan(Record):
    """What a count would take: the fields that ``trimill plan --json`` prints. Sizes are in bytes."""

    if TYPE_CHECKING:
        #: Whether every partition fits the budgets.
        fits: bool
        vertices: int
        edges: int
        #: One record for each partition, with its predicted sizes: ``pandas.DataFrame(plan.partitions)``.
        partitions: list[Record]
        device_memory: int
        #: The least ``device_memory`` with which this graph can be counted.
        smallest_device_memory: int
        host_memory: int

    def __repr__(self) -> str:
        fits = "fit" if self.fits else "do not fit"
        return (
            f"<trimill.Plan: {self.vertices:,} vertices, {self.edges:,} edges, {_partitions(self)}, which {fits} "
            f"{self.device_memory:,} bytes; the least are {self.smallest_device_memory:,}>"
        )


class _Columns(dict[str, "NDArray[Any]"]):
    """Columns of one length by name, and the result of the count that they come from."""

    def __init__(self, columns: dict[str, NDArray[Any]], result: Result) -> None:
        super().__init__(columns)
        #: The result of the count.
        self.result = result


class Vertices(_Columns):
    """The vertices with an edge, in the order of their ids; ``n`` is their number.

    A dictionary of four columns, which are attributes, too: ``pandas.DataFrame(vertices)``.
    """

    @property
    def id(self) -> NDArray[numpy.uint64]:
        """Ids of the input, of shape ``(n,)``; for a matrix the numbers of its rows."""
        return self["id"]

    @property
    def degree(self) -> NDArray[numpy.uint32]:
        """Neighbours of each vertex, of shape ``(n,)``."""
        return self["degree"]

    @property
    def triangles(self) -> NDArray[numpy.uint64]:
        """Triangles with a corner at each vertex, of shape ``(n,)``."""
        return self["triangles"]

    @property
    def coefficient(self) -> NDArray[numpy.float64]:
        """Local clustering coefficients, of shape ``(n,)``: triangles divided by the pairs of neighbours.

        It is 0 for degree 1.
        """
        return self["coefficient"]

    def __repr__(self) -> str:
        return f"<trimill.Vertices: {len(self.id):,} vertices, {self.result.triangles:,} triangles>"


class Trusses(_Columns):
    """The edges of a graph and their trussness; ``m`` is their number.

    A dictionary of three columns, which are attributes, too: ``pandas.DataFrame(trusses)``. Edges are in the order of
    ``u``, then ``v``. The arrays cannot be written.
    """

    def __init__(self, columns: dict[str, NDArray[Any]], result: Result) -> None:
        super().__init__(columns, result)
        for column in columns.values():
            column.flags.writeable = False

    @property
    def u(self) -> NDArray[numpy.uint64]:
        """The smaller end of each edge, of shape ``(m,)``: ids of the input, for a matrix the numbers of its rows."""
        return self["u"]

    @property
    def v(self) -> NDArray[numpy.uint64]:
        """The larger end of each edge, of shape ``(m,)``."""
        return self["v"]

    @property
    def trussness(self) -> NDArray[numpy.uint32]:
        """The largest k whose truss has the edge, of shape ``(m,)``; it is 2 for an edge in no triangle."""
        return self["trussness"]

    @property
    def largest_k(self) -> int:
        """The largest k whose truss has an edge, or the ``k`` at which peeling ended; 0 without edges."""
        largest: int = self.result.truss.largest_k
        return largest

    @property
    def by_k(self) -> list[Record]:
        """The sizes of the trusses, by rising k: ``pandas.DataFrame(trusses.by_k)``.

        One record for each, with ``k``, ``vertices`` and ``edges``. Where the trusses of several k are the same, there
        is one record, with the largest of these k.
        """
        sizes: list[Record] = self.result.truss.by_k
        return sizes

    def __repr__(self) -> str:
        return f"<trimill.Trusses: {len(self.u):,} edges, largest k {self.largest_k:,}>"


def _partitions(report: Result | Plan) -> str:
    count = len(report.partitions)
    return f"{count:,} partition{'s' if count != 1 else ''}"
