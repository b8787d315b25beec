"""What the functions return: the fields of the library's reports, from their JSON, and columns of counts.

None of it can be changed.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias, TypeVar, Union

from trimill._errors import Error

_Value = TypeVar("_Value")

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Self

    #: Vertices by their ids, or by their names where they have names.
    _Names: TypeAlias = Union[NDArray[numpy.uint64], NDArray[numpy.object_]]
    #: A column of counts.
    _Column: TypeAlias = Union[_Names, NDArray[numpy.uint32], NDArray[numpy.int64], NDArray[numpy.float64]]


class _Constant(dict[str, _Value]):
    """A dictionary that cannot be changed, whose values are attributes, too."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed; make a dictionary of it: dict(..)")

    __setitem__ = __delitem__ = __setattr__ = __delattr__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            try:
                return self[name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None


class Record(_Constant[object]):
    """Fields by name: ``record["arcs"]``, or ``record.arcs``."""

    #: The classes of fields that are records.
    _classes: ClassVar[dict[str, type[Record]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (dict(self),)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def to_dict(self) -> dict[str, object]:
        """The fields as plain dictionaries and lists."""
        plain: dict[str, object] = json.loads(self.to_json())
        return plain

    def to_json(self) -> str:
        """The fields as JSON, as ``trimill count --json`` prints them; numbers are exact."""
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The record whose :meth:`to_json` is ``text``."""
        return cls._of(json.loads(text))

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> Self:
        return cls({name: _fixed(value, cls._classes.get(name, Record)) for name, value in fields.items()})


def _fixed(value: Any, of: type[Record]) -> Any:
    """A value of JSON, with its dictionaries as records and its lists as tuples."""
    if isinstance(value, dict):
        return value if isinstance(value, Record) else of._of(value)
    return tuple(_fixed(item, of) for item in value) if isinstance(value, list) else value


class Input(Record):
    """The input, and what cleaning it removed and added."""

    if TYPE_CHECKING:
        #: The vertices that the input says it has.
        vertices_declared: int | None
        arcs: int
        loops_removed: int
        duplicates_removed: int
        arcs_added: int
        arcs_without_reverse: int


class Partition(Record):
    """The sizes of a partition, in bytes where the name says so."""

    if TYPE_CHECKING:
        id: int
        local_vertices: int
        proxies_induced: int
        proxies_kept: int
        arcs_induced: int
        arcs_kept: int
        resident_bytes: int
        row_blocks: int
        largest_block_bytes: int
        spill_bytes: int
        stream_bytes: int
        peak_bytes_predicted: int


class PlannedPartition(Partition):
    """A partition that would be counted."""

    if TYPE_CHECKING:
        fits: bool


class CountedPartition(Partition):
    """A partition that was counted."""

    if TYPE_CHECKING:
        peak_bytes: int
        triangles: int
        seconds: float
        #: The GPU, by the driver's number.
        device: int | None
        #: Whether an earlier start counted it.
        resumed: bool


class Stage(Record):
    """A step, from reading to counting."""

    if TYPE_CHECKING:
        name: str
        seconds: float
        bytes_in: int
        bytes_out: int


class Device(Record):
    """What a GPU did."""

    if TYPE_CHECKING:
        device: int
        name: str
        partitions: int
        triangles: int
        stream_bytes: int
        seconds: float
        budget_bytes: int
        peak_bytes: int
        context_bytes: int
        used_bytes: int


class Quantile(Record):
    """At least ``share`` of the vertices have no more triangles, and no larger coefficient."""

    if TYPE_CHECKING:
        share: float
        triangles: int
        local: float


class AllVertices(Record):
    """The file of the setting ``lcc``: the local clustering coefficients of all vertices, also without an edge."""

    if TYPE_CHECKING:
        #: Whether arcs between neighbours count by their direction.
        directed: bool
        vertices: int
        average: float


class Clustering(Record):
    """What the triangles at all vertices say of the graph.

    Both averages leave out vertices without an edge; with them it is :meth:`trimill.Graph.average_clustering`.
    """

    _classes = {"quantiles": Quantile, "lcc": AllVertices}

    if TYPE_CHECKING:
        #: The average of the local clustering coefficients over the vertices of degree 2 and more.
        average_clustering_of_degree_2: float
        #: The average of the coefficients over all vertices with an edge; vertices of degree 1 have 0.
        average_clustering: float
        vertices_of_degree_2: int
        vertices_in_triangles: int
        most_triangles: int
        #: None where ids are names.
        most_triangles_vertex: int | None
        #: Its name as text; only where ids are names.
        most_triangles_name: str
        quantiles: tuple[Quantile, ...]
        #: With the setting ``lcc``.
        lcc: AllVertices | None


class Truss(Record):
    """The size of a truss."""

    if TYPE_CHECKING:
        k: int
        vertices: int
        edges: int


class TrussSizes(Record):
    """The sizes of all trusses, and what peeling took."""

    _classes = {"by_k": Truss}

    if TYPE_CHECKING:
        largest_k: int
        by_k: tuple[Truss, ...]
        levels: int
        rounds: int
        #: The k at whose truss peeling ended.
        until: int | None


class Method(Record):
    """A method between which ``auto`` chose."""

    if TYPE_CHECKING:
        method: str
        seconds: float | None


class Result(Record):
    """The result of a count: all fields of ``docs/result.md``.

    Counts are of Python's ``int``, exact up to 128 bits; sizes are in bytes, times in seconds.
    """

    _classes = {
        "input": Input,
        "partitions": CountedPartition,
        "stages": Stage,
        "devices": Device,
        "methods": Method,
        "clustering": Clustering,
        "truss": TrussSizes,
    }

    if TYPE_CHECKING:
        schema_version: int
        version: str
        job: str | None
        triangles: int
        #: Vertices with an edge.
        vertices: int
        edges: int
        #: Paths of two edges.
        wedges: int
        #: ``3 * triangles / wedges``.
        transitivity: float
        input: Input
        backend: str
        method: str
        partitioner: str
        prune: str
        parts: int
        #: One record for each partition, with its sizes, memory and time: ``pandas.DataFrame(answer.partitions)``.
        partitions: tuple[CountedPartition, ...]
        stages: tuple[Stage, ...]
        peak_host_bytes: int
        driver_host_bytes: int
        device_memory: int
        host_memory: int
        duplication: float
        compression_ratio: float | None
        seed: int
        seconds: float
        devices: tuple[Device, ...]
        mode: str
        methods: tuple[Method, ...]
        #: With the setting ``clustering``.
        clustering: Clustering | None
        #: With the setting ``truss``.
        truss: TrussSizes | None
        degrees: tuple[Record, ...] | None
        timeline: Record | None

    def __repr__(self) -> str:
        return (
            f"<trimill.Result: {self.triangles:,} triangles, {self.vertices:,} vertices, {self.edges:,} edges, "
            f"transitivity {self.transitivity:.6g}, {_partitions(self)}, {self.seconds:.3g} s>"
        )

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        peak = max((partition.peak_bytes for partition in self.partitions), default=0)
        return _table_of(
            {
                "triangles": f"{self.triangles:,}",
                "vertices": f"{self.vertices:,}",
                "edges": f"{self.edges:,}",
                "transitivity": f"{self.transitivity:.6g}",
                "counted": f"in {_partitions(self)}, {self.backend}, method {self.method}",
                "memory": f"{_bytes(peak)} of {_bytes(self.device_memory)} for counting",
                "time": f"{self.seconds:.3g} s",
            }
        )


def result_of(text: str, labels: Sequence[Hashable] | None) -> Result:
    """The result of a count from its JSON; where ids have ``labels``, the vertex that it names has its label."""
    fields = json.loads(text)
    clustering = fields.get("clustering")
    if labels is not None and clustering and clustering["most_triangles_vertex"] is not None:
        clustering["most_triangles_name"] = str(labels[clustering["most_triangles_vertex"]])
        clustering["most_triangles_vertex"] = None
    return Result._of(fields)


@contextmanager
def naming(labels: Sequence[Hashable] | None) -> Iterator[None]:
    """Gives the result that comes with an error its labels, as :func:`result_of` does."""
    try:
        yield
    except Error as error:
        if error.result is not None:
            error.result = result_of(error.result.to_json(), labels)
        raise


class HostFloor(Record):
    """The smallest budget of the host's memory for a stage."""

    if TYPE_CHECKING:
        stage: str
        bytes: int
        parts: tuple[Record, ...]


class Preparing(Record):
    """What preparing a graph takes."""

    if TYPE_CHECKING:
        passes: int
        scratch_bytes: int
        seconds: float


class Alternative(Record):
    """What a plan with a given number of parts takes, for comparison."""

    if TYPE_CHECKING:
        parts: int
        largest_arcs_kept: int
        largest_vertices_kept: int
        duplication: float
        largest_peak_bytes: int
        stream_bytes: int
        fits: bool


class MoreMemory(Record):
    """A larger budget, and what a count would take with it."""

    _classes = {"preparing": Preparing}

    if TYPE_CHECKING:
        #: ``device`` or ``host``.
        budget: str
        bytes: int
        parts: int
        preparing: Preparing
        counting_seconds: float
        seconds: float


class Plan(Record):
    """What a count would take: the fields that ``trimill plan --json`` prints. Sizes are in bytes."""

    _classes = {
        "partitions": PlannedPartition,
        "host_floors": HostFloor,
        "preparing": Preparing,
        "alternatives": Alternative,
        "methods": Method,
        "more_memory": MoreMemory,
    }

    if TYPE_CHECKING:
        schema_version: int
        version: str
        job: str | None
        #: Whether every partition fits the budgets.
        fits: bool
        vertices: int
        edges: int
        backend: str
        method: str
        partitioner: str
        prune: str
        parts: int
        parts_reason: str
        #: One record for each partition, with its predicted sizes: ``pandas.DataFrame(plan.partitions)``.
        partitions: tuple[PlannedPartition, ...]
        device_memory: int
        #: The least ``device_memory`` with which this graph can be counted.
        smallest_device_memory: int
        block_bytes: int
        host_memory: int
        smallest_host_memory: int
        host_floors: tuple[HostFloor, ...]
        stream_bytes: int
        disk_bytes: int
        disks: tuple[Record, ...]
        graph_bytes: int
        preparing: Preparing
        counting_seconds: float
        peeling_seconds: float | None
        #: About what the whole job takes where the graph is not in the cache.
        seconds: float
        more_memory: tuple[MoreMemory, ...]
        duplication: float
        alternatives: tuple[Alternative, ...]
        advice: tuple[str, ...]
        mode: str
        estimates: Record | None
        methods: tuple[Method, ...]

    def __repr__(self) -> str:
        fits = "fit" if self.fits else "do not fit"
        return (
            f"<trimill.Plan: {self.vertices:,} vertices, {self.edges:,} edges, {_partitions(self)}, which {fits} "
            f"{self.device_memory:,} bytes; the least are {self.smallest_device_memory:,}>"
        )

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        return _table_of(
            {
                "vertices": f"{self.vertices:,}",
                "edges": f"{self.edges:,}",
                "partitions": f"{_partitions(self)}, which {'fit' if self.fits else 'do not fit'}",
                "memory": f"{_bytes(self.device_memory)}; the least are {_bytes(self.smallest_device_memory)}",
                "time": f"about {self.seconds:.2g} s",
            }
        )


class Columns(_Constant["_Column"]):
    """Columns of one length by name, and the result of the count that they come from: ``pandas.DataFrame(columns)``."""

    #: The result of the count.
    result: Result

    def __init__(self, columns: dict[str, _Column], result: Result) -> None:
        super().__init__(columns)
        for column in columns.values():
            column.flags.writeable = False
        self.__dict__["result"] = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self), self.result)

    def _repr_html_(self) -> str:
        """The summary, for notebooks."""
        return f"<p>{escape(repr(self)[1:-1])}</p>"


class Vertices(Columns):
    """All vertices of the graph, in the order of their ids; ``n`` is their number.

    A dictionary of four columns, which are attributes, too: ``pandas.DataFrame(vertices)``. Their arrays cannot be
    written.
    """

    if TYPE_CHECKING:
        #: Ids of the input, of shape ``(n,)``, or names; for a matrix the numbers of its rows.
        id: _Names
        #: Neighbours of each vertex, of shape ``(n,)``.
        degree: NDArray[numpy.int64]
        #: Triangles with a corner at each vertex, of shape ``(n,)``.
        triangles: NDArray[numpy.int64]
        #: Local clustering coefficients, of shape ``(n,)``: triangles divided by pairs of neighbours; 0 without pairs.
        coefficient: NDArray[numpy.float64]

    def __repr__(self) -> str:
        return f"<trimill.Vertices: {len(self['id']):,} vertices, {self.result.triangles:,} triangles>"


class EdgeColumns(Columns):
    """The edges of a graph, with a number on each: a dictionary of three columns of shape ``(m,)``.

    Columns are attributes, too. Edges are in the order of ``u``, then ``v``. The arrays cannot be written.
    """

    if TYPE_CHECKING:
        #: The end with the smaller id of each edge: ids of the input, or names; for a matrix the numbers of its rows.
        u: _Names
        #: The end with the larger id of each edge.
        v: _Names


class Supports(EdgeColumns):
    """The edges of a graph and the triangles on them: ``pandas.DataFrame(supports)``."""

    if TYPE_CHECKING:
        #: The triangles on each edge, of shape ``(m,)``.
        triangles: NDArray[numpy.uint32]

    def __repr__(self) -> str:
        return f"<trimill.Supports: {len(self['u']):,} edges, {self.result.triangles:,} triangles>"


class Trusses(EdgeColumns):
    """The edges of a graph and their trussness: ``pandas.DataFrame(trusses)``."""

    if TYPE_CHECKING:
        #: The largest k whose truss has the edge, of shape ``(m,)``; it is 2 for an edge in no triangle.
        trussness: NDArray[numpy.uint32]

    @property
    def largest_k(self) -> int:
        """The largest k whose truss has an edge, or the ``k`` at which peeling ended; 0 without edges."""
        return self.result.truss.largest_k if self.result.truss else 0

    @property
    def by_k(self) -> tuple[Truss, ...]:
        """The sizes of the trusses, by rising k: ``pandas.DataFrame(trusses.by_k)``.

        One record for each, with ``k``, ``vertices`` and ``edges``. Where the trusses of several k are the same, there
        is one record, with the largest of these k.
        """
        return self.result.truss.by_k if self.result.truss else ()

    def __repr__(self) -> str:
        return f"<trimill.Trusses: {len(self['u']):,} edges, largest k {self.largest_k:,}>"


def _partitions(report: Result | Plan) -> str:
    count = len(report.partitions)
    return f"{count:,} partition{'s' if count != 1 else ''}"


def _bytes(count: int) -> str:
    """A size with its unit, as the program prints it."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"


def _table_of(rows: dict[str, str]) -> str:
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"
