r"""A fast search for the largest optimistic utility over weights that are zero or at least c.

.. math:: \max_w\; F(w) = θ'w + \sqrt{(w'Aw)_+} - w'Cw \quad\text{s.t. } Σ_i w_i = 1,\; w_i = 0 \text{ or } w_i ≥ c

A and C are symmetric and may be indefinite, so F has many local maxima. The options with weight, the *support*, span a
simplex of their own, with vertices "c on all, the rest on one". Where there are few supports, all their vertices and
barycentres are scored and the best supports are climbed from their best points. Where there are many, greedy starts
(one through every option, and the weights played last) are improved by climbing, adding, dropping and swapping.

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

from covbandit.kernels.compilation import kernel

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

MAX_SCORED = 1200  # supports; where there are more, starts are grown greedily instead of scoring them all
N_TRIED = 64  # points of the best scores, which are climbed a little
N_CLIMBED = 5  # of these, which are climbed to the top
_ROUNDING = 1e-12  # c may be missed by this: 3 × (1/3) need not be 1
_CLIMB = 1e-13  # a climb ends when no transfer promises more than this share of the terms
_MOVES = 400  # transfers in one climb
_FIRST_MOVES = 4  # transfers in a little climb

# rows of `work`
_X = 0
_AX = 1
_CX = 2
_BEST = 3
_POINT = 4  # N_TRIED rows of weights
_SCORE = _POINT + N_TRIED  # as many whose first entry is F there
SEARCH_ROWS = _SCORE + N_TRIED
SEARCH_SLABS = 2

@kernel()
def largest_support(least: float, d: int) -> int:
    """Return how many options fit."""
    if least * d <= 1.0 + _ROUNDING:
        return d
    return int((1.0 + _ROUNDING) / least)


@kernel()
def evaluate(theta: F64, A: F64, C: F64, w: F64) -> float:
    """Return F(w)."""
    linear = 0.0
    square = 0.0
    penalty = 0.0
    for i in range(w.size):
        if w[i] != 0.0:
            a = 0.0
            b = 0.0
            for j in range(w.size):
                a += A[i, j] * w[j]
                b += C[i, j] * w[j]
            linear += theta[i] * w[i]
            square += w[i] * a
            penalty += w[i] * b
    return linear + np.sqrt(max(square, 0.0)) - penalty


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], float64[::1], float64[:, ::1], "
    "int64[::1], int64, float64)"
)
def climb(
    theta: F64, A: F64, C: F64, least: float, cap: F64, w: F64, work: F64, order: I64, limit: int, target: float
) -> float:
    """Improve feasible weights within their support by transfers between two options; return F of the result.

    Each transfer goes from the option with the least gradient that has more than c to the one with the largest, by an
    exact line search. A climb that would not reach `target` if F were concave is given up.
    """
    d = w.size
    ax = work[_AX]
    cx = work[_CX]
    k = 0
    for i in range(d):
        if w[i] > 0.0 or (least == 0.0 and cap[i] > 0.0):
            order[k] = i
            k += 1
    linear = 0.0
    q = 0.0
    penalty = 0.0
    for a in range(k):
        i = order[a]
        x = 0.0
        y = 0.0
        for b in range(k):
            j = order[b]
            x += A[i, j] * w[j]
            y += C[i, j] * w[j]
        ax[i] = x
        cx[i] = y
        linear += theta[i] * w[i]
        q += w[i] * x
        penalty += w[i] * y
    value = linear + np.sqrt(max(q, 0.0)) - penalty
    for _ in range(limit):
        inverse = 1.0 / np.sqrt(q) if q > 0.0 else 0.0
        up = -1
        down = -1
        highest = -np.inf
        lowest = np.inf
        level = 0.0
        for a in range(k):
            i = order[a]
            g = theta[i] + ax[i] * inverse - 2.0 * cx[i]
            level += (w[i] - least) * g
            if g > highest:
                highest = g
                up = i
            if g < lowest and w[i] > least:
                lowest = g
                down = i
        if down < 0 or not highest > lowest:
            break
        if value + (1.0 - k * least) * highest - level < target:
            break
        room = w[down] - least
        if (highest - lowest) * room <= _CLIMB * (abs(highest) + abs(lowest) + abs(value)):
            break
        p = theta[up] - theta[down] - 2.0 * (cx[up] - cx[down])
        bend = 2.0 * (C[up, up] + C[down, down] - 2.0 * C[up, down])
        b1 = ax[up] - ax[down]
        a2 = A[up, up] + A[down, down] - 2.0 * A[up, down]
        # φ'(t) = p - bend t + (b1 + a2 t)/√(q + 2 b1 t + a2 t²), positive at 0: the first top that Newton's steps reach,
        # or the end of the interval, whichever is higher. There may be a valley in between.
        root = np.sqrt(max(q, 0.0))
        low = 0.0
        high = room
        seen_end = False
        t = 0.0
        slope = highest - lowest
        square = q
        for _newton in range(60):
            curvature = -bend
            if square > 0.0:
                curvature += (a2 * q - b1 * b1) / (square * np.sqrt(square))
            following = t - slope / curvature if curvature < 0.0 else room
            if not (following > low and following < high):
                following = 0.5 * (low + high) if seen_end or high < room else room
            change = abs(following - t)
            t = following
            square = q + t * (2.0 * b1 + a2 * t)
            slope = p - bend * t
            if square > 0.0:
                slope += (b1 + a2 * t) / np.sqrt(square)
            if t == room:
                seen_end = True
                if slope >= 0.0:
                    break
            elif slope > 0.0:
                low = t
            else:
                high = t
            if change <= 1e-3 * t and abs(slope) <= 1e-6 * (highest - lowest):
                break
        step = t
        gain = p * t - 0.5 * bend * t * t + np.sqrt(max(square, 0.0)) - root
        square = q + room * (2.0 * b1 + a2 * room)
        far = p * room - 0.5 * bend * room * room + np.sqrt(max(square, 0.0)) - root
        if far > gain:
            step = room
            gain = far
        if not gain > 0.0:
            break
        w[up] += step
        w[down] = least if step == room else w[down] - step
        q = 0.0
        linear = 0.0
        penalty = 0.0
        for a in range(k):
            i = order[a]
            ax[i] += step * (A[i, up] - A[i, down])
            cx[i] += step * (C[i, up] - C[i, down])
            q += w[i] * ax[i]
            linear += theta[i] * w[i]
            penalty += w[i] * cx[i]
        value = linear + np.sqrt(max(q, 0.0)) - penalty
    return value


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
        if abs(score - work[_SCORE + a, 0]) <= _ROUNDING * abs(score):
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
    return place


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
    if k == 1 or rest <= _ROUNDING or least == 0.0:
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
def _score_all(
    theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, work: F64, slabs: F64, order: I64
) -> None:
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
    inside = work[_X]
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
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[::1], "
    "float64[:, ::1], int64[::1])"
)
def _best_exchange(
    theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, w: F64, work: F64, order: I64
) -> float:
    """Add, drop or swap one option, whichever is best, if that improves w; return the gain, 0 if there is none."""
    d = w.size
    ax = work[_AX]
    cx = work[_CX]
    k = 0
    for i in range(d):
        ax[i] = 0.0
        cx[i] = 0.0
        if w[i] > 0.0:
            order[k] = i
            k += 1
    for a in range(k):
        j = order[a]
        for i in range(d):
            ax[i] += w[j] * A[j, i]
            cx[i] += w[j] * C[j, i]
    q = 0.0
    linear = 0.0
    penalty = 0.0
    for a in range(k):
        i = order[a]
        q += w[i] * ax[i]
        linear += w[i] * theta[i]
        penalty += w[i] * cx[i]
    value = np.sqrt(max(q, 0.0)) - penalty
    best = _CLIMB * (abs(linear) + abs(penalty) + np.sqrt(max(q, 0.0)))
    giver = -1
    taker = -1
    amount = 0.0
    for a in range(k):
        j = order[a]
        for i in range(d):
            if i == j or cap[i] <= 0.0:
                continue
            # all of j's weight to i (a drop if i is chosen, else a swap), or just c if i is new and j can spare it
            for part in range(2):
                t = w[j]
                if part == 1:
                    if w[i] > 0.0 or k >= m or w[j] < 2.0 * least:
                        break
                    t = least
                square = q + t * (2.0 * (ax[i] - ax[j]) + t * (A[i, i] + A[j, j] - 2.0 * A[i, j]))
                gain = t * (theta[i] - theta[j]) + np.sqrt(max(square, 0.0)) - value
                gain -= penalty + t * (2.0 * (cx[i] - cx[j]) + t * (C[i, i] + C[j, j] - 2.0 * C[i, j]))
                if gain > best:
                    best = gain
                    giver = j
                    taker = i
                    amount = t
    # Several at once: i takes c from what all have beyond c, in proportion; or j leaves all its weight to the others.
    rest = 1.0 - k * least
    shared = -1
    for i in range(d):
        joins = w[i] == 0.0 and cap[i] > 0.0 and k < m and rest >= least and least > 0.0
        leaves = w[i] > 0.0 and k > 1
        if joins or leaves:
            new_linear = 0.0
            square = 0.0
            new_penalty = 0.0
            for a in range(k):
                j = order[a]
                work[_X, j] = _shared_weight(w, least, rest, k, i, j, joins)
            work[_X, i] = least if joins else 0.0
            for a in range(k + 1):
                j = order[a] if a < k else i
                if a == k and leaves:
                    break
                x = 0.0
                y = 0.0
                for b in range(k):
                    x += A[j, order[b]] * work[_X, order[b]]
                    y += C[j, order[b]] * work[_X, order[b]]
                if joins:
                    x += A[j, i] * least
                    y += C[j, i] * least
                new_linear += theta[j] * work[_X, j]
                square += x * work[_X, j]
                new_penalty += y * work[_X, j]
            gain = new_linear - linear + np.sqrt(max(square, 0.0)) - new_penalty - value
            if gain > best:
                best = gain
                shared = i
    if shared >= 0:
        joins = w[shared] == 0.0
        for a in range(k):
            j = order[a]
            work[_X, j] = _shared_weight(w, least, rest, k, shared, j, joins)
        for a in range(k):
            w[order[a]] = work[_X, order[a]]
        w[shared] = least if joins else 0.0
        return best
    if giver < 0:
        return 0.0
    w[taker] += amount
    w[giver] = 0.0 if amount == w[giver] else w[giver] - amount
    return best


@kernel()
def _shared_weight(w: F64, least: float, rest: float, k: int, i: int, j: int, joins: bool) -> float:
    """Return what option j has after option i joined with c, or left."""
    if joins:
        return least + (w[j] - least) * (1.0 - least / rest)
    return 0.0 if i == j else w[j] + w[i] / (k - 1.0)


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
    row = work[_BEST]
    if _is_feasible(start, least, cap):
        for i in range(d):
            row[i] = start[i]
        best = _improve(theta, A, C, least, cap, m, row, work, order)
        for i in range(d):
            w[i] = row[i]
    target = best
    for a in range(kept):
        target = max(target, work[_SCORE + a, 0])
    for a in range(kept):
        value = climb(theta, A, C, least, cap, work[_POINT + a], work, order, _FIRST_MOVES, target)
        work[_SCORE + a, 0] = value
        target = max(target, value)
    for _ in range(min(N_CLIMBED, kept)):
        top = 0
        for a in range(kept):
            if work[_SCORE + a, 0] > work[_SCORE + top, 0]:
                top = a
        work[_SCORE + top, 0] = -np.inf
        row = work[_POINT + top]
        value = _improve(theta, A, C, least, cap, m, row, work, order)
        if value > best:
            best = value
            for i in range(d):
                w[i] = row[i]
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
    value = climb(theta, A, C, least, cap, w, work, order, _MOVES, -np.inf)
    while m > 0 and _best_exchange(theta, A, C, least, cap, m, w, work, order) > 0.0:
        value = climb(theta, A, C, least, cap, w, work, order, _MOVES, -np.inf)
    return value
