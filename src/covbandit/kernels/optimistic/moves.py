r"""Moves that improve weights: climbing within a support, and exchanging options between supports.

The problem, with θ, A, C and c, is that of `search`; `work` has at least two rows of d.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.qp.decision_set import ROUNDING

_ENOUGH = 1e-13  # a move that promises no more than this share of the terms is none
MOVES = 400  # transfers in one climb
ROUGHLY = 1e-9  # share of the terms that a transfer must promise, to compare points
_EXCHANGES = 10  # exchanges of options at most, for each that fits: far more than were ever needed
_AX = 0  # rows of `work`
_CX = 1
MOVE_ROWS = 2


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], float64[::1], float64[:, ::1], "
    "int64[::1], int64, float64, float64)"
)
def climb(
    theta: F64,
    A: F64,
    C: F64,
    least: float,
    cap: F64,
    w: F64,
    work: F64,
    order: I64,
    limit: int,
    enough: float,
    target: float,
) -> float:
    """Improve feasible weights within their support by transfers between two options; return F of the result.

    Each transfer goes from the option with the least gradient that has more than c to the one with the largest, by an
    exact line search. It ends after `limit` transfers, or when no transfer promises more than the share `enough` of the
    terms. A climb that would not reach `target` if F were concave is given up.
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
            if g < lowest and w[i] > least + ROUNDING:
                lowest = g
                down = i
        if down < 0 or not highest > lowest:
            break
        if value + (1.0 - k * least) * highest - level < target:
            break
        room = w[down] - least
        if (highest - lowest) * room <= enough * (abs(highest) + abs(lowest) + abs(value)):
            break
        p = theta[up] - theta[down] - 2.0 * (cx[up] - cx[down])
        bend = 2.0 * (C[up, up] + C[down, down] - 2.0 * C[up, down])
        b1 = ax[up] - ax[down]
        a2 = A[up, up] + A[down, down] - 2.0 * A[up, down]
        # φ'(t) = p - bend t + (b1 + a2 t)/√(q + 2 b1 t + a2 t²), positive at 0: the first top that Newton's steps
        # reach, or the end of the interval, whichever is higher. There may be a valley in between.
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
    return float(value)


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[::1], "
    "float64[:, ::1], int64[::1])"
)
def exchange(theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, w: F64, work: F64, order: I64) -> float:
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
    best = _ENOUGH * (abs(linear) + abs(penalty) + np.sqrt(max(q, 0.0)))
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
    # Both change w to keep·w + even on all chosen ones + extra on i.
    rest = 1.0 - k * least
    shared = -1
    shared_keep = 1.0
    shared_even = 0.0
    sum_theta = 0.0
    sum_ax = 0.0
    sum_cx = 0.0
    sum_a = 0.0
    sum_c = 0.0
    for a in range(k):
        j = order[a]
        sum_theta += theta[j]
        sum_ax += ax[j]
        sum_cx += cx[j]
        for b in range(k):
            sum_a += A[j, order[b]]
            sum_c += C[j, order[b]]
    for i in range(d):
        joins = w[i] == 0.0 and cap[i] > 0.0 and k < m and rest >= least and least > 0.0
        leaves = w[i] > 0.0 and k > 1
        if joins or leaves:
            keep = 1.0 - least / rest if joins else 1.0
            even = least * (1.0 - keep) if joins else w[i] / (k - 1.0)
            extra = least if joins else -w[i] - even
            row_a = 0.0
            row_c = 0.0
            for a in range(k):
                row_a += A[i, order[a]]
                row_c += C[i, order[a]]
            square = keep * (keep * q + 2.0 * even * sum_ax) + even * even * sum_a
            square += extra * (2.0 * (keep * ax[i] + even * row_a) + extra * A[i, i])
            new_penalty = keep * (keep * penalty + 2.0 * even * sum_cx) + even * even * sum_c
            new_penalty += extra * (2.0 * (keep * cx[i] + even * row_c) + extra * C[i, i])
            gain = (keep - 1.0) * linear + even * sum_theta + extra * theta[i]
            gain += np.sqrt(max(square, 0.0)) - new_penalty - value
            if gain > best:
                best = gain
                shared = i
                shared_keep = keep
                shared_even = even
    if shared >= 0:
        joins = w[shared] == 0.0
        for a in range(k):
            w[order[a]] = max(shared_keep * w[order[a]] + shared_even, least)
        w[shared] = least if joins else 0.0
        return float(best)
    if giver < 0:
        return 0.0
    w[taker] += amount
    w[giver] = 0.0 if amount == w[giver] else w[giver] - amount
    return float(best)


call_climb = out_of_line(climb)
_call_exchange = out_of_line(exchange)


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64[::1], int64, float64[::1], "
    "float64[:, ::1], int64[::1])"
)
def improve(theta: F64, A: F64, C: F64, least: float, cap: F64, m: int, w: F64, work: F64, order: I64) -> float:
    """Climb, and exchange options (up to m of them; 0: none) as long as that helps; return F of the result."""
    value = call_climb(theta, A, C, least, cap, w, work, order, MOVES, ROUGHLY, -np.inf)
    for _ in range(_EXCHANGES * m):
        if _call_exchange(theta, A, C, least, cap, m, w, work, order) == 0.0:
            break
        value = call_climb(theta, A, C, least, cap, w, work, order, MOVES, ROUGHLY, -np.inf)
    return value


call_improve = out_of_line(improve)
