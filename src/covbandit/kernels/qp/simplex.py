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

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.qp.active_set import (
    FREE,
    INEXACT,
    LOWER,
    NO,
    NONE,
    OPTIMAL,
    UPPER,
    ZERO,
    SimplexProgram,
    Work,
    add_to_factor,
    choose_reference,
    price,
    put_on_bound,
    remove_from_factor,
    solve_on_free,
    step_along_null,
    step_to_maximizer,
    write_start,
)


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
    status = order[d:]
    base = theta[0]
    g = work[1]
    p = SimplexProgram(theta, base, M, scale, cap)
    s = Work(w, status, order, U, work[3], work[0], work[2], g)
    linear, largest = write_start(p, start, w)
    if linear:
        return 0
    at_cap = ZERO
    for i in range(d):
        status[i] = FREE if w[i] > 0.0 else LOWER
        if w[i] > 0.0 and cap[i] < 1.0 and w[i] >= cap[i]:
            status[i] = UPPER
            at_cap += 1

    ref = NONE
    n_free = ZERO  # options in the factor
    n_queue = 0  # free options that are still to be added to it
    rebuild = True
    by_variance = NO
    refining = 0
    entering = NONE
    iteration = 0
    converged = False
    while iteration < limit:
        iteration += 1
        drop = NONE  # position in the factor of an option that met a bound

        if rebuild:
            rebuild = False
            n_free = ZERO
            ref, n_queue = choose_reference(p, s, by_variance)
        while n_queue > 0:
            j = order[d - n_queue]
            n_queue -= 1
            if add_to_factor(p, s, n_free, ref, j):
                n_free += 1
                continue
            if not by_variance:
                # Was it the reference that drowned the pivot? Then start again with a quieter one.
                for i in range(d):
                    if status[i] == FREE and 16.0 * M[i, i] < M[ref, ref]:
                        by_variance = True
                if by_variance:
                    rebuild = True
                    break
            drop = step_along_null(p, s, n_free, ref, j)
            at_cap += put_on_bound(p, s, drop, NO)
            i = order[drop]
            if i == ref:
                rebuild = True
                break
            if i != j:
                n_queue += 1  # try j again after the drop
                order[d - n_queue] = j
                break
            drop = NONE
        if rebuild:
            continue

        if drop < 0 and ref >= 0:
            solve_on_free(p, s, n_free, ref, at_cap, refining > 0)
            drop, step = step_to_maximizer(p, s, n_free)
            if drop >= 0:
                refining = 0
                i = order[drop]
                at_cap += put_on_bound(p, s, drop, i == entering and not step > 0.0)
                if i == ref:
                    if n_free > 0:
                        rebuild = True
                        continue
                    ref = NONE
                    drop = NONE
        if drop >= 0:
            remove_from_factor(s, n_free, drop)
            n_free -= 1
            continue

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
                if status[i] == UPPER and (ref < 0 or g[i] < g[ref]):
                    ref = i
            status[ref] = FREE
            at_cap -= 1
        # Scales 1e12 apart can make rounding of the large ones look like progress on the small ones for ever.
        worst = 0.0 if iteration < 4 * d + 40 else 1e-14 * largest
        progress = entering >= 0 and status[entering] == FREE
        found = price(p, s, n_free, ref, refining < 3, worst, progress)
        if found == INEXACT:
            refining += 1
            continue
        refining = 0
        entering = found
        if entering == OPTIMAL:
            converged = True
            break
        at_cap -= status[entering] == UPPER
        status[entering] = FREE
        order[d - 1] = entering
        n_queue = 1

    total = 0.0
    for i in range(d):
        total += w[i]
    for i in range(d):
        w[i] /= total
    return iteration if converged else -iteration


call_simplex_maximizer = out_of_line(maximize_on_simplex)
