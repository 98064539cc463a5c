"""A proven upper bound on the optimistic utility over a node of the branch and bound.

The bound is improved in steps, and `bound_node` stops at the first one that is good enough:

1. The best vertex gives feasible weights, and so a value that the bound cannot be below.
2. The chord's majorant (`majorants`) gives a first bound.
3. If the root is zero on the node, F is a quadratic, and `quadratic` bounds it.
4. Else a climb finds a local maximum. The majorant that touches F there gives a second bound, and a concave majorant
   with its Frank-Wolfe gap a third.

`bound_node` calls these steps itself. If steps called further steps, Numba would optimise the inner ones once more each
time; that took a sixth longer to compile.
"""

from __future__ import annotations

import numpy as np
from numba import types

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.optimistic.division import cut_edge, decide_option, drop_vertex
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
    CANDIDATE_TYPE,
    CAP,
    CLIMBING,
    FACTOR,
    FREE,
    LAMBDA,
    LIFT,
    LINEAR,
    MAJORANT,
    NODE_TYPE,
    PENALTY,
    POINT,
    PROGRAM_TYPE,
    ROW,
    TANGENT,
    TRANSFORMED,
    WORKSPACE_TYPE,
    Candidate,
    Extent,
    Node,
    Program,
    Spread,
    Workspace,
    describe_node,
    transform_terms,
    write_weights,
)
from covbandit.kernels.optimistic.quadratic import call_bound_quadratic, choose_split, keep_concave
from covbandit.kernels.qp.decision_set import ROUNDING

_NOISE = 4e-15  # what rounding may add to a bound, as a share of its terms
_CLIMB = 300  # transfers in one climb


@kernel(types.float64(PROGRAM_TYPE, NODE_TYPE, types.float64, CANDIDATE_TYPE, WORKSPACE_TYPE), on_demand=True)
def bound_node(program: Program, node: Node, good_enough: float, found: Candidate, work: Workspace) -> float:
    """Return an upper bound of F on a node.

    ===========  =============================================================================================
    node         its division is written; options that are bound to be OUT or FIXED become so
    good_enough  a bound not above this need not be improved
    found        feasible weights in the node and F there, written
    ===========  =============================================================================================
    """
    node.division[0] = POINT
    node.division[1] = 0
    node.division[2] = 0
    found.value[0] = -np.inf
    if not keep_concave(program, node, work):
        return -np.inf
    extent = describe_node(program, node, work)
    if extent.k == 0:  # nobody may take the rest
        return -np.inf
    if node.rows > 0:
        transform_terms(node, extent.k, work)
    n = extent.n

    # Vertices are feasible: the best one is an answer.
    spread = _look_at_vertices(n, found, work)
    write_weights(found.weights, program, node, extent, work)
    noise = _NOISE * n * spread.size
    if n == 1 or extent.rest <= ROUNDING:
        return float(found.value[0]) + noise

    # The chord's majorant, by its largest entry.
    rooted = spread.high > 0.0
    top = fit_chord(spread.high, n, work)
    share = 1.0 if spread.low >= 0.0 and rooted else 0.0
    bound = chord_majorant(top, share, n, work) + noise
    if bound <= good_enough:
        return bound

    # A local maximum, or the maximum of a majorant if F is a quadratic: maybe better than the vertices.
    if rooted:
        value = _climb_from_best(found.value[0], n, work)
    else:
        # `chord` is zero: the chord's majorant is F itself.
        quadratic = call_bound_quadratic(node.status, n, spread.size, work.rows, work.slabs, work.order, work.option)
        bound = min(bound, quadratic + noise)
        value = _value_without_root(n, work)
    if value > found.value[0] and _is_feasible(program.least, node, extent, work):
        found.value[0] = value
        write_weights(found.weights, program, node, extent, work)

    if rooted:
        # The majorant that touches F there, by its largest entry.
        largest = tangent_majorant(program.tau, spread, n, work)
        if largest < np.inf:
            bound = min(bound, largest + noise)
            if bound <= good_enough:
                return bound
        # One of the two, by the Frank-Wolfe gap: the tangent's if it is concave; else the chord's, with as much of its
        # second term as keeps it concave, or lifted until it is.
        B = work.slabs[MAJORANT]
        L = work.slabs[FACTOR]
        lift = work.rows[LIFT]
        lam = work.rows[LAMBDA]
        if largest < np.inf and lift_to_concave(B, L, lift, spread.size, n, lam) == 0.0:
            bound = min(bound, value + _gap_of_tangent(n, work) + noise)
        else:
            while True:
                chord_majorant(top, share, n, work)
                if lift_to_concave(B, L, lift, spread.size, n, lam) == 0.0 or share == 0.0:
                    break
                share -= 0.25
            bound = min(bound, _maximum_of_chord(n, work) + noise)

    if bound > good_enough:
        if not rooted and extent.free == 0 and node.rows == 0:
            choose_split(node, n, work)
        elif not drop_vertex(program.tau, node, n, spread, work):
            if extent.free > 0:
                decide_option(program.least, node, extent, work)
            else:
                cut_edge(node, n, spread, top, work)
    return bound


call_bound_node = out_of_line(bound_node)


# Weights that are found on the way ------------------------------------------------------------------------------------


@kernel()
def _look_at_vertices(n: int, found: Candidate, work: Workspace) -> Spread:
    """Write the vertex with the largest F as λ, and F there as found; return between which numbers the terms lie."""
    linear = work.rows[LINEAR]
    lam = work.rows[LAMBDA]
    cap = work.rows[CAP]
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
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
    for a in range(lam.size):
        lam[a] = 0.0
        cap[a] = 1.0 if a < n else 0.0
    lam[at] = 1.0
    found.value[0] = best
    return Spread(low, high, size)


@kernel()
def _is_feasible(least: float, node: Node, extent: Extent, work: Workspace) -> bool:
    """Return True if no free option has less than c at λ, unless it has nothing."""
    lam = work.rows[LAMBDA]
    for a in range(extent.n):
        if extent.free > 0 and node.status[work.option[a]] == FREE and lam[a] > 0.0 and lam[a] * extent.rest < least:
            return False
    return True


# Where the root is zero -----------------------------------------------------------------------------------------------


@kernel()
def _value_without_root(n: int, work: Workspace) -> float:
    """Return F at λ where the root is zero."""
    linear = work.rows[LINEAR]
    lam = work.rows[LAMBDA]
    CC = work.slabs[PENALTY]
    value = 0.0
    for a in range(n):
        value += lam[a] * linear[a]
        for b in range(n):
            value -= lam[a] * CC[a, b] * lam[b]
    return value


# Where it is not ------------------------------------------------------------------------------------------------------


@kernel()
def _climb_from_best(best: float, n: int, work: Workspace) -> float:
    """Improve λ to a local maximum of F, from equal weights unless the vertex, where F is `best`, is better."""
    linear = work.rows[LINEAR]
    lam = work.rows[LAMBDA]
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
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
    return _climb(linear, AA, CC, work)


@kernel()
def _climb(linear: F64, M: F64, N: F64, work: Workspace) -> float:
    """Improve λ to a local maximum of linear'λ + √(λ'Mλ) - λ'Nλ and return that."""
    return call_climb(
        linear,
        M,
        N,
        0.0,
        work.rows[CAP],
        work.rows[LAMBDA],
        work.rows[CLIMBING : CLIMBING + MOVE_ROWS],
        work.order,
        _CLIMB,
        1e-13,
        -np.inf,
    )


@kernel()
def _gap_of_tangent(n: int, work: Workspace) -> float:
    """Return the Frank-Wolfe gap at λ of the tangent's majorant."""
    linear = work.rows[LINEAR]
    tangent = work.rows[TANGENT]
    slope = work.rows[ROW]
    for a in range(n):
        slope[a] = linear[a] + tangent[a]
    return frank_wolfe_gap(slope, work.slabs[PENALTY], work.rows[LAMBDA], n)


@kernel()
def _maximum_of_chord(n: int, work: Workspace) -> float:
    """Return the chord's concave majorant at its maximum, to which λ moves, plus the Frank-Wolfe gap there."""
    lift = work.rows[LIFT]
    B = work.slabs[MAJORANT]
    L = work.slabs[FACTOR]
    zero = work.slabs[TRANSFORMED]
    for a in range(n):
        for b in range(n):
            L[a, b] = -B[a, b]
            zero[a, b] = 0.0
        L[a, a] += lift[a]
    value = _climb(lift, zero, L, work)
    return value + frank_wolfe_gap(lift, L, work.rows[LAMBDA], n)
