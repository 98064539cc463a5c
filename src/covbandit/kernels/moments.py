"""Running means and scatter matrices, by Welford's update: no cancellation, however large the mean.

======  =====  ===================================================================
name    shape  meaning
======  =====  ===================================================================
mean    d      θ̂, changed in place
M       d × d  scatter Σ_s (y_s - θ̂)(y_s - θ̂)', so that Σ̂ = M / n; changed in place
y       d      the new observation
delta   d      workspace
======  =====  ===================================================================
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


@kernel()
def update_mean(mean: F64, n: float, y: F64) -> None:
    """Update a mean with its n-th observation."""
    for i in range(mean.size):
        mean[i] += (y[i] - mean[i]) / n


@kernel()
def update_moments(mean: F64, M: F64, n: float, keep: float, y: F64, delta: F64) -> float:
    """Update mean and scatter of n (effective) observations with one more; return their new number.

    `keep` is the share of its weight that each old observation retains: 1, or 2^(-1/half_life) to forget exponentially.
    """
    d = mean.size
    before = keep * n
    after = before + 1.0
    share = 1.0 / after
    for i in range(d):
        delta[i] = y[i] - mean[i]
        mean[i] += share * delta[i]
    share *= before
    for i in range(d):
        step = share * delta[i]
        for j in range(d):
            M[i, j] = keep * M[i, j] + step * delta[j]
    return after


@kernel()
def subtract_risk_gradient(gradient: F64, rho: float, M: F64, n: float, x: F64) -> None:
    """Subtract 2ρ (M / n) x, the gradient of the risk at weights x."""
    d = gradient.size
    for j in range(d):
        weight = 2.0 * rho * x[j] / n
        for i in range(d):
            gradient[i] -= weight * M[j, i]


@kernel()
def pair_covariance(scatter: float, n: float, own: float, other: float) -> float:
    """Return the covariance of two options that were seen together n times, about the means of all their observations.

    `scatter` is about their means over these n rounds; `own` and `other` are by how much these differ from the means of
    all observations. Python may give arrays, through `uncompiled`.
    """
    return scatter / n + own * other


def merge_moments(mean: F64, M: F64, n: float, other_mean: F64, other_M: F64, other_n: float) -> tuple[F64, F64]:
    """Return mean and scatter of two sets of observations together (Chan's formula)."""
    total = n + other_n
    if total == 0:
        return mean.copy(), M.copy()
    between = other_mean - mean
    return (
        mean + between * (other_n / total),
        M + other_M + np.outer(between, between) * (n * other_n / total),
    )
