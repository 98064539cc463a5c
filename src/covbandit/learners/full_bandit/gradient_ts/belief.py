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
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit
from covbandit.kernels.random.counter_random import fill_normal, stream
from covbandit.kernels.random_coefficients import call_solve_random_coefficients, pair_count, pair_index, unpack
from covbandit.learners.full_bandit.design_actions import add_usable_action, usable_count
from covbandit.learners.full_bandit.gradient_ts.statistics import (
    GradientState,
    estimated_loss,
    excess,
    prior_precisions,
    regression,
)
from covbandit.learners.protocol.state import STATE_TYPE, State

_ROOT_HALF = 0.7071067811865476
_LEAST_SCALE = 1e-3  # an option's variance counts as at least this share of the average
_LEAST_VARIANCE = 1e-6  # and as this much, in units
_LIFT = 0.05  # least eigenvalue of the correlations by which variances are predicted
_LIFT_CURVATURE = 0.1  # and of those used in the decision
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
def refresh(state: State, t: int) -> None:
    """Make the estimates, and all that follows from them, for round t and some after it."""
    s = GradientState(state)
    d = s.count.size
    n = pair_count(d)
    pairs = regression(s)
    spare = s.spare
    space = spare[: DECOMPOSITION_SLABS * d * d]
    spare = spare[DECOMPOSITION_SLABS * d * d :]
    factor = spare[: n * n].reshape(n, n)
    spare = spare[n * n :]
    sigma = spare[:n]
    prior = spare[n : 2 * n]
    precision = spare[2 * n : 3 * n]
    rows = spare[3 * n : (3 + METRIC_ROWS) * n].reshape(METRIC_ROWS, n)
    prior_precisions(s, s.slope, precision, prior)
    code = call_solve_random_coefficients(
        s.information,
        s.sum,
        pairs.G,
        pairs.H,
        pairs.h,
        s.slope,
        precision,
        prior,
        s.mean,
        sigma,
        s.mean_covariance,
        pairs.inverse,
        rows[:2],
    )
    if code == 0:  # the prior sees to that, unless numbers overflow
        unpack(sigma, s.covariance)
        for i in range(d):
            for j in range(d):
                s.trial[i, j] = s.covariance[i, j]
        if cholesky(s.trial) != 0:
            call_project_in_metric(
                sigma,
                pairs.G,
                precision,
                s.covariance,
                factor,
                rows,
                s.trial,
                s.values,
                space,
                _PROJECTION_TOLERANCE,
                _PROJECTION_STEPS,
            )
        _scale(s)
        _lift(s, s.covariance, _LIFT, s.variance_model, space)
        _lift(s, s.covariance, _LIFT_CURVATURE, s.curvature, space)
        shrinkage = _shrinkage(s, pairs.inverse)
        _find_centre(s, shrinkage)
        if s.curvature_sampling > 0.0:
            _sample_curvature(s, t, sigma, pairs.inverse, factor, rows[0], space)
            _tilt(s, shrinkage)
        gradient_covariance(s, s.centre, pairs.inverse, s.noise)
        _factor_noise(s, max((1.0 - shrinkage), s.least_sampling) * s.sampling)
        _price_exploration(s, t)
    s.next_refresh = t + max(1.0, np.floor(s.refresh * t))


call_refresh = out_of_line(refresh)


@kernel()
def _scale(s: GradientState) -> None:
    """Write each option's standard deviation, none of them next to nothing."""
    d = s.count.size
    average = 0.0
    for i in range(d):
        average += s.covariance[i, i] / d
    for i in range(d):
        s.scales[i] = np.sqrt(max(s.covariance[i, i], max(_LEAST_SCALE * average, _LEAST_VARIANCE)))


@kernel()
def _lift(s: GradientState, S: F64, least: float, lifted: F64, space: F64) -> None:
    """Write a covariance whose correlations have no eigenvalue below the least: small ones are known worst."""
    d = s.count.size
    scale = s.scales
    vectors = s.trial
    for i in range(d):
        for j in range(d):
            vectors[i, j] = S[i, j] / (scale[i] * scale[j])
            lifted[i, j] = 0.0
    decompose(vectors, s.values, space)
    for k in range(d):
        value = max(s.values[k], least)
        for i in range(d):
            for j in range(d):
                lifted[i, j] += value * (vectors[k, i] * scale[i]) * (vectors[k, j] * scale[j])


@kernel()
def _sample_curvature(s: GradientState, t: int, sigma: F64, inverse: F64, factor: F64, draws: F64, space: F64) -> None:
    """Replace the curvature by one drawn from what is believed of it; `sigma`, its estimate, is lost."""
    n = sigma.size
    for k in range(n):
        for j in range(k + 1):
            factor[k, j] = inverse[k, j]
    if cholesky(factor) != 0:  # by rounding only: the estimate will do
        return
    fill_normal(stream(s.seed, t), _CURVATURE_DRAWS, draws)
    size = np.sqrt(0.5 * excess(s) * s.curvature_sampling * phased_in(t, s.n_in_use))
    for k in range(n):
        for j in range(k + 1):
            sigma[k] += size * factor[k, j] * draws[j]
    unpack(sigma, s.covariance_sample)
    _lift(s, s.covariance_sample, _LIFT_CURVATURE, s.curvature, space)


@kernel()
def gradient_covariance(s: GradientState, w: F64, inverse: F64, C: F64) -> None:
    """Write the covariance of the estimated gradient at weights w."""
    d = w.size
    rho = s.risk_aversion * s.unit
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
            C[i, j] = s.mean_covariance[i, j] + factor * total
            C[j, i] = C[i, j]


@kernel()
def _shrinkage(s: GradientState, inverse: F64) -> float:
    """Return how much of the gradient at the start weights is taken for noise, and write the gradient into `pull`.

    James and Stein: with S the gradient's squared length in standard errors, of d - 1 of them, (d - 3) / S is noise.
    Squared, so that it vanishes sooner where there is more than noise. d counts the options in use.
    """
    d = s.count.size
    in_use = s.n_in_use
    rho = s.risk_aversion * s.unit
    level = 0.0
    for i in range(d):
        product = 0.0
        for j in range(d):
            product += s.covariance[i, j] * s.start_weights[j]
        s.pull[i] = s.mean[i] - 2.0 * rho * product
        if s.cap[i] > 0.0:
            level += s.pull[i] / in_use
    for i in range(d):
        s.pull[i] -= level
    if in_use < 4 or s.least_sampling >= 1.0:
        return 0.0
    C = s.trial
    gradient_covariance(s, s.start_weights, inverse, C)
    # differences to the last option in use
    last = d - 1
    while s.cap[last] <= 0.0:
        last -= 1
    m = in_use - 1
    B = s.factor.reshape(d * d)[: m * m].reshape(m, m)
    side = s.values[:m]
    row = 0
    for i in range(last):
        if s.cap[i] > 0.0:
            side[row] = s.pull[i] - s.pull[last]
            column = 0
            for j in range(i + 1):
                if s.cap[j] > 0.0:
                    B[row, column] = C[i, j] - C[i, last] - C[last, j] + C[last, last]
                    column += 1
            row += 1
    if cholesky(B) != 0:
        return 0.0
    solve_cholesky(B, side)
    length = 0.0
    row = 0
    for i in range(last):
        if s.cap[i] > 0.0:
            length += side[row] * (s.pull[i] - s.pull[last])
            row += 1
    share = min(1.0, (in_use - 3.0) / length) if length > 0.0 else 1.0
    return share * share


@kernel()
def _find_centre(s: GradientState, shrinkage: float) -> None:
    """Move the centre to the best weights; in steps, since the curvature used in the decision has been raised."""
    for _ in range(_CENTRINGS):
        _tilt(s, shrinkage)
        for i in range(s.count.size):
            s.values[i] = s.centre[i]
        maximize_tilted(s, s.tilt, s.values, s.centre)


@kernel()
def _tilt(s: GradientState, shrinkage: float) -> None:
    """Write γ, with which the gradient at the centre is the estimated one, whatever the curvature."""
    d = s.count.size
    rho = s.risk_aversion * s.unit
    for i in range(d):
        product = 0.0
        for j in range(d):
            product += (s.covariance[i, j] - s.curvature[i, j]) * s.centre[j]
        s.tilt[i] = s.mean[i] - 2.0 * rho * product - shrinkage * s.pull[i]


@kernel()
def maximize_tilted(s: GradientState, tilt: F64, start: F64, w: F64) -> None:
    """Write the weights with the largest tilt'w - ρ w'Cw, C being the curvature used in the decision."""
    call_simplex_maximizer(
        tilt,
        s.curvature,
        2.0 * s.risk_aversion * s.unit,
        s.cap,
        start,
        w,
        s.factor,
        s.simplex_rows,
        s.integers,
        iteration_limit(w.size),
    )


@kernel()
def play_sample(s: GradientState, key: int, first: int, w: F64) -> None:
    """Write the weights that are best for a gradient drawn from what is believed of it."""
    d = w.size
    z = s.draws
    fill_normal(key, first, z)
    for i in range(d):
        s.slope[i] = s.tilt[i]
        for j in range(i + 1):
            s.slope[i] += s.noise[i, j] * z[j]
    maximize_tilted(s, s.slope, s.centre, w)


@kernel()
def _price_exploration(s: GradientState, t: int) -> None:
    """Write what a sampled gradient and a forced pull are estimated to lose, on average."""
    d = s.count.size
    w = s.values
    key = stream(s.seed, t)
    s.loss = 0.0
    for k in range(_PRICED_DRAWS):
        play_sample(s, key, _FIRST_PRICED + k * (d + 1), w)
        s.loss += estimated_loss(s, w) / _PRICED_DRAWS
    n = usable_count(s)
    s.pull_loss = 0.0
    for k in range(n):
        for i in range(d):
            w[i] = 0.0
        add_usable_action(s, k, 1.0, w)
        s.pull_loss += estimated_loss(s, w) / n


@kernel()
def _factor_noise(s: GradientState, share: float) -> None:
    """Replace the gradient's covariance by the Cholesky factor of a share of it."""
    d = s.count.size
    C = s.noise
    trace = 0.0
    for i in range(d):
        trace += C[i, i]
    for i in range(d):
        for j in range(i + 1):
            C[i, j] *= share
            C[j, i] = C[i, j]
        C[i, i] += 1e-14 * trace
        s.values[i] = C[i, i]
    if cholesky(C) != 0:  # by rounding only
        for i in range(d):
            for j in range(i):
                C[i, j] = 0.0
            C[i, i] = np.sqrt(s.values[i])
    for i in range(d):
        for j in range(i + 1, d):
            C[i, j] = 0.0
