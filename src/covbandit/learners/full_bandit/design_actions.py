"""The actions of the paper's design: every option alone, then every pair of options, half on each.

Where options are retired, only the actions that contain none of them can be used; the `usable` ones are those.
"""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import LearnerState


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


@kernel()
def usable_count(s: LearnerState) -> int:
    """Return how many actions the options in use have: each alone, and each pair."""
    n = s.n_in_use
    return int(n * (n + 1) // 2)


@kernel()
def add_usable_action(s: LearnerState, k: int, share: float, w: F64) -> None:
    """Add a share of the k-th usable action to weights."""
    n = s.n_in_use
    if n == w.size:
        add_action(k, share, w)
        return
    first, second = options_of_action(k, n)
    place = 0
    for i in range(w.size):
        if s.cap[i] > 0.0:
            if place == first:
                w[i] += 0.5 * share
            if place == second:
                w[i] += 0.5 * share
            place += 1
