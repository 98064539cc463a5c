"""The actions of the paper's design that contain no retired option."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.design_actions import add_action, options_of_action
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import LearnerState


@kernel()
def usable_count(s: LearnerState) -> int:
    """Return how many actions the options in use have: each alone, and each pair."""
    n = s.n_in_use
    return int(n * (n + 1) // 2)


@kernel()
def add_usable_action(s: LearnerState, k: int, share: float, w: F64) -> None:
    """Add a share of the k-th of these actions to weights."""
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
