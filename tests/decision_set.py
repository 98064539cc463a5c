"""The weights that may be played: they sum to one, and each is zero or at least c (None: any weights)."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_on_the_set(weights: Any, c: float | None) -> None:
    """Fail unless all weights, one decision per row, are on the set up to rounding."""
    weights = np.atleast_2d(weights)
    assert weights.min() >= 0
    assert np.abs(weights.sum(axis=-1) - 1).max() <= 1e-12
    assert (weights[weights > 0] >= (c or 0.0) - 1e-12).all()


def largest_support(d: int, c: float | None) -> int:
    """Return how many of d options may have weight at once."""
    return d if c is None else min(d, int((1 + 1e-12) / c))
