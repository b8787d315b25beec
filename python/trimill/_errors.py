"""The exceptions. Their text is that of the program: where, what was found, what was expected, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimill._result import Result


class Error(Exception):
    """Any error of trimill. One of none of the classes below is a defect; please report it."""

    #: The result, where all was counted and only a file of counts could not be written.
    result: Result | None = None


class DataError(Error):
    """Files or arrays that are missing, malformed or damaged."""


class UsageError(Error):
    """Settings that do not exist, have a wrong value or contradict each other; arrays of a type that holds no ids."""


class ResourceError(Error):
    """A budget, a disk, a directory or a device that does not suffice."""
