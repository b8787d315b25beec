"""The truss decomposition: the edges of `networkx.k_truss` for every k, and graphs whose trusses are known."""

import copy
import pickle

import networkx
import numpy
import pandas
import pytest
from conftest import columns_of, complete, triangles_of

import trimill


def trussness_of(graph):
    """The trussness of each edge of a graph of NetworkX, by its k-truss for every k. Each contains the next."""
    found, k = {}, 2
    while graph.number_of_edges():
        found |= {(min(edge), max(edge)): k for edge in graph.edges}
        k += 1
        graph = networkx.k_truss(graph, k)
    return found


def listed(trusses):
    """The trussness of each edge of an answer."""
    columns = (trusses[name].tolist() for name in ("u", "v", "trussness"))
    return {(u, v): k for u, v, k in zip(*columns, strict=True)}


def sizes_of(trussness):
    """The vertices and edges of the truss of each k at which edges fall."""
    trusses = {k: [edge for edge, of in trussness.items() if of >= k] for k in sorted(set(trussness.values()))}
    return [(k, len({end for edge in edges for end in edge}), len(edges)) for k, edges in trusses.items()]


def agrees(trusses, expected):
    """Whether an answer has this trussness, in the order of the ids, and the sizes that follow from it."""
    assert listed(trusses) == expected
    assert list(zip(trusses.u.tolist(), trusses.v.tolist(), strict=True)) == sorted(expected)
    assert [(size.k, size.vertices, size.edges) for size in trusses.by_k] == sizes_of(expected)
    assert trusses.largest_k == max(expected.values(), default=0)
    return True


def test_random_graphs(random_graph):
    trusses = trimill.truss(columns_of(random_graph))
    assert agrees(trusses, trussness_of(random_graph))
    assert trusses.result.triangles == triangles_of(random_graph)


def test_peeling_ends_at_a_k(random_graph):
    expected = trussness_of(random_graph)
    most = max(expected.values())
    for k in range(3, most + 3):
        trusses = trimill.truss(columns_of(random_graph), k=k)
        edges = {(min(edge), max(edge)) for edge in networkx.k_truss(random_graph, k).edges}
        assert listed(trusses) == dict.fromkeys(edges, k)
        assert trusses.largest_k == min(k, most) and trusses.result.truss.until == k
        below = {edge: min(of, k) for edge, of in expected.items()}
        assert [(size.k, size.vertices, size.edges) for size in trusses.by_k] == sizes_of(below)


def test_a_graph_without_edges():
    none = numpy.array([], "int32")
    for settings in [{}, {"k": 3}]:
        assert agrees(trimill.truss((none, none), **settings), {})


def test_what_is_returned(tmp_path):
    trusses = trimill.truss(complete(5), work_dir=tmp_path / "tmp", by_k=tmp_path / "k.tsv")
    assert not list((tmp_path / "tmp").iterdir())
    assert (tmp_path / "k.tsv").read_text() == "k\tvertices\tedges\n5\t5\t10\n"
    assert [column.dtype.name for column in trusses.values()] == ["uint64", "uint64", "uint32"]
    assert list(pandas.DataFrame(trusses).columns) == ["u", "v", "trussness"]
    assert pandas.DataFrame(trusses.by_k).edges.tolist() == [10]
    assert repr(trusses) == "<trimill.Trusses: 10 edges, largest k 5>"
    for made in [copy.deepcopy(trusses), pickle.loads(pickle.dumps(trusses))]:
        assert type(made) is trimill.Trusses and listed(made) == listed(trusses) and made.result == trusses.result
    with pytest.raises(ValueError, match="read-only"):
        trusses.trussness[0] = 7
    for name in ["u", "largest_k", "by_k"]:
        with pytest.raises(TypeError, match="cannot be changed"):
            setattr(trusses, name, 7)


def test_the_sizes_alone():
    answer = trimill.count(complete(5), truss=True)
    assert answer.truss.by_k == trimill.truss(complete(5)).by_k
    assert trimill.count(complete(5)).truss is None
