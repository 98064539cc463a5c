"""Keeps two processes from writing the same file or folder at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import IO, Any

from covbandit.core.files import as_folder
from covbandit.errors import InvalidInput, StateFileError

_held_here: Counter[tuple[Path, int]] = Counter()


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


@contextmanager
def holding(folder: str | Path) -> Iterator[None]:
    """Keep others from working in a folder, which is made if it does not exist.

    Whoever holds it may ask for it again: a command holds it from the first simulation to the last figure, and what it
    calls holds it too.
    """
    path = as_folder(folder)
    key = (path.resolve(), get_ident())
    _held_here[key] += 1
    try:
        if _held_here[key] > 1:
            yield
            return
        try:
            lock = (path / ".lock").open("w")
        except OSError as error:
            raise StateFileError(f"cannot write to {path}: {error.strerror or error}") from None
        with lock:
            hold(lock, str(path))
            yield
    finally:
        _held_here[key] -= 1
