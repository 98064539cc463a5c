"""From independent standard draws to rewards with a given mean and covariance."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel


def covariance_factor(covariance: F64) -> F64:
    """Return A, rank × d, with A'A = Σ, by a pivoted Cholesky factorisation: Σ may be singular."""
    d = len(covariance)
    if not covariance.any():
        return np.zeros((1, d))
    factor, pivots, rank, _ = dpstrf(covariance, lower=1, tol=1e-14 * float(covariance.diagonal().max()))
    lower = np.tril(factor)[:, :rank]
    result = np.zeros((rank, d))
    result[:, pivots - 1] = lower.T
    return result


@kernel("void(float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1])")
def correlate(draws: F64, mean: F64, factor: F64, rewards: F64) -> None:
    """Write mean + factor'z into each row of rewards, z being the row of draws."""
    n, d = rewards.shape
    rank = factor.shape[0]
    for t in range(n):
        for i in range(d):
            rewards[t, i] = mean[i]
        for k in range(rank):
            z = draws[t, k]
            for i in range(d):
                rewards[t, i] += z * factor[k, i]
