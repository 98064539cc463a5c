r"""A fast search for the largest optimistic utility over weights that are zero or at least c.

.. math:: \max_w\; F(w) = θ'w + \sqrt{(w'Aw)_+} - w'Cw \quad\text{s.t. } Σ_i w_i = 1,\; w_i = 0 \text{ or } w_i ≥ c

A and C are symmetric and may be indefinite, so F has many local maxima. The options with weight, the *support*, span a
simplex of their own, with vertices "c on all, the rest on one". Where there are few supports, all their vertices and
barycentres are scored; where there are many, those of supports grown greedily from every option. The best points are
climbed a little, and the best of these to the top, as are the weights played last. Unless every support was climbed,
options are then added, dropped and swapped as long as that helps. Diversity of starts matters more than depth.

What must hold: the answer is feasible, no transfer between two chosen options improves it beyond rounding, and it is
at least as good as every point scored. It is *not* proven to be the best; `optimistic_bound` proves.

========  =====================  ==================================================================
name      shape                  meaning
========  =====================  ==================================================================
theta     d                      linear term θ
A         d × d                  squared bonus, symmetric
C         d × d                  penalty ρ × risk, symmetric
least     scalar                 c, from 0 (the plain simplex) to 1
cap       d                      0 forbids an option; any other value allows it
start     d                      weights to start from as well, if feasible; zeros mean none
w         d                      the answer
work      SEARCH_ROWS × d        workspace
slabs     SEARCH_SLABS × d × d   workspace
order     2 d + 2                workspace
========  =====================  ==================================================================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covbandit.kernels.compilation import kernel, separate
from covbandit.kernels.optimistic_moves import MOVE_ROWS, ROUNDING, call_climb, call_exchange

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

MAX_SCORED = 1200  # supports; where there are more, starts are grown greedily instead of scoring them all
N_TRIED = 64  # points of the best scores, which are climbed a little
N_CLIMBED = 5  # of these, which are climbed to the top; if starts are grown greedily, all are
_MOVES = 400  # transfers in one climb
_FIRST_MOVES = 4  # transfers in a little climb
_LAST_MOVES = 2000  # transfers in the last climb, of the best point
_ROUGHLY = 1e-9  # share of the terms that a transfer must promise, to compare points
_PRECISELY = 1e-14  # and to polish the best one
_EXCHANGES = 10  # exchanges of options at most, for each that fits: far more than were ever needed

# rows of `work`, after those of the moves
_INSIDE = MOVE_ROWS
_BEST = MOVE_ROWS + 1
_POINT = MOVE_ROWS + 2  # N_TRIED rows of weights
_SCORE = _POINT + N_TRIED  # as many whose first entry is F there
SEARCH_ROWS = _SCORE + N_TRIED
SEARCH_SLABS = 2


@kernel()
def largest_support(least: float, d: int) -> int:
    """Return how many options fit."""
    if least * d <= 1.0 + ROUNDING:
        return d
    return int((1.0 + ROUNDING) / least)


@kernel()
def _keep(work: F64, order: I64, score: float) -> int:
    """Return a place for a point with this score among the best N_TRIED, -1 if it is not one of them.

    ``order[-2]`` counts the points kept and ``order[-1]`` is the place of the worst.
    """
    kept = order[order.size - 2]
    worst = order[order.size - 1]
    if kept == N_TRIED and not score > work[_SCORE + worst, 0]:
        return -1
    # The same point again, or one as good as the same: diversity is worth more than a second climb to the same top.
    for a in range(kept):
        if abs(score - work[_SCORE + a, 0]) <= ROUNDING * abs(score):
            return -1
    place = worst
    if kept < N_TRIED:
        place = kept
        kept += 1
        order[order.size - 2] = kept
    work[_SCORE + place, 0] = score
    if kept == N_TRIED:
        worst = 0
        for a in range(kept):
            if work[_SCORE + a, 0] < work[_SCORE + worst, 0]:
                worst = a
        order[order.size - 1] = worst
    return int(place)


@kernel(
    "void(float64[::1], float64[:, ::1], float64[:, ::1], float64, int64, float64[:, ::1], float64[:, :, ::1], "
    "int64[::1], int64)"
)
def _score_support(
    theta: F64, A: F64, C: F64, least: float, k: int, work: F64, slabs: F64, order: I64, row: int
) -> None:
    """Score barycentre and vertices of the support ``order[:k]``; keep the best point if it is among the best.

    ``slabs[0, row]`` and ``slabs[1, row]`` hold the sums of the support's rows of A and C.
    """
    st = 0.0
    sa = 0.0
    sc = 0.0
    for a in range(k):
        i = order[a]
        st += theta[i]
        sa += slabs[0, row, i]
        sc += slabs[1, row, i]
    share = 1.0 / k
    place = _keep(work, order, share * (st + np.sqrt(max(sa, 0.0)) - share * sc))
    if place >= 0:
        for i in range(theta.size):
            work[_POINT + place, i] = 0.0
        for a in range(k):
            work[_POINT + place, order[a]] = share
    rest = max(1.0 - k * least, 0.0)
    if k == 1 or rest <= ROUNDING or least == 0.0:
        return  # the barycentre is all there is; or the vertices are those of single options
    best = -np.inf
    at = -1
    cross = 2.0 * least * rest
    st *= least
    sa *= least * least
    sc *= least * least
    for a in range(k):
        i = order[a]
        square = sa + cross * slabs[0, row, i] + rest * rest * A[i, i]
        value = st + rest * theta[i] + np.sqrt(max(square, 0.0))
        value -= sc + cross * slabs[1, row, i] + rest * rest * C[i, i]
        if value > best:
            best = value
            at = i
    place = _keep(work, order, best)
    if place >= 0:
        for i in range(theta.size):
            work[_POINT + place, i] = 0.0
        for a in range(k):
            work[_POINT + place, order[a]] = least
        work[_POINT + place, at] = 1.0 - (k - 1) * least


@kernel(
    "void(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[:, ::1], "
    "float64[:, :, ::1], int64[::1])"
)
def _score_all(theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, work: F64, slabs: F64, order: I64) -> None:
    """Score every support of at most m options, in lexicographic order: each extends the one before by one option."""
    d = theta.size
    k = 0
    following = 0
    while True:
        while following < d and cap[following] <= 0.0:
            following += 1
        if following < d and k < m:
            order[k] = following
            for i in range(d):
                slabs[0, k, i] = A[following, i] + (slabs[0, k - 1, i] if k > 0 else 0.0)
                slabs[1, k, i] = C[following, i] + (slabs[1, k - 1, i] if k > 0 else 0.0)
            k += 1
            _score_support(theta, A, C, least, k, work, slabs, order, k - 1)
            following += 1
        else:
            if k == 0:
                return
            k -= 1
            following = order[k] + 1


@kernel(
    "void(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[:, ::1], "
    "float64[:, :, ::1], int64[::1])"
)
def _score_greedily(
    theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, work: F64, slabs: F64, order: I64
) -> None:
    """Grow a support from every option, always by the option that makes equal weights best; score all on the way."""
    d = theta.size
    inside = work[_INSIDE]
    for first in range(d):
        if cap[first] <= 0.0:
            continue
        for i in range(d):
            inside[i] = 0.0
            slabs[0, 0, i] = 0.0
            slabs[1, 0, i] = 0.0
        st = 0.0
        sa = 0.0
        sc = 0.0
        entering = first
        for k in range(1, m + 1):
            order[k - 1] = entering
            inside[entering] = 1.0
            st += theta[entering]
            sa += 2.0 * slabs[0, 0, entering] + A[entering, entering]
            sc += 2.0 * slabs[1, 0, entering] + C[entering, entering]
            for i in range(d):
                slabs[0, 0, i] += A[entering, i]
                slabs[1, 0, i] += C[entering, i]
            _score_support(theta, A, C, least, k, work, slabs, order, 0)
            entering = -1
            best = -np.inf
            share = 1.0 / (k + 1.0)
            for i in range(d):
                if inside[i] == 0.0 and cap[i] > 0.0:
                    square = sa + 2.0 * slabs[0, 0, i] + A[i, i]
                    penalty = sc + 2.0 * slabs[1, 0, i] + C[i, i]
                    value = st + theta[i] + np.sqrt(max(square, 0.0)) - share * penalty
                    if value > best:
                        best = value
                        entering = i
            if entering < 0:
                break


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], float64[::1], float64[::1], "
    "float64[:, ::1], float64[:, :, ::1], int64[::1])"
)
def search_optimistic(
    theta: F64, A: F64, C: F64, least: float, cap: F64, start: F64, w: F64, work: F64, slabs: F64, order: I64
) -> float:
    """Write the best weights found into `w`; return F there."""
    d = theta.size
    allowed = 0
    for i in range(d):
        allowed += cap[i] > 0.0
    m = largest_support(least, allowed)
    supports = 0.0
    term = 1.0
    for k in range(1, m + 1):
        term *= (allowed - k + 1.0) / k
        supports += term
    order[order.size - 2] = 0
    order[order.size - 1] = 0
    if supports <= MAX_SCORED:
        _score_all(theta, A, C, least, cap, m, work, slabs, order)
    else:
        _score_greedily(theta, A, C, least, cap, m, work, slabs, order)
    kept = order[order.size - 2]
    if least == 0.0 or 2.0 * supports <= N_TRIED:
        m = 0  # every support is climbed anyhow
    best = -np.inf
    target = -np.inf
    for a in range(kept):
        target = max(target, work[_SCORE + a, 0])
    for a in range(kept):
        value = call_climb(theta, A, C, least, cap, work[_POINT + a], work, order, _FIRST_MOVES, _ROUGHLY, target)
        work[_SCORE + a, 0] = value
        target = max(target, value)
    # Greedy starts are few, and which is best shows at the top only. The start comes last, so that it wins no ties.
    climbed = min(N_CLIMBED, kept) if supports <= MAX_SCORED else kept
    for turn in range(climbed + 1):
        row = work[_BEST]
        if turn < climbed:
            top = 0
            for a in range(kept):
                if work[_SCORE + a, 0] > work[_SCORE + top, 0]:
                    top = a
            work[_SCORE + top, 0] = -np.inf
            row = work[_POINT + top]
        elif _is_feasible(start, least, cap):
            for i in range(d):
                row[i] = start[i]
        else:
            break
        value = _improve(theta, A, C, least, cap, m, row, work, order)
        if value > best:
            best = value
            for i in range(d):
                w[i] = row[i]
    best = call_climb(theta, A, C, least, cap, w, work, order, _LAST_MOVES, _PRECISELY, -np.inf)
    total = 0.0
    for i in range(d):
        total += w[i]
    for i in range(d):
        w[i] /= total
    return best


@kernel()
def _is_feasible(w: F64, least: float, cap: F64) -> bool:
    """Tell whether weights sum to one and are zero or at least c."""
    total = 0.0
    for i in range(w.size):
        total += w[i]
        if w[i] != 0.0 and (w[i] < least or cap[i] <= 0.0):
            return False
    return abs(total - 1.0) <= 1e-9


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[::1], "
    "float64[:, ::1], int64[::1])"
)
def _improve(theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, w: F64, work: F64, order: I64) -> float:
    """Climb, and exchange options (up to m of them; 0: none) as long as that helps; return F of the result."""
    value = call_climb(theta, A, C, least, cap, w, work, order, _MOVES, _ROUGHLY, -np.inf)
    for _ in range(_EXCHANGES * m):
        if call_exchange(theta, A, C, least, cap, m, w, work, order) == 0.0:
            break
        value = call_climb(theta, A, C, least, cap, w, work, order, _MOVES, _ROUGHLY, -np.inf)
    return value


call_search = separate(search_optimistic)
