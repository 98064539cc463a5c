"""The actions of the paper's design that contain no retired option."""

from __future__ import annotations

from covbandit.core.typing import F64
from covbandit.kernels.design_actions import add_action
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import CAP, IN_USE, State


@kernel()
def usable_count(s: State) -> int:
    """Return how many actions the options in use have: each alone, and each pair."""
    n = s.i[IN_USE]
    return int(n * (n + 1) // 2)


@kernel()
def add_usable_action(s: State, k: int, share: float, w: F64) -> None:
    """Add a share of the k-th of these actions to weights."""
    n = s.i[IN_USE]
    if n == w.size:
        add_action(k, share, w)
        return
    first = k
    second = k
    if k >= n:
        k -= n
        first = 0
        while k >= n - 1 - first:
            k -= n - 1 - first
            first += 1
        second = first + 1 + k
    place = 0
    for i in range(w.size):
        if s.v[CAP, i] > 0.0:
            if place == first:
                w[i] += 0.5 * share
            if place == second:
                w[i] += 0.5 * share
            place += 1
