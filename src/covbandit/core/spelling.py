"""Names that are meant where another spelling was written."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def likeliest(name: object, known: Sequence[str]) -> str | None:
    """Return which of the known names is meant, if one resembles what was written.

    Examples
    --------
    >>> likeliest("mc_empirical", ["OGD", "MCEmpirical"])
    'MCEmpirical'
    """
    folded = {_folded(each): each for each in reversed(known)}
    alike = get_close_matches(_folded(str(name)), folded, n=1, cutoff=0.6)
    return folded[alike[0]] if alike else None


def _folded(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")
