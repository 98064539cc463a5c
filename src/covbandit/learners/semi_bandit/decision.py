"""The decision that semi-bandit learners share: the weights with the largest optimistic utility."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.search import SEARCH_ROWS, SEARCH_SLABS, call_search
from covbandit.kernels.qp.semicontinuous import SEMICONTINUOUS_ROWS, call_semicontinuous_maximizer
from covbandit.learners.protocol.state import CAP, FIRST_INT, LAST, State
from covbandit.learners.semi_bandit.statistics import BONUS, CENTRED, MIN_WEIGHT, PENALTY, SEARCH, SHIFTED, WORK

_NODES = 300  # of branch and bound in one decision; if they do not suffice, the search decides


@kernel()
def maximize(s: State, means: int, w: F64) -> None:
    """Write the weights with the largest optimistic utility, as far as a fast search finds them.

    BONUS and PENALTY must be filled; `means` is the row of the means to reckon with.
    """
    _centre(s, means, w.size)
    _search(s, w)


@kernel()
def _centre(s: State, means: int, d: int) -> None:
    """Take one mean from all of them, which changes no decision: rewards of 1e8 ± 1 then lose no digits."""
    first = _first_allowed(s)
    for i in range(d):
        s.v[CENTRED, i] = s.v[means, i] - s.v[means, first] if s.v[CAP, i] > 0.0 else 0.0


@kernel()
def _first_allowed(s: State) -> int:
    first = 0
    while s.v[CAP, first] <= 0.0:
        first += 1
    return first


@kernel()
def _search(s: State, w: F64) -> None:
    call_search(
        s.v[CENTRED],
        s.m[BONUS],
        s.m[PENALTY],
        s.p[MIN_WEIGHT],
        s.v[CAP],
        s.v[LAST],
        w,
        s.v[WORK : WORK + SEARCH_ROWS],
        s.m[SEARCH : SEARCH + SEARCH_SLABS],
        s.i[FIRST_INT:],
    )


@kernel()
def _is_concave(s: State, d: int) -> bool:
    """Tell whether -w'Cw is strictly concave on the simplex, by a Cholesky factor of C's differences to one option."""
    L = s.m[SEARCH]
    C = s.m[PENALTY]
    r = _first_allowed(s)
    for a in range(r + 1, d):
        for b in range(r + 1, a + 1):
            if s.v[CAP, a] <= 0.0 or s.v[CAP, b] <= 0.0:
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
def maximize_quadratic(s: State, means: int, w: F64) -> None:
    """Do the same where there is no root (BONUS is zero): exactly, if what is left is concave."""
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
        size = max(size, abs(s.v[CENTRED, i]))
        for j in range(d):
            largest = max(largest, abs(s.m[PENALTY, i, j]))
    for i in range(d):
        for j in range(d):
            s.m[SHIFTED, i, j] = s.m[PENALTY, i, j] + largest
    nodes = call_semicontinuous_maximizer(
        s.v[CENTRED],
        s.m[SHIFTED],
        2.0,
        s.p[MIN_WEIGHT],
        s.v[CAP],
        s.v[LAST],
        _NODES,
        1e-13 * (size + largest),
        w,
        s.v[WORK + SEMICONTINUOUS_ROWS],
        s.m[SEARCH],
        s.m[SEARCH + 1],
        s.v[WORK : WORK + SEMICONTINUOUS_ROWS],
        s.i[FIRST_INT:],
    )
    if nodes < 0:
        _search(s, w)
