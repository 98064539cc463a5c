"""What GradientTS keeps of the totals told: a random-coefficient regression, in units of its own.

The first totals are kept as they are. Once there are enough of them, their mean becomes the origin and their spread the
unit of all later computations, so that the learner is scale-free and rewards of 1e6 ± 1 lose no digits. These totals
also give the prior: the further the totals with an option are from their mean, the larger the option's variance. The
prior has no correlation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite_metric import METRIC_ROWS
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.random_coefficients import add_total, expand, pair_count
from covbandit.learners.protocol.state import (
    LearnerState,
    block,
    matrix,
    number,
    parameter,
    row,
    work_block,
    work_integers,
    work_matrix,
    work_row,
    work_rows,
)

_MEAN_PRIOR = 1.0  # totals that the prior on each mean counts for
_SPREAD_PRIOR = 3.0  # totals by which an option's own variance in the prior is drawn to the average
_OUTLYING = 2.0  # the first totals are given this times their expected variance, which is only roughly known


def _matrices_of_pairs(d: int) -> int:
    """Return how many d × d matrices the pairs' statistics take."""
    n = d * (d + 1) // 2
    return (2 * n * n + n * d + n + d * d - 1) // (d * d)


def _matrices_of_spare(d: int) -> int:
    """Return how many take the workspace: one matrix of pairs, some rows of pairs, and room for eigenvectors."""
    n = d * (d + 1) // 2
    return (n * n + (METRIC_ROWS + 4) * n + d * d - 1) // (d * d) + DECOMPOSITION_SLABS


class GradientState(LearnerState):
    """What GradientTS keeps."""

    sum = row("b of the regression")
    mean = row("θ̂, in units, from the origin")
    tilt = row("γ: the estimated gradient is γ - 2ρCw near the centre")
    centre = row("the best weights for the estimates")
    prior_variance = row("the variance of each option in the prior")
    origin = number("the mean of the first totals")
    unit = number("the spread of the first totals; 0 until the first estimate")
    squares = number("sum of (r²/v - 1)² over the rounds after start-up")
    rounds = number("the number of these rounds")
    next_refresh = number("the round for which the estimates are made anew")
    loss = number("what a round with a sampled gradient is estimated to lose")
    pull_loss = number("what a forced pull is estimated to lose")
    information = matrix("V: what the totals say about the means")
    mean_covariance = matrix("V⁻¹: the covariance of θ̂")
    covariance = matrix("Σ̂, positive semi-definite")
    variance_model = matrix("Σ̂ with its small eigenvalues raised a little, to predict variances")
    curvature = matrix("one drawn from what is believed of Σ, its small eigenvalues raised more, to decide")
    noise = matrix("L, the factor of the gradient's covariance")
    pairs = block("G, G⁻¹, H, h of the regression, one after the other: see `regression`", _matrices_of_pairs)
    first_totals = block("the first totals, each behind its weights")

    risk_aversion = parameter("ρ")
    start_up = parameter("totals to keep before the first estimate")
    start_radius = parameter("how far start-up goes from the start weights")
    forced = parameter("what forced pulls may cost, as a share of what sampling costs")
    refresh = parameter("the share of the rounds so far after which estimates are made anew")
    sampling = parameter("scales the variance of the sampled gradient")
    least_sampling = parameter("the least that shrinkage leaves of that variance")
    prior = parameter("how strong the prior on variances and correlations is")
    clip = parameter("how far a total may be from its expectation")
    curvature_sampling = parameter("scales the variance of the sampled curvature")

    slope = work_row("a sampled gradient")
    draws = work_row("random numbers")
    values = work_row("eigenvalues, or weights that are tried")
    scales = work_row("standard deviations")
    pull = work_row("the gradient at the start weights")
    trial = work_matrix("eigenvectors, or a factor that is tried")
    covariance_sample = work_matrix("a covariance drawn from what is believed of it")
    factor = work_matrix("for the simplex maximiser")
    simplex_rows = work_rows("for the simplex maximiser", 4)
    integers = work_integers("for the simplex maximiser", 2)
    spare = work_block("for regressions over pairs", _matrices_of_spare)


class Regression(NamedTuple):
    """The regression of squared residuals on products of weights, with n = d(d+1)/2 pairs."""

    G: F64  # n × n, information
    inverse: F64  # n × n, G⁻¹
    H: F64  # n × d
    h: F64  # n


@kernel()
def regression(s: GradientState) -> Regression:
    """Return the parts of the pairs' statistics."""
    d = s.count.size
    n = pair_count(d)
    flat = s.pairs
    return Regression(
        flat[: n * n].reshape(n, n),
        flat[n * n : 2 * n * n].reshape(n, n),
        flat[2 * n * n : 2 * n * n + n * d].reshape(n, d),
        flat[2 * n * n + n * d : 2 * n * n + n * d + n],
    )


@kernel()
def keep_first(s: GradientState, w: F64, y: float) -> None:
    """Keep one of the first totals with its weights."""
    d = w.size
    totals = s.first_totals
    at = s.told * (d + 1)
    for i in range(d):
        totals[at + i] = w[i]
    totals[at + d] = y


@kernel()
def begin(s: GradientState) -> None:
    """Choose origin, unit and prior from the first totals, and start the regression with them."""
    d = s.count.size
    n = pair_count(d)
    totals = s.first_totals
    pairs = regression(s)
    x = s.spare[:n]
    count = int(s.start_up)
    origin = 0.0
    for q in range(count):
        origin += totals[q * (d + 1) + d] / count
    for i in range(d):
        s.prior_variance[i] = 0.0
        s.scales[i] = 0.0
    unit = 0.0
    for q in range(count):
        at = q * (d + 1)
        length = 0.0
        for i in range(d):
            length += totals[at + i] ** 2
        square = (totals[at + d] - origin) ** 2 / length
        unit += square / count
        for i in range(d):
            share = totals[at + i] ** 2 / length
            s.prior_variance[i] += share * square
            s.scales[i] += share
    if not unit > 0.0:
        unit = 1.0  # all totals were the same: any unit will do
    for i in range(d):
        s.prior_variance[i] = (s.prior_variance[i] / unit + _SPREAD_PRIOR) / (s.scales[i] + _SPREAD_PRIOR)
    unit = np.sqrt(unit)
    s.origin = origin
    s.unit = unit
    w = s.scales
    for q in range(count):
        at = q * (d + 1)
        length = 0.0
        for i in range(d):
            w[i] = totals[at + i]
            length += w[i] ** 2
        expand(w, x)
        y = (totals[at + d] - origin) / unit
        add_total(w, x, y, _OUTLYING * length, s.information, s.sum, pairs.G, pairs.H, pairs.h)


@kernel()
def absorb_total(s: GradientState, w: F64, y: float) -> None:
    """Add a total to the regression, with the variance that is expected of it; outliers are drawn in."""
    d = w.size
    n = pair_count(d)
    pairs = regression(s)
    x = s.spare[:n]
    expand(w, x)
    expected = 0.0
    variance = 0.0
    for i in range(d):
        expected += w[i] * s.mean[i]
        product = 0.0
        for j in range(d):
            product += s.variance_model[i, j] * w[j]
        variance += w[i] * product
    image = s.spare[n : 2 * n]
    for k in range(n):
        image[k] = 0.0
    for k in range(n):  # by rows, which the compiler vectorises; sums along a row it does not
        step = x[k]
        for j in range(n):
            image[j] += step * pairs.inverse[k, j]
    error = 0.0
    for k in range(n):
        error += x[k] * image[k]
    # by the standard error of the variance itself: one that looks too small by chance must not count for too much
    variance += np.sqrt(0.5 * excess(s) * max(error, 0.0))
    t = s.told + 1.0
    most = np.sqrt(s.clip * variance * np.sqrt(np.sqrt(t)))
    residual = (y - s.origin) / s.unit - expected
    residual = min(max(residual, -most), most)
    s.squares += (residual * residual / variance - 1.0) ** 2
    s.rounds += 1.0
    add_total(w, x, expected + residual, variance, s.information, s.sum, pairs.G, pairs.H, pairs.h)


@kernel()
def estimated_loss(s: GradientState, w: F64) -> float:
    """Return how much less utility weights w have than the centre, by the estimates; 0 if they have more."""
    d = w.size
    rho = s.risk_aversion * s.unit
    total = 0.0
    for i in range(d):
        slope = s.mean[i]
        for j in range(d):
            slope -= rho * s.variance_model[i, j] * (w[j] + s.centre[j])
        total += slope * (s.centre[i] - w[i])
    return max(total, 0.0)


@kernel()
def excess(s: GradientState) -> float:
    """Return κ, the variance of a squared residual over the squared variance: 2 for Gaussian noise, never less."""
    if s.rounds > 0.0:
        return float(max(2.0, s.squares / s.rounds))
    return 2.0


@kernel()
def prior_precisions(s: GradientState, theta: F64, sigma: F64, mean: F64) -> None:
    """Write the prior: precisions of θ and σ, and the mean of σ."""
    d = theta.size
    k = 0
    for i in range(d):
        theta[i] = _MEAN_PRIOR / s.prior_variance[i]
        for j in range(i, d):
            sigma[k] = s.prior / (s.prior_variance[i] * s.prior_variance[j])
            mean[k] = s.prior_variance[i] if i == j else 0.0
            k += 1
