"""Counts the triangles of a graph exactly, also when the graph is far larger than the memory of the device that counts.

>>> import numpy, trimill
>>> answer = trimill.count((numpy.array([0, 1, 2, 2]), numpy.array([1, 2, 0, 3])))
>>> answer.triangles, answer.edges
(1, 4)

:class:`Graph` prepares a graph once, for any number of questions. It is one of these, and counted as the undirected
simple graph of its edges, so loops and repeated edges do not matter:

- the path of a file in any format that the program reads, or a list of paths of one graph;
- a list of pairs of vertices, which may be integers or have names: anything that a dictionary takes as a key;
- an array of integers of shape ``(m, 2)``, an edge in each row, or ``(2, m)``, an edge in each column;
- a tuple of two arrays of integers, of shape ``(m,)`` each: edge ``i`` is from ``u[i]`` to ``v[i]``;
- a square sparse matrix of SciPy in the format CSR, CSC or COO: its entries are the edges;
- a table of pandas, polars or pyarrow, or whatever else has ``__arrow_c_stream__``: two columns of integers, or of
  text, which ``source=`` and ``target=`` name if there are more;
- a graph of NetworkX, igraph or NetworKit, or the data of a graph of PyTorch Geometric.

Arrays are read where they are, without a copy, and must not be changed meanwhile.
"""

from trimill._api import clustering, count, plan, truss
from trimill._errors import DataError, Error, MemoryBudgetError, MissingFileError, ResourceError, UsageError
from trimill._graph import Graph
from trimill._native import VERSION as __version__
from trimill._result import Plan, Record, Result, Supports, Trusses, Vertices

__all__ = [
    "DataError",
    "Error",
    "Graph",
    "MemoryBudgetError",
    "MissingFileError",
    "Plan",
    "Record",
    "ResourceError",
    "Result",
    "Supports",
    "Trusses",
    "UsageError",
    "Vertices",
    "__version__",
    "clustering",
    "count",
    "plan",
    "truss",
]
