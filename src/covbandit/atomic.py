"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
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
        sync_folder(target.parent)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk: until then, a power cut may undo that a file was made or replaced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders; elsewhere one may write to a folder without reading it
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot do that for a folder
            raise
    finally:
        os.close(handle)


def _umask() -> int:
    """Return the process's umask: temporary files are private, the finished one should be an ordinary file."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
