"""Counts the triangles of a graph exactly, also when the graph is far larger than the memory of the device that counts.

>>> import numpy, trimill
>>> answer = trimill.count((numpy.array([0, 1, 2, 2]), numpy.array([1, 2, 0, 3])))
>>> answer.triangles, answer.edges
(1, 4)

A graph is one of these; each is counted as the undirected simple graph of its edges, so loops and repeated edges do
not matter:

- the path of a file in any format that the program reads, or a list of paths of one graph;
- a square sparse matrix of SciPy in the format CSR, CSC or COO: its entries are the edges;
- a tuple of two arrays of integers, of shape ``(m,)`` each: edge ``i`` is from ``u[i]`` to ``v[i]``;
- a table with two columns of integers: pyarrow, polars, pandas (which needs pyarrow for it), or whatever else has
  ``__arrow_c_stream__``.

Arrays are read where they are, without a copy, and must not be changed meanwhile.
"""

from trimill._api import clustering, count, plan, truss
from trimill._errors import DataError, Error, ResourceError, UsageError
from trimill._native import VERSION as __version__
from trimill._result import Plan, Record, Result, Trusses, Vertices

__all__ = [
    "DataError",
    "Error",
    "Plan",
    "Record",
    "ResourceError",
    "Result",
    "Trusses",
    "UsageError",
    "Vertices",
    "__version__",
    "clustering",
    "count",
    "plan",
    "truss",
]
