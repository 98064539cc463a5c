"""A fingerprint of the package's own source files, to notice that they changed."""

from __future__ import annotations

import hashlib
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
