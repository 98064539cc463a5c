r"""What GradientTS believes: estimates of θ and Σ, the best weights for them, and how uncertain the gradient is there.

Only the gradient near the best weights decides what to play next: :math:`∇f(w) = θ - 2ρΣw`. Its covariance follows from
those of the estimates, :math:`V^{-1} + 4ρ^2 (κ/2) K_w G^{-1} K_w'`, where :math:`K_w σ = Σw`.

How far to go along a gradient is a matter of the curvature, Σ itself, which totals near one mix hardly tell. An
estimate that is too large makes the learner stay where it is, and so learn no better. Therefore the curvature, too, is
drawn from what is believed of it, anew in each refresh.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from covbandit.core.typing import F64
from covbandit.kernels.algebra.cholesky import cholesky, solve_cholesky
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS, decompose
from covbandit.kernels.algebra.semidefinite_metric import METRIC_ROWS, call_project_in_metric
from covbandit.kernels.jit.compilation import kernel, separate
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit
from covbandit.kernels.random.counter_random import fill_normal, stream
from covbandit.kernels.random_coefficients import call_solve_random_coefficients, pair_count, pair_index, unpack
from covbandit.learners.full_bandit.active_design import add_usable_action, usable_count
from covbandit.learners.full_bandit.gradient_ts.statistics import (
    CENTRE,
    COVARIANCE,
    COVARIANCE_SAMPLE,
    CURVATURE,
    CURVATURE_SAMPLING,
    DRAWS,
    INFORMATION,
    LOSS,
    MEAN,
    MEAN_COVARIANCE,
    NEXT,
    NOISE,
    PAIRS,
    PULL,
    PULL_LOSS,
    REFRESH,
    RISK_AVERSION,
    SAMPLING,
    SCALES,
    SHRINK,
    SLOPE,
    SUM,
    TILT,
    TRIAL,
    UNIT,
    VALUES,
    VARIANCE_MODEL,
    WORK,
    estimated_loss,
    excess,
    pair_slabs,
    prior_precisions,
    work_slabs,
)
from covbandit.learners.protocol.state import CAP, FIRST_INT, FIRST_ROW, IN_USE, SEED, START, STATE_TYPE, State

_ROOT_HALF = 0.7071067811865476
_LEAST_SCALE = 1e-3  # an option's variance counts as at least this share of the average
_LEAST_VARIANCE = 1e-6  # and as this much, in units
_LIFT = 0.05  # least eigenvalue of the correlations by which variances are predicted
_LIFT_CURVATURE = 0.1  # and by which is decided
_CURVATURE_DRAWS = 1_000  # where the random numbers for it begin, behind those for the gradient
_PRICED_DRAWS = 8  # gradients by which the cost of sampling is estimated
_FIRST_PRICED = 10_000  # where the random numbers for them begin
_PHASE = 130.0  # rounds per pair of options after which exploring beyond the gradient is half phased in
_PROJECTION_TOLERANCE = 1e-3  # the estimate itself is far less certain
_PROJECTION_STEPS = 30
_CENTRINGS = 3  # steps towards the best weights in each refresh


@kernel()
def phased_in(t: int, d: int) -> float:
    """Return the share, in round t, of what explores beyond the gradient: sampled curvature and forced pulls.

    In the first rounds it costs more than it brings.
    """
    return t / (t + _PHASE * pair_count(d))


@kernel(numba.void(STATE_TYPE, types.int64))
def refresh(s: State, t: int) -> None:
    """Make the estimates, and all that follows from them, for round t and some after it."""
    d = s.v.shape[1]
    n = pair_count(d)
    flat = s.m[PAIRS : PAIRS + pair_slabs(d)].reshape(pair_slabs(d) * d * d)
    G = flat[: n * n].reshape(n, n)
    inverse = flat[n * n : 2 * n * n].reshape(n, n)
    H = flat[2 * n * n : 2 * n * n + n * d].reshape(n, d)
    h = flat[2 * n * n + n * d : 2 * n * n + n * d + n]
    spare = s.m[s.m.shape[0] - work_slabs(d) :].reshape(work_slabs(d) * d * d)
    space = spare[: DECOMPOSITION_SLABS * d * d]
    spare = spare[DECOMPOSITION_SLABS * d * d :]
    factor = spare[: n * n].reshape(n, n)
    spare = spare[n * n :]
    sigma = spare[:n]
    prior = spare[n : 2 * n]
    precision = spare[2 * n : 3 * n]
    rows = spare[3 * n : (3 + METRIC_ROWS) * n].reshape(METRIC_ROWS, n)
    prior_precisions(s, s.v[SLOPE], precision, prior)
    code = call_solve_random_coefficients(
        s.m[INFORMATION],
        s.v[SUM],
        G,
        H,
        h,
        s.v[SLOPE],
        precision,
        prior,
        s.v[MEAN],
        sigma,
        s.m[MEAN_COVARIANCE],
        inverse,
        rows[:2],
    )
    if code == 0:  # the prior sees to that, unless numbers overflow
        unpack(sigma, s.m[COVARIANCE])
        for i in range(d):
            for j in range(d):
                s.m[TRIAL, i, j] = s.m[COVARIANCE, i, j]
        if cholesky(s.m[TRIAL]) != 0:
            call_project_in_metric(
                sigma,
                G,
                precision,
                s.m[COVARIANCE],
                factor,
                rows,
                s.m[TRIAL],
                s.v[VALUES],
                space,
                _PROJECTION_TOLERANCE,
                _PROJECTION_STEPS,
            )
        _scale(s)
        _lift(s, s.m[COVARIANCE], _LIFT, s.m[VARIANCE_MODEL], space)
        _lift(s, s.m[COVARIANCE], _LIFT_CURVATURE, s.m[CURVATURE], space)
        shrinkage = _shrinkage(s, inverse)
        _find_centre(s, shrinkage)
        if s.p[CURVATURE_SAMPLING] > 0.0:
            _sample_curvature(s, t, sigma, inverse, factor, rows[0], space)
            _tilt(s, shrinkage)
        gradient_covariance(s, s.v[CENTRE], inverse, s.m[NOISE])
        _factor_noise(s, max((1.0 - shrinkage), s.p[SHRINK]) * s.p[SAMPLING])
        _price_exploration(s, t)
    s.v[NEXT, 0] = t + max(1.0, np.floor(s.p[REFRESH] * t))


call_refresh = separate(refresh)


@kernel()
def _scale(s: State) -> None:
    """Write each option's standard deviation, none of them next to nothing."""
    d = s.v.shape[1]
    average = 0.0
    for i in range(d):
        average += s.m[COVARIANCE, i, i] / d
    for i in range(d):
        s.v[SCALES, i] = np.sqrt(max(s.m[COVARIANCE, i, i], max(_LEAST_SCALE * average, _LEAST_VARIANCE)))


@kernel()
def _lift(s: State, S: F64, least: float, lifted: F64, space: F64) -> None:
    """Write a covariance whose correlations have no eigenvalue below the least: small ones are known worst."""
    d = s.v.shape[1]
    scale = s.v[SCALES]
    vectors = s.m[TRIAL]
    for i in range(d):
        for j in range(d):
            vectors[i, j] = S[i, j] / (scale[i] * scale[j])
            lifted[i, j] = 0.0
    decompose(vectors, s.v[VALUES], space)
    for k in range(d):
        value = max(s.v[VALUES, k], least)
        for i in range(d):
            for j in range(d):
                lifted[i, j] += value * (vectors[k, i] * scale[i]) * (vectors[k, j] * scale[j])


@kernel()
def _sample_curvature(s: State, t: int, sigma: F64, inverse: F64, factor: F64, draws: F64, space: F64) -> None:
    """Replace the curvature by one drawn from what is believed of it; `sigma`, its estimate, is lost."""
    n = sigma.size
    for k in range(n):
        for j in range(k + 1):
            factor[k, j] = inverse[k, j]
    if cholesky(factor) != 0:  # by rounding only: the estimate will do
        return
    fill_normal(stream(s.i[SEED], t), _CURVATURE_DRAWS, draws)
    size = np.sqrt(0.5 * excess(s) * s.p[CURVATURE_SAMPLING] * phased_in(t, s.i[IN_USE]))
    for k in range(n):
        for j in range(k + 1):
            sigma[k] += size * factor[k, j] * draws[j]
    unpack(sigma, s.m[COVARIANCE_SAMPLE])
    _lift(s, s.m[COVARIANCE_SAMPLE], _LIFT_CURVATURE, s.m[CURVATURE], space)


@kernel()
def gradient_covariance(s: State, w: F64, inverse: F64, C: F64) -> None:
    """Write the covariance of the estimated gradient at weights w."""
    d = w.size
    rho = s.p[RISK_AVERSION] * s.v[UNIT, 0]
    factor = 2.0 * rho * rho * excess(s)
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(d):
                row = pair_index(min(i, k), max(i, k), d)
                part = 0.0
                for m in range(d):
                    share = w[m] if m == j else _ROOT_HALF * w[m]
                    part += share * inverse[row, pair_index(min(j, m), max(j, m), d)]
                total += part * (w[k] if k == i else _ROOT_HALF * w[k])
            C[i, j] = s.m[MEAN_COVARIANCE, i, j] + factor * total
            C[j, i] = C[i, j]


@kernel()
def _shrinkage(s: State, inverse: F64) -> float:
    """Return how much of the gradient at the start weights is taken for noise, and write it into PULL.

    James and Stein: with S the gradient's squared length in standard errors, of d - 1 of them, (d - 3) / S is noise.
    Squared, so that it vanishes sooner where there is more than noise. d counts the options in use.
    """
    d = s.v.shape[1]
    in_use = s.i[IN_USE]
    rho = s.p[RISK_AVERSION] * s.v[UNIT, 0]
    level = 0.0
    for i in range(d):
        product = 0.0
        for j in range(d):
            product += s.m[COVARIANCE, i, j] * s.v[START, j]
        s.v[PULL, i] = s.v[MEAN, i] - 2.0 * rho * product
        if s.v[CAP, i] > 0.0:
            level += s.v[PULL, i] / in_use
    for i in range(d):
        s.v[PULL, i] -= level
    if in_use < 4 or s.p[SHRINK] >= 1.0:
        return 0.0
    C = s.m[TRIAL]
    gradient_covariance(s, s.v[START], inverse, C)
    # differences to the last option in use
    last = d - 1
    while s.v[CAP, last] <= 0.0:
        last -= 1
    m = in_use - 1
    B = s.m[WORK].reshape(d * d)[: m * m].reshape(m, m)
    side = s.v[VALUES][:m]
    row = 0
    for i in range(last):
        if s.v[CAP, i] > 0.0:
            side[row] = s.v[PULL, i] - s.v[PULL, last]
            column = 0
            for j in range(i + 1):
                if s.v[CAP, j] > 0.0:
                    B[row, column] = C[i, j] - C[i, last] - C[last, j] + C[last, last]
                    column += 1
            row += 1
    if cholesky(B) != 0:
        return 0.0
    solve_cholesky(B, side)
    length = 0.0
    row = 0
    for i in range(last):
        if s.v[CAP, i] > 0.0:
            length += side[row] * (s.v[PULL, i] - s.v[PULL, last])
            row += 1
    share = min(1.0, (in_use - 3.0) / length) if length > 0.0 else 1.0
    return share * share


@kernel()
def _find_centre(s: State, shrinkage: float) -> None:
    """Move the centre to the best weights; in steps, since the curvature by which is decided is lifted."""
    for _ in range(_CENTRINGS):
        _tilt(s, shrinkage)
        for i in range(s.v.shape[1]):
            s.v[VALUES, i] = s.v[CENTRE, i]
        maximize_tilted(s, s.v[TILT], s.v[VALUES], s.v[CENTRE])


@kernel()
def _tilt(s: State, shrinkage: float) -> None:
    """Write γ, with which the gradient at the centre is the estimated one, whatever the curvature."""
    d = s.v.shape[1]
    rho = s.p[RISK_AVERSION] * s.v[UNIT, 0]
    for i in range(d):
        product = 0.0
        for j in range(d):
            product += (s.m[COVARIANCE, i, j] - s.m[CURVATURE, i, j]) * s.v[CENTRE, j]
        s.v[TILT, i] = s.v[MEAN, i] - 2.0 * rho * product - shrinkage * s.v[PULL, i]


@kernel()
def maximize_tilted(s: State, tilt: F64, start: F64, w: F64) -> None:
    """Write the weights with the largest tilt'w - ρ w'Cw, C being the curvature by which is decided."""
    call_simplex_maximizer(
        tilt,
        s.m[CURVATURE],
        2.0 * s.p[RISK_AVERSION] * s.v[UNIT, 0],
        s.v[CAP],
        start,
        w,
        s.m[WORK],
        s.v[FIRST_ROW : FIRST_ROW + 4],
        s.i[FIRST_INT:],
        iteration_limit(w.size),
    )


@kernel()
def play_sample(s: State, key: int, first: int, w: F64) -> None:
    """Write the weights that are best for a gradient drawn from what is believed of it."""
    d = w.size
    z = s.v[DRAWS]
    fill_normal(key, first, z)
    for i in range(d):
        s.v[SLOPE, i] = s.v[TILT, i]
        for j in range(i + 1):
            s.v[SLOPE, i] += s.m[NOISE, i, j] * z[j]
    maximize_tilted(s, s.v[SLOPE], s.v[CENTRE], w)


@kernel()
def _price_exploration(s: State, t: int) -> None:
    """Write what a sampled gradient and a forced pull are estimated to lose, on average."""
    d = s.v.shape[1]
    w = s.v[VALUES]
    key = stream(s.i[SEED], t)
    s.v[LOSS, 0] = 0.0
    for k in range(_PRICED_DRAWS):
        play_sample(s, key, _FIRST_PRICED + k * (d + 1), w)
        s.v[LOSS, 0] += estimated_loss(s, w) / _PRICED_DRAWS
    n = usable_count(s)
    s.v[PULL_LOSS, 0] = 0.0
    for k in range(n):
        for i in range(d):
            w[i] = 0.0
        add_usable_action(s, k, 1.0, w)
        s.v[PULL_LOSS, 0] += estimated_loss(s, w) / n


@kernel()
def _factor_noise(s: State, share: float) -> None:
    """Replace the gradient's covariance by the Cholesky factor of a share of it."""
    d = s.v.shape[1]
    C = s.m[NOISE]
    trace = 0.0
    for i in range(d):
        trace += C[i, i]
    for i in range(d):
        for j in range(i + 1):
            C[i, j] *= share
            C[j, i] = C[i, j]
        C[i, i] += 1e-14 * trace
        s.v[VALUES, i] = C[i, i]
    if cholesky(C) != 0:  # by rounding only
        for i in range(d):
            for j in range(i):
                C[i, j] = 0.0
            C[i, i] = np.sqrt(s.v[VALUES, i])
    for i in range(d):
        for j in range(i + 1, d):
            C[i, j] = 0.0
