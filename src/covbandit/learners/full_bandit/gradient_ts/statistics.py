"""What GradientTS keeps of the totals told: a random-coefficient regression, in units of its own.

The first totals are kept as they are. Once there are enough of them, their mean becomes the origin and their spread the
unit in which everything is reckoned from then on, so that the learner is scale-free and rewards of 1e6 ± 1 lose no
digits. From these totals comes also the prior: one that options with larger totals have larger variances, and that
there is no correlation.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite_metric import METRIC_ROWS
from covbandit.kernels.jit.compilation import kernel
from covbandit.kernels.random_coefficients import add_total, expand, pair_count
from covbandit.learners.protocol.state import FIRST_ROW, TOLD, Layout, State

# Parameters
RISK_AVERSION = 0
START_UP = 1  # totals to keep before the first estimate
START_RADIUS = 2
FORCED = 3
REFRESH = 4
SAMPLING = 5
SHRINK = 6
PRIOR = 7
CLIP = 8
CURVATURE_SAMPLING = 9

# Scratch rows: four of the simplex maximiser, then
SLOPE = FIRST_ROW + 4
DRAWS = FIRST_ROW + 5
VALUES = FIRST_ROW + 6
SCALES = FIRST_ROW + 7
PULL = FIRST_ROW + 8
N_SCRATCH_ROWS = 9
# Statistics
SUM = FIRST_ROW + 9  # b of the regression
MEAN = FIRST_ROW + 10  # θ̂, in units, from the origin
TILT = FIRST_ROW + 11  # γ: the estimated gradient is γ - 2ρCw near the centre
CENTRE = FIRST_ROW + 12  # the best weights for the estimates
PRIOR_VARIANCE = FIRST_ROW + 13
# Single numbers, each the first entry of a row:
ORIGIN = FIRST_ROW + 14
UNIT = FIRST_ROW + 15  # 0 until the first estimate
SQUARES = FIRST_ROW + 16  # sum of (r²/v - 1)² over the rounds after it
ROUNDS = FIRST_ROW + 17  # their number
NEXT = FIRST_ROW + 18  # the round for which the estimates are made anew
LOSS = FIRST_ROW + 19  # what a round with a sampled gradient is estimated to lose
PULL_LOSS = FIRST_ROW + 20  # and a forced pull
ROWS = (
    *("sum", "mean", "tilt", "centre", "prior_variance"),
    *("origin", "unit", "squares", "rounds", "next_refresh", "loss", "pull_loss"),
)

WORK = 0  # scratch slabs
TRIAL = 1
COVARIANCE_SAMPLE = 2
N_SCRATCH_SLABS = 3
INFORMATION = 3  # V
MEAN_COVARIANCE = 4  # V⁻¹
COVARIANCE = 5  # Σ̂, positive semi-definite
VARIANCE_MODEL = 6  # Σ̂ with its small eigenvalues lifted a little, to predict variances
CURVATURE = 7  # one drawn from what is believed of Σ, lifted more, to decide
NOISE = 8  # L, the factor of the gradient's covariance
SLABS = ("information", "mean_covariance", "covariance", "variance_model", "curvature", "noise")
PAIRS = N_SCRATCH_SLABS + len(SLABS)  # first slab of the block: G, G⁻¹, H, h, one after the other

_MEAN_PRIOR = 1.0  # totals that the prior on each mean counts for
_SPREAD_PRIOR = 3.0  # totals by which an option's own variance in the prior is drawn to the average
_OUTLYING = 2.0  # the first totals are given this times their expected variance, which is only roughly known


# The two kernels below call no other, so that Python can use what they were made of as well.


@kernel()
def pair_slabs(d: int) -> int:
    """Return the number of slabs of the pairs' statistics."""
    n = d * (d + 1) // 2
    return (2 * n * n + n * d + n + d * d - 1) // (d * d)


@kernel()
def work_slabs(d: int) -> int:
    """Return the number of slabs of workspace: one matrix of pairs, some rows of pairs, and room for eigenvectors."""
    n = d * (d + 1) // 2
    return (n * n + (METRIC_ROWS + 4) * n + d * d - 1) // (d * d) + DECOMPOSITION_SLABS


def gradient_layout(start_up: int) -> Layout:
    """Return the layout for so many totals at first."""
    return Layout(
        rows=ROWS,
        slabs=SLABS,
        scratch_rows=N_SCRATCH_ROWS,
        scratch_slabs=N_SCRATCH_SLABS,
        scratch_ints=2,
        blocks=(
            ("pairs", pair_slabs.py_func),  # type: ignore[attr-defined]
            ("first_totals", lambda d: -(-start_up * (d + 1) // (d * d))),
        ),
        scratch_blocks=(("work", work_slabs.py_func),),  # type: ignore[attr-defined]
    )


@kernel()
def keep_first(s: State, w: F64, y: float) -> None:
    """Keep one of the first totals with its weights."""
    d = w.size
    kept = s.m[PAIRS + pair_slabs(d) :]
    totals = kept.reshape(kept.size)
    at = s.i[TOLD] * (d + 1)
    for i in range(d):
        totals[at + i] = w[i]
    totals[at + d] = y


@kernel()
def begin(s: State) -> None:
    """Choose origin, unit and prior from the first totals, and start the regression with them."""
    d = s.v.shape[1]
    n = pair_count(d)
    kept = s.m[PAIRS + pair_slabs(d) :]
    totals = kept.reshape(kept.size)
    flat = s.m[PAIRS : PAIRS + pair_slabs(d)].reshape(pair_slabs(d) * d * d)
    G = flat[: n * n].reshape(n, n)
    H = flat[2 * n * n : 2 * n * n + n * d].reshape(n, d)
    h = flat[2 * n * n + n * d : 2 * n * n + n * d + n]
    spare = s.m[s.m.shape[0] - work_slabs(d) :].reshape(work_slabs(d) * d * d)
    x = spare[:n]
    count = int(s.p[START_UP])
    origin = 0.0
    for q in range(count):
        origin += totals[q * (d + 1) + d] / count
    for i in range(d):
        s.v[PRIOR_VARIANCE, i] = 0.0
        s.v[SCALES, i] = 0.0
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
            s.v[PRIOR_VARIANCE, i] += share * square
            s.v[SCALES, i] += share
    if not unit > 0.0:
        unit = 1.0  # all totals were the same: any unit will do
    for i in range(d):
        s.v[PRIOR_VARIANCE, i] = (s.v[PRIOR_VARIANCE, i] / unit + _SPREAD_PRIOR) / (s.v[SCALES, i] + _SPREAD_PRIOR)
    unit = np.sqrt(unit)
    s.v[ORIGIN, 0] = origin
    s.v[UNIT, 0] = unit
    w = s.v[SCALES]
    for q in range(count):
        at = q * (d + 1)
        length = 0.0
        for i in range(d):
            w[i] = totals[at + i]
            length += w[i] ** 2
        expand(w, x)
        y = (totals[at + d] - origin) / unit
        add_total(w, x, y, _OUTLYING * length, s.m[INFORMATION], s.v[SUM], G, H, h)


@kernel()
def absorb_total(s: State, w: F64, y: float) -> None:
    """Add a total to the regression, with the variance that is expected of it; outliers are drawn in."""
    d = w.size
    n = pair_count(d)
    flat = s.m[PAIRS : PAIRS + pair_slabs(d)].reshape(pair_slabs(d) * d * d)
    G = flat[: n * n].reshape(n, n)
    inverse = flat[n * n : 2 * n * n].reshape(n, n)
    H = flat[2 * n * n : 2 * n * n + n * d].reshape(n, d)
    h = flat[2 * n * n + n * d : 2 * n * n + n * d + n]
    spare = s.m[s.m.shape[0] - work_slabs(d) :].reshape(work_slabs(d) * d * d)
    x = spare[:n]
    expand(w, x)
    expected = 0.0
    variance = 0.0
    for i in range(d):
        expected += w[i] * s.v[MEAN, i]
        product = 0.0
        for j in range(d):
            product += s.m[VARIANCE_MODEL, i, j] * w[j]
        variance += w[i] * product
    image = spare[n : 2 * n]
    for k in range(n):
        image[k] = 0.0
    for k in range(n):  # by rows, which the compiler vectorises; sums along a row it does not
        step = x[k]
        for j in range(n):
            image[j] += step * inverse[k, j]
    error = 0.0
    for k in range(n):
        error += x[k] * image[k]
    # by the standard error of the variance itself: one that looks too small by chance must not count for too much
    variance += np.sqrt(0.5 * excess(s) * max(error, 0.0))
    t = s.i[TOLD] + 1.0
    most = np.sqrt(s.p[CLIP] * variance * np.sqrt(np.sqrt(t)))
    residual = (y - s.v[ORIGIN, 0]) / s.v[UNIT, 0] - expected
    residual = min(max(residual, -most), most)
    s.v[SQUARES, 0] += (residual * residual / variance - 1.0) ** 2
    s.v[ROUNDS, 0] += 1.0
    add_total(w, x, expected + residual, variance, s.m[INFORMATION], s.v[SUM], G, H, h)


@kernel()
def estimated_loss(s: State, w: F64) -> float:
    """Return how much less utility weights w have than the centre, by the estimates; 0 if they have more."""
    d = w.size
    rho = s.p[RISK_AVERSION] * s.v[UNIT, 0]
    total = 0.0
    for i in range(d):
        slope = s.v[MEAN, i]
        for j in range(d):
            slope -= rho * s.m[VARIANCE_MODEL, i, j] * (w[j] + s.v[CENTRE, j])
        total += slope * (s.v[CENTRE, i] - w[i])
    return max(total, 0.0)


@kernel()
def excess(s: State) -> float:
    """Return κ, the variance of a squared residual over the squared variance: 2 for Gaussian noise, never less."""
    if s.v[ROUNDS, 0] > 0.0:
        return float(max(2.0, s.v[SQUARES, 0] / s.v[ROUNDS, 0]))
    return 2.0


@kernel()
def prior_precisions(s: State, theta: F64, sigma: F64, mean: F64) -> None:
    """Write the prior: precisions of θ and σ, and the mean of σ."""
    d = theta.size
    k = 0
    for i in range(d):
        theta[i] = _MEAN_PRIOR / s.v[PRIOR_VARIANCE, i]
        for j in range(i, d):
            sigma[k] = s.p[PRIOR] / (s.v[PRIOR_VARIANCE, i] * s.v[PRIOR_VARIANCE, j])
            mean[k] = s.v[PRIOR_VARIANCE, i] if i == j else 0.0
            k += 1
