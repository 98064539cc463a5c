"""A good start for problems in which hundreds of options share the weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from covbandit.core.typing import F64

I64 = NDArray[np.intp]


def exchange_many(theta: F64, sigma: F64, scale: float, support: I64, passes: int = 12) -> F64:
    """Find weights at or near the optimum of a large problem by exchanging many options at once.

    Each pass solves the problem with the current support free (LAPACK), then drops every negative weight and takes in
    every option whose gradient is too good. Usually a handful of passes settle; if not, the active set continues from
    there.
    """
    centred = theta - theta.mean()
    largest = float(sigma.diagonal().max())
    weights = np.zeros(theta.size)
    for _ in range(passes):
        for ridge in (1e-14 * largest, 1e-6 * largest):  # the second if singular: it still points to a good support
            block = sigma.copy() if support.size == theta.size else sigma[np.ix_(support, support)]
            block.flat[:: support.size + 1] += ridge
            factor, failed = dpotrf(block.T, lower=1, overwrite_a=1, clean=0)
            if not failed:
                break
        sides = np.stack([centred[support] / scale, np.ones(support.size)]).T
        solution = dpotrs(factor, sides, lower=1)[0]
        along = solution[:, 1] / solution[:, 1].sum()
        part = solution[:, 0] + (1 - solution[:, 0].sum()) * along
        if part.min() >= 0:
            # One step of refinement, since the ridge and rounding leave their trace.
            residual = centred[support] / scale - sigma[support] @ _scatter(part, support, theta.size)
            step = dpotrs(factor, residual - residual.mean(), lower=1)[0]
            refined = part + step - step.sum() * along
            if refined.min() >= 0:
                part = refined / refined.sum()
        weights = _scatter(part, support, theta.size)
        gradient = centred - scale * (sigma @ weights)
        level = float(gradient @ weights)
        better = (gradient > level + 1e-13 * np.abs(gradient).max()) & (weights == 0)
        if part.min() >= 0 and not better.any():
            break
        support = np.flatnonzero((weights > 0) | better)
    weights = np.maximum(weights, 0)
    return np.asarray(weights / weights.sum())


def _scatter(part: F64, support: I64, size: int) -> F64:
    weights = np.zeros(size)
    weights[support] = part
    return weights
