r"""How much each total counts: by the variance that it is expected to have, which is estimated along the way.

The passes of iteratively reweighted least squares start from :math:`v = |w|^2`, right for independent options of
equal variance. Each solves the regressions of `covbandit.kernels.random_coefficients` with a weak prior, as if four
totals of pooled variance had been seen in every direction of σ, and predicts

.. math:: v = \tfrac12 \Big(x'\hat σ + \sqrt{(x'\hat σ)^2 + 4\,x'\mathrm{Cov}(\hat σ)x}\Big),

with zero for estimates that are negative: it is the estimate where that is known well, and never below the standard
error where it is not. The prior serves the weights only: estimates are made without it.

Later totals are weighted by what was known before them. Were they, too, weighted by themselves, large deviations would
lower their own weight: for the first totals the passes make up for that by reweighting all, afterwards nothing would,
and variances would come out too small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from covbandit.aggregate.sums import Sums, expand, slices
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import compiled
from covbandit.kernels.random_coefficients import solve_random_coefficients

PASSES = 50
"""Reweightings after which weights are taken as they are; they settle within ten to thirty."""

_SETTLED = 1e-8  # largest relative change of a variance in a pass that is the last
_RIDGE = 1e-9  # precision of the prior of θ, in units of the pooled variance: only mixes never seen feel it
_SMALLEST = 1e-4  # variance relative to the pooled one below which no mix is trusted to be
_PRIOR = 2.0  # precision of the prior of σ: four totals in each direction, 1/2v² each, of pooled variance
_COLLINEAR = 1e-9  # mixes closer than this are one, at first sight


@dataclass(frozen=True, eq=False)
class Belief:
    """Means, covariance and their uncertainty, by which totals are weighted; relevances are relative to `level`."""

    level: float

    theta: F64
    sigma: F64
    theta_covariance: F64
    sigma_covariance: F64


def absorb(sums: Sums, W: F64, y: F64, a: F64, passes: int = PASSES) -> Sums:
    """Return the sums with observations added: the first by iteration, later ones weighted by what earlier ones say.

    Parameters
    ----------
    sums : Sums
        Earlier observations, whose weights stay.
    W, y, a : array
        Weights (n × d), totals and relevances.
    passes : int
        The most reweightings of the first; 0 keeps the weights of the start.
    """
    if y.size == 0:
        return sums
    if sums.unit == 0:
        sums = _started(sums, W, y, a)
    z = sums.measured(W, y)
    level = (sums.relevance2 + float(a @ a)) / (sums.relevance + float(a.sum()))
    squares = np.einsum("ij,ij->i", W, W)
    first = sums.relevance == 0
    v = squares if first else _predicted(_believed(sums, level), W, squares)
    added = sums.with_totals(W, z, a, v)
    belief = _believed(added, level)
    for _ in range(passes if first else 0):
        last = v
        v = _predicted(belief, W, squares)
        added = sums.with_totals(W, z, a, v)
        belief = _believed(added, level)
        if float(np.max(np.abs(v - last) / v)) <= _SETTLED:
            break
    added = added.with_errors(W, a, v, belief.theta_covariance / level)
    fourth, freedom = _fourth_moments(belief, W, z, a, v)
    return replace(added, fourth=sums.fourth + fourth, freedom=sums.freedom + freedom)


def _started(sums: Sums, W: F64, y: F64, a: F64) -> Sums:
    """Return empty sums with an origin and a unit: the means and the deviation that totals show at first sight."""
    level = float(np.median(y))
    spread = float(np.max(np.abs(y - level))) or 1.0
    root = np.sqrt(a / np.einsum("ij,ij->i", W, W))
    z = (y - level) / spread
    slope = np.linalg.lstsq(W * root[:, None], z * root, rcond=_COLLINEAR)[0]
    residual = root * (z - W @ slope)
    deviation = float(np.sqrt(residual @ residual / a.sum()))
    return replace(sums, origin=level + spread * slope, unit=spread * (deviation if deviation > 1e-12 else 1.0))


def _believed(sums: Sums, level: float) -> Belief:
    d, n = sums.b.size, sums.h.size
    theta, sigma = np.empty(d), np.empty(n)
    theta_covariance, sigma_covariance = np.empty((d, d)), np.empty((n, n))
    pooled = np.zeros(n)
    pooled[np.cumsum([0, *range(d, 1, -1)])] = 1.0
    compiled(solve_random_coefficients)(
        sums.V / level,
        sums.b / level,
        sums.G / level,
        sums.H / level,
        sums.h / level,
        np.full(d, _RIDGE),
        np.full(n, _PRIOR),
        pooled,
        theta,
        sigma,
        theta_covariance,
        sigma_covariance,
        np.empty((2, n)),
    )
    return Belief(level, theta, sigma, theta_covariance, sigma_covariance)


def _predicted(belief: Belief, W: F64, squares: F64) -> F64:
    """Return the variance that the total of each row of weights is expected to have."""
    v = np.empty(len(W))
    for part in slices(*W.shape):
        x = expand(W[part])
        estimate = np.maximum(x @ belief.sigma, 0.0)
        error2 = np.einsum("ij,ij->i", x @ belief.sigma_covariance, x)
        v[part] = 0.5 * (estimate + np.sqrt(estimate**2 + 4 * error2))
    return np.maximum(v, _SMALLEST * squares)


def _fourth_moments(belief: Belief, W: F64, z: F64, a: F64, v: F64) -> tuple[float, float]:
    """Return the sum of squared errors of squared residuals, in units of v, and its degrees of freedom."""
    total = freedom = 0.0
    for part in slices(*W.shape):
        w, x = W[part], expand(W[part])
        residual2 = (z[part] - w @ belief.theta) ** 2
        lost = np.einsum("ij,ij->i", w @ belief.theta_covariance, w)
        known = np.einsum("ij,ij->i", x @ belief.sigma_covariance, x)
        error = (residual2 + lost - x @ belief.sigma) / v[part]
        total += float(a[part] @ error**2) / belief.level
        taken = (a[part] / belief.level) * (2 * lost / v[part] + 0.5 * known / v[part] ** 2)
        freedom += float(a[part] @ (1 - taken)) / belief.level
    return total, freedom
