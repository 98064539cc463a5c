"""Euclidean projections."""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64, I64
from covbandit.kernels.jit.compilation import kernel


@kernel("void(float64[::1])")
def project_on_simplex(x: F64) -> None:
    """Replace x by the nearest point of the simplex.

    The projection is max(x - τ, 0) with the τ that makes it sum to one. Entries at or below the τ of the others cannot
    be in the support, so τ grows until it is consistent: exact after at most d passes, two or three as a rule.
    """
    d = x.size
    largest = x[0]
    for i in range(d):
        largest = max(largest, x[i])
    floor = -np.inf
    tau = 0.0
    while True:
        total = 0.0
        count = 0
        for i in range(d):
            if x[i] - largest > floor:
                total += x[i] - largest
                count += 1
        tau = (total - 1.0) / count
        if not tau > floor:
            break
        floor = tau
    total = 0.0
    for i in range(d):
        x[i] = max(x[i] - largest - tau, 0.0)
        total += x[i]
    for i in range(d):
        x[i] /= total


@kernel("void(float64[::1], float64, float64[::1], float64[::1], int64[::1])")
def project_on_semicontinuous(x: F64, least: float, nearest: F64, trial: F64, order: I64) -> None:
    """Replace x by the nearest weights that are zero or at least c; the rest is workspace of size d.

    With k options in, these are the k largest entries of x, and their weights are ``c + max(x - c - τ, 0)``. The best k
    is found by trying all.
    """
    d = x.size
    for a in range(d):
        order[a] = a
        b = a
        while b > 0 and x[order[b - 1]] < x[a]:
            order[b] = order[b - 1]
            b -= 1
        order[b] = a
    # The squared distance, less Σ x_i², is Σ over the options in of w_i (w_i - 2 x_i).
    closest = np.inf
    for k in range(1, d + 1):
        rest = 1.0 - k * least
        if rest < -1e-12:
            break
        rest = max(rest, 0.0)
        largest = x[order[0]]
        total = 0.0
        tau = 0.0
        for a in range(k):  # entries above τ get more than c; they come first
            total += x[order[a]] - largest
            level = (total - rest) / (a + 1.0)
            if x[order[a]] - largest <= level:
                break
            tau = level
        distance = 0.0
        for i in range(d):
            trial[i] = 0.0
        for a in range(k):
            i = order[a]
            trial[i] = least + max(x[i] - largest - tau, 0.0)
            distance += trial[i] * (trial[i] - 2.0 * (x[i] - largest))
        # Options out count nothing: on weights that sum to one, shifting all of x by its largest adds a constant.
        if distance < closest:
            closest = distance
            for i in range(d):
                nearest[i] = trial[i]
    total = 0.0
    for i in range(d):
        total += nearest[i]
    for i in range(d):
        x[i] = nearest[i] / total
