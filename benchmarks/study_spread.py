"""Many measured times in a few numbers."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float], scale: float = 1.0, digits: int = 2) -> str:
    """Return the median, and in brackets the middle half."""
    low, middle, high = (
        scale * value for value in (quantile(values, 0.25), statistics.median(values), quantile(values, 0.75))
    )
    return f"{middle:,.{digits}f} [{low:,.{digits}f}, {high:,.{digits}f}]"


def full_range(values: Sequence[float], digits: int = 2) -> str:
    """Return the median, and in brackets the range."""
    return f"{statistics.median(values):,.{digits}f} [{min(values):,.{digits}f}, {max(values):,.{digits}f}]"
