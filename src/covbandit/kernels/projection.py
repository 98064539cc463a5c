"""Euclidean projections."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covbandit.kernels.compilation import kernel

F64 = NDArray[np.float64]


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
