r"""Nodes on which the root is zero, so that the utility is a quadratic: only supports on which it is concave matter.

Of the maximisers of a quadratic on a simplex take one with the fewest vertices. If the quadratic were not strictly
concave on the face that these span, it would be constant or convex along some line in the face through the maximiser,
so that one could follow the line to a smaller face without loss. So

* if some vertices are known to belong to it (MUST), all others that together with them span a face on which the
  quadratic is not strictly concave are out, and if that holds for the MUST among themselves, the node is empty;
* with B the quadratic's form in barycentric coordinates, all :math:`(Bλ)_i` of its vertices are equal, and equal to the
  maximum. A vertex i that belongs to it therefore bounds the maximum by the largest entry of B's row i, and so do all
  averages of such rows.

Deciding one vertex after another, in or out, ends with faces on which the quadratic is concave, where the active set is
exact: nothing is ever cut. At most 2^d faces are left in the end, in practice far fewer.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.optimistic.majorants import lift_to_concave
from covbandit.kernels.optimistic.node import (
    ACTIVE,
    CAP,
    FACTOR,
    FIXED,
    IN,
    LAMBDA,
    LIFT,
    LINEAR,
    MAJORANT,
    MUST,
    OTHER,
    PENALTY,
    ROW,
    SPLIT,
    TRANSFORMED,
    Node,
    Program,
    Workspace,
)
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit

_SINGULAR = 1e-12  # a pivot below this share of its terms may be rounding: the curvature itself is looked at


@kernel()
def keep_concave(program: Program, node: Node, work: Workspace) -> bool:
    """Mark as FIXED each option that cannot exceed c together with all that MUST; return False if these cannot.

    The differences of C to a reference are factored as U'DU, as in `qp.simplex`: first the MUST, then each other alone.
    """
    C = program.C
    status = node.status
    order = work.option
    d = status.size
    U = work.slabs[FACTOR]
    col = work.rows[ROW]
    inv = work.rows[OTHER]
    v = work.rows[LIFT]
    ref = -1
    for i in range(d):
        if status[i] == MUST:
            ref = i
            break
    if ref < 0:
        return True
    n = 0
    for wanted in (MUST, IN):
        for j in range(d):
            if status[j] != wanted or j == ref:
                continue
            offset = C[ref, j] - C[ref, ref]
            pivot = C[j, j] - C[ref, j] - offset
            terms = abs(C[j, j]) + abs(C[ref, ref]) + abs(C[ref, j])
            for a in range(n):
                col[a] = C[j, order[a]] - C[ref, order[a]] - offset
            for a in range(n):
                y = col[a]
                u = y * inv[a]
                col[a] = u
                pivot -= y * u
                for b in range(a + 1, n):
                    col[b] -= y * U[a, b]
            if pivot <= _SINGULAR * terms:
                # The direction along which nothing bends downwards: -U⁻¹ col, 1 at j, the rest at the reference.
                v[n] = 1.0
                order[n] = j
                order[n + 1] = ref
                rest = -1.0
                for a in range(n - 1, -1, -1):
                    y = col[a]
                    for b in range(a + 1, n):
                        y += U[a, b] * v[b]
                    v[a] = -y
                    rest += y
                v[n + 1] = rest
                bend = 0.0
                for a in range(n + 2):
                    y = 0.0
                    for b in range(n + 2):
                        y += C[order[a], order[b]] * v[b]
                    bend += v[a] * y
                if bend <= 0.0:
                    if wanted == MUST:
                        return False
                    status[j] = FIXED
                    continue
            if wanted == MUST and pivot > 0.0:
                for a in range(n):
                    U[a, n] = col[a]
                inv[n] = 1.0 / pivot
                order[n] = j
                n += 1
    return True


@kernel("float64(int64[::1], int64, float64, float64[:, ::1], float64[:, :, ::1], int64[::1], int64[::1])", True)
def bound_quadratic(status: I64, n: int, size: float, work: F64, slabs: F64, order: I64, option: I64) -> float:
    """Return an upper bound of λ'Bλ on the node, without its rounding; λ becomes where a concave majorant is largest.

    B is ``slabs[MAJORANT]``, which becomes that majorant: itself if it is concave, so that λ is the maximiser then.
    """
    B = slabs[MAJORANT]
    lam = work[LAMBDA]
    lift = work[LIFT]
    linear = work[ROW]
    M = slabs[TRANSFORMED]
    # The vertices that MUST belong to it, each row alone and all of them on average.
    bound = np.inf
    count = 0
    for b in range(n):
        linear[b] = 0.0
    for a in range(n):
        if status[option[a]] == MUST:
            count += 1
            largest = -np.inf
            for b in range(n):
                linear[b] += B[a, b]
                largest = max(largest, B[a, b])
            bound = min(bound, largest)
    if count > 1:
        largest = -np.inf
        for b in range(n):
            largest = max(largest, linear[b] / count)
        bound = min(bound, largest)

    # Along an edge where λ'Bλ is convex, a straight line is above it.
    concave = lift_to_concave(B, slabs[FACTOR], lift, size, n, lam) == 0.0
    if not concave:
        for a in range(n):
            for b in range(a):
                x = max(B[a, b], 0.5 * (B[a, a] + B[b, b]))
                B[a, b] = x
                B[b, a] = x
        lift_to_concave(B, slabs[FACTOR], lift, size, n, lam)
        for a in range(n):
            for b in range(a):
                B[a, b] += 0.5 * (lift[a] + lift[b])
                B[b, a] = B[a, b]
    # The maximum, from differences to the best vertex: λ'Bλ = B_rr + 2 Σ_a λ_a (B_ar - B_rr) - λ'Mλ.
    ref = 0
    for a in range(n):
        if B[a, a] > B[ref, ref]:
            ref = a
    for a in range(n):
        lam[a] = 0.0
        linear[a] = 2.0 * (B[a, ref] - B[ref, ref])
        for b in range(n):
            M[a, b] = (B[a, ref] - B[a, b]) + (B[ref, b] - B[ref, ref])
        M[a, a] = max(M[a, a], 0.0)
    start = work[OTHER]
    for a in range(n):
        start[a] = 0.0
    start[ref] = 1.0
    call_simplex_maximizer(
        linear[:n],
        M,
        2.0,
        work[CAP][:n],
        start[:n],
        lam[:n],
        slabs[FACTOR],
        work[ACTIVE : ACTIVE + 4],
        order,
        iteration_limit(n),
    )
    level = 0.0
    highest = -np.inf
    for a in range(n):
        x = 0.0
        for b in range(n):
            x += B[a, b] * lam[b]
        level += lam[a] * x
        highest = max(highest, x)
    return min(bound, level + 2.0 * max(highest - level, 0.0))


call_bound_quadratic = out_of_line(bound_quadratic)


@kernel()
def choose_split(node: Node, n: int, work: Workspace) -> None:
    """Write which undecided vertex to decide: the one to which the majorant owes most where it is largest."""
    B = work.slabs[MAJORANT]
    CC = work.slabs[PENALTY]
    linear = work.rows[LINEAR]
    lam = work.rows[LAMBDA]
    option = work.option
    worst = -1.0
    for a in range(n):
        if node.status[option[a]] == IN:
            owed = 0.0
            for b in range(n):
                if b != a:
                    owed += lam[b] * (B[a, b] - 0.5 * (linear[a] + linear[b]) + CC[a, b])
            if lam[a] * owed > worst:
                worst = lam[a] * owed
                node.division[0] = SPLIT
                node.division[1] = option[a]
