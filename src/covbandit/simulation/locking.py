"""Keeps two processes from writing the same file or folder at the same time."""

from __future__ import annotations

from typing import IO, Any

from covbandit.errors import InvalidInput


def hold(file: IO[Any], what: str) -> None:
    """Lock an open file until it is closed, by whatever end of the process; refuse if another one holds it.

    Windows has no such lock; there, two processes at once are the user's risk.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InvalidInput(f"another process is writing to {what}: wait for it, or choose another place") from None
