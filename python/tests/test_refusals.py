"""What is no graph, or could be two, is refused, with the place and what to do."""

import contextlib
import threading
import types

import networkx
import numpy
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from conftest import columns_of, complete
from test_graphs import OnlyDLPack

import trimill

ONES = numpy.array([1, 2, 3])


def refused(kind, graph, *words, **settings):
    with pytest.raises(kind) as caught:
        trimill.count(graph, **settings)
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {str(caught.value)!r}"


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("place", [0, 2, 99_999])
def test_negative_ids(dtype, place):
    u = numpy.zeros(100_000, dtype)
    u[place] = -5
    v = numpy.ones(100_000, "uint8")
    refused(trimill.DataError, (u, v), "the first array", f"the number -5 in place {place}", "ids from 0")
    refused(trimill.DataError, (v, u), "the second array", f"the number -5 in place {place}")
    refused(trimill.DataError, pyarrow.table({"from": v, "to": u}), "to", f"the number -5 in place {place}")
    chunks = pyarrow.chunked_array([u[:1000], u[1000:]])
    refused(trimill.DataError, pyarrow.table({"from": chunks, "to": v}), "from", f"the number -5 in place {place}")


@pytest.mark.parametrize("number", [-1, -(2**31), -(2**63), -(2**63) - 1, -(2**100)])
@pytest.mark.parametrize("largest", [7, 2**63, 2**64 - 2, 2**100])
def test_negative_numbers_in_pairs(number, largest):
    words = f"the number {number} in place 1; expected ids from 0"
    refused(trimill.DataError, [(0, 1), (number, 2), (3, largest)], f"the first of each pair: {words}")
    refused(trimill.DataError, [(0, 1), (2, number), (3, largest)], f"the second of each pair: {words}")
    if number >= -(2**63) and largest < 2**64:
        mixed = [(numpy.int8(0), 1), (numpy.int64(number), 2), (numpy.uint64(largest), numpy.uint16(5))]
        refused(trimill.DataError, mixed, f"the first of each pair: {words}")


@pytest.mark.parametrize(
    "missing", [None, float("nan"), numpy.float32("nan"), numpy.datetime64("NaT"), pandas.NA, pandas.NaT], ids=repr
)
def test_missing_values_in_pairs(missing):
    words = "a list of pairs: a missing value; expected a vertex in every place"
    for graph in [[("a", "b"), ("b", missing)], [(missing, 1), (1, 2)], [(numpy.int64(3), missing)], [(0.5, missing)]]:
        refused(trimill.DataError, graph, words)


def test_the_first_wrong_id_is_named_on_any_number_of_threads():
    u = numpy.zeros(2_000_000, "int32")
    u[[700_000, 1_900_000]] = [-1, -2]
    for threads in [1, 2, 5]:
        refused(trimill.DataError, (u, u), "the number -1 in place 700000", threads=threads)


def test_the_largest_id():
    refused(
        trimill.DataError,
        (numpy.array([3, 2**64 - 1], "uint64"), ONES[:2]),
        "18446744073709551615 in arc 1",
        "ids up to",
    )


def test_ids_beyond_the_matrix():
    matrix = scipy.sparse.coo_array(([1, 1], ([0, 1], [1, 2])), shape=(3, 3))
    matrix.coords[1][1] = 3
    refused(trimill.DataError, matrix, "the id 3 in arc 1, from 1 to 3", "below 3")
    matrix = scipy.sparse.csr_array(([1, 1, 1, 1], ([0, 1, 0, 2], [1, 0, 2, 0])), shape=(3, 3))
    matrix.indices[3] = 70
    refused(trimill.DataError, matrix, "the id 70 in arc 3, from 2 to 70", "below 3")
    matrix.indices[3] = -1
    refused(trimill.DataError, matrix, "indices: the number -1 in place 3")


@pytest.mark.parametrize(
    "indptr, words",
    [
        ([1, 1, 2, 2], "the number 1 in place 0; expected 0"),
        ([0, 2, 1, 2], "the number 1 in place 2, after 2"),
        ([0, 1, -1, 2], "the number -1 in place 2"),
        ([0, 1, 2, 1], "the number 1 in place 3, after 2"),
        ([0, 1, 1, 3], "the number 3 at the end; expected 2"),
        ([0, 1, 2], "3 numbers; expected 4"),
    ],
)
def test_wrong_bounds_of_rows(indptr, words):
    matrix = scipy.sparse.csr_array(([1, 1], ([0, 1], [1, 0])), shape=(3, 3))
    matrix.indptr = numpy.array(indptr, "int32")
    refused(trimill.DataError, matrix, f"indptr: {words}")


def test_arrays_of_unequal_length():
    refused(trimill.DataError, (ONES, ONES[:2]), "3 tails and 2 heads")


@pytest.mark.parametrize("dtype", ["float64", "bool", "complex64", "object", "datetime64[s]", "U3"])
def test_arrays_of_other_types(dtype):
    refused(trimill.UsageError, (ONES.astype(dtype), ONES), "the first array", "expected integers", "astype('int64')")


def test_arrays_in_another_order_of_bytes_or_not_aligned():
    refused(trimill.UsageError, (ONES, ONES.astype(">i4")), "the second array", "byte order", "astype('int32')")
    bytes_ = numpy.zeros(25, "int8")
    refused(trimill.UsageError, (bytes_[1:].view("int64"), ONES), "not aligned", "astype('int64')")


def without_masked(graph, **names):
    """What the code that the refusal advises makes of a graph."""
    with pytest.raises(trimill.DataError, match="masked entries") as caught:
        trimill.count(graph)
    *first, last = str(caught.value).split("drop them: ")[1].split("; ")
    names["numpy"] = numpy
    exec("; ".join(first), names)
    return eval(last, names)


def test_masked_arrays():
    first = numpy.ma.array(ONES, mask=[False, True, False])
    second = numpy.ma.array(ONES + 4, mask=[False, False, True])
    for u, v, expected in [
        (first, ONES + 4, [[1, 3], [5, 7]]),
        (ONES + 4, first, [[5, 7], [1, 3]]),
        (first, second, [[1], [5]]),
    ]:
        kept = without_masked((u, v), u=u, v=v)
        assert [column.tolist() for column in kept] == expected
        assert trimill.count(kept).edges == len(expected[0])
    rows = numpy.ma.array([[0, 1], [1, 2], [2, 0], [5, 1]])
    rows[3, 0] = numpy.ma.masked
    for array in [rows, rows.T]:
        kept = without_masked(array, array=array)
        assert (trimill.count(kept).triangles, trimill.count(kept).edges) == (1, 3)
    assert trimill.count((numpy.ma.array(ONES), ONES + 1)).edges == 3


def test_arrays_on_a_device():
    refused(trimill.UsageError, (OnlyDLPack(ONES, device=2), ONES), "the first array", "memory of the CPU")


def test_matrices_that_are_no_graph():
    refused(trimill.DataError, scipy.sparse.csr_array((3, 4)), "shape (3, 4)", "square")
    for form in ["lil", "dok", "dia", "bsr"]:
        refused(trimill.UsageError, scipy.sparse.eye_array(3, format=form), form, "matrix.tocsr()")


def test_tables_that_are_no_edges():
    refused(trimill.UsageError, pyarrow.table({"u": ONES}), "1 columns: u", "expected two")
    three = polars.DataFrame({"u": ONES, "v": ONES, "w": ONES})
    refused(trimill.UsageError, three, "3 columns: u, v, w", "source=, target=")
    for column in [[1.0, 2.0, 3.0], [True, False, True]]:
        refused(trimill.UsageError, pandas.DataFrame({"u": ONES, "v": column}), "the column v has the type", "integers")
    refused(trimill.UsageError, pandas.DataFrame({"u": ONES, "v": list("abc")}), "integers or text in both columns")
    for table in [three, three.to_pandas(), three.to_arrow()]:
        refused(trimill.UsageError, table, "no column", "x", "u", "w", source="u", target="x")
        refused(trimill.UsageError, table, "only one of source and target", source="u")
        refused(trimill.UsageError, table, "the column 'u' is named twice; expected", source="u", target="u")
    refused(trimill.UsageError, (ONES, ONES), "source and target for builtins.tuple", source="u", target="v")
    twice = pyarrow.Table.from_arrays([pyarrow.array(ONES)] * 3, names=["u", "u", "v"])
    for table in [twice, pandas.DataFrame(numpy.ones((3, 3), "int64"), columns=["u", "u", "v"])]:
        for source, target in ["uv", "vu"]:
            refused(trimill.UsageError, table, "several columns 'u'; expected one", source=source, target=target)
    coded = pyarrow.array(["a", None, "b"]).dictionary_encode()
    refused(trimill.DataError, pyarrow.table({"u": ["a"] * 3, "v": coded}), "the column v has no value in row 1")
    refused(trimill.DataError, pyarrow.table({"u": ONES, "v": [1, None, 3]}), "the column v has no value in row 1")
    for series in [pandas.Series([1, None, 3], dtype="Int64"), polars.Series([1, None, 3])]:
        refused(trimill.DataError, (ONES, series), "the second array: a missing value; expected a vertex")
    late = pyarrow.chunked_array([[1, 2], [3, None]])
    refused(trimill.DataError, pyarrow.table({"u": pyarrow.array([1] * 4), "v": late}), "no value in row 3")


@pytest.mark.parametrize("ends", [[1, "1", 2], ["1", 1, "2"]])
def test_columns_of_several_types(ends):
    for dtype in ["object", "category"]:
        table = pandas.DataFrame({"u": ["a", "b", "c"], "v": pandas.Series(ends, dtype=dtype)})
        refused(trimill.UsageError, table, "table: ", "column v", "expected two columns of integers, or two of text")


def test_a_stream_that_fails():
    def batches():
        yield pyarrow.record_batch({"u": ONES, "v": ONES})
        raise ValueError("the disk is on fire")

    schema = pyarrow.schema({"u": pyarrow.int64(), "v": pyarrow.int64()})
    refused(trimill.DataError, pyarrow.RecordBatchReader.from_batches(schema, batches()), "the disk is on fire")


def test_a_stream_is_counted_once():
    table = pyarrow.table({"u": [0, 1, 2], "v": [1, 2, 0]})
    reader = table.to_reader()
    assert trimill.count(reader).triangles == 1
    for again in [trimill.count, trimill.plan]:
        with pytest.raises(trimill.DataError, match="read before"):
            again(reader)
    # A table without rows can be read again, and has none.
    assert trimill.count(table.slice(0, 0)).triangles == 0


def test_a_stream_that_was_taken():
    class Taken:
        capsule = pyarrow.table({"u": ONES, "v": ONES}).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    assert trimill.count(Taken()).edges == 0
    refused(trimill.DataError, Taken(), "table")


@pytest.mark.parametrize(
    "graph, words",
    [
        (5, "builtins.int"),
        (None, "builtins.NoneType"),
        ({}, "builtins.dict"),
        ({(0, 1), (1, 2)}, "list(graph)"),
        (iter([(0, 1), (1, 2)]), "list(graph)"),
        (networkx.path_graph(3).edges, "list(graph)"),
        ([(0, 1), (1, 2, 3)], "builtins.tuple in place 1"),
        ([ONES, ONES], "numpy.ndarray in place 0"),
        ([0, 1], "builtins.int in place 0"),
        ([[[], []]], "unhashable"),
        (((0, 1), (1, 2)), "numpy.asarray"),
        ((ONES, [1, 2, 3]), "the second array"),
        ((ONES, ONES, ONES), "builtins.tuple"),
        (("a.txt", "b.txt"), "builtins.str"),
        (pandas.Series([0, 1, 2]), "Series; if it has pairs of vertices: list(graph)"),
        (pandas.Series([(0, 1), (1, 2)]), "list(graph)"),
        (pandas.Series(["a", "b"], dtype="category"), "Series"),
        (polars.Series([0, 1, 2]), "Series; if it has pairs of vertices: list(graph)"),
        (pyarrow.chunked_array([[0, 1], [2]]), "ChunkedArray; if it has pairs of vertices: list(graph)"),
        (
            polars.LazyFrame({"u": ONES, "v": ONES}),
            "LazyFrame, whose rows are not there yet; collect it: frame.collect()",
        ),
        # A table like those of earlier versions of pandas.
        (types.SimpleNamespace(columns=["u", "v"], ndim=2), "__arrow_c_stream__"),
    ],
)
def test_objects_that_are_no_graph(graph, words):
    refused(TypeError, graph, words)


def test_arrays_of_other_dimensions():
    both = "(array[:, 0], array[:, 1]) for edges in rows, (array[0], array[1]) for edges in columns"
    refused(trimill.UsageError, numpy.array([[0, 1], [1, 2]]), "shape (2, 2)", both)
    for dtype in ["float64", "int64", "bool"]:
        # No advice to convert the entries, as for other arrays.
        refused(trimill.UsageError, numpy.zeros((5, 5), dtype), "shape (5, 5)", "scipy.sparse.csr_array(array)")
    for shape in [(3, 3), (4,), (), (2, 2, 2), (0, 0)]:
        refused(trimill.UsageError, numpy.zeros(shape, "int64"), f"shape {shape}", "(m, 2) or (2, m)")
    refused(trimill.UsageError, numpy.zeros((5, 2)), "float64", "expected integers")
    refused(trimill.UsageError, (numpy.zeros((2, 2), "int64"), ONES), "shape (2, 2)", "one dimension")
    refused(trimill.UsageError, (numpy.array(3), ONES), "shape ()")


def test_files(tmp_path):
    refused(trimill.DataError, tmp_path / "missing.txt", "missing.txt", "does not exist")
    (tmp_path / "wrong.txt").write_text("0 1\n1 x\n")
    refused(trimill.DataError, tmp_path / "wrong.txt", "wrong.txt:2")
    refused(trimill.UsageError, "-", "standard input")
    for empty in ["", b"", [""], [tmp_path / "wrong.txt", ""]]:
        refused(trimill.UsageError, empty, "an empty path; expected the path of a file")
    refused(trimill.DataError, "a\0b", "cannot be read")


def test_a_format_of_arrays():
    refused(trimill.UsageError, (ONES, ONES), "for edges in memory", format="text")
    refused(trimill.UsageError, (ONES, ONES), "for edges in memory", header="no")
    refused(trimill.UsageError, (ONES, ONES), "run directory", run_dir="run")


def test_arrays_that_change_meanwhile_never_end_the_process():
    """The answer may be anything, or an error; memory outside of the arrays is never read."""
    u, v = complete(600)
    matrix = scipy.sparse.csr_array((numpy.ones(len(u), "int8"), (u, v)), shape=(600, 600))
    matrix = (matrix + matrix.T).tocsr()
    indptr, indices, end = matrix.indptr.copy(), matrix.indices.copy(), threading.Event()

    def change():
        random = numpy.random.default_rng(1)
        while not end.is_set():
            matrix.indices[random.integers(0, len(indices), 100)] = random.integers(-5, 2000, 100)
            matrix.indptr[random.integers(0, 601, 3)] = random.integers(-5, 10**9, 3)
            matrix.indices[:], matrix.indptr[:] = indices, indptr

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            with contextlib.suppress(trimill.DataError, trimill.UsageError):
                trimill.count(matrix)
    finally:
        end.set()
        thread.join()
    assert trimill.count(matrix).triangles == 600 * 599 * 598 // 6


def test_errors_are_those_of_python_too(random_graph, tmp_path):
    graph, file = columns_of(random_graph), tmp_path / "wrong.txt"
    file.write_text("0 1\n1 x\n")
    for kind, of_python, wrong, settings in [
        (trimill.DataError, ValueError, file, {}),
        (trimill.DataError, ValueError, (ONES, -ONES), {}),
        (trimill.MissingFileError, FileNotFoundError, tmp_path / "none.txt", {}),
        (trimill.UsageError, ValueError, graph, {"thread": 3}),
        (trimill.MemoryBudgetError, MemoryError, graph, {"device_memory": 16, "backend": "cpu"}),
        (trimill.MemoryBudgetError, MemoryError, graph, {"host_memory": "1MiB"}),
        (trimill.ResourceError, trimill.Error, graph, {"per_vertex": tmp_path / "none/v.tsv"}),
    ]:
        for kinds in [kind, of_python, trimill.Error]:
            with pytest.raises(kinds) as caught:
                trimill.count(wrong, **settings)
            assert type(caught.value) is kind
        for function in [trimill.Graph, trimill.clustering, trimill.truss]:
            if "per_vertex" not in settings and "device_memory" not in settings:
                with pytest.raises(kind):
                    function(wrong, **settings)


def test_messages_name_arguments_and_no_flags(tmp_path, random_graph):
    graph, file = columns_of(random_graph), tmp_path / "two.txt"
    file.write_text("3 2\n1 2\n")
    for wrong, settings, words in [
        (graph, {"host_memory": "1MiB", "threads": 2}, ["raise host_memory to", "lower threads"]),
        (graph, {"device_memory": 16, "backend": "cpu"}, ["raise device_memory to"]),
        (graph, {"prepare": "gpu"}, ["prepare='auto'"]),
        (file, {}, ["header='yes'", "header='no'"]),
        (graph, {"keep_spill": True}, ["spill_dir"]),
        (graph, {"partitioner": "rank", "block_bytes": 1, "backend": "cpu"}, ["block_bytes"]),
    ]:
        with pytest.raises(trimill.Error) as caught:
            trimill.count(wrong, **settings)
        said = str(caught.value)
        assert "--" not in said and all(word in said for word in words), said


def test_flags_become_arguments():
    for message, expected in [
        ("lower --block-bytes or raise --device-memory", "lower block_bytes or raise device_memory"),
        ("use --prepare auto, or cpu; --no-cache", "use prepare='auto', or cpu; cache=False"),
        ("name a disk with --work-dir: a--b - -- c", "name a disk with work_dir: a--b - -- c"),
        ("--header yes skips it; --header no does not", "header='yes' skips it; header='no' does not"),
        ("--host-memory to 5, or --format textual", "host_memory to 5, or format textual"),
        ("as --threads. No file (--help)", "as threads. No file (help)"),
        ("as 'trimill count --json' prints it; --against", "as 'trimill count --json' prints it; against"),
        ("lower '--threads'; `trimill plan --json` plans", "lower 'threads'; `trimill plan --json` plans"),
    ]:
        assert trimill._errors.in_python(message) == expected


@pytest.mark.parametrize(
    "name", ["/tmp/--no-cache.txt", "--no-cache.txt", "a/--host-memory/b", "s3://--bucket/a", "./--truss", "a --b.txt"]
)
def test_names_of_files_are_no_flags(name):
    assert trimill._errors.in_python(f"{name}: does not exist") == f"{name}: does not exist"


def test_a_missing_file_is_named_as_it_was(tmp_path):
    refused(trimill.MissingFileError, tmp_path / "--no-cache.txt", "/--no-cache.txt: does not exist")
