"""The dashboard's files.

They are read once and served from memory, so that no address can reach another file.
"""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "dashboard"

_FOR_DEVELOPERS = (".md", ".py", ".ts")  # files of these kinds are not served

# Listed here, since machines differ in what they have registered for a suffix.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True)
class StaticFile:
    """A file to serve.

    Attributes
    ----------
    content : bytes
        All of it.
    media_type : str
        What it is.
    tag : str
        Changes when the content does.
    """

    content: bytes
    media_type: str
    tag: str


def read_static_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """Return the files of a folder and its subfolders by their address; the page itself is at ``/``."""
    files = {}
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.suffix in _FOR_DEVELOPERS or "__pycache__" in file.parts:
            continue
        content = file.read_bytes()
        kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        files[f"/dashboard/{file.relative_to(folder).as_posix()}"] = StaticFile(
            content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        )
    index = files.pop("/dashboard/index.html", None)  # from there it would not find its files
    if index is not None:
        files["/"] = index
    return files
