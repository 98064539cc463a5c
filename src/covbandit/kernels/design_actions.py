"""The paper's design: every option alone, then every pair of options, half on each."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


@kernel()
def options_of_action(k: int, d: int) -> tuple[int, int]:
    """Return the two options of the k-th action for d options; for an option alone, the same twice."""
    if k < d:
        return k, k
    k -= d
    i = 0
    while k >= d - 1 - i:
        k -= d - 1 - i
        i += 1
    return i, i + 1 + k


@kernel()
def add_action(k: int, share: float, w: F64) -> None:
    """Add a share of the k-th action to weights."""
    i, j = options_of_action(k, w.size)
    if i == j:
        w[i] += share
    else:
        w[i] += 0.5 * share
        w[j] += 0.5 * share
