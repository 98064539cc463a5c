"""A proven upper bound on the optimistic utility over a node of the branch and bound, and how to divide the node."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.optimistic.majorants import (
    chord_majorant,
    fit_chord,
    frank_wolfe_gap,
    lift_to_concave,
    tangent_majorant,
)
from covbandit.kernels.optimistic.moves import MOVE_ROWS, call_climb
from covbandit.kernels.optimistic.node import (
    BONUS,
    CAP,
    CHORD,
    CLIMBING,
    CUT,
    DECIDE,
    FACES,
    FACTOR,
    FREE,
    GRAM,
    LAMBDA,
    LIFT,
    LINEAR,
    MAJORANT,
    PENALTY,
    POINT,
    ROW,
    TANGENT,
    TRANSFORMED,
    describe_node,
    node_weights,
)
from covbandit.kernels.optimistic.quadratic import call_bound_quadratic, choose_split, keep_concave
from covbandit.kernels.qp.decision_set import ROUNDING

_NOISE = 4e-15  # what rounding may add to a bound, as a share of its terms
_CLIMB = 300  # transfers in one climb


@kernel()
def _climb_node(linear: F64, M: F64, N: F64, work: F64, order: I64) -> float:
    """Improve λ to a local maximum of linear'λ + √(λ'Mλ) - λ'Nλ and return that."""
    return call_climb(
        linear,
        M,
        N,
        0.0,
        work[CAP],
        work[LAMBDA],
        work[CLIMBING : CLIMBING + MOVE_ROWS],
        order[: 2 * linear.size],
        _CLIMB,
        1e-13,
        -np.inf,
    )


@kernel()
def _is_feasible(lam: F64, status: I64, option: I64, least: float, rest: float, free: int, n: int) -> bool:
    """Tell whether no free option has less than c at λ, unless it has nothing."""
    for a in range(n):
        if free > 0 and status[option[a]] == FREE and lam[a] > 0.0 and lam[a] * rest < least:
            return False
    return True


@kernel(
    "float64(float64[::1], float64[:, ::1], float64[:, ::1], float64, float64, int64[::1], int64, float64[:, ::1], "
    "float64, float64[::1], float64[::1], int64[::1], float64[:, ::1], float64[:, :, ::1], int64[::1])",
    on_demand=True,
)
def bound_node(
    theta: F64,
    A: F64,
    C: F64,
    least: float,
    tau: float,
    status: I64,
    rows: int,
    V: F64,
    good_enough: float,
    w: F64,
    found: F64,
    division: I64,
    work: F64,
    slabs: F64,
    order: I64,
) -> float:
    """Return an upper bound of F on a node.

    ===========  =============================================================================================
    tau          no eigenvalue of A is below -tau
    status       OUT, FREE, IN, MUST or FIXED for each option; what is bound to be OUT or FIXED becomes so
    rows, V      the vertices, in barycentric coordinates of the decided simplex; rows = 0: that simplex itself
    good_enough  a bound not above this need not be improved
    w, found     feasible weights in the node and ``found[0]`` their F, written
    division     written: how to divide the node, and the option or the two vertices that this concerns
    order        3 d workspace
    ===========  =============================================================================================
    """
    d = theta.size
    linear = work[LINEAR]
    lam = work[LAMBDA]
    tangent = work[TANGENT]
    chord = work[CHORD]
    lift = work[LIFT]
    AA = slabs[BONUS]
    CC = slabs[PENALTY]
    B = slabs[MAJORANT]
    L = slabs[FACTOR]
    option = order[2 * d :]
    division[0] = POINT
    division[1] = 0
    division[2] = 0
    if not keep_concave(C, status, work, slabs, option):
        found[0] = -np.inf
        return -np.inf
    k, n, free, rest = describe_node(theta, A, C, least, status, rows, V, work, slabs, option)
    if k == 0:  # nobody may take the rest
        found[0] = -np.inf
        return -np.inf

    # Vertices are feasible: the best one is an answer.
    low = np.inf
    high = -np.inf
    size = 0.0
    best = -np.inf
    at = 0
    for a in range(n):
        value = linear[a] + np.sqrt(max(AA[a, a], 0.0)) - CC[a, a]
        size = max(size, abs(linear[a]) + np.sqrt(abs(AA[a, a])) + abs(CC[a, a]))
        if value > best:
            best = value
            at = a
        for b in range(a + 1):
            low = min(low, AA[a, b])
            high = max(high, AA[a, b])
            size = max(size, abs(CC[a, b]))
    for a in range(d):
        lam[a] = 0.0
        work[CAP, a] = 1.0 if a < n else 0.0
    lam[at] = 1.0
    found[0] = best
    node_weights(w, lam, V, rows, option, status, least, rest, k)
    noise = _NOISE * n * size
    if n == 1 or rest <= ROUNDING:
        return best + noise

    # The chord's majorant, by its largest entry.
    rooted = high > 0.0
    top = fit_chord(AA, chord, high, n)
    share = 1.0 if low >= 0.0 and rooted else 0.0
    bound = chord_majorant(linear, AA, CC, chord, top, share, B, n) + noise
    if bound <= good_enough:
        return bound

    if not rooted:
        # `chord` is zero: the chord's majorant is F itself.
        bound = min(bound, call_bound_quadratic(status, n, size, work, slabs, order, option) + noise)
        value = 0.0
        for a in range(n):
            value += lam[a] * linear[a]
            for b in range(n):
                value -= lam[a] * CC[a, b] * lam[b]
        if value > found[0] and _is_feasible(lam, status, option, least, rest, free, n):
            found[0] = value
            node_weights(w, lam, V, rows, option, status, least, rest, k)
        if bound > good_enough and free == 0 and rows == 0:
            choose_split(status, work, slabs, n, option, division)
        elif bound > good_enough:
            _choose_division(work, slabs, tau, low, high, top, status, option, least, rest, free, n, division)
        return bound

    # A local maximum on the node, from equal weights unless a vertex is better.
    total = 0.0
    square = 0.0
    penalty = 0.0
    for a in range(n):
        total += linear[a]
        for b in range(n):
            square += AA[a, b]
            penalty += CC[a, b]
    if (total + np.sqrt(max(square, 0.0)) - penalty / n) / n > best:
        for a in range(n):
            lam[a] = 1.0 / n
    value = _climb_node(linear, AA, CC, work, order)
    if value > found[0] and _is_feasible(lam, status, option, least, rest, free, n):
        found[0] = value
        node_weights(w, lam, V, rows, option, status, least, rest, k)

    # The majorant that touches F there, by its largest entry.
    largest = tangent_majorant(linear, AA, CC, slabs[GRAM], lam, tau, low, high, tangent, work[ROW], B, n)
    touches = largest < np.inf
    if touches:
        bound = min(bound, largest + noise)
        if bound <= good_enough:
            return bound

    # One of the two, by the Frank-Wolfe gap: the tangent's if it is concave; else the chord's, with as much of its
    # second term as keeps it concave, or lifted until it is.
    if touches and lift_to_concave(B, L, lift, size, n, lam) == 0.0:
        for a in range(n):
            work[ROW, a] = linear[a] + tangent[a]
        bound = min(bound, value + frank_wolfe_gap(work[ROW], CC, lam, n) + noise)
    else:
        while True:
            chord_majorant(linear, AA, CC, chord, top, share, B, n)
            if lift_to_concave(B, L, lift, size, n, lam) == 0.0 or share == 0.0:
                break
            share = share - 0.25
        for a in range(n):
            for b in range(n):
                L[a, b] = -B[a, b]
                slabs[TRANSFORMED, a, b] = 0.0
            L[a, a] += lift[a]
        value = _climb_node(lift, slabs[TRANSFORMED], L, work, order)
        bound = min(bound, value + frank_wolfe_gap(lift, L, lam, n) + noise)
    if bound > good_enough:
        _choose_division(work, slabs, tau, low, high, top, status, option, least, rest, free, n, division)
    return bound


@kernel()
def _choose_division(
    work: F64,
    slabs: F64,
    tau: float,
    low: float,
    high: float,
    top: float,
    status: I64,
    option: I64,
    least: float,
    rest: float,
    free: int,
    n: int,
    division: I64,
) -> None:
    """Write how to divide a node: drop a dimension if that is possible, else decide an option, else cut an edge."""
    AA = slabs[BONUS]
    CC = slabs[PENALTY]
    GG = slabs[GRAM]
    lam = work[LAMBDA]
    chord = work[CHORD]
    # Is F convex along an edge? The root's second derivative along e, with b = w'Ae, is (q e'Ae - b²)/q^(3/2), which
    # over q is smallest at an end of its range.
    most = 0.0
    for a in range(n):
        for b in range(a):
            bend = CC[a, a] + CC[b, b] - 2.0 * CC[a, b]
            rise = 0.0
            if high > 0.0:
                along = AA[a, a] + AA[b, b] - 2.0 * AA[a, b]
                rise = -np.inf
                if low > 0.0:
                    x = 0.0
                    for c in range(n):
                        x = max(x, abs(AA[a, c] - AA[b, c]))
                    rise = min(along - x * x / low, (along - x * x / high) * np.sqrt(low / high)) / np.sqrt(low)
                if tau == 0.0:
                    rise = max(rise, 0.0)
            if rise - 2.0 * bend > most:
                most = rise - 2.0 * bend
                division[0] = FACES
                division[1] = a
                division[2] = b
    if division[0] == FACES:
        return
    if free > 0:
        worst = -1.0
        for a in range(n):
            i = option[a]
            if status[i] == FREE:
                x = lam[a] * rest
                violation = min(x, least - x) + 2.0 if 0.0 < x < least else lam[a]
                if violation > worst:
                    worst = violation
                    division[0] = DECIDE
                    division[1] = i
        return
    # Cut the edge to which the bound owes most at its maximum (Σ_i z_i λ_i(1-λ_i) = Σ_{i<j} (z_i+z_j) λ_i λ_j), unless
    # it is much shorter than the longest one: nodes must shrink in all directions.
    division[0] = CUT
    worst = 0.0
    longest = 0.0
    for a in range(n):
        for b in range(a):
            length = GG[a, a] + GG[b, b] - 2.0 * GG[a, b]
            x = work[LIFT, a] + work[LIFT, b]
            if high > 0.0:
                x += (chord[a] * chord[b] - AA[a, b]) / top
            x *= lam[a] * lam[b]
            if x > worst:
                worst = x
                division[1] = a
                division[2] = b
            longest = max(longest, length)
    a = division[1]
    b = division[2]
    if GG[a, a] + GG[b, b] - 2.0 * GG[a, b] < 0.5 * longest:
        for a in range(n):
            for b in range(a):
                if GG[a, a] + GG[b, b] - 2.0 * GG[a, b] == longest:
                    division[1] = a
                    division[2] = b


call_bound_node = out_of_line(bound_node)
