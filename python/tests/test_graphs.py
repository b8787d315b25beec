"""The same graph in every form gives the count of NetworkX and SciPy."""

import itertools
import os

import networkx
import numpy
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from conftest import columns_of, triangles_of

import trimill

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def agrees(answer, graph):
    """Whether an answer has all that NetworkX computes of ``graph``, too."""
    assert answer.triangles == triangles_of(graph)
    assert answer.edges == graph.number_of_edges()
    assert answer.transitivity == pytest.approx(networkx.transitivity(graph), rel=1e-12)
    return True


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_zeros_that_are_stored_are_edges_as_for_networkx(form, tmp_path):
    matrix = scipy.sparse.csr_array(([1, 1, 1], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    matrix.data[1] = 0
    matrix = matrix.asformat(form)
    assert networkx.from_scipy_sparse_array(matrix).number_of_edges() == 3
    assert trimill.count(matrix).edges == 3
    # The same in a file.
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    assert trimill.count(tmp_path / "m.npz", cache=False).edges == 3
    matrix.eliminate_zeros()
    assert trimill.count(matrix).edges == 2


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_matrices(random_graph, form, kind):
    matrix = networkx.to_scipy_sparse_array(random_graph, format=form)
    if kind == "matrix":
        matrix = getattr(scipy.sparse, f"{form}_matrix")(matrix)
    answer = trimill.count(matrix)
    assert agrees(answer, random_graph)
    plain = matrix.tocsr().astype("int64")
    assert answer.triangles == plain.multiply(plain @ plain).sum() // 6
    assert answer.input.vertices_declared == matrix.shape[0]
    assert answer.input.arcs == matrix.nnz


def test_a_triangular_matrix_and_one_with_long_indices_and_unsorted_rows(random_graph):
    matrix = networkx.to_scipy_sparse_array(random_graph, format="csr")
    assert agrees(trimill.count(scipy.sparse.triu(matrix, format="csr")), random_graph)
    assert agrees(trimill.count(scipy.sparse.triu(matrix, format="csc")), random_graph)
    assert agrees(trimill.count(scipy.sparse.tril(matrix, format="coo")), random_graph)
    wide = matrix.copy()
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    assert agrees(trimill.count(wide), random_graph)
    rows = itertools.pairwise(matrix.indptr)
    matrix.indices = numpy.concatenate([matrix.indices[begin:end][::-1] for begin, end in rows])
    matrix.has_sorted_indices = False
    assert agrees(trimill.count(matrix), random_graph)


def test_arrays_that_are_longer_than_their_matrix(random_graph):
    matrix = networkx.to_scipy_sparse_array(random_graph, format="csr")
    matrix.indices = numpy.append(matrix.indices, numpy.array([0, 0], matrix.indices.dtype))
    matrix.data = numpy.append(matrix.data, [0, 0])
    assert agrees(trimill.count(matrix), random_graph)


@pytest.mark.parametrize("first", INTEGERS)
@pytest.mark.parametrize("second", ["int32", "uint64"])
def test_arrays_of_all_integer_types(random_graph, first, second):
    u, v = columns_of(random_graph)
    assert agrees(trimill.count((u.astype(first), v.astype(second))), random_graph)


def test_views_and_reversed_arrays_are_read_where_they_are(random_graph):
    u, v = columns_of(random_graph)
    both = numpy.column_stack([u, v])
    assert agrees(trimill.count((both[:, 0], both[:, 1])), random_graph)
    assert agrees(trimill.count((u[::-1], v[::-1])), random_graph)
    spread = numpy.repeat(u, 3)
    assert agrees(trimill.count((spread[::3], v)), random_graph)
    spread[1::3] = -1
    assert agrees(trimill.count((spread[::3], v)), random_graph)
    # NumPy calls a column of one row aligned, whatever its stride is.
    row = numpy.array([(3, 5, 0)], "i8,i8,u1")
    assert trimill.count((row["f0"], row["f1"])).edges == 1


def test_arrays_that_cannot_be_written(random_graph):
    u, v = columns_of(random_graph)
    u.flags.writeable = v.flags.writeable = False
    assert agrees(trimill.count((u, v)), random_graph)


class OnlyDLPack:
    """An array that has nothing but DLPack."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.device, 0


class OnlyArray:
    """An array that has nothing but ``__array__``."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_other_arrays(random_graph):
    u, v = columns_of(random_graph)
    for wrap in [OnlyDLPack, OnlyArray, pandas.Series, polars.Series, pyarrow.array]:
        assert agrees(trimill.count((wrap(u), wrap(v))), random_graph), wrap


def test_tables(random_graph):
    u, v = columns_of(random_graph)
    frame = pandas.DataFrame({"u": u, "v": v})
    for table in [
        frame,
        # The index of a table is not one of its columns.
        frame.set_index(frame.index * 2 + 7),
        frame.sort_values("v"),
        polars.DataFrame({"u": u, "v": v}),
        pyarrow.table({"u": u, "v": v}),
        pyarrow.table({"u": u.astype("uint32"), "v": v.astype("int16")}),
        pyarrow.table({"u": u, "v": v}).to_reader(max_chunksize=7),
    ]:
        assert agrees(trimill.count(table), random_graph), type(table)


def test_columns_of_different_chunks(random_graph):
    u, v = columns_of(random_graph)
    cut = len(u) // 3
    chunked = pyarrow.chunked_array
    table = pyarrow.table({"u": chunked([u[:cut], [], u[cut:]]), "v": chunked([v[: 2 * cut], v[2 * cut :]])})
    assert agrees(trimill.count(table), random_graph)


@pytest.mark.parametrize("library", ["polars", "pandas", "no chunk", "an empty chunk"])
def test_categories_without_rows(library):
    coded = pyarrow.schema([(name, pyarrow.dictionary(pyarrow.int32(), pyarrow.string())) for name in "uv"])
    match library:
        case "polars":
            table = polars.DataFrame({"u": [], "v": []}, schema={"u": polars.Categorical, "v": polars.Categorical})
        case "pandas":
            table = pandas.DataFrame({"u": [], "v": []}, dtype="category").astype(pandas.CategoricalDtype(["a", "b"]))
        case "no chunk":
            table = pyarrow.Table.from_batches([], coded)
        case "an empty chunk":
            empty = pyarrow.DictionaryArray.from_arrays(pyarrow.array([], "int32"), pyarrow.array([], "string"))
            table = pyarrow.Table.from_batches([pyarrow.record_batch([empty, empty], schema=coded)])
    assert len(trimill.Graph(table)) == 0 and trimill.count(table).triangles == 0


@pytest.mark.parametrize("place", [0, 1, 3])
def test_chunks_of_categories_without_rows_add_nothing(place):
    edges = [[("a", "b")], [("b", "c")], [("c", "a")]]
    edges.insert(place, [])
    coded = [
        pyarrow.record_batch(
            {
                name: pyarrow.array([edge[end] for edge in chunk], "string").dictionary_encode()
                for end, name in enumerate("uv")
            }
        )
        for chunk in edges
    ]
    graph = trimill.Graph(pyarrow.Table.from_batches(coded))
    assert sorted(graph.vertices) == ["a", "b", "c"] and graph.triangles().tolist() == [1, 1, 1]


def counted(edges):
    """The triangles of edges that the compiled part has already taken."""
    return trimill.Result.from_json(trimill._native.count(edges, {}, [], None)).triangles


def test_arrays_and_tables_are_not_copied():
    """What is written after the edges were taken is counted: a triangle instead of a path."""
    for kind in ["pairs", "matrix", "table"]:
        u, v = numpy.array([0, 1, 2]), numpy.array([1, 2, 3])
        indptr, indices = numpy.array([0, 1, 2, 3, 3]), v
        match kind:
            case "pairs":
                edges = trimill._native.Edges.pairs(u, v, ("u", "v"), None)
            case "matrix":
                edges = trimill._native.Edges.matrix(indptr, indices)
            case "table":
                edges = trimill._native.Edges.table(pyarrow.table({"u": u, "v": v}).__arrow_c_stream__())
        assert counted(edges) == 0
        v[2] = 0
        assert counted(edges) == 1, kind


def test_an_array_lives_as_long_as_it_is_counted():
    edges = trimill._native.Edges.pairs(numpy.array([0, 1, 2] * 1000), numpy.array([1, 2, 0] * 1000), ("u", "v"), None)
    # These arrays would take the memory if it were freed.
    others = [numpy.full(3000, 7) for _ in range(10)]
    assert counted(edges) == 1
    del others


def test_paths(tmp_path, random_graph):
    path = tmp_path / "edges.txt"
    networkx.write_edgelist(random_graph, path, data=False)
    for form in [path, str(path), os.fsencode(path), [path]]:
        assert agrees(trimill.count(form, format="text", header="no"), random_graph)
    edges = path.read_text().splitlines(keepends=True)
    halves = [tmp_path / "a.txt", tmp_path / "b.txt"]
    halves[0].write_text("".join(edges[::2]))
    halves[1].write_text("".join(edges[1::2]))
    assert agrees(trimill.count(halves, format="text", header="no"), random_graph)
    odd = os.fsencode(tmp_path) + b"/\xff.txt"
    with open(odd, "wb") as file:
        file.write(path.read_bytes())
    assert agrees(trimill.count(odd, format="text", header="no"), random_graph)


def test_graphs_without_edges():
    none = numpy.array([], "int32")
    for graph in [
        (none, none),
        scipy.sparse.csr_array((5, 5)),
        scipy.sparse.coo_array((0, 0)),
        pyarrow.table({"u": none, "v": none}),
    ]:
        answer = trimill.count(graph)
        assert (answer.triangles, answer.edges, answer.transitivity) == (0, 0, 0)
        assert len(trimill.clustering(graph).id) == getattr(graph, "shape", [0])[0]


@pytest.mark.parametrize(
    "kinds", [[int], *([getattr(numpy, name)] for name in INTEGERS), [int, numpy.uint64, numpy.int8]]
)
def test_pairs_of_integers_are_ids(kinds):
    ends = iter([9, 3, 3, 5, 5, 9, 9, 100])
    edges = [tuple(kinds[(place + end) % len(kinds)](next(ends)) for end in range(2)) for place in range(4)]
    graph = trimill.Graph(edges)
    assert graph.vertices.dtype == "uint64" and graph.vertices.tolist() == [3, 5, 9, 100]
    assert graph.triangles().tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("kind", [int, numpy.uint64])
@pytest.mark.parametrize("largest", [2**63 - 1, 2**63, 2**64 - 2])
def test_pairs_of_integers_of_64_bits_are_ids(kind, largest):
    # Neighbouring integers that are equal as floats.
    edges = [(kind(u), kind(v)) for u, v in [(largest, largest - 1), (largest - 1, 0), (0, largest)]]
    assert trimill.Graph(edges).vertices.tolist() == [0, largest - 1, largest]


def test_other_pairs_are_names():
    for names in [
        [2**64 - 1, 3, 2**100],
        ["a", numpy.int64(7), 2.5],
        [True, "b", (1, 2)],
        [numpy.timedelta64(5, "s"), 1, 2],
    ]:
        graph = trimill.Graph([(names[0], names[1]), (names[1], names[2]), (names[2], names[0])])
        assert graph.vertices.dtype == object and list(graph.vertices) == names
        assert graph.triangles().tolist() == [1, 1, 1]


def test_ids_of_64_bits():
    """Ids do not index arrays: a triangle and a pendant edge with large ids."""
    u = numpy.array([2**64 - 2, 2**40, 7, 7], "uint64")
    v = numpy.array([2**40, 7, 2**64 - 2, 8], "uint64")
    graph = trimill.Graph((u, v))
    assert graph.vertices.tolist() == [7, 8, 2**40, 2**64 - 2]
    assert graph.triangles().tolist() == [1, 0, 1, 1]
    trusses = pyarrow.table(dict(graph.truss())).to_pylist()
    expected = [(7, 8, 2), (7, 2**40, 3), (7, 2**64 - 2, 3), (2**40, 2**64 - 2, 3)]
    assert [tuple(edge.values()) for edge in trusses] == expected
