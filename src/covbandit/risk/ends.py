"""Where the path of optimal weights begins and where it leads, and the ρ at which it passes a given sd."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covbandit.core.tables import as_number
from covbandit.core.typing import F64
from covbandit.errors import NumericalFailure
from covbandit.maximization import solve
from covbandit.risk.moments import Moments

Mask = NDArray[np.bool_]

WITHIN = 0.01
"""The sd counts as practically minimal within this share of the least sd."""

ROUNDING = 1e-12
"""Relative; below it two sds or covariances count as equal."""

_TIE = 1e-14  # means closer than this share of the largest differ by rounding only


class Ends(NamedTuple):
    """The ends of the path: as ρ falls to zero, and as it grows without bound."""

    onset: float  # the first weights, of least variance among options of the best mean, stay optimal up to this ρ
    single_option_below: float
    most_sd: float
    least_sd: float


def find_ends(moments: Moments) -> Ends:
    """Return where the path begins and where it leads."""
    theta, sigma, _ = moments
    best = theta >= theta.max() - _TIE * float(np.abs(theta).max())
    first = _least_variance_among(sigma, best)
    _, onset = optimal_range(moments, first, ~best)
    last = _least_variance_among(sigma, np.ones(theta.size, dtype=bool))
    return Ends(
        onset=onset,
        single_option_below=onset if np.count_nonzero(first) == 1 else 0.0,
        most_sd=moments.sd(first),
        least_sd=moments.sd(last),
    )


def practically_minimal_from(moments: Moments, ends: Ends) -> float:
    """Return the ρ from which on the sd is practically minimal."""
    aim = (1 + WITHIN) * ends.least_sd
    if np.isinf(ends.onset) or ends.most_sd <= aim:
        return 0.0
    return crossing(moments, ends.onset, aim) if aim > 0 else np.inf


def _least_variance_among(sigma: F64, candidates: Mask) -> F64:
    """Return the weights of least variance that use only the candidates; a single option wherever one suffices."""
    chosen = np.flatnonzero(candidates)
    block = np.ascontiguousarray(sigma[np.ix_(chosen, chosen)])
    weights = np.zeros(sigma.shape[0])
    k = int(np.argmin(block.diagonal()))
    # A copy of option k must not count as diversification because of rounding.
    if (block[k] >= block[k, k] * (1 - ROUNDING)).all():
        weights[chosen[k]] = 1.0
    else:
        weights[chosen] = solve(np.zeros(chosen.size), block, 1.0, None, np.zeros(chosen.size)).weights
    return weights


def optimal_range(moments: Moments, weights: F64, others: Mask) -> tuple[float, float]:
    """Return the ρ between which no other option is worth adding to weights whose options are all equally good.

    Empty (low > high) if there is none. Shifting weight from a held option i to option j gains
    ``(θ_j - θ_i) - 2ρ ((Σw)_j - (Σw)_i)`` per unit.
    """
    theta, sigma, _ = moments
    i = int(np.argmax(weights))
    risk = sigma @ weights
    mean_lost = theta[i] - theta[others]
    risk_saved = 2 * (risk[i] - risk[others])
    if (mean_lost[risk_saved == 0] < 0).any():
        return np.inf, 0.0
    with np.errstate(over="ignore"):
        high = (mean_lost[risk_saved > 0] / risk_saved[risk_saved > 0]).min(initial=np.inf)
        low = (mean_lost[risk_saved < 0] / risk_saved[risk_saved < 0]).max(initial=0.0)
    return float(low), float(high)


def crossing(moments: Moments, low: float, aim: float) -> float:
    """Return the largest ρ whose optimal weights have an sd of at least `aim`, given that those of `low` have.

    The sd of the optimal weights is continuous and never rises with ρ.
    """
    theta, sigma, _ = moments
    start = np.zeros(theta.size)

    def sd(rho: float) -> float:
        nonlocal start
        start = solve(theta, sigma, rho, None, start).weights
        return moments.sd(start)

    high = 4 * low
    while np.isfinite(high) and sd(high) >= aim:
        low, high = high, 4 * high
    while np.isfinite(high):
        middle = low * float(np.sqrt(high / low))
        if not low < middle < high:
            break
        low, high = (middle, high) if sd(middle) >= aim else (low, middle)
    if not np.isfinite(high) or abs(sd(low) - aim) > 1e-6 * aim:
        raise NumericalFailure(
            f"no risk aversion reaches the sd {as_number(aim, 6)}: it is too small beside those of the options to be "
            "resolved"
        )
    return low
