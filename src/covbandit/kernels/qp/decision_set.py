"""The decision set: weights that sum to one, each zero or at least c."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel

ROUNDING = 1e-12
"""c may be missed by this: 3 × (1/3) need not be 1."""


@kernel()
def largest_support(least: float, d: int) -> int:
    """Return how many of d options fit."""
    if least * d <= 1.0 + ROUNDING:
        return d
    return int((1.0 + ROUNDING) / least)


@kernel()
def is_feasible(w: F64, least: float, cap: F64) -> bool:
    """Return True if weights sum to one, each is zero or at least c, and each is zero where the cap is zero."""
    total = 0.0
    for i in range(w.size):
        total += w[i]
        if w[i] != 0.0 and (w[i] < least or cap[i] <= 0.0):
            return False
    return abs(total - 1.0) <= 1e-9
