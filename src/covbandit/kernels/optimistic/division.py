"""How to divide a node of the branch and bound: drop a dimension if that is possible, else decide an option, else cut.

One more way, for nodes on which the root is zero, is `quadratic.choose_split`.
"""

from __future__ import annotations

import numpy as np

from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.node import (
    BONUS,
    CHORD,
    CUT,
    DECIDE,
    FACES,
    FREE,
    GRAM,
    LAMBDA,
    LIFT,
    PENALTY,
    Extent,
    Node,
    Spread,
    Workspace,
)


@kernel()
def drop_vertex(tau: float, node: Node, n: int, spread: Spread, work: Workspace) -> bool:
    """Write the edge along which F is most convex, of which one end or the other is dropped; False if there is none.

    The root's second derivative along e, with b = w'Ae, is (q e'Ae - b²)/q^(3/2), which over q is smallest at an end of
    its range.
    """
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
    low, high = spread.low, spread.high
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
                node.division[0] = FACES
                node.division[1] = a
                node.division[2] = b
    return most > 0.0


@kernel()
def decide_option(least: float, node: Node, extent: Extent, work: Workspace) -> None:
    """Write the free option to decide: the one farthest from both nothing and c, else the one with most."""
    lam = work.rows[LAMBDA]
    worst = -1.0
    for a in range(extent.n):
        i = work.option[a]
        if node.status[i] == FREE:
            x = lam[a] * extent.rest
            violation = min(x, least - x) + 2.0 if 0.0 < x < least else lam[a]
            if violation > worst:
                worst = violation
                node.division[0] = DECIDE
                node.division[1] = i


@kernel()
def cut_edge(node: Node, n: int, spread: Spread, top: float, work: Workspace) -> None:
    """Write the edge to cut: the one to which the bound owes most at its maximum, unless it is short.

    That follows from Σ_i z_i λ_i(1-λ_i) = Σ_{i<j} (z_i+z_j) λ_i λ_j. If the edge is much shorter than the longest one,
    that one is cut instead: nodes must shrink in all directions.
    """
    AA = work.slabs[BONUS]
    GG = work.slabs[GRAM]
    lam = work.rows[LAMBDA]
    chord = work.rows[CHORD]
    lift = work.rows[LIFT]
    division = node.division
    division[0] = CUT
    worst = 0.0
    longest = 0.0
    for a in range(n):
        for b in range(a):
            length = GG[a, a] + GG[b, b] - 2.0 * GG[a, b]
            x = lift[a] + lift[b]
            if spread.high > 0.0:
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
