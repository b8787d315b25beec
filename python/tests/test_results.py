"""What the functions return."""

import ast
import copy
import inspect
import json
import pickle
import re
import subprocess
import sys

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


def test_numbers_of_128_bits():
    text = json.dumps({"triangles": 2**127 + 1, "partitions": [{"id": 0}], "transitivity": 0.1})
    record = trimill.Result.from_json(text)
    assert record.triangles == 2**127 + 1
    assert json.loads(record.to_json())["triangles"] == 2**127 + 1


def test_as_dictionary_and_text(answer):
    plain = answer.to_dict()
    assert type(plain) is dict and type(plain["input"]) is dict and type(plain["partitions"][0]) is dict
    assert trimill.Result.from_json(json.dumps(plain)) == answer and plain == json.loads(answer.to_json())
    # The fields of the library's reports, with their names.
    documented = (DATA.parent.parent / "docs/result.md").read_text()
    for name in plain:
        assert f"| `{name}` |" in documented, name


def annotated():
    """The fields that each class of records declares for type checkers, with those of its base."""
    declared = {"Record": set()}
    for node in ast.parse(inspect.getsource(trimill._result)).body:
        if isinstance(node, ast.ClassDef) and node.bases and ast.unparse(node.bases[0]) in declared:
            names = {item.target.id for item in ast.walk(node) if isinstance(item, ast.AnnAssign)}
            declared[node.name] = declared[ast.unparse(node.bases[0])] | names - {"_classes"}
    return declared


def assert_typed(record, declared):
    if type(record) is not trimill.Record:
        # A keyword of Python cannot be an attribute.
        assert set(record) - {"global"} == declared[type(record).__name__], type(record)
    for value in record.values():
        for item in value if isinstance(value, tuple) else [value]:
            if isinstance(item, trimill.Record):
                assert_typed(item, declared)


def test_types_name_every_field():
    declared = annotated()
    # A graph with names gives all fields.
    named = [(f"vertex {u}", f"vertex {v}") for u, v in zip(*complete(40), strict=True)]
    assert_typed(trimill.count(named, clustering=True, truss=True, parts=2, partitioner="contiguous"), declared)
    assert_typed(trimill.plan(complete(40)), declared)


def test_type_checkers_see_no_any(tmp_path):
    expected = {
        "trimill.count([(0, 1)]).triangles": "int",
        "trimill.count([(0, 1)]).transitivity": "float",
        'trimill.count([(0, 1)], backend="gpu").backend': "str",
        "trimill.count([(0, 1)]).partitions[0].peak_bytes": "int",
        "trimill.count([(0, 1)]).input.vertices_declared": "int | None",
        "trimill.plan([(0, 1)]).alternatives[0].fits": "bool",
        "g.count().stages[0].name": "str",
        "g.transitivity()": "float",
        "g.average_clustering()": "float",
        "g.truss().by_k[0].edges": "int",
        "g.supports().result.edges": "int",
        "g.edge_count": "int",
    }
    # Arrays have the type of their elements, and any shape.
    arrays = {
        "g.triangles()": "signedinteger[",
        "g.degrees()": "signedinteger[",
        "g.clustering()": "float",
        "g.supports().triangles": "unsignedinteger[",
        "g.truss().trussness": "unsignedinteger[",
        "g.table().coefficient": "float",
        "trimill.clustering([(0, 1)]).degree": "signedinteger[",
    }
    lines = [f"reveal_type({expression})" for expression in [*expected, *arrays]]
    code = tmp_path / "user.py"
    code.write_text("\n".join(["import numpy, trimill", "g = trimill.Graph(numpy.zeros((3, 2), int))", *lines, ""]))
    mypy = [sys.executable, "-m", "mypy", "--strict"]
    ran = subprocess.run([*mypy, code], capture_output=True, text=True, cwd=tmp_path)
    found = re.findall(r'Revealed type is "(.*)"', ran.stdout)
    assert ran.returncode == 0 and len(found) == len(lines), ran.stdout
    for (expression, kind), revealed in zip({**expected, **arrays}.items(), found, strict=True):
        shown = revealed.replace("builtins.", "")
        assert shown == kind or f"dtype[numpy.{kind}" in shown, f"{expression}: {revealed}"
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import trimill\ntrimill.count([(0, 1)]).colour\ntrimill.count([(0, 1)]).triangles = 5\n")
    ran = subprocess.run([*mypy, wrong], capture_output=True, text=True, cwd=tmp_path)
    assert 'no attribute "colour"' in ran.stdout


def test_a_page(tmp_path):
    file = tmp_path / "page.html"
    answer = trimill.count(complete(40), report=file)
    page = file.read_text()
    assert page.startswith("<!") and "graph in memory" in page and f"{answer.triangles}" in page
    assert trimill.Graph(complete(20)).count(report=file).triangles == 1140 and "1140" in file.read_text()
    trimill.plan(complete(40), report=str(file))
    assert '"kind":"plan"' in file.read_text().replace(" ", "")
    (tmp_path / "mine.html").write_text("mine")
    for function in [trimill.count, trimill.plan]:
        with pytest.raises(trimill.UsageError, match="is not a report of trimill"):
            function(complete(4), report=tmp_path / "mine.html")
        with pytest.raises(trimill.UsageError, match=r"\.html"):
            function(complete(4), report=tmp_path / "page.txt")
    assert (tmp_path / "mine.html").read_text() == "mine"


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


def test_clustering(random_graph):
    given = columns_of(random_graph)
    vertices = trimill.clustering(given)
    table = pandas.DataFrame(vertices)
    assert table.equals(pandas.DataFrame(trimill.Graph(given).table()))
    assert list(table.columns) == ["id", "degree", "triangles", "coefficient"]
    assert [dtype.name for dtype in table.dtypes] == ["uint64", "int64", "int64", "float64"]
    assert vertices.result.triangles == triangles_of(random_graph)
    assert vertices.result.clustering.average_clustering == pytest.approx(table.coefficient.mean(), rel=1e-12)
    assert f"{len(table):,} vertices" in repr(vertices)


def test_clustering_leaves_no_file(tmp_path):
    trimill.clustering(complete(5), work_dir=tmp_path)
    assert not list((tmp_path / "tmp").iterdir())
    assert {path.name for path in tmp_path.iterdir()} <= {"tmp", "cache"}
