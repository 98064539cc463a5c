r"""Quadratic majorants of the optimistic utility on a node, and how they bound it.

Two majorants of the root make F a quadratic form λ'Bλ, which is bounded by its largest entry or, if it is concave on
the simplex (a Cholesky factor proves it), by its value plus the Frank-Wolfe gap at any point.

The tangent, for small nodes. Let w₀ be any point with s = √(w₀'Aw₀) > 0, ℓ(w) = w₀'Aw / s the tangent of the root
there, and P = A - Aw₀w₀'A/s², so that w'Aw = ℓ² + w'Pw. Then

.. math::
    \sqrt{w'Aw} = ℓ(w) + \frac{w'Pw}{\sqrt{w'Aw} + ℓ(w)}
        ≤ ℓ(w) + \frac{w'Pw}{2a} + τ |Πw|^2 \Big(\frac1{2a} - \frac1{2b}\Big)

where 2a ≤ √(w'Aw) + ℓ(w) ≤ 2b on the node, -τ ≤ 0 is below all eigenvalues of A, and Πw = w - w₀ℓ(w)/s, since
w'Pw = (Πw)'A(Πw) ≥ -τ|Πw|². It agrees with the root at w₀ in value, gradient and, as the node shrinks, curvature. So
where w₀ is a maximum and F is concave around it, the Frank-Wolfe gap vanishes: no node is cut into dust there.

The chord, for large nodes. If s_i s_j ≥ v_i'Av_j for all vertices (s_i = √(v_i'Av_i) if A is positive semi-definite),

.. math:: \sqrt{w'Aw} ≤ s'λ - \frac{λ'(ss' - VAV')λ}{2 \max s} ≤ s'λ.

It is exact at the vertices. As much of its second term is used as leaves it concave; where even without it F's majorant
is not concave, Σ_i z_i λ_i(1-λ_i) ≥ 0 is added to make it so.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.optimistic.node import (
    BONUS,
    CHORD,
    GRAM,
    LAMBDA,
    LINEAR,
    MAJORANT,
    PENALTY,
    ROW,
    TANGENT,
    Spread,
    Workspace,
)


@kernel()
def fit_chord(high: float, n: int, work: Workspace) -> float:
    """Write s with s_i s_j ≥ A_ij, little above the roots of the diagonal, for any A; return its largest entry."""
    AA = work.slabs[BONUS]
    chord = work.rows[CHORD]
    for a in range(n):
        chord[a] = np.sqrt(max(AA[a, a], 0.0)) if high > 0.0 else 0.0
    top = 0.0
    if high > 0.0:
        for a in range(n):
            for b in range(a):
                if AA[a, b] > chord[a] * chord[b]:
                    # Raise the lower one; or both, if that would lift it above √high, which bounds the root everywhere.
                    lower = a if chord[a] < chord[b] else b
                    upper = a + b - lower
                    if AA[a, b] < chord[upper] * np.sqrt(high):
                        chord[lower] = AA[a, b] / chord[upper]
                    else:
                        chord[lower] = max(chord[lower], np.sqrt(AA[a, b]))
                        chord[upper] = max(chord[upper], np.sqrt(AA[a, b]))
        for a in range(n):
            top = max(top, chord[a])
    return top


@kernel()
def chord_majorant(top: float, share: float, n: int, work: Workspace) -> float:
    """Write the chord's majorant of F with a share of its second term; return its largest entry.

    `top` is the largest entry of s.
    """
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
    B = work.slabs[MAJORANT]
    linear = work.rows[LINEAR]
    chord = work.rows[CHORD]
    largest = -np.inf
    for a in range(n):
        for b in range(a + 1):
            x = 0.5 * (linear[a] + linear[b] + chord[a] + chord[b]) - CC[a, b]
            if share > 0.0:
                x -= share * (chord[a] * chord[b] - AA[a, b]) / (2.0 * top)
            B[a, b] = x
            B[b, a] = x
            largest = max(largest, x)
    return largest


@kernel()
def tangent_majorant(tau: float, spread: Spread, n: int, work: Workspace) -> float:
    """Write ℓ at the vertices and the tangent's majorant of F at λ; return its largest entry, ∞ if there is none.

    Where q < 0 the root is 0, which this majorant does not know: then `spread.low` must not be negative.
    """
    AA = work.slabs[BONUS]
    CC = work.slabs[PENALTY]
    GG = work.slabs[GRAM]
    B = work.slabs[MAJORANT]
    linear = work.rows[LINEAR]
    lam = work.rows[LAMBDA]
    tangent = work.rows[TANGENT]
    row = work.rows[ROW]
    low, high = spread.low, spread.high
    square = 0.0
    for a in range(n):
        x = 0.0
        for b in range(n):
            x += AA[a, b] * lam[b]
        tangent[a] = x
        square += lam[a] * x
    if not square > 0.0 or low < 0.0:
        return np.inf
    s = np.sqrt(square)
    lowest = np.inf
    highest = -np.inf
    for a in range(n):
        tangent[a] /= s
        lowest = min(lowest, tangent[a])
        highest = max(highest, tangent[a])
    least = 0.5 * (lowest + np.sqrt(low))
    if tau == 0.0:
        least = max(least, lowest)
    if not least > 0.0:
        return np.inf
    spare = tau * (0.5 / least - 1.0 / (highest + np.sqrt(high)))
    own = 0.0
    for a in range(n):
        x = 0.0
        for b in range(n):
            x += GG[a, b] * lam[b]
        row[a] = x / s
        own += lam[a] * x
    own /= square
    largest = -np.inf
    for a in range(n):
        for b in range(a + 1):
            x = 0.5 * (linear[a] + linear[b] + tangent[a] + tangent[b]) - CC[a, b]
            x += (AA[a, b] - tangent[a] * tangent[b]) * (0.5 / least)
            if spare > 0.0:
                gram = GG[a, b] - tangent[b] * row[a] - tangent[a] * row[b]
                x += spare * (gram + tangent[a] * tangent[b] * own)
            B[a, b] = x
            B[b, a] = x
            largest = max(largest, x)
    return largest


@kernel()
def lift_to_concave(B: F64, L: F64, lift: F64, size: float, n: int, lam: F64) -> float:
    """Find z ≥ 0 that makes λ'Bλ + Σ z_i λ_i(1-λ_i) concave on the simplex; return the largest, 0 if none is needed.

    U'DU of minus B's differences to a reference vertex; pivots that are not positive are lifted.
    """
    ref = 0
    for a in range(n):
        if lam[a] > lam[ref]:
            ref = a
    largest = 0.0
    for a in range(n):
        lift[a] = 0.0
        for b in range(n):
            L[a, b] = -(B[a, b] - B[a, ref] - B[ref, b] + B[ref, ref])
        largest = max(largest, abs(L[a, a]))
    floor = 1e-13 * (largest + size)
    most = 0.0
    for p in range(n):
        if p == ref:
            continue
        if L[p, p] <= floor:
            wanted = floor
            for a in range(p + 1, n):  # enough to bound what the elimination takes from the others
                if a != ref:
                    wanted = max(wanted, 0.5 * abs(L[p, a]))
            lift[p] = wanted - L[p, p]
            most = max(most, lift[p])
            L[p, p] = wanted
        for a in range(p + 1, n):
            if a != ref:
                x = L[p, a] / L[p, p]
                for b in range(a, n):
                    if b != ref:
                        L[a, b] -= x * L[p, b]
    return most


@kernel()
def frank_wolfe_gap(linear: F64, M: F64, lam: F64, n: int) -> float:
    """Return by how much linear'λ - λ'Mλ, if it is concave, may be larger somewhere on the simplex than at λ."""
    level = 0.0
    highest = -np.inf
    for a in range(n):
        x = linear[a]
        for b in range(n):
            x -= 2.0 * M[a, b] * lam[b]
        level += lam[a] * x
        highest = max(highest, x)
    return max(highest - level, 0.0)
