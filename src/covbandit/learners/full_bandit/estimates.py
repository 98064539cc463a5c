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
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.learners.full_bandit.design_schedule import DesignState, has_closed_forms, is_usable
from covbandit.learners.protocol.retired_options import first_in_use
from covbandit.learners.protocol.state import UPDATE, State


@kernel(UPDATE)
def estimate_moments(state: State) -> None:
    """Write means, their standard errors and covariances from the statistics of the actions."""
    s = DesignState(state)
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
def _estimate_in_closed_form(s: DesignState) -> None:
    d = s.count.size
    sigma = s.covariance
    count = s.action_count
    mean = s.action_mean
    scatter = s.action_scatter
    # A level common to all totals goes through B⁺ unchanged: taken out, rewards of 1e8 ± 1 lose no digits.
    level = mean[first_in_use(s.cap)]
    in_use = s.n_in_use
    total = 0.0
    errors = 0.0
    share = 0.5 / (in_use + 1.0)
    own = (1.0 - share) ** 2 - share**2
    paired = (0.5 - share) ** 2 - share**2
    for i in range(d):
        if s.cap[i] <= 0.0:
            s.mean[i] = mean[i] if count[i] > 0.0 else level
            s.width[i] = np.sqrt(_error(count, scatter, i))
            sigma[i, i] = scatter[i] / count[i] if count[i] > 0.0 else 0.0
            continue
        s.mean[i] = mean[i] - level
        total += mean[i] - level
        sigma[i, i] = scatter[i] / count[i]
        error = _error(count, scatter, i)
        errors += error
        s.width[i] = own * error
    k = d
    for i in range(d):
        for j in range(i + 1, d):
            if s.cap[i] <= 0.0 or s.cap[j] <= 0.0:
                sigma[i, j] = 0.0
                sigma[j, i] = 0.0
                k += 1
                continue
            y = mean[k] - level
            total += y
            s.mean[i] += 0.5 * y
            s.mean[j] += 0.5 * y
            error = _error(count, scatter, k)
            errors += error
            s.width[i] += paired * error
            s.width[j] += paired * error
            sigma[i, j] = 2.0 * scatter[k] / count[k] - 0.5 * (sigma[i, i] + sigma[j, j])
            sigma[j, i] = sigma[i, j]
            k += 1
    factor = 4.0 / (in_use + 2.0)
    for i in range(d):
        if s.cap[i] > 0.0:
            s.mean[i] = level + factor * (s.mean[i] - share * total)
            s.width[i] = factor * np.sqrt(s.width[i] + share**2 * errors)


@kernel()
def _estimate_by_inverse(s: DesignState) -> None:
    d = s.count.size
    n = int(s.n_actions)
    count = s.action_count
    mean = s.action_mean
    scatter = s.action_scatter
    first = 0
    while not is_usable(s, first):
        first += 1
    level = mean[first]
    at = n * d
    for i in range(d):
        value = 0.0
        error = 0.0
        for k in range(n):
            value += s.design[at + k] * (mean[k] - level)
            error += s.design[at + k] ** 2 * _error(count, scatter, k)
        s.mean[i] = level + value
        s.width[i] = np.sqrt(error)
        at += n
    for diagonal in range(2):  # the variances come first
        for i in range(d):
            for j in range(i if diagonal == 0 else i + 1, i + 1 if diagonal == 0 else d):
                value = 0.0
                for k in range(n):
                    if count[k] > 0.0:  # an action with a retired option need not have been seen; its factor is 0
                        value += s.design[at + k] * (scatter[k] / count[k])
                s.covariance[i, j] = value
                s.covariance[j, i] = value
                at += n


call_estimate_moments = out_of_line(estimate_moments)


@kernel()
def project_covariance(s: DesignState) -> None:
    """Replace the estimated covariance by the nearest positive semi-definite matrix."""
    d = s.count.size
    s.removed = call_project_on_semidefinite(
        s.covariance,
        s.lifted,
        s.work[0],
        s.search.reshape(DECOMPOSITION_SLABS * d * d),
    )
