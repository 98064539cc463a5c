r"""The exact maximiser of a concave quadratic over the (capped) simplex.

.. math:: \max_w\; θ'w - \tfrac12 s\, w'Mw \quad\text{s.t. } Σ_i w_i = 1,\; 0 ≤ w_i ≤ u_i

A primal active-set method. What must hold, and what the tests check:

* on the free options (strictly between their bounds) all gradients equal one multiplier μ;
* options at zero have a gradient ≤ μ, options at their cap one ≥ μ; together the Frank-Wolfe gap is zero.

One free option, the reference r, is eliminated: its weight is what the others leave. The others see the matrix of
differences ``R_ab = M_ab - M_ar - M_rb + M_rr``, which is kept as ``U'DU`` with a unit upper U. M may be singular, even
zero: an option whose pivot in R vanishes is not taken into the factor. Along the null direction that it opens the
objective is linear, so the weights move until one of them meets a bound.

=========  ================  ==================================================================
name       shape             meaning
=========  ================  ==================================================================
theta      d                 linear term θ
M          d × d             symmetric positive semi-definite; only ever multiplied by `scale`
scale      scalar            s ≥ 0
cap        d                 upper bounds u; 1 or more means none
start      d                 warm start; all zeros means a cold start
w          d                 the answer
U          d × d             workspace: unit upper factor, row-major
work       4 × d             workspace
order      2 d               workspace: options in factor order, then the status of each option
limit      scalar            iterations at most; `iteration_limit` is ample
=========  ================  ==================================================================
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line

_EPS = 2.220446049250313e-16
_SINGULAR = 1e-13  # a pivot below this share of its terms is rounding
_NOISE = 64.0 * _EPS  # differences of gradients below this share of their terms are rounding
_TOUCH = 2.0 * _EPS  # a free weight this close outside its bounds is on them

# status of an option
_LOWER = 0
_FREE = 1
_UPPER = 2
_WAITING = 3  # at zero; taking it in made no progress, so it waits until something else does


@kernel()
def iteration_limit(d: int) -> int:
    """Return far more iterations than an active set over d options was ever seen to need."""
    return 20 * d + 100


@kernel(
    "int64(float64[::1], float64[:, ::1], float64, float64[::1], float64[::1], float64[::1], "
    "float64[:, ::1], float64[:, ::1], int64[::1], int64)"
)
def maximize_on_simplex(
    theta: F64,
    M: F64,
    scale: float,
    cap: F64,
    start: F64,
    w: F64,
    U: F64,
    work: F64,
    order: I64,
    limit: int,
) -> int:
    """Write the maximiser into `w`; return the number of iterations, negative if the limit ended it."""
    d = theta.size
    x = work[0]
    g = work[1]
    col = work[2]
    inv = work[3]
    status = order[d:]
    # On the simplex a constant added to θ changes nothing, so take it out: rewards of 1e8 ± 1 then lose no digits.
    base = theta[0]

    # A feasible start. Told weights may lie a little, or after a change of caps far, outside.
    total = 0.0
    largest_theta = 0.0
    largest_m = 0.0
    capped = False
    for i in range(d):
        wi = max(start[i], 0.0)
        if cap[i] < 1.0:
            capped = True
            wi = min(wi, cap[i])
        w[i] = wi
        total += wi
        largest_theta = max(largest_theta, abs(theta[i] - base))
        largest_m = max(largest_m, M[i, i])
    # Curvature below the rounding of the linear term cannot change the answer beyond rounding.
    linear = scale * largest_m <= 1e-16 * largest_theta or scale * largest_m <= 0.0
    if linear or not total > 0.0:
        # Fill the options in the order of their own utility: exact if linear, else a good vertex to start from.
        for i in range(d):
            w[i] = 0.0
        total = 0.0
        while total < 1.0:
            best = -1
            best_key = -np.inf
            for i in range(d):
                key = theta[i] - (0.0 if linear else 0.5 * scale * M[i, i])
                if w[i] == 0.0 and cap[i] > 0.0 and key > best_key:
                    best = i
                    best_key = key
            if best < 0:
                break
            w[best] = min(1.0 - total, cap[best])
            total += w[best]
        if linear:
            return 0
    elif capped:
        # Clipping took weight away: give it to options that have room, or take the excess back.
        excess = total - 1.0
        for i in range(d):
            move = min(excess, w[i]) if excess > 0.0 else max(excess, w[i] - min(cap[i], 1.0))
            w[i] -= move
            excess -= move

    at_cap = 0
    for i in range(d):
        status[i] = _FREE if w[i] > 0.0 else _LOWER
        if status[i] == _FREE and cap[i] < 1.0 and w[i] >= cap[i]:
            status[i] = _UPPER
            at_cap += 1

    ref = -1
    n_free = 0
    n_queue = 0
    rebuild = True
    by_variance = False
    refining = 0
    entering = -1
    iteration = 0
    converged = False
    while iteration < limit:
        iteration += 1
        drop = -1  # position in the factor of an option that met a bound

        if rebuild:
            # Choose the reference (the largest weight, or the least variance where scales differ widely) and queue the
            # other free options. The queue sits at the end of `order` and shrinks as the factor grows at the front.
            rebuild = False
            ref = -1
            n_free = 0
            n_queue = 0
            for i in range(d):
                if status[i] == _FREE and (ref < 0 or (M[i, i] < M[ref, ref] if by_variance else w[i] > w[ref])):
                    ref = i
            for i in range(d - 1, -1, -1):
                if status[i] == _FREE and i != ref:
                    n_queue += 1
                    order[d - n_queue] = i

        while n_queue > 0:
            # Take the next option into the factor.
            j = order[d - n_queue]
            n_queue -= 1
            offset = M[ref, j] - M[ref, ref]
            pivot = M[j, j] - M[ref, j] - offset
            terms = M[j, j] + M[ref, ref]
            for a in range(n_free):
                i = order[a]
                col[a] = M[j, i] - M[ref, i] - offset
            for a in range(n_free):
                y = col[a]
                u = y * inv[a]
                col[a] = u
                pivot -= y * u
                for b in range(a + 1, n_free):
                    col[b] -= y * U[a, b]
            if pivot > _SINGULAR * terms:
                for a in range(n_free):
                    U[a, n_free] = col[a]
                inv[n_free] = 1.0 / pivot
                order[n_free] = j
                n_free += 1
                continue
            if not by_variance:
                # Was it the reference that drowned the pivot? Then start again with a quieter one.
                for i in range(d):
                    if status[i] == _FREE and 16.0 * M[i, i] < M[ref, ref]:
                        by_variance = True
                if by_variance:
                    rebuild = True
                    break
            # Singular: along p = (-U⁻¹ col, 1 at j, the rest at ref) the objective is linear. Move uphill until a
            # weight meets a bound. There is room behind the factor for j and ref: they are free and not in the queue.
            x[n_free] = 1.0
            order[n_free] = j
            order[n_free + 1] = ref
            at_ref = -1.0
            for a in range(n_free - 1, -1, -1):
                y = col[a]
                for b in range(a + 1, n_free):
                    y += U[a, b] * x[b]
                x[a] = -y
                at_ref += y
            x[n_free + 1] = at_ref
            slope = 0.0
            for a in range(n_free + 2):
                i = order[a]
                y = theta[i] - base
                for b in range(d):
                    y -= scale * M[i, b] * w[b]
                slope += y * x[a]
            step = np.inf
            for a in range(n_free + 2):
                if slope < 0.0:
                    x[a] = -x[a]
                i = order[a]
                ratio = np.inf
                if x[a] < 0.0:
                    ratio = -w[i] / x[a]
                elif cap[i] < 1.0 and x[a] > 0.0:
                    ratio = (cap[i] - w[i]) / x[a]
                if ratio < step:
                    step = ratio
                    drop = a
            for a in range(n_free + 2):
                i = order[a]
                w[i] = max(w[i] + step * x[a], 0.0)
            i = order[drop]
            w[i] = 0.0
            status[i] = _LOWER
            if x[drop] > 0.0:
                w[i] = cap[i]
                status[i] = _UPPER
                at_cap += 1
            if i == ref:
                rebuild = True
                break
            if i != j:
                n_queue += 1  # try j again after the drop
                order[d - n_queue] = j
                break
            drop = -1
        if rebuild:
            continue

        if drop < 0 and ref >= 0:
            # The maximiser over the free options. When refining, solve for the correction only.
            room = 1.0
            if at_cap > 0:
                for i in range(d):
                    if status[i] == _UPPER:
                        room -= w[i]
            for a in range(n_free):
                i = order[a]
                if refining > 0:
                    x[a] = g[i] - g[ref]
                else:
                    x[a] = (theta[i] - theta[ref]) - scale * room * (M[ref, i] - M[ref, ref])
            if at_cap > 0 and refining == 0:
                for i in range(d):
                    if status[i] == _UPPER:
                        for a in range(n_free):
                            x[a] -= scale * (M[i, order[a]] - M[i, ref]) * w[i]
            for a in range(n_free):
                y = x[a]
                x[a] = y * inv[a]
                for b in range(a + 1, n_free):
                    x[b] -= y * U[a, b]
            for a in range(n_free - 1, -1, -1):
                y = x[a]
                for b in range(a + 1, n_free):
                    y -= U[a, b] * x[b]
                x[a] = y
            order[n_free] = ref
            x[n_free] = room
            step = 1.0
            for a in range(n_free + 1):
                i = order[a]
                y = x[a]
                if a < n_free:
                    y /= scale
                    if refining > 0:
                        y += w[i]
                    x[a] = y
                    x[n_free] -= y
                ratio = 2.0
                if y < -_TOUCH:
                    ratio = w[i] / (w[i] - y)
                elif cap[i] < 1.0 and y > cap[i] + _TOUCH:
                    ratio = (cap[i] - w[i]) / (y - w[i])
                if ratio <= step:
                    step = ratio
                    drop = a
            for a in range(n_free + 1):
                i = order[a]
                y = x[a] if drop < 0 else w[i] + step * (x[a] - w[i])
                if cap[i] < 1.0:
                    y = min(y, cap[i])
                w[i] = max(y, 0.0)
            if drop >= 0:
                refining = 0
                i = order[drop]
                if x[drop] > 0.0:
                    w[i] = cap[i]
                    status[i] = _UPPER
                    at_cap += 1
                else:
                    w[i] = 0.0
                    status[i] = _WAITING if i == entering and not step > 0.0 else _LOWER
                if i == ref:
                    if n_free > 0:
                        rebuild = True
                        continue
                    ref = -1
                    drop = -1

        if drop >= 0:
            # Delete one option from the factor: its row, a rank-one term, goes into the rows below.
            lost = 1.0 / inv[drop]
            for b in range(drop + 1, n_free):
                col[b] = U[drop, b]
            for a in range(drop):
                for b in range(drop, n_free - 1):
                    U[a, b] = U[a, b + 1]
            for a in range(drop + 1, n_free):
                y = col[a]
                pivot = 1.0 / inv[a]
                larger = pivot + lost * y * y
                gain = lost * y / larger
                lost *= pivot / larger
                for b in range(a + 1, n_free):
                    col[b] -= y * U[a, b]
                    U[a - 1, b - 1] = U[a, b] + gain * col[b]
                inv[a - 1] = 1.0 / larger
                order[a - 1] = order[a]
            n_free -= 1
            continue

        # Gradients, multiplier and the worst violation.
        for i in range(d):
            g[i] = theta[i] - base
        for j in range(d):
            wj = scale * w[j]
            if wj != 0.0:
                for i in range(d):
                    g[i] -= wj * M[j, i]
        if ref < 0:
            # Every option is at a bound: free the one at its cap with the least gradient, so that μ is defined.
            for i in range(d):
                if status[i] == _UPPER and (ref < 0 or g[i] < g[ref]):
                    ref = i
            status[ref] = _FREE
            at_cap -= 1
        lowest = g[ref]
        highest = g[ref]
        size = abs(theta[ref] - base) + abs(theta[ref] - base - g[ref])
        for a in range(n_free):
            i = order[a]
            lowest = min(lowest, g[i])
            highest = max(highest, g[i])
            size = max(size, abs(theta[i] - base) + abs(theta[i] - base - g[i]))
        risk = -1.0
        if highest - lowest > _NOISE * size and refining < 3:
            # Sums of large terms of both signs are noisier than their size shows: |M_ij| ≤ √(M_ii M_jj).
            risk = 0.0
            widest = np.sqrt(M[ref, ref])
            for i in range(d):
                risk += w[i] * np.sqrt(M[i, i])
            for a in range(n_free):
                widest = max(widest, np.sqrt(M[order[a], order[a]]))
            if highest - lowest > _NOISE * (size + scale * risk * widest):
                refining += 1
                continue
        refining = 0
        progress = entering >= 0 and status[entering] == _FREE
        entering = -1
        # Scales 1e12 apart can make rounding of the large ones look like progress on the small ones for ever.
        worst = 0.0 if iteration < 4 * d + 40 else 1e-14 * max(largest_theta, scale * largest_m)
        if n_free < d - 1:
            mu = 0.5 * (lowest + highest)
            for i in range(d):
                if status[i] == _FREE or cap[i] <= 0.0:
                    continue
                if status[i] == _WAITING:
                    if not progress:
                        continue
                    status[i] = _LOWER
                violation = mu - g[i] if status[i] == _UPPER else g[i] - mu
                if violation > worst and violation > _NOISE * size:
                    if risk < 0.0:
                        risk = 0.0
                        for j in range(d):
                            risk += w[j] * np.sqrt(M[j, j])
                    own = abs(theta[i] - base) + scale * risk * np.sqrt(M[i, i])
                    if violation > _NOISE * (own + scale * risk * risk + size):
                        worst = violation
                        entering = i
        if entering < 0:
            converged = True
            break
        at_cap -= status[entering] == _UPPER
        status[entering] = _FREE
        order[d - 1] = entering
        n_queue = 1

    total = 0.0
    for i in range(d):
        total += w[i]
    for i in range(d):
        w[i] /= total
    return iteration if converged else -iteration


call_simplex_maximizer = out_of_line(maximize_on_simplex)
