"""The steps of the active set on the simplex: `maximize_on_simplex` says in which order, and what the letters mean.

All are inlined into `maximize_on_simplex`. How that is cut into steps is decided by compile time, since Numba compiles
each step on its own before it is inlined. CPU time relative to one flat function of 350 lines, with the same bits:

===============================  =====================================  =============================================
                                 compiling (2.1 s if flat): minimum,    a solve at d = 5, 20, 100, warm and cold, with
                                 median of 6                            and without caps: mean, range
===============================  =====================================  =============================================
these nine steps                 1.11, 1.09                             0.92, 0.67 to 1.04
nine, with literals: see `ZERO`  1.59, 1.54
eighteen steps                   1.25, 1.23                             0.94, 0.84 to 1.00
===============================  =====================================  =============================================

To measure compilation, run ``compiled(maximize_on_simplex)`` in new processes, in turns with the other version, each
with an empty folder as ``NUMBA_CACHE_DIR``, and take the CPU time after any other function has been compiled. To
measure solves, let a kernel call `call_simplex_maximizer` on some dozen problems, in turns of some milliseconds.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel

_EPS = 2.220446049250313e-16
_SINGULAR = 1e-13  # a pivot below this share of its terms is rounding
_NOISE = 64.0 * _EPS  # differences of gradients below this share of their terms are rounding
_TOUCH = 2.0 * _EPS  # a free weight this close outside its bounds is on them

# status of an option
LOWER = 0
FREE = 1
UPPER = 2
WAITING = 3  # at zero; taking it in made no progress, so it waits until something else does

# what `price` returns if no option is to enter
OPTIMAL = -1
INEXACT = -2  # the free options' gradients differ by more than rounding: solve again, for a correction

# Where counters start. Numba gives a literal 0 a type of its own. If a counter starts at a literal, each step to which
# it is passed is compiled twice: for that type, and for integers.
ZERO = cast("int", np.int64(0))
NONE = cast("int", np.int64(-1))
NO = cast("bool", np.bool_(False))


class SimplexProgram(NamedTuple):
    """What is maximised, and on what set."""

    theta: F64
    base: float  # a constant added to θ changes nothing: without this one, rewards of 1e8 ± 1 lose no digits
    M: F64
    scale: float
    cap: F64


class Work(NamedTuple):
    """Weights and statuses of the options, and the factor U'DU of those that are free, without the reference."""

    w: F64
    status: I64
    order: I64  # the options in the factor at the front, those that wait to be added at the end
    U: F64
    inv: F64  # 1/D
    x: F64  # by position in the factor: the maximiser over the free options, or a direction
    col: F64  # by position in the factor: the column of an option that is added, the row of one that is removed
    g: F64  # gradient


# The start ------------------------------------------------------------------------------------------------------------


@kernel()
def write_start(p: SimplexProgram, start: F64, w: F64) -> tuple[bool, float]:
    """Write feasible weights, near `start` unless that is zero.

    Weights that a user told may lie a little outside the decision set and, after a change of caps, far outside.

    Returns
    -------
    bool
        True if the problem is linear: these weights are then the maximiser.
    float
        The largest term of the problem.
    """
    theta, M, cap = p.theta, p.M, p.cap
    d = w.size
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
        largest_theta = max(largest_theta, abs(theta[i] - p.base))
        largest_m = max(largest_m, M[i, i])
    curvature = p.scale * largest_m
    # Curvature below the rounding of the linear term cannot change the answer beyond rounding.
    linear = curvature <= 1e-16 * largest_theta or curvature <= 0.0
    if linear or not total > 0.0:
        # Fill the options in the order of their own utility: exact if linear, else a good vertex to start from.
        for i in range(d):
            w[i] = 0.0
        total = 0.0
        while total < 1.0:
            best = -1
            best_key = -np.inf
            for i in range(d):
                key = theta[i] - (0.0 if linear else 0.5 * p.scale * M[i, i])
                if w[i] == 0.0 and cap[i] > 0.0 and key > best_key:
                    best = i
                    best_key = key
            if best < 0:
                break
            w[best] = min(1.0 - total, cap[best])
            total += w[best]
    elif capped:
        # Clipping took weight away: give it to options that have room, or take the excess back.
        excess = total - 1.0
        for i in range(d):
            move = min(excess, w[i]) if excess > 0.0 else max(excess, w[i] - min(cap[i], 1.0))
            w[i] -= move
            excess -= move
    return linear, max(largest_theta, curvature)


# The factor -----------------------------------------------------------------------------------------------------------


@kernel()
def choose_reference(p: SimplexProgram, s: Work, by_variance: bool) -> tuple[int, int]:
    """Choose the reference and queue the other free options to be added to the factor.

    The reference is the option with the largest weight or, where scales differ widely, with the least variance. The
    queue sits at the end of `order` and shrinks as the factor grows at the front.

    Returns
    -------
    int
        The reference, -1 if no option is free.
    int
        The length of the queue.
    """
    M = p.M
    w, status = s.w, s.status
    d = w.size
    ref = -1
    for i in range(d):
        if status[i] == FREE and (ref < 0 or (M[i, i] < M[ref, ref] if by_variance else w[i] > w[ref])):
            ref = i
    n_queue = 0
    for i in range(d - 1, -1, -1):
        if status[i] == FREE and i != ref:
            n_queue += 1
            s.order[d - n_queue] = i
    return ref, n_queue


@kernel()
def add_to_factor(p: SimplexProgram, s: Work, n_free: int, ref: int, j: int) -> bool:
    """Add option j at the end of the factor, and return True; if its pivot vanishes, only write its column."""
    M = p.M
    order, U, inv = s.order, s.U, s.inv
    col = s.col
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
    if not pivot > _SINGULAR * terms:
        return False
    for a in range(n_free):
        U[a, n_free] = col[a]
    inv[n_free] = 1.0 / pivot
    order[n_free] = j
    return True


@kernel()
def remove_from_factor(s: Work, n_free: int, drop: int) -> None:
    """Remove the option at position `drop`: its row of the factor, a rank-one term, goes into the rows below."""
    order, U, inv = s.order, s.U, s.inv
    col = s.col
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


# Steps ----------------------------------------------------------------------------------------------------------------


@kernel()
def step_along_null(p: SimplexProgram, s: Work, n_free: int, ref: int, j: int) -> int:
    """Move uphill along the null direction that option j opens, until a weight meets a bound; return its position.

    The direction is (-U⁻¹ col, 1 at j, the rest at ref); the objective is linear along it. j and ref are put behind the
    factor, at positions n_free and n_free + 1. There is room for them: they are free and not in the queue.
    """
    M, cap = p.M, p.cap
    w, order, U = s.w, s.order, s.U
    x = s.x
    x[n_free] = 1.0
    order[n_free] = j
    order[n_free + 1] = ref
    at_ref = -1.0
    for a in range(n_free - 1, -1, -1):
        y = s.col[a]
        for b in range(a + 1, n_free):
            y += U[a, b] * x[b]
        x[a] = -y
        at_ref += y
    x[n_free + 1] = at_ref
    slope = 0.0
    for a in range(n_free + 2):
        i = order[a]
        y = p.theta[i] - p.base
        for b in range(w.size):
            y -= p.scale * M[i, b] * w[b]
        slope += y * x[a]
    drop = -1
    step = np.inf
    for a in range(n_free + 2):
        i = order[a]
        y = x[a]
        if slope < 0.0:
            y = -y
            x[a] = y
        ratio = np.inf
        if y < 0.0:
            ratio = -w[i] / y
        elif cap[i] < 1.0 and y > 0.0:
            ratio = (cap[i] - w[i]) / y
        if ratio < step:
            step = ratio
            drop = a
    for a in range(n_free + 2):
        i = order[a]
        w[i] = max(w[i] + step * x[a], 0.0)
    return drop


@kernel()
def solve_on_free(p: SimplexProgram, s: Work, n_free: int, ref: int, at_cap: int, refining: bool) -> None:
    """Write the maximiser over the free options into x, by position, the reference last.

    When refining, solve for the difference to the present weights only.
    """
    theta, M, scale = p.theta, p.M, p.scale
    w, status, order = s.w, s.status, s.order
    U, x = s.U, s.x
    d = w.size
    room = 1.0
    if at_cap > 0:
        for i in range(d):
            if status[i] == UPPER:
                room -= w[i]
    for a in range(n_free):
        i = order[a]
        if refining:
            x[a] = s.g[i] - s.g[ref]
        else:
            x[a] = (theta[i] - theta[ref]) - scale * room * (M[ref, i] - M[ref, ref])
    if at_cap > 0 and not refining:
        for i in range(d):
            if status[i] == UPPER:
                for a in range(n_free):
                    x[a] -= scale * (M[i, order[a]] - M[i, ref]) * w[i]
    for a in range(n_free):
        y = x[a]
        x[a] = y * s.inv[a]
        for b in range(a + 1, n_free):
            x[b] -= y * U[a, b]
    for a in range(n_free - 1, -1, -1):
        y = x[a]
        for b in range(a + 1, n_free):
            y -= U[a, b] * x[b]
        x[a] = y
    order[n_free] = ref
    x[n_free] = room
    for a in range(n_free):
        y = x[a] / scale
        if refining:
            y += w[order[a]]
        x[a] = y
        x[n_free] -= y


@kernel()
def step_to_maximizer(p: SimplexProgram, s: Work, n_free: int) -> tuple[int, float]:
    """Move the free weights to x, or as far towards it as bounds allow.

    Returns
    -------
    int
        The position of the option that met a bound, -1 if none did.
    float
        The share of the way that was gone.
    """
    cap = p.cap
    w, order, x = s.w, s.order, s.x
    drop = -1
    step = 1.0
    for a in range(n_free + 1):
        i = order[a]
        y = x[a]
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
    return drop, step


@kernel()
def put_on_bound(p: SimplexProgram, s: Work, drop: int, waits: bool) -> int:
    """Put the option at position `drop` on the bound towards which x pointed; return 1 if that is its cap, else 0."""
    i = s.order[drop]
    if s.x[drop] > 0.0:
        s.w[i] = p.cap[i]
        s.status[i] = UPPER
        return 1
    s.w[i] = 0.0
    s.status[i] = WAITING if waits else LOWER
    return 0


# Prices ---------------------------------------------------------------------------------------------------------------


@kernel()
def price(p: SimplexProgram, s: Work, n_free: int, ref: int, may_refine: bool, worst: float, progress: bool) -> int:
    """Return the option at a bound whose gradient violates optimality most, by more than `worst` and rounding.

    Returns `OPTIMAL` if there is none. Returns `INEXACT`, if `may_refine`, where the gradients of free options, which
    are the multiplier μ, differ by more than rounding. After `progress`, options no longer wait.
    """
    theta, M, base = p.theta, p.M, p.base
    w, status, g = s.w, s.status, s.g
    d = w.size
    lowest = g[ref]
    highest = lowest
    size = abs(theta[ref] - base) + abs(theta[ref] - base - lowest)
    for a in range(n_free):
        i = s.order[a]
        lowest = min(lowest, g[i])
        highest = max(highest, g[i])
        size = max(size, abs(theta[i] - base) + abs(theta[i] - base - g[i]))
    risk = -1.0
    spread = highest - lowest
    if spread > _NOISE * size and may_refine:
        # Sums of large terms of both signs are noisier than their size shows: |M_ij| ≤ √(M_ii M_jj).
        risk = 0.0
        widest = np.sqrt(M[ref, ref])
        for i in range(d):
            risk += w[i] * np.sqrt(M[i, i])
        for a in range(n_free):
            i = s.order[a]
            widest = max(widest, np.sqrt(M[i, i]))
        if spread > _NOISE * (size + p.scale * risk * widest):
            return INEXACT
    entering = OPTIMAL
    if n_free < d - 1:
        mu = 0.5 * (lowest + highest)
        for i in range(d):
            if status[i] == FREE or p.cap[i] <= 0.0:
                continue
            if status[i] == WAITING:
                if not progress:
                    continue
                status[i] = LOWER
            violation = mu - g[i] if status[i] == UPPER else g[i] - mu
            if violation > worst and violation > _NOISE * size:
                if risk < 0.0:
                    risk = 0.0
                    for j in range(d):
                        risk += w[j] * np.sqrt(M[j, j])
                own = abs(theta[i] - base) + p.scale * risk * np.sqrt(M[i, i])
                if violation > _NOISE * (own + p.scale * risk * risk + size):
                    worst = violation
                    entering = i
    return entering
