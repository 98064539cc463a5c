"""The decision that semi-bandit learners share: the weights with the largest optimistic utility."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.search import call_search
from covbandit.kernels.qp.semicontinuous import SEMICONTINUOUS_ROWS, call_semicontinuous_maximizer
from covbandit.learners.protocol.retired_options import first_in_use
from covbandit.learners.semi_bandit.statistics import PairState

_NODES = 300  # of branch and bound in one decision; if they do not suffice, the search decides


@kernel()
def maximize(s: PairState, means: F64, w: F64) -> None:
    """Write the weights with the largest optimistic utility for these means, as far as a fast search finds them.

    `bonus` and `penalty` must be filled.
    """
    _centre(s, means, w.size)
    _search(s, w)


@kernel()
def _centre(s: PairState, means: F64, d: int) -> None:
    """Subtract one mean from all of them, which changes no decision: rewards of 1e8 ± 1 then lose no digits."""
    first = first_in_use(s.cap)
    for i in range(d):
        s.centred_mean[i] = means[i] - means[first] if s.cap[i] > 0.0 else 0.0


@kernel()
def _search(s: PairState, w: F64) -> None:
    call_search(
        s.centred_mean,
        s.bonus,
        s.penalty,
        s.min_weight,
        s.cap,
        s.last_weights,
        w,
        s.work,
        s.search,
        s.integers,
    )


@kernel()
def _is_concave(s: PairState, d: int) -> bool:
    """Return True if -w'Cw is strictly concave on the simplex: C's differences to one option have a factor."""
    L = s.search[0]
    C = s.penalty
    r = first_in_use(s.cap)
    for a in range(r + 1, d):
        for b in range(r + 1, a + 1):
            if s.cap[a] <= 0.0 or s.cap[b] <= 0.0:
                L[a, b] = 0.0
                continue
            x = C[a, b] - C[a, r] - C[r, b] + C[r, r]
            for c in range(r + 1, b):
                x -= L[a, c] * L[b, c]
            if a > b:
                L[a, b] = x / L[b, b]
            elif x > 1e-9 * (abs(C[a, a]) + abs(C[r, r]) + abs(C[a, r])):
                L[a, a] = np.sqrt(x)
            else:
                return False
    return True


@kernel()
def maximize_quadratic(s: PairState, means: F64, w: F64) -> None:
    """Do what `maximize` does where `bonus` is zero: exactly if the rest is strictly concave and `_NODES` suffice."""
    d = w.size
    if d == 1:
        w[0] = 1.0
        return
    _centre(s, means, d)
    if not _is_concave(s, d):
        _search(s, w)
        return
    # A constant added to C is taken from the utility of all weights alike; its diagonal then looks like variances.
    largest = 0.0
    size = 0.0
    for i in range(d):
        size = max(size, abs(s.centred_mean[i]))
        for j in range(d):
            largest = max(largest, abs(s.penalty[i, j]))
    for i in range(d):
        for j in range(d):
            s.shifted[i, j] = s.penalty[i, j] + largest
    nodes = call_semicontinuous_maximizer(
        s.centred_mean,
        s.shifted,
        2.0,
        s.min_weight,
        s.cap,
        s.last_weights,
        _NODES,
        1e-13 * (size + largest),
        w,
        s.work[SEMICONTINUOUS_ROWS],
        s.search[0],
        s.search[1],
        s.work[:SEMICONTINUOUS_ROWS],
        s.integers,
    )
    if nodes < 0:
        _search(s, w)
