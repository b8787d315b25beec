"""The settings of a count, with their types.

The library has the names and checks the values; the tests compare both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, TypeAlias, TypedDict, Union

from trimill._errors import UsageError

#: Bytes as a number, or text such as ``"512MiB"`` or ``"16GB"``.
Size: TypeAlias = Union[int, str]
Path: TypeAlias = Union[str, "os.PathLike[str]"]


class Settings(TypedDict, total=False):
    """Keyword arguments of all functions. ``docs/jobs.md`` says what they mean.

    ``None`` stands for the default.
    """

    format: str | None
    header: Literal["yes", "no"] | None
    columns: tuple[str, str] | list[str] | None
    names: bool | None
    cloud_credentials: bool | None
    partitioner: str | None
    parts: int | Literal["auto"] | None
    seed: int | None
    prune: Literal["none", "zero-indegree", "direct"] | None
    metis_contract: int | None
    device_memory: Size | None
    host_memory: Size | None
    block_bytes: Size | None
    spill_to: Literal["disk", "memory"] | None
    spill_dir: Path | None
    keep_spill: bool | None
    backend: Literal["auto", "cpu", "cuda", "gpu"] | None
    devices: Literal["all"] | list[int] | None
    method: str | None
    block_threads: int | None
    tile: int | None
    device_timeout: int | None
    threads: int | None
    clustering: bool | None
    per_vertex: Path | None
    by_degree: Path | None
    lcc: Path | None
    directed: bool | None
    per_edge: Path | None
    truss: bool | None
    k: int | None
    by_k: Path | None
    force: bool | None
    report: Path | None
    against: Path | None
    cache: bool | None
    cache_dir: Path | None
    cache_max: Size | None
    work_dir: Path | None
    prepare: Literal["auto", "cpu", "gpu"] | None
    run_dir: Path | None


def refuse(
    function: str,
    names: Iterable[str],
    settings: Settings,
    why: str = "returns its answers as arrays; expected this setting in count() only",
) -> None:
    """Refuses settings that a function does not have.

    :raises UsageError: one of the ``names``
    """
    for name in names:
        if settings.get(name) is not None:
            raise UsageError(f"{name}: {function}() {why}")
