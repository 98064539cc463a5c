"""Files that are written whole or not at all, and documents: versioned JSON with exact floats and a checksum."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from covbandit._version import __version__
from covbandit.core.size_limits import MOST_DOCUMENT_BYTES
from covbandit.errors import StateFileError


def why_not_opened(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened, in words that are the same in every version of Python.

    For a name that no file can have, Python raises ValueError, and its text differs between versions and functions.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    what = "a character that cannot be encoded" if isinstance(error, UnicodeError) else "a null byte"
    return f"the name of a file cannot contain {what}"


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
    except ValueError as error:
        raise StateFileError(f"cannot write to {str(folder)!r}: {why_not_opened(error)}") from None
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
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except ValueError as error:
        raise StateFileError(f"cannot write {str(target)!r}: {why_not_opened(error)}") from None
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


def _checksum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_document(path: str | Path, kind: str, version: int, content: dict[str, Any]) -> None:
    """Write what JSON knows, with its kind and the version of its format.

    Raises
    ------
    StateFileError
        If it cannot be written; the file is as before.
    """
    document = {
        "format": f"covbandit-{kind}",
        "version": version,
        "covbandit": __version__,
        "checksum": _checksum(content),
        kind: content,
    }
    with replacing(path) as file:
        file.write(json.dumps(document, indent=1).encode())


def read_document(path: str | Path, kind: str, version: int) -> tuple[int, dict[str, Any]]:
    """Return the version and the content of a file of the given kind, of the given version at most.

    Raises
    ------
    StateFileError
        If the file is truncated, damaged, foreign or of a newer format; the message says which.
    """
    try:
        if Path(path).stat().st_size > MOST_DOCUMENT_BYTES:
            raise StateFileError(f"{path} has more than {MOST_DOCUMENT_BYTES:,} bytes, so it is no saved {kind}")
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise StateFileError(f"{path} is not a text file, so no saved {kind}") from None
    except OSError as error:
        raise StateFileError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        if isinstance(error, StateFileError):
            raise
        raise StateFileError(f"cannot read {str(path)!r}: {why_not_opened(error)}") from None
    except MemoryError:
        raise StateFileError(f"{path} does not fit into the memory of this machine") from None
    try:
        document = json.loads(text)
    except RecursionError:
        raise StateFileError(f"{path} is nested too deeply to be a saved {kind}") from None
    except MemoryError:
        raise StateFileError(f"{path} does not fit into the memory of this machine") from None
    except ValueError as error:
        raise StateFileError(f"{path} is not complete JSON ({error}): truncated, or no saved {kind}") from None
    form = f"covbandit-{kind}"
    if not isinstance(document, dict) or document.get("format") != form:
        raise StateFileError(f"{path} is no {kind} saved by covbandit: it lacks format={form!r}")
    found = document.get("version")
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= version:
        raise StateFileError(
            f"{path} has format version {found!r}, written by covbandit {document.get('covbandit')}; this is "
            f"covbandit {__version__}, which reads up to version {version}: upgrade covbandit"
        )
    content = document.get(kind)
    try:
        intact = isinstance(content, dict) and _checksum(content) == document.get("checksum")
    except (RecursionError, MemoryError):
        intact = False
    if not intact or not isinstance(content, dict):
        raise StateFileError(f"{path} is damaged: its checksum does not match its content")
    return found, content
