"""The paper's design: every option alone, then every pair of options, half on each."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


@kernel()
def add_action(k: int, share: float, w: F64) -> None:
    """Add a share of the k-th action to weights."""
    d = w.size
    if k < d:
        w[k] += share
        return
    k -= d
    i = 0
    while k >= d - 1 - i:
        k -= d - 1 - i
        i += 1
    w[i] += 0.5 * share
    w[i + 1 + k] += 0.5 * share
