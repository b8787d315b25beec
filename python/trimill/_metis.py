"""Runs METIS in a process of its own, which a count starts with this file as the program."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimill._settings import Settings


def command(settings: Settings) -> list[str]:
    """The command of that process: this interpreter, isolated from the environment. Empty without an interpreter.

    :raises UsageError: the settings ask for METIS, and there is none
    """
    if not sys.executable:
        if settings.get("partitioner") == "metis":
            from trimill._errors import UsageError

            raise UsageError(
                "partitioner: metis runs in a process of this interpreter, and sys.executable is empty; "
                "set sys.executable to the path of a Python, or use another partitioner"
            )
        return []
    return [sys.executable, "-I", "-S", os.path.abspath(__file__)]


def main() -> None:
    """Reads a graph from standard input, and overwrites it with the assignment."""
    # An interrupt ends it at once: it has nothing to clean up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from trimill import _errors, _native

    try:
        _native.metis_child(sys.argv[1:])
    except _errors.Error as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
