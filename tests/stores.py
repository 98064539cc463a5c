"""Where studies are kept: the kinds of stores that the tests run on."""

from __future__ import annotations

from pathlib import Path

KINDS = ("sqlite", "postgresql")


def sqlite_url(folder: Path) -> str:
    """Return the URL of a store in a folder."""
    return f"sqlite:///{folder / 'store.db'}"
