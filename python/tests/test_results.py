"""What the functions return."""

import copy
import json
import pickle

import networkx
import numpy
import pandas
import pytest
from conftest import DATA, columns_of, complete, triangles_of

import trimill


@pytest.fixture(scope="module")
def answer():
    """The count of a complete graph in several partitions."""
    return trimill.count(complete(40), partitioner="contiguous", parts=3, backend="cpu")


def test_numbers(answer):
    assert (answer.triangles, answer.vertices, answer.edges) == (40 * 39 * 38 // 6, 40, 40 * 39 // 2)
    assert (answer.wedges, answer.transitivity) == (40 * 39 * 38 // 2, 1.0)
    assert all(type(answer[name]) is int for name in ["triangles", "vertices", "edges", "wedges"])


def test_partitions_are_a_table(answer):
    table = pandas.DataFrame(answer.partitions)
    assert table.id.tolist() == [0, 1, 2]
    assert table.triangles.sum() == answer.triangles
    assert table.local_vertices.sum() == 40
    assert (table.peak_bytes <= answer.device_memory).all()
    assert answer.partitions[1].id == 1


def test_numbers_of_128_bits():
    text = json.dumps({"triangles": 2**127 + 1, "partitions": [{"id": 0}], "transitivity": 0.1})
    record = trimill.Result.from_json(text)
    assert record.triangles == 2**127 + 1
    assert json.loads(record.to_json())["triangles"] == 2**127 + 1


def test_as_dictionary_and_text(answer):
    plain = answer.to_dict()
    assert type(plain) is dict and type(plain["input"]) is dict and type(plain["partitions"][0]) is dict
    assert plain == answer == json.loads(answer.to_json())
    # The fields of the library's reports, with their names.
    documented = (DATA.parent.parent / "docs/result.md").read_text()
    for name in plain:
        assert f"| `{name}` |" in documented, name


def test_fields_that_are_not_there(answer):
    with pytest.raises(AttributeError, match="no field 'colour'"):
        getattr(answer, "colour")  # noqa: B009
    assert not hasattr(answer, "colour") and "triangles" in dir(answer)


def test_copies(answer):
    for made in [copy.deepcopy(answer), pickle.loads(pickle.dumps(answer)), copy.copy(answer)]:
        assert made == answer and type(made) is trimill.Result and made.input.arcs == answer.input.arcs


def test_what_is_printed(answer):
    shown = repr(answer)
    for words in ["trimill.Result", "9,880 triangles", "40 vertices", "780 edges", "transitivity 1,", "3 partitions"]:
        assert words in shown
    assert "1 partition, which fit" in repr(trimill.plan(complete(40)))


def test_plans():
    graph = complete(200)
    plan = trimill.plan(graph, device_memory="16MB", backend="cpu")
    assert plan.fits and plan.edges == 200 * 199 // 2 and plan.device_memory == 16_000_000
    least = plan.smallest_device_memory
    answer = trimill.count(graph, device_memory=least, backend="cpu")
    assert answer.triangles == 200 * 199 * 198 // 6
    assert max(partition.peak_bytes for partition in answer.partitions) <= least
    with pytest.raises(trimill.ResourceError):
        trimill.count(graph, device_memory=least - 1, backend="cpu")
    assert pandas.DataFrame(plan.partitions).local_vertices.sum() == 200


@pytest.mark.parametrize("form", ["matrix", "columns", "partitions"])
def test_clustering(random_graph, form):
    graph, settings = columns_of(random_graph), {}
    if form == "matrix":
        graph = networkx.to_scipy_sparse_array(random_graph)
    if form == "partitions":
        settings = {"parts": 4, "partitioner": "contiguous", "backend": "cpu"}
    vertices = trimill.clustering(graph, **settings)
    with_edge = sorted(v for v, degree in random_graph.degree if degree)
    assert vertices.id.tolist() == with_edge
    assert vertices.degree.tolist() == [random_graph.degree(v) for v in with_edge]
    assert vertices.triangles.tolist() == [networkx.triangles(random_graph, v) for v in with_edge]
    expected = [networkx.clustering(random_graph, v) for v in with_edge]
    numpy.testing.assert_allclose(vertices.coefficient, expected, rtol=1e-12)
    types = [vertices[name].dtype.name for name in ["id", "degree", "triangles", "coefficient"]]
    assert types == ["uint64", "uint32", "uint64", "float64"]
    assert vertices.result.triangles == triangles_of(random_graph)
    assert vertices.result.clustering.average_local_all == pytest.approx(sum(expected) / len(expected))
    table = pandas.DataFrame(vertices)
    assert list(table.columns) == ["id", "degree", "triangles", "coefficient"] and len(table) == len(with_edge)
    assert f"{len(with_edge):,} vertices" in repr(vertices)


def test_clustering_leaves_no_file(tmp_path):
    trimill.clustering(complete(5), work_dir=tmp_path)
    assert not list((tmp_path / "tmp").iterdir())
    assert {path.name for path in tmp_path.iterdir()} <= {"tmp", "cache"}


@pytest.mark.parametrize("settings", [{"per_vertex": "v.tsv"}, {"run_dir": "run"}])
def test_settings_that_clustering_does_not_have(settings):
    with pytest.raises(trimill.UsageError, match=next(iter(settings))):
        trimill.clustering(complete(5), **settings)


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(trimill.ResourceError, match="missing"):
        trimill.clustering(complete(5), work_dir=tmp_path / "missing")
