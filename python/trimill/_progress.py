"""Bars of tqdm for the tasks of a count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

_Outcome = TypeVar("_Outcome")

#: A task: number, name, units in all where that is known, unit, units done, whether it is over.
Task = tuple[int, str, "int | None", str, int, bool]


def bars(progress: bool | None) -> Bars | None:
    """The bars to show, if asked for; by default on a terminal and in a notebook, if tqdm is installed.

    :raises ImportError: ``progress`` is true and tqdm is not installed
    """
    if progress is None and not (_in_notebook() or _on_terminal()):
        return None
    if progress is False:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        if progress is None:
            return None
        raise ImportError("progress=True needs tqdm; install it: pip install 'trimill[progress]'") from error
    return Bars(tqdm)


def shown(progress: bool | None, work: Callable[[Bars | None], _Outcome]) -> _Outcome:
    """What ``work`` returns, with its progress shown in bars that are then removed."""
    to = bars(progress)
    try:
        return work(to)
    finally:
        if to is not None:
            to.close()


class Bars:
    """A bar for each task that is under way."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bars: dict[int, Any] = {}

    def __call__(self, tasks: Sequence[Task]) -> None:
        """Shows the tasks that have changed."""
        for number, name, total, unit, done, over in tasks:
            bar = self._bars.get(number)
            if bar is None and not over:
                scale = unit == "B"
                bar = self._tqdm(
                    desc=name, total=total, unit=unit if scale else f" {unit}", unit_scale=True, leave=False
                )
                self._bars[number] = bar
            if bar is not None:
                bar.update(done - bar.n)
                if over:
                    self._bars.pop(number).close()

    def close(self) -> None:
        """Removes all bars."""
        while self._bars:
            self._bars.popitem()[1].close()


def _on_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        # There is none, or one of the caller's classes without `isatty`; or it is closed.
        return False


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"
