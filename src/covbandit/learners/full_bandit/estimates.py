r"""Means and covariances of the options from totals alone (Algorithm 3, lines 13-17).

The totals of an action v have the mean v'θ and the variance v'Σv. With the actions as rows of B, and their products
:math:`v_1^2, …, v_d^2, 2v_1v_2, 2v_1v_3, …` as rows of C, the moments of the options are

.. math:: \hat θ = B^+ \hat y, \qquad \hat σ = C^+ \hat z

where ŷ and ẑ hold the mean and the variance of each action's totals. For single options and pairs, half on each,

.. math::
    B^+ = \tfrac{4}{d+2} \Big( B' - \tfrac{1}{2(d+1)} 11' \Big), \qquad
    \hat Σ_{ii} = \hat z_i, \quad \hat Σ_{ij} = 2 \hat z_{ij} - \tfrac12 (\hat z_i + \hat z_j),

which needs no matrix of the size of the design. Σ̂ has negative eigenvalues often.

With retired options, all this is done for the options in use, from the actions that contain no other; d is their
number. Of a retired option only what was seen of it alone is written, for explanations.
"""

from __future__ import annotations

import numpy as np

from covbandit.core.typing import F64
from covbandit.kernels.algebra.lapack import DECOMPOSITION_SLABS
from covbandit.kernels.algebra.semidefinite import call_project_on_semidefinite
from covbandit.kernels.jit.compilation import kernel, separate
from covbandit.learners.full_bandit.design_schedule import (
    ACTIONS,
    COVARIANCE,
    DESIGN,
    MATRIX,
    MEAN,
    N_ACTIONS,
    REFRESH,
    REMOVED,
    SEARCH,
    WIDTH,
    WORK,
    has_closed_forms,
    is_usable,
    n_places,
)
from covbandit.learners.protocol.state import CAP, IN_USE, State

_EIGENVALUES = WORK  # scratch row


@kernel(REFRESH)
def estimate_moments(s: State) -> None:
    """Write means, their standard errors and covariances from the statistics of the actions."""
    if has_closed_forms(s):
        _estimate_in_closed_form(s)
    else:
        _estimate_by_inverse(s)


@kernel()
def _error(count: F64, scatter: F64, k: int) -> float:
    """Return the variance of the mean of an action's totals, 0 while it is unknown."""
    n = count[k]
    return float(scatter[k] / (n * (n - 1.0))) if n > 1.0 else 0.0


@kernel()
def _estimate_in_closed_form(s: State) -> None:
    d = s.v.shape[1]
    v = s.v
    sigma = s.m[COVARIANCE]
    size = n_places(s)
    known = s.m[ACTIONS:].reshape(3 * size)
    count = known[:size]
    mean = known[size : 2 * size]
    scatter = known[2 * size :]
    # A level common to all totals goes through B⁺ unchanged: taken out, rewards of 1e8 ± 1 lose no digits.
    first = 0
    while s.v[CAP, first] <= 0.0:
        first += 1
    level = mean[first]
    in_use = s.i[IN_USE]
    total = 0.0
    errors = 0.0
    share = 0.5 / (in_use + 1.0)
    own = (1.0 - share) ** 2 - share**2
    paired = (0.5 - share) ** 2 - share**2
    for i in range(d):
        if v[CAP, i] <= 0.0:
            v[MEAN, i] = mean[i] if count[i] > 0.0 else level
            v[WIDTH, i] = np.sqrt(_error(count, scatter, i))
            sigma[i, i] = scatter[i] / count[i] if count[i] > 0.0 else 0.0
            continue
        v[MEAN, i] = mean[i] - level
        total += mean[i] - level
        sigma[i, i] = scatter[i] / count[i]
        error = _error(count, scatter, i)
        errors += error
        v[WIDTH, i] = own * error
    k = d
    for i in range(d):
        for j in range(i + 1, d):
            if v[CAP, i] <= 0.0 or v[CAP, j] <= 0.0:
                sigma[i, j] = 0.0
                sigma[j, i] = 0.0
                k += 1
                continue
            y = mean[k] - level
            total += y
            v[MEAN, i] += 0.5 * y
            v[MEAN, j] += 0.5 * y
            error = _error(count, scatter, k)
            errors += error
            v[WIDTH, i] += paired * error
            v[WIDTH, j] += paired * error
            sigma[i, j] = 2.0 * scatter[k] / count[k] - 0.5 * (sigma[i, i] + sigma[j, j])
            sigma[j, i] = sigma[i, j]
            k += 1
    factor = 4.0 / (in_use + 2.0)
    for i in range(d):
        if v[CAP, i] > 0.0:
            v[MEAN, i] = level + factor * (v[MEAN, i] - share * total)
            v[WIDTH, i] = factor * np.sqrt(v[WIDTH, i] + share**2 * errors)


@kernel()
def _estimate_by_inverse(s: State) -> None:
    d = s.v.shape[1]
    n = int(s.p[N_ACTIONS])
    size = n_places(s)
    known = s.m[ACTIONS:].reshape(3 * size)
    count = known[:size]
    mean = known[size : 2 * size]
    scatter = known[2 * size :]
    first = 0
    while not is_usable(s, first):
        first += 1
    level = mean[first]
    at = DESIGN + n * d
    for i in range(d):
        value = 0.0
        error = 0.0
        for k in range(n):
            value += s.p[at + k] * (mean[k] - level)
            error += s.p[at + k] ** 2 * _error(count, scatter, k)
        s.v[MEAN, i] = level + value
        s.v[WIDTH, i] = np.sqrt(error)
        at += n
    for diagonal in range(2):  # the variances come first
        for i in range(d):
            for j in range(i if diagonal == 0 else i + 1, i + 1 if diagonal == 0 else d):
                value = 0.0
                for k in range(n):
                    if count[k] > 0.0:  # an action with a retired option need not have been seen; its factor is 0
                        value += s.p[at + k] * (scatter[k] / count[k])
                s.m[COVARIANCE, i, j] = value
                s.m[COVARIANCE, j, i] = value
                at += n


call_estimate_moments = separate(estimate_moments)


@kernel()
def project_covariance(s: State) -> None:
    """Replace the estimated covariance by the nearest positive semi-definite matrix."""
    d = s.v.shape[1]
    s.v[REMOVED, 0] = call_project_on_semidefinite(
        s.m[COVARIANCE],
        s.m[MATRIX],
        s.v[_EIGENVALUES],
        s.m[SEARCH : SEARCH + DECOMPOSITION_SLABS].reshape(DECOMPOSITION_SLABS * d * d),
    )
