"""The exceptions. Their text is that of the program: where, what was found, what was expected, what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimill._result import Result


class Error(Exception):
    """Any error of trimill. One of none of the classes below is a defect; please report it."""

    #: The result, where all was counted and only a file of counts could not be written.
    result: Result | None = None


class DataError(Error, ValueError):
    """Files or arrays that are malformed or damaged."""


class MissingFileError(DataError, FileNotFoundError):
    """A file that is not there."""


class UsageError(Error, ValueError):
    """Settings that do not exist, have a wrong value or contradict each other; arrays of a type that holds no ids."""


class ResourceError(Error):
    """A disk, a directory or a device that does not suffice."""


class MemoryBudgetError(ResourceError, MemoryError):
    """A budget of memory that does not suffice, or memory that the system does not give."""


#: A quoted command line; or a flag of the program and, where its value is a word, the value; not a part of a path.
_COMMAND_OR_FLAG = re.compile(
    r"""(['`])trimill\ .*?\1
    | (?<![^\s('"`])--(no-)?([a-z]+(?:-[a-z]+)*)(?![\w/-]|\.\w)(?:\ (auto|cpu|cuda|gpu|yes|no|text|metis)\b)?""",
    re.VERBOSE,
)


def in_python(message: str) -> str:
    """A message of the program, whose flags are named as arguments: ``--prepare cpu`` becomes ``prepare='cpu'``.

    Command lines that it quotes stay.
    """

    def argument(found: re.Match[str]) -> str:
        command, no, name, value = found.groups()
        if command:
            return found[0]
        name = name.replace("-", "_")
        if no:
            return f"{name}=False"
        return f"{name}={value!r}" if value else name

    return _COMMAND_OR_FLAG.sub(argument, message)
