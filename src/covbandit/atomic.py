"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from covbandit.errors import StateFileError


def as_folder(path: str | Path) -> Path:
    """Return a folder, which is made if it does not exist.

    Raises
    ------
    StateFileError
        If it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateFileError(f"cannot write to {folder}: {error.strerror or error}") from None
    return folder


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to write that takes the place of `path` only when everything has reached the disk.

    Raises
    ------
    StateFileError
        If it cannot be written; `path` is as before.
    """
    target = Path(path)
    try:
        with _temporary(target) as file:
            yield file
    except OSError as error:
        raise StateFileError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def _temporary(target: Path) -> Iterator[IO[bytes]]:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """Return the process's umask: temporary files are private, the finished one should be an ordinary file."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
