"""Fingerprints of source code, the package's own and the user's, to notice that it changed."""

from __future__ import annotations

import hashlib
import marshal
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def source_hash(parts: Sequence[str]) -> str:
    """Return sixteen letters that change with the source files in these folders of the package, or in these files."""
    digest = hashlib.sha256()
    for part in parts:
        whole = _PACKAGE / part
        for path in [whole] if whole.suffix else sorted(whole.rglob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def foreign_source(kind: type) -> dict[str, str]:
    """Return what tells apart the versions of a class that is not ours: where it is, and a hash of the file it is in.

    Without a file (typed in at a prompt) the compiled code of its methods is hashed instead. Nothing for our own
    classes, whose sources are hashed together.
    """
    if kind.__module__.split(".")[0] == __package__:
        return {}
    digest = hashlib.sha256()
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is not None and Path(file).is_file():
        digest.update(Path(file).read_bytes())
    else:
        for name, value in sorted(vars(kind).items()):
            code = getattr(value, "__code__", None)
            digest.update(name.encode() + (b"" if code is None else marshal.dumps(code)))
    return {"defined_in": f"{kind.__module__}.{kind.__qualname__}", "source": digest.hexdigest()[:16]}
