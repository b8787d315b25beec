"""A graph that is asked several times: its answers are those of NetworkX, igraph and NetworKit."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import igraph
import networkit
import networkx
import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import DATA, complete
from test_graphs import OnlyDLPack

import trimill


def agrees(graph, expected):
    """Whether all answers are those of a graph of NetworkX with the same vertices, in the same order."""
    nodes = list(expected)
    triangles, coefficients = networkx.triangles(expected), networkx.clustering(expected)
    assert list(graph.vertices) == nodes and len(graph) == len(nodes)
    assert graph.degrees().tolist() == [len(set(expected[node]) - {node}) for node in nodes]
    assert graph.triangles().tolist() == [triangles[node] for node in nodes]
    assert graph.clustering().tolist() == [coefficients[node] for node in nodes]
    assert graph.transitivity() == networkx.transitivity(expected)
    if nodes:
        assert graph.average_clustering() == pytest.approx(networkx.average_clustering(expected), rel=1e-14)
    simple = networkx.Graph(expected)
    simple.remove_edges_from(list(networkx.selfloop_edges(simple)))
    assert graph.edge_count == simple.number_of_edges() == graph.count().edges
    assert graph.count().triangles == sum(triangles.values()) // 3
    supports = graph.supports()
    on_edges = {frozenset(edge): len(set(simple[edge[0]]) & set(simple[edge[1]])) for edge in simple.edges}
    ends = [frozenset(edge) for edge in zip(supports.u.tolist(), supports.v.tolist(), strict=True)]
    assert dict(zip(ends, supports.triangles.tolist(), strict=True)) == on_edges and len(ends) == len(on_edges)
    # Their trussness is compared in test_truss.py.
    trusses = graph.truss()
    assert (trusses.u.tolist(), trusses.v.tolist()) == (supports.u.tolist(), supports.v.tolist())
    return True


def test_graphs_of_networkx(nx_graph):
    assert agrees(trimill.Graph(nx_graph), nx_graph)


def test_directed_graphs_and_multigraphs_are_counted_as_undirected_simple_graphs():
    simple = networkx.gnp_random_graph(30, 0.3, seed=5)
    assert agrees(trimill.Graph(networkx.DiGraph(list(simple.edges))), networkx.Graph(list(simple.edges)))
    many = networkx.MultiGraph(list(simple.edges) * 2)
    assert agrees(trimill.Graph(many), networkx.Graph(many))
    # As docs/python.md says: its parallel edges are read as one, unlike repeated pairs.
    assert trimill.count(many).input.duplicates_removed == 0
    assert trimill.count(list(many.edges())).input.duplicates_removed == simple.number_of_edges()


def numbered(nx_graph):
    return networkx.convert_node_labels_to_integers(nx_graph)


def test_graphs_of_igraph(nx_graph):
    expected = numbered(nx_graph)
    graph = igraph.Graph(n=len(expected), edges=list(expected.edges))
    asked = trimill.Graph(graph)
    assert agrees(asked, expected)
    local = graph.simplify().transitivity_local_undirected(mode="zero")
    numpy.testing.assert_allclose(asked.clustering(), local, rtol=1e-14)


def test_graphs_of_networkit(nx_graph):
    expected = numbered(nx_graph)
    graph = networkit.Graph(len(expected))
    for u, v in expected.edges:
        graph.addEdge(u, v)
    assert agrees(trimill.Graph(graph), expected)
    if len(expected) > 3:
        graph.removeNode(2)
        expected.remove_node(2)
        asked = trimill.Graph(graph)
        assert agrees(asked, expected) and 2 not in asked.vertices


def test_rows_of_matrices_without_an_edge_are_vertices(nx_graph):
    expected = numbered(nx_graph)
    if not len(expected):
        return
    for form in ["csr", "csc", "coo"]:
        assert agrees(trimill.Graph(networkx.to_scipy_sparse_array(expected, format=form)), expected)


def with_edges(graph):
    """A graph without loops and isolated nodes, its nodes in ascending order."""
    simple = networkx.Graph()
    simple.add_nodes_from(sorted(set().union(*(edge for edge in graph.edges if edge[0] != edge[1]))))
    simple.add_edges_from(edge for edge in graph.edges if edge[0] != edge[1])
    return simple


@pytest.mark.parametrize(
    "form", ["rows", "columns", "fortran", "dlpack", "torch", "list", "lists", "pairs", "pandas", "polars"]
)
def test_edges_in_every_form(form):
    graph = networkx.gnp_random_graph(60, 0.1, seed=9)
    edges = numpy.array(graph.edges)
    u, v = edges.T
    match form:
        case "rows":
            given = edges
        case "columns":
            given = edges.T.copy()
        case "fortran":
            given = numpy.asfortranarray(edges).astype("uint16")
        case "dlpack":
            given = OnlyDLPack(edges.T.copy())
        case "torch":
            # As PyTorch Geometric has them: both directions, and the number of nodes.
            given = type("Data", (), {"edge_index": numpy.concatenate([edges.T, edges.T[::-1]], 1), "num_nodes": 60})()
        case "list":
            given = list(graph.edges)
        case "lists":
            given = edges.tolist()
        case "pairs":
            given = (u, v)
        case "pandas":
            given = pandas.DataFrame({"weight": 1.5, "to": v, "from": u}, index=u + 5)
        case "polars":
            given = polars.DataFrame({"weight": 1.5 * u, "to": v, "from": u})
    named = {"source": "from", "target": "to"} if form in ("pandas", "polars") else {}
    assert agrees(trimill.Graph(given, **named), graph if form == "torch" else with_edges(graph))


def test_two_edges_of_pytorch_geometric_are_columns():
    data = type("Data", (), {"edge_index": numpy.array([[0, 1], [1, 2]]), "num_nodes": 4})()
    assert agrees(trimill.Graph(data), networkx.Graph({0: [1], 1: [2], 2: [], 3: []}))


def test_one_edge_in_an_array():
    for array in [[[3, 5]], [[3], [5]]]:
        assert trimill.Graph(numpy.array(array)).supports().v.tolist() == [5]
    for shape in [(0, 2), (2, 0)]:
        graph = trimill.Graph(numpy.empty(shape, "int64"))
        assert (len(graph), graph.edge_count, graph.average_clustering()) == (0, 0, 0)
    assert len(trimill.Graph([])) == 0


NAMED = [("ann", "bob"), ("bob", "cid"), ("cid", "ann"), ("cid", "dee"), ("dee", "ann"), ("bob", "ann")]


def in_form(form, edges):
    """Edges between names as a list, or as a table of a library."""
    columns = {"a": [edge[0] for edge in edges], "b": [edge[1] for edge in edges]}
    arrow = pyarrow.table(columns)
    match form:
        case "list":
            return edges
        case "pandas":
            return pandas.DataFrame(columns)
        case "category":
            return pandas.DataFrame(columns).astype("category")
        case "polars":
            return polars.DataFrame(columns)
        case "categorical":
            return polars.DataFrame(columns).cast(polars.Categorical)
        case "arrow":
            return arrow
        case "large" | "view":
            to = {"large": pyarrow.large_string(), "view": pyarrow.string_view()}[form]
            return arrow.cast(pyarrow.schema([("a", to), ("b", to)]))
        case "coded":
            # With a name in the dictionary that no row has.
            names = pyarrow.array(["nobody", *sorted(set().union(*edges), reverse=True)])
            place = {name: i for i, name in enumerate(names.to_pylist())}
            return pyarrow.table(
                {
                    name: pyarrow.DictionaryArray.from_arrays(pyarrow.array(list(map(place.get, ends)), "int8"), names)
                    for name, ends in columns.items()
                }
            )
        case "chunks":
            # Each chunk has a dictionary of its own.
            parts = [arrow.slice(i, 2) for i in range(0, len(edges), 2)]
            encoded = [{name: part[name].combine_chunks().dictionary_encode() for name in "ab"} for part in parts]
            return pyarrow.Table.from_batches([pyarrow.record_batch(part) for part in encoded])


@pytest.mark.parametrize(
    "form", ["list", "pandas", "category", "polars", "categorical", "arrow", "large", "view", "coded", "chunks"]
)
def test_names(form):
    given = in_form(form, NAMED)
    graph = trimill.Graph(given)
    expected = networkx.Graph(NAMED)
    assert set(graph.vertices) == set(expected) and len(graph) == 4
    assert dict(zip(graph.vertices, graph.triangles().tolist(), strict=True)) == networkx.triangles(expected)
    assert dict(zip(graph.vertices, graph.degrees().tolist(), strict=True)) == dict(expected.degree)
    supports = pandas.DataFrame(graph.supports())
    found = {frozenset({row.u, row.v}): row.triangles for row in supports.itertuples()}
    assert found == {frozenset(e): len(set(expected[e[0]]) & set(expected[e[1]])) for e in expected.edges}
    assert set(trimill.truss(given).u) <= set(expected) and set(trimill.clustering(given).id) == set(expected)


@pytest.mark.parametrize("form", ["list", "pandas", "polars", "categorical"])
@pytest.mark.parametrize("loops", [["a"], ["e"], ["a", "c", "f"], []])
def test_names_that_have_only_loops_are_no_vertices(form, loops):
    edges = [("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")]
    edges = [(name, name) for name in loops if name < "c"] + edges + [(name, name) for name in loops if name >= "c"]
    given = in_form(form, edges)
    graph, expected = trimill.Graph(given), with_edges(networkx.Graph(edges))
    assert agrees(graph, expected)
    # Columns of one length, in the same order.
    for table in [graph.table(), trimill.clustering(given)]:
        table = pandas.DataFrame(table)
        assert table.id.tolist() == list(expected)
        assert table.triangles.tolist() == list(networkx.triangles(expected).values())


def test_names_of_loops_alone():
    graph = trimill.Graph([("a", "a"), ("b", "b")])
    assert (len(graph), graph.edge_count, graph.average_clustering()) == (0, 0, 0)
    assert graph.vertices.tolist() == graph.triangles().tolist() == graph.supports().u.tolist() == []


@pytest.mark.parametrize("library", ["networkx", "view", "old networkx", "igraph", "networkit"])
def test_graphs_that_change(library):
    base = networkx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (5, 0)])
    base.add_node(6)
    match library:
        case "networkx" | "view" | "old networkx":
            other = networkx.Graph(base)
            read = other.subgraph(list(other)) if library == "view" else other
            if library == "old networkx":
                del other.__networkx_cache__
            add, remove, new_node = other.add_edge, other.remove_edge, lambda: other.add_node(7)
        case "igraph":
            other = read = igraph.Graph(n=7, edges=list(base.edges))
            add, new_node = other.add_edge, lambda: other.add_vertices(1)

            def remove(u, v):
                other.delete_edges([(u, v)])
        case "networkit":
            other = read = networkit.Graph(7)
            for u, v in base.edges:
                other.addEdge(u, v)
            add, remove, new_node = other.addEdge, other.removeEdge, other.addNode
    graph, fixed = trimill.Graph(read), trimill.Graph(read, follow=False)
    before = base.copy()

    def same():
        nodes = sorted(base)
        order = numpy.argsort(graph.vertices.astype("int64"))
        assert graph.triangles()[order].tolist() == [networkx.triangles(base, node) for node in nodes]
        assert graph.transitivity() == networkx.transitivity(base)
        assert graph.count().edges == base.number_of_edges() == len(graph.supports().u)

    same()
    first = graph.triangles()
    assert graph.triangles() is first
    for u, v, is_new in [(0, 3, True), (0, 1, False), (1, 3, True)]:
        (add if is_new else remove)(u, v)
        (base.add_edge if is_new else base.remove_edge)(u, v)
        same()
    # All degrees stay unchanged.
    for u, v, is_new in [(0, 5, False), (2, 4, False), (0, 4, True), (2, 5, True)]:
        (add if is_new else remove)(u, v)
        (base.add_edge if is_new else base.remove_edge)(u, v)
    same()
    if library != "view":
        new_node()
        base.add_node(7)
        same()
        assert len(graph) == 8
    assert sorted(fixed.triangles().tolist()) == sorted(networkx.triangles(before).values())
    # Arrays that were returned before are unchanged.
    assert sorted(first.tolist()) == sorted(networkx.triangles(before).values())


@pytest.mark.parametrize("error", [KeyboardInterrupt, trimill.MemoryBudgetError])
def test_a_graph_whose_reading_failed_is_read_again(error, monkeypatch):
    base = networkx.path_graph(3)
    graph = trimill.Graph(base)
    assert graph.count().triangles == 0
    base.add_edge(0, 2)

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(trimill._native, "prepare", fail)
        for _ in range(2):
            with pytest.raises(error):
                graph.count()
    assert graph.count().triangles == 1


@pytest.mark.parametrize("kind", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph])
def test_a_change_that_fails_midway_is_not_missed(kind):
    base = kind([(0, 1), (1, 2), (2, 3)])
    graph = trimill.Graph(base)
    assert graph.count().triangles == 0 and graph.count() is graph.count()
    with pytest.raises(networkx.NetworkXError):
        base.add_edges_from([(0, 2), (1, 3), (4,)])
    assert (graph.count().triangles, len(graph)) == (2, 4)
    with pytest.raises(ValueError):
        base.add_nodes_from([7, None])
    assert len(graph) == 5
    with pytest.raises(TypeError):
        base.remove_nodes_from([0, []])
    assert (graph.count().triangles, len(graph)) == (1, 4)


def test_what_changes_while_a_graph_is_read_is_not_missed(monkeypatch):
    base = networkx.path_graph(4)
    read = trimill._graph.source_of

    def change_after(edge):
        def source_of(*arguments):
            found = read(*arguments)
            base.add_edge(*edge)
            return found

        return source_of

    with monkeypatch.context() as patch:
        patch.setattr(trimill._graph, "source_of", change_after((0, 2)))
        graph = trimill.Graph(base)
    assert graph.count().triangles == 1
    base.remove_edge(0, 2)
    with monkeypatch.context() as patch:
        patch.setattr(trimill._graph, "source_of", change_after((1, 3)))
        assert graph.count().triangles == 0
    assert graph.count().triangles == 1


def test_answers_are_kept_and_cannot_be_changed():
    graph = trimill.Graph(networkx.complete_graph(5))
    assert graph.count() is graph.count() and graph.supports() is graph.supports() and graph.truss(3) is graph.truss(3)
    for array in [graph.triangles(), graph.clustering(), graph.degrees(), graph.vertices, graph.supports().triangles]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    for named in [trimill.Graph(NAMED), trimill.Graph(networkx.Graph(NAMED))]:
        with pytest.raises(ValueError, match="read-only"):
            named.vertices[0] = 7
    for changed in [graph.count(), graph.supports(), graph.count().partitions[0]]:
        with pytest.raises(TypeError, match="cannot be changed"):
            changed["triangles"] = 7
        with pytest.raises(TypeError, match="cannot be changed"):
            changed.triangles = 7
        with pytest.raises(TypeError, match="cannot be changed"):
            changed.clear()


def test_a_graph_keeps_no_arrays_that_it_was_made_of():
    u, v = numpy.arange(100), numpy.arange(100) + 1
    kept = sys.getrefcount(u)
    graph = trimill.Graph((u, v))
    gc.collect()
    assert sys.getrefcount(u) == kept
    u[:] = 0
    assert graph.edge_count == graph.count().edges == 100


def test_settings_of_one_count(tmp_path):
    graph = trimill.Graph(networkx.complete_graph(30), backend="cpu")
    cut = graph.count(parts=3, partitioner="contiguous", per_vertex=tmp_path / "v.tsv")
    assert (len(cut.partitions), len(graph.count().partitions)) == (3, 1)
    assert cut.triangles == graph.count().triangles == 30 * 29 * 28 // 6
    table = pandas.read_csv(tmp_path / "v.tsv", sep="\t")
    assert table.triangles.tolist() == graph.triangles().tolist()


@pytest.mark.parametrize(
    "settings",
    [{"names": True}, {"columns": ["u", "v"]}, {"format": "text"}, {"header": "no"}, {"cloud_credentials": True}],
)
def test_settings_of_reading_are_refused_once_a_graph_was_read(settings):
    with pytest.raises(trimill.UsageError, match=rf"^{next(iter(settings))}: .*Graph\(\)"):
        trimill.Graph([(0, 1)]).count(**settings)


@pytest.mark.parametrize("name", ["lcc", "run_dir"])
def test_settings_that_need_the_input_are_refused_once_a_graph_was_read(name, tmp_path):
    with pytest.raises(trimill.UsageError, match=rf"^{name}: .*trimill\.count\(\)"):
        trimill.Graph([(0, 1)]).count(**{name: tmp_path / "new"})
    assert not (tmp_path / "new").exists()


def test_a_file_with_names(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("ann bob\nbob cid\ncid ann\ncid dee\n")
    graph = trimill.Graph(path, names=True, format="text", header="no", cache=False)
    assert repr(graph) == "<trimill.Graph: 4 vertices, 4 edges>" and "4 vertices" in graph._repr_html_()
    assert (len(graph), graph.edge_count, graph.count().triangles, graph.transitivity()) == (4, 4, 1, 0.6)
    assert graph.average_clustering() == pytest.approx((1 + 1 + 1 / 3 + 0) / 4, rel=1e-14)
    for ask in [graph.table, graph.degrees, graph.supports, graph.truss, lambda: graph.vertices]:
        with pytest.raises(trimill.UsageError, match="names"):
            ask()


@pytest.mark.parametrize("form", ["pairs", "table", "networkx", "tuples"])
def test_files_and_summaries_of_names(form, tmp_path):
    edges = [*NAMED, ("ann", "eve"), ("eve", "bob")]
    expected = "ann"
    match form:
        case "pairs":
            given = edges
        case "table":
            given = pyarrow.table({"u": [u for u, _ in edges], "v": [v for _, v in edges]})
        case "networkx":
            given = networkx.Graph(edges)
        case "tuples":
            given, expected = [((u, 1), (v, 1)) for u, v in edges], "('ann', 1)"
    graph = trimill.Graph(given)
    file = tmp_path / "file.tsv"
    for name in ["per_vertex", "per_edge", "lcc"]:
        functions = [trimill.count, trimill.plan, lambda _, **settings: graph.count(**settings)]
        for function in functions[:2] if name == "lcc" else functions:
            with pytest.raises(trimill.UsageError, match=rf"^{name}: .* names; .* Graph\(\.\.\)"):
                function(given, **{name: file})
    for function in [trimill.count, lambda _, **settings: graph.count(**settings), trimill.clustering]:
        with pytest.raises(trimill.UsageError, match=r"^report: .* names"):
            function(given, report=tmp_path / "page.html", clustering=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "tmp"]
    for result in [trimill.count(given, clustering=True), graph.count(clustering=True), graph.table().result]:
        summary = result.clustering
        assert (summary.most_triangles, summary.most_triangles_vertex) == (3, None)
        assert summary.most_triangles_name == expected
    full = tmp_path / "full.tsv"
    full.symlink_to("/dev/full")
    for function in [trimill.count, lambda _, **settings: graph.count(**settings)]:
        with pytest.raises(trimill.ResourceError) as caught:
            function(given, by_degree=full)
        assert caught.value.result.clustering.most_triangles_name == expected
    # Where vertices are numbers, the summary has an id.
    assert "most_triangles_name" not in trimill.count([(0, 1)], clustering=True).clustering


def test_a_file_of_all_vertices_is_refused_where_nodes_were_removed(tmp_path):
    graph = networkit.Graph(4)
    for u, v in [(0, 1), (1, 3), (3, 0)]:
        graph.addEdge(u, v)
    answer = trimill.count(graph, lcc=tmp_path / "all.txt")
    assert answer.clustering.lcc.vertices == 4
    graph.removeNode(2)
    with pytest.raises(trimill.UsageError, match="nodes were removed"):
        trimill.count(graph, lcc=tmp_path / "left.txt")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"device_memory": "1MiB", "parts": 3},
        {"parts": 7, "partitioner": "random", "seed": 3},
        {"host_memory": "80MiB", "cache": False},
    ],
)
def test_a_file_in_partitions(settings):
    graph = trimill.Graph(DATA / "ca-HepTh.txt", backend="cpu", **settings)
    expected = networkx.read_edgelist(DATA / "ca-HepTh.txt", nodetype=int)
    expected = with_edges(expected)
    assert graph.vertices.tolist() == sorted(expected)
    triangles = networkx.triangles(expected)
    assert graph.triangles().tolist() == [triangles[node] for node in sorted(expected)]
    assert graph.supports().triangles.sum() == sum(triangles.values())
    assert graph.transitivity() == pytest.approx(networkx.transitivity(expected), rel=1e-14)


def test_a_file_that_is_removed_afterwards(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("0 1\n1 2\n2 0\n")
    graph = trimill.Graph(path, format="text", header="no", cache=False)
    path.unlink()
    assert graph.triangles().tolist() == [1, 1, 1] and graph.truss(k=3).u.tolist() == [0, 0, 1]


def test_what_is_printed():
    graph = trimill.Graph(networkx.complete_graph(5))
    assert repr(graph) == "<trimill.Graph: 5 vertices, 10 edges>"
    for thing in [graph, graph.count(), graph.table(), graph.supports(), graph.truss(), trimill.plan([(0, 1)])]:
        html = thing._repr_html_()
        assert html.count("<") == html.count(">") and "script" not in html
    assert "<td style='text-align:left'>10</td>" in graph.count()._repr_html_()
    # The seconds shown are those of the whole job, with the start of a GPU and peeling.
    plan = trimill.Plan.from_json(json.dumps({**trimill.plan([(0, 1)]).to_dict(), "seconds": 77}))
    assert "about 77 s" in plan._repr_html_()


def test_a_forked_process_asks_a_graph_that_its_parent_asked():
    # The thread that counted for the parent is not in the child, which must not wait for it.
    program = """
import os, numpy, trimill
graph = trimill.Graph(numpy.tril_indices(30, -1), threads=1)
for _ in range(3):
    assert graph.count(threads=1).triangles == 4060
child = os.fork()
if child == 0:
    os._exit(0 if graph.count(threads=1).triangles == 4060 and set(graph.triangles()) == {406} else 1)
assert os.waitpid(child, 0)[1] == 0
assert graph.count(threads=1).triangles == 4060
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_degrees_are_found_with_the_threads_of_the_graph():
    graph = trimill.Graph(complete(30), threads=1)
    graph._now().settings["threads"] = 10**6
    with pytest.raises(trimill.UsageError, match="1000000 threads"):
        graph.degrees()


def test_one_thread_stays_for_the_next_question():
    def threads():
        return {
            task.name
            for task in Path("/proc/self/task").iterdir()
            if task.joinpath("comm").read_text() == "trimill-0\n"
        }

    graph = trimill.Graph(complete(30))
    graph.count(threads=1)
    stayed = threads()
    assert len(stayed) == 1
    for _ in range(3):
        assert graph.count(threads=1).triangles == 4060
    assert threads() == stayed
