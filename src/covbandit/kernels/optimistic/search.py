r"""A fast search for the largest optimistic utility over weights that are zero or at least c.

.. math:: \max_w\; F(w) = θ'w + \sqrt{(w'Aw)_+} - w'Cw \quad\text{s.t. } Σ_i w_i = 1,\; w_i = 0 \text{ or } w_i ≥ c

A and C are symmetric and may be indefinite, so F has many local maxima. The options with weight, the *support*, span a
simplex of their own, with vertices "c on all, the rest on one". Where there are few supports, points of all of them are
scored, their barycentres and on the way from there to the vertices; where there are many, those of supports grown
greedily from options and pairs. The best points are improved by a few moves, and the best of these to the top. Further
starts are single options, the best weights without c (made to satisfy it) and the weights played last. Where supports
were grown, random ones follow, and the best tops are shaken (`shaking`). Unless every support was climbed, options are
then added, dropped and swapped as long as that helps. Diversity of starts matters more than depth.

What must hold: the answer is feasible, no transfer between two chosen options improves it beyond rounding, and it is
at least as good as every point scored. It is *not* proven to be the best; `proof` proves.

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

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.optimistic.moves import MOVE_ROWS, MOVES, ROUGHLY, call_climb, call_improve
from covbandit.kernels.optimistic.shaking import call_shake_tops
from covbandit.kernels.qp.decision_set import ROUNDING, is_feasible, largest_support

MAX_SCORED = 1200  # supports; where there are more, starts are grown greedily instead of scoring them all
N_TRIED = 64  # points of the best scores, which are climbed a little
N_CLIMBED = 10  # of these, which are climbed to the top; half as many where every support was tried
_FIRST_MOVES = 4  # transfers in a little climb
_LAST_MOVES = 2000  # transfers in the last climb, of the best point
_PRECISELY = 1e-14  # share of the terms that a transfer must promise, to polish the best point
_ROUNDED = 1e-13  # gains below this share of F are rounding
_SWAPS = 64  # swaps that are looked ahead; where there are more, only drops and additions
_PAIRS = 650  # pairs of options from which supports are grown: all of them up to 36 options

# rows of `work`, after those of the moves
_INSIDE = MOVE_ROWS
_BEST = MOVE_ROWS + 1
_POINT = MOVE_ROWS + 2  # N_TRIED rows of weights
_SCORE = _POINT + N_TRIED  # as many whose first entry is F there, the second F of the top that it leads to
SEARCH_ROWS = _SCORE + N_TRIED
SEARCH_SLABS = 2


@kernel()
def _keep(work: F64, order: I64, score: float) -> int:
    """Return a place for a point with this score among the best N_TRIED, -1 if it is not one of them.

    ``order[-2]`` counts the points kept and ``order[-1]`` is the place of the worst.
    """
    kept = order[order.size - 2]
    worst = order[order.size - 1]
    if kept == N_TRIED and not score > work[_SCORE + worst, 0]:
        return -1
    # A point whose score equals one that was kept is most likely the same again, and other starts are worth more.
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
    """Score the support ``order[:k]``: its barycentre, its best vertex and the best points on the way to a vertex.

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
    # The vertices, and 30 % and 70 % of the way there from the barycentre: `base` on all, and `lead` more on one.
    for part in range(3):
        base = least if part == 0 else share - (0.4 * part - 0.1) * (share - least)
        lead = 1.0 - k * base
        best = -np.inf
        at = -1
        for a in range(k):
            i = order[a]
            square = base * (base * sa + 2.0 * lead * slabs[0, row, i]) + lead * lead * A[i, i]
            value = base * st + lead * theta[i] + np.sqrt(max(square, 0.0))
            value -= base * (base * sc + 2.0 * lead * slabs[1, row, i]) + lead * lead * C[i, i]
            if value > best:
                best = value
                at = i
        place = _keep(work, order, best)
        if place >= 0:
            for i in range(theta.size):
                work[_POINT + place, i] = 0.0
            for a in range(k):
                work[_POINT + place, order[a]] = base
            work[_POINT + place, at] = base + lead


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
    """Grow a support from every option and from pairs, always by the option that makes equal weights best.

    All on the way are scored.
    """
    d = theta.size
    inside = work[_INSIDE]
    turns = 1 + min(d // 2, _PAIRS // d)
    for start in range(d * turns):
        first = start // turns
        second = (first + start % turns) % d  # the same as the first: a single option
        if cap[first] <= 0.0 or cap[second] <= 0.0:
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
            if k == 1 and second != first:
                entering = second
                continue
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
    "void(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[:, ::1], int64[::1])"
)
def _score_relaxed(theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, work: F64, order: I64) -> None:
    """Climb without c from equal weights; then score the k largest weights, made to satisfy c, for k = 1, ..., m."""
    d = theta.size
    x = work[_INSIDE]
    trial = work[_BEST]
    allowed = 0
    for i in range(d):
        allowed += cap[i] > 0.0
    for i in range(d):
        x[i] = 1.0 / allowed if cap[i] > 0.0 else 0.0
    call_climb(theta, A, C, 0.0, cap, x, work, order, MOVES, ROUGHLY, -np.inf)
    for k in range(1, m + 1):
        total = 0.0
        for i in range(d):
            trial[i] = 0.0
        for _ in range(k):
            largest = -1
            for i in range(d):
                if trial[i] == 0.0 and cap[i] > 0.0 and (largest < 0 or x[i] > x[largest]):
                    largest = i
            trial[largest] = 1.0
            total += x[largest]
        rest = max(1.0 - k * least, 0.0)
        for i in range(d):
            if trial[i] > 0.0:
                trial[i] = least + rest * x[i] / total
        value = call_climb(theta, A, C, least, cap, trial, work, order, _FIRST_MOVES, ROUGHLY, -np.inf)
        place = _keep(work, order, value)
        if place >= 0:
            for i in range(d):
                work[_POINT + place, i] = trial[i]


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
    if least > 0.0:
        _score_relaxed(theta, A, C, least, cap, m, work, order)
    kept = order[order.size - 2]
    if least == 0.0 or 2.0 * supports <= N_TRIED:
        m = 0  # every support is climbed anyhow
    best = -np.inf
    target = -np.inf
    for a in range(kept):
        target = max(target, work[_SCORE + a, 0])
    for a in range(kept):
        value = call_climb(theta, A, C, least, cap, work[_POINT + a], work, order, _FIRST_MOVES, ROUGHLY, target)
        work[_SCORE + a, 0] = value
        target = max(target, value)
    # Where supports are grown, many are left out, so all points are climbed. Elsewhere each single option is a start as
    # well: it reaches small supports that others outshine. The given start comes last, so that it wins no ties.
    climbed = kept
    singles = 0
    if supports <= MAX_SCORED:
        climbed = min(N_CLIMBED // 2 if m == 0 else N_CLIMBED, kept)
        singles = 0 if m == 0 else d
    for turn in range(climbed + singles + 1):
        row = work[_BEST]
        place = -1
        if turn < climbed:
            top = 0
            for a in range(kept):
                if work[_SCORE + a, 0] > work[_SCORE + top, 0]:
                    top = a
            work[_SCORE + top, 0] = -np.inf
            row = work[_POINT + top]
            place = top
        elif turn < climbed + singles:
            if cap[turn - climbed] <= 0.0:
                continue
            for i in range(d):
                row[i] = 1.0 if i == turn - climbed else 0.0
        elif is_feasible(start, least, cap):
            for i in range(d):
                row[i] = start[i]
        else:
            break
        value = call_improve(theta, A, C, least, cap, m, row, work, order)
        if place >= 0 and supports > MAX_SCORED:  # only shaking reads it; with one option there is no second entry
            work[_SCORE + place, 1] = value
        if value > best:
            best = value
            for i in range(d):
                w[i] = row[i]
    if supports > MAX_SCORED:
        best = call_shake_tops(
            theta, A, C, least, cap, m, kept, best, w, work[_BEST], work[_POINT:_SCORE], work[_SCORE:], work, order
        )
    if m > 0:
        best = _look_ahead(theta, A, C, least, cap, m, best, w, work, order)
    best = call_climb(theta, A, C, least, cap, w, work, order, _LAST_MOVES, _PRECISELY, -np.inf)
    total = 0.0
    for i in range(d):
        total += w[i]
    for i in range(d):
        w[i] /= total
    return best


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64, float64[::1], "
    "float64[:, ::1], int64[::1])"
)
def _look_ahead(
    theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, best: float, w: F64, work: F64, order: I64
) -> float:
    """Drop, add or swap one option and climb from there, as long as that improves w; return F of the result.

    Where F is nearly flat, what an exchange is worth shows only after the other weights have followed.
    """
    d = w.size
    trial = work[_BEST]
    chosen = 0
    for i in range(d):
        chosen += w[i] > 0.0
    unsuccessful = 0
    move = 0
    swaps = chosen * (d - chosen) <= _SWAPS
    while unsuccessful < d * (d + 1):
        i = move // (d + 1)  # leaves, unless j leaves it alone
        j = move % (d + 1)  # joins; d: nobody
        move = (move + 1) % (d * (d + 1))
        unsuccessful += 1
        rest = 1.0 - chosen * least
        if j == i:  # stands for: j joins, nobody leaves
            if w[j] > 0.0 or cap[j] <= 0.0 or chosen >= m or rest < least:
                continue
            for k in range(d):
                trial[k] = least + (w[k] - least) * (1.0 - least / rest) if w[k] > 0.0 else 0.0
            trial[j] = least
        elif w[i] == 0.0:
            continue
        elif j == d:
            if chosen == 1:
                continue
            for k in range(d):
                trial[k] = w[k] + w[i] / (chosen - 1.0) if w[k] > 0.0 else 0.0
            trial[i] = 0.0
        else:
            if not swaps or w[j] > 0.0 or cap[j] <= 0.0:
                continue
            for k in range(d):
                trial[k] = w[k]
            trial[j] = w[i]
            trial[i] = 0.0
        value = call_climb(theta, A, C, least, cap, trial, work, order, MOVES, ROUGHLY, best)
        if value > best + _ROUNDED * abs(best):
            best = value
            chosen = 0
            for k in range(d):
                w[k] = trial[k]
                chosen += w[k] > 0.0
            unsuccessful = 0
    return best


call_search = out_of_line(search_optimistic)
