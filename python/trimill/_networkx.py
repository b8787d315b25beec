"""The backend of NetworkX: its functions for triangles and clustering, for undirected graphs without weights.

NetworkX finds it by the entry points of the package. It converts a graph once and keeps that until the graph changes,
and the converted graph keeps its answers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from trimill._graph import Graph

if TYPE_CHECKING:
    from trimill._graphs import NetworkXGraph

#: A node, nodes, or all nodes.
_Nodes: TypeAlias = Any

#: NetworkX counts smaller graphs before they are converted.
_FEW_EDGES = 500


class ConvertedGraph:
    """A graph of NetworkX that trimill has prepared."""

    __networkx_backend__ = "trimill"

    def __init__(self, graph: NetworkXGraph) -> None:
        #: What a result that is the graph itself is converted back to.
        self.original = graph
        # Prepares the graph now, since the original may change before the first question.
        len(self)

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.original, follow=False)

    @cached_property
    def _adj(self) -> dict[Hashable, int]:
        """The place of each node, in the order of the graph; NetworkX's functions find them under this name."""
        nodes = self.graph.vertices.tolist()
        return dict(zip(nodes, range(len(nodes)), strict=True))

    def __getstate__(self) -> dict[str, object]:
        """NetworkX copies and pickles what it keeps with a graph; a copy is prepared when it is first asked."""
        return {"original": self.original}

    def is_directed(self) -> bool:
        return False

    def is_multigraph(self) -> bool:
        return False

    def __contains__(self, node: object) -> bool:
        try:
            return node in self._adj
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._adj)

    def __len__(self) -> int:
        return len(self._adj)

    def of(self, nodes: _Nodes, numbers: list[Any]) -> Any:
        """The number of a node, or a dictionary with those of several, in their order."""
        if nodes is None:
            return dict(zip(self._adj, numbers, strict=True))
        if nodes in self:
            return numbers[self._adj[nodes]]
        import networkx

        # As NetworkX reads them: any iterable, whose elements that are not nodes of the graph are ignored.
        found: Iterator[Hashable] = networkx.Graph.nbunch_iter(self, nodes)
        return {node: numbers[self._adj[node]] for node in found}


def triangles(G: ConvertedGraph, nodes: _Nodes = None) -> Any:
    return G.of(nodes, G.graph.triangles().tolist())


def clustering(G: ConvertedGraph, nodes: _Nodes = None, weight: str | None = None) -> Any:
    return G.of(nodes, G.graph.clustering().tolist())


def average_clustering(
    G: ConvertedGraph, nodes: _Nodes = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    coefficients = list(clustering(G, nodes).values())
    if not count_zeros:
        coefficients = [coefficient for coefficient in coefficients if coefficient > 0]
    average: float = sum(coefficients) / len(coefficients)
    return average


def transitivity(G: ConvertedGraph) -> float:
    return G.graph.transitivity()


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a call can be answered here, or why not."""
    given = _arguments(args, kwargs)
    graph = given["G"]
    if graph.is_directed():
        return "the graph is directed, and trimill counts undirected graphs"
    if graph.is_multigraph():
        return "the graph is a multigraph, and trimill counts simple graphs"
    if hasattr(graph, "_graph"):
        # After a change of the graph behind the view, NetworkX would go on using the graph as it was converted before.
        return "the graph is a view, of whose changes NetworkX does not tell"
    if given.get("weight") is not None:
        return "a weight is given, and trimill counts without weights"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Whether a call is answered here sooner than by NetworkX, or why not."""
    given = _arguments(args, kwargs)
    graph, nodes = given["G"], given.get("nodes")
    if isinstance(graph, ConvertedGraph):
        return True
    if graph.number_of_edges() < _FEW_EDGES:
        return f"a graph of fewer than {_FEW_EDGES} edges takes less time than its conversion"
    if nodes is not None and nodes in graph:
        return "one node takes less time than the conversion of the graph"
    return True


def _arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names, which are the same for all functions."""
    return {**dict(zip(("G", "nodes", "weight", "count_zeros"), args, strict=False)), **kwargs}


def convert_from_nx(graph: Any, **_: object) -> ConvertedGraph:
    """Prepares a graph; its attributes are of no use here.

    :raises NotImplementedError: a directed graph or a multigraph
    """
    if isinstance(graph, ConvertedGraph):
        return graph
    if graph.is_directed() or graph.is_multigraph():
        raise NotImplementedError("trimill converts undirected simple graphs of NetworkX only")
    return ConvertedGraph(graph)


def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
    """The graph of NetworkX that was converted, with its weights and loops; other results unchanged."""
    return result.original if isinstance(result, ConvertedGraph) else result


def info() -> dict[str, object]:
    """What NetworkX tells its users of this backend."""
    functions = {
        "average_clustering": "Weighted and directed graphs and multigraphs are left to NetworkX.",
        "clustering": "Weighted and directed graphs and multigraphs are left to NetworkX.",
        "transitivity": "Directed graphs and multigraphs are left to NetworkX.",
        "triangles": "Multigraphs are left to NetworkX.",
    }
    return {
        "backend_name": "trimill",
        "package": "trimill",
        "project": "trimill",
        "short_summary": "Counts triangles exactly, on all cores or a GPU, also of graphs larger than its memory.",
        "functions": {name: {"additional_docs": docs} for name, docs in functions.items()},
    }
