"""Plain data as text files: versioned JSON with exact floats and a checksum, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from covbandit._version import __version__
from covbandit.atomic import replacing
from covbandit.errors import StateFileError
from covbandit.sizes import MOST_DOCUMENT_BYTES


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
        raise StateFileError(f"cannot read {str(path)!r}: {error}") from None
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
