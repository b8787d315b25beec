"""Settings have the names and the values of the library."""

import os
import re
import typing

import networkx
import numpy
import pytest
from conftest import ROOT, columns_of, triangles_of

import trimill
from trimill._settings import Settings

TRIANGLE = (numpy.array([0, 1, 2]), numpy.array([1, 2, 0]))


def test_the_types_name_every_setting_of_the_library():
    assert sorted(Settings.__annotations__) == sorted(trimill._native.setting_names())


def test_the_manual_names_every_setting():
    manual = (ROOT / "docs/python.md").read_text()
    for name in trimill._native.setting_names():
        assert f"`{name}`" in manual, name


def literals(annotation):
    """The literals of an annotation such as ``Literal["a", "b"] | None``."""
    found = re.search(r"Literal\[.*?\]", annotation.__forward_arg__)
    return eval(found[0], {"Literal": typing.Literal}) if found else None


def test_the_values_that_the_types_name_are_known(tmp_path):
    needs = {"keep_spill": {"spill_dir": tmp_path}}
    assert literals(Settings.__annotations__["prune"]) == typing.Literal["none", "zero-indegree", "direct"]
    for name, annotation in Settings.__annotations__.items():
        for value in typing.get_args(literals(annotation)):
            if name in ("header", "format") or value in ("cuda", "gpu"):
                continue
            assert trimill.count(TRIANGLE, **{name: value}, **needs.get(name, {})).triangles == 1, (name, value)


@pytest.mark.parametrize("size", ["16MB", 16_000_000, numpy.int64(16_000_000)])
def test_sizes(size):
    answer = trimill.count(TRIANGLE, device_memory=size, host_memory="256MiB")
    assert (answer.device_memory, answer.host_memory) == (16_000_000, 256 << 20)


@pytest.mark.parametrize("wanted", [True, False, numpy.True_, numpy.False_])
def test_flags(wanted):
    assert (trimill.count(TRIANGLE, clustering=wanted).clustering is not None) == wanted


def test_none_is_the_default():
    given = {name: None for name in trimill._native.setting_names()}
    assert trimill.count(TRIANGLE, **given).device_memory == trimill.count(TRIANGLE).device_memory


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"device_memroy": "1MB"}, ["unknown setting `device_memroy`", "did you mean `device_memory`?"]),
        ({"colour": "red"}, ["unknown setting `colour`"]),
        ({"device_memory": "3 parsecs"}, ["device_memory: ", "not a size"]),
        ({"device_memory": -5}, ["device_memory: ", "-5"]),
        ({"device_memory": 1.5}, ["device_memory: ", "1.5"]),
        ({"device_memory": float("nan")}, ["device_memory: ", "a finite number"]),
        ({"host_memory": float("inf")}, ["host_memory: ", "a finite number"]),
        ({"seed": float("-inf")}, ["seed: ", "a finite number"]),
        ({"device_memory": 2**70}, ["device_memory: ", "64 bits"]),
        ({"seed": 2**200}, ["seed: ", "64 bits"]),
        ({"parts": True}, ["parts: "]),
        ({"work_dir": 5}, ["work_dir: "]),
        ({"work_dir": b"tmp"}, ["work_dir: ", "bytes"]),
        ({"work_dir": "\udcff"}, ["work_dir: ", "UTF-8"]),
        ({"cache": "no"}, ["cache: "]),
        ({"threads": object()}, ["threads: ", "type object"]),
        ({"columns": numpy.array(["a", "b"])}, ["columns: ", "type ndarray"]),
        ({"devices": numpy.array([0])}, ["devices: ", "type ndarray"]),
        ({"parts": numpy.True_}, ["parts: "]),
        ({"k": "many"}, ["k: ", "many"]),
    ],
)
@pytest.mark.parametrize("function", [trimill.count, trimill.plan])
def test_wrong_settings(function, settings, words):
    with pytest.raises(trimill.UsageError) as caught:
        function(TRIANGLE, **settings)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@pytest.mark.parametrize(
    "function, names",
    [
        (trimill.Graph, ["per_vertex", "by_degree", "lcc", "per_edge", "by_k", "run_dir"]),
        (trimill.clustering, ["per_vertex", "lcc", "run_dir"]),
        (trimill.truss, ["per_edge", "lcc", "truss", "run_dir"]),
    ],
)
def test_settings_that_a_function_does_not_have(function, names):
    for name in names:
        with pytest.raises(trimill.UsageError, match=rf"^{name}: {function.__name__}\(\) returns"):
            function(TRIANGLE, **{name: False if name == "truss" else "file.tsv"})
    with pytest.raises(trimill.UsageError, match="did you mean `threads`"):
        function(TRIANGLE, thread=3)


def test_a_path_that_fails_raises_its_own_exception():
    class Lost(os.PathLike):
        def __fspath__(self):
            raise LookupError("the path is lost")

    with pytest.raises(LookupError, match="the path is lost"):
        trimill.count(TRIANGLE, per_vertex=Lost())


def test_settings_change_how_it_is_counted(random_graph, tmp_path):
    expected = triangles_of(random_graph)
    for settings in [
        {"partitioner": "random", "parts": 5, "seed": 2**63 + 1, "prune": "none"},
        {"partitioner": "contiguous-vertices", "parts": 3, "spill_to": "memory"},
        {"partitioner": "rank", "parts": 4, "threads": 1, "block_bytes": "1KiB"},
        {"partitioner": "contiguous", "parts": 2, "spill_dir": tmp_path / "spill", "keep_spill": True},
    ]:
        answer = trimill.count(columns_of(random_graph), backend="cpu", **settings)
        assert answer.triangles == expected
        assert len(answer.partitions) == settings["parts"]
        assert answer.partitioner == settings["partitioner"]
        assert answer.seed == settings.get("seed", 1)
    assert list((tmp_path / "spill").iterdir())


def test_metis_runs_in_another_process(random_graph, tmp_path, monkeypatch):
    # A module of the same name in the working directory is not taken for the package.
    (tmp_path / "trimill").mkdir()
    (tmp_path / "trimill/__init__.py").write_text("raise SystemExit('the wrong package')")
    monkeypatch.chdir(tmp_path)
    answer = trimill.count(columns_of(random_graph), partitioner="metis", parts=4)
    assert (answer.triangles, answer.partitioner) == (triangles_of(random_graph), "metis")
    assert 1 < len(answer.partitions) <= 4
    # METIS cuts along a bridge between two cliques; a random assignment cuts everything.
    bridge = networkx.barbell_graph(40, 0)
    kept = {
        partitioner: trimill.count(columns_of(bridge), partitioner=partitioner, parts=2).duplication
        for partitioner in ["metis", "random"]
    }
    assert kept["metis"] < 1.1 < kept["random"]


def test_without_an_interpreter_metis_is_refused(monkeypatch):
    monkeypatch.setattr("sys.executable", "")
    graph = trimill.Graph(TRIANGLE, partitioner="metis", parts=2)
    for ask in [lambda: trimill.count(TRIANGLE, partitioner="metis", parts=2), graph.count]:
        with pytest.raises(trimill.UsageError, match=r"^partitioner: metis .* set sys\.executable"):
            ask()
    assert trimill.count(TRIANGLE).triangles == 1


def test_files_and_directories(tmp_path, random_graph):
    graph, run = tmp_path / "graph.txt", tmp_path / "run"
    networkx.write_edgelist(random_graph, graph, data=False)
    settings = dict(
        format="text",
        header="no",
        run_dir=run,
        cache_dir=tmp_path / "own",
        work_dir=tmp_path / "work",
        per_vertex=tmp_path / "v.tsv",
        by_degree=tmp_path / "d.tsv",
        per_edge=tmp_path / "e.parquet",
        by_k=tmp_path / "k.tsv",
    )
    answer = trimill.count(graph, **settings)
    assert answer.triangles == triangles_of(random_graph)
    assert list(run.iterdir()) and list((tmp_path / "own").iterdir())
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.trimgraf"))
    lines = (tmp_path / "v.tsv").read_text().splitlines()[1:]
    counted = {int(id): int(triangles) for id, _, triangles, _ in (line.split("\t") for line in lines)}
    # The writer leaves out vertices without an edge.
    assert counted == {v: t for v, t in networkx.triangles(random_graph).items() if random_graph.degree(v)}
    assert (tmp_path / "e.parquet").read_bytes()[:4] == b"PAR1" and (tmp_path / "d.tsv").exists()
    assert (tmp_path / "k.tsv").read_text().startswith("k\tvertices\tedges\n")
    # Found in the run directory on the next start.
    again = trimill.count(graph, **settings)
    assert again.to_dict() == answer.to_dict()


def test_a_file_is_replaced_only_with_force(tmp_path):
    file = tmp_path / "v.tsv"
    file.write_text("mine")
    for force in [None, False]:
        with pytest.raises(trimill.UsageError):
            trimill.count(TRIANGLE, per_vertex=file, force=force)
        assert file.read_text() == "mine"
    trimill.count(TRIANGLE, per_vertex=file, force=True)
    assert file.read_text().startswith("id\t")


def test_an_input_is_never_replaced(tmp_path, monkeypatch):
    file, other = tmp_path / "g.tsv", tmp_path / "other"
    file.write_text("0\t1\n1\t2\n2\t0\n")
    other.mkdir()
    monkeypatch.chdir(tmp_path)
    graph = trimill.Graph("g.tsv", cache=False)
    monkeypatch.chdir(other)
    for ask in [
        lambda: trimill.count(file, per_vertex=file, force=True),
        lambda: trimill.clustering(file, by_degree=file, force=True, cache=False),
        lambda: trimill.truss(file, by_k=file, force=True),
        lambda: graph.count(per_vertex=file, force=True),
    ]:
        with pytest.raises(trimill.UsageError, match="an input is never replaced, with or without force"):
            ask()
    assert file.read_text() == "0\t1\n1\t2\n2\t0\n"
    assert graph.count(per_vertex="g.tsv").triangles == 1


def test_the_answer_comes_with_the_error(tmp_path):
    os.symlink("/dev/full", tmp_path / "full.tsv")
    with pytest.raises(trimill.ResourceError, match=r"full\.tsv") as raised:
        trimill.count(TRIANGLE, per_edge=tmp_path / "full.tsv", per_vertex=tmp_path / "v.tsv")
    assert raised.value.result.triangles == 1 and raised.value.result.clustering.average_clustering_of_degree_2 == 1.0
    assert (tmp_path / "v.tsv").exists()
    with pytest.raises(trimill.UsageError) as raised:
        trimill.count(TRIANGLE, per_vertex=tmp_path / "v.tsv")
    assert raised.value.result is None


def test_without_a_cache_nothing_is_kept(tmp_path, random_graph):
    graph = tmp_path / "graph.txt"
    networkx.write_edgelist(random_graph, graph, data=False)
    trimill.count(graph, format="text", header="no", cache=False)
    assert not (tmp_path / "cache").exists() and not list((tmp_path / "tmp").iterdir())
    trimill.count(graph, format="text", header="no")
    assert list((tmp_path / "cache").rglob("*"))
