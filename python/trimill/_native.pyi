from os import PathLike
from typing import Any, final

import numpy
from numpy.typing import NDArray

from trimill._progress import Bars
from trimill._settings import Settings

__all__ = ["VERSION", "Edges", "count", "metis_child", "plan", "read_trussness", "read_vertices", "setting_names"]

VERSION: str

@final
class Edges:
    @staticmethod
    def files(paths: list[str]) -> Edges: ...
    @staticmethod
    def pairs(tails: NDArray[Any], heads: NDArray[Any], names: tuple[str, str], vertices: int | None) -> Edges: ...
    @staticmethod
    def matrix(indptr: NDArray[Any], indices: NDArray[Any]) -> Edges: ...
    @staticmethod
    def table(capsule: object, once: bool = False) -> Edges: ...

def count(edges: Edges, settings: Settings, metis: list[str], progress: Bars | None) -> str: ...
def plan(edges: Edges, settings: Settings, metis: list[str], progress: Bars | None) -> str: ...
def read_vertices(
    path: PathLike[str], rows: int
) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint32], NDArray[numpy.uint64], NDArray[numpy.float64]]: ...
def read_trussness(
    path: PathLike[str], rows: int
) -> tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.uint32]]: ...
def setting_names() -> list[str]: ...
def metis_child(arguments: list[str]) -> None: ...
