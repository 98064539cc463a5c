"""Risk aversions that mark the path of optimal weights: where it begins, where it settles, where it has some sd."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covbandit.core.tables import as_number
from covbandit.core.typing import F64
from covbandit.errors import NumericalFailure
from covbandit.maximization import solve
from covbandit.risk.option_moments import Moments

Mask = NDArray[np.bool_]

WITHIN = 0.01
"""The sd counts as practically minimal within this share of the least sd."""

ROUNDING = 1e-12
"""Relative; below it two sds or covariances count as equal."""

_TIE = 1e-14  # means closer than this share of the largest differ by rounding only
_CLOSE = 1e-3  # the upper end of the range that matters is found within this share: it is for people
_MOST_STEPS = 400  # of the search for it: more are needed only where rounding hides it


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


def _sd_of_the_best(moments: Moments, caps: F64 | None = None) -> Callable[[float], float]:
    """Return the function from ρ to the sd of its optimal weights; each call starts from the weights of the last."""
    start = np.zeros(moments.mean.size)

    def sd(rho: float) -> float:
        nonlocal start
        start = solve(moments.mean, moments.covariance, rho, caps, start).weights
        return moments.sd(start)

    return sd


def crossing(moments: Moments, low: float, aim: float) -> float:
    """Return the largest ρ whose optimal weights have an sd of at least `aim`, given that those of `low` have.

    The sd of the optimal weights is continuous and never rises with ρ.
    """
    sd = _sd_of_the_best(moments)
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


# The range that matters, with caps ------------------------------------------------------------------------------------


class Range(NamedTuple):
    """The risk aversions that matter.

    Attributes
    ----------
    low : float
        Up to here risk does not change the best weights: they follow the best means. Infinite if no ρ changes them.
    high : float
        From here on the sd is within 1 % of the least there is; infinite if that is zero, which no finite ρ reaches.
    """

    low: float
    high: float


def range_that_matters(moments: Moments, caps: F64 | None = None) -> Range:
    """Return the range of ρ in which the best weights of given moments depend on ρ.

    Raises
    ------
    NumericalFailure
        If the least sd is too small beside those of the options to be resolved.
    """
    if caps is None:
        ends = find_ends(moments)
        low, most_sd, least_sd = ends.onset, ends.most_sd, ends.least_sd
    else:
        first = _by_means_alone(moments.mean, caps)
        calm = solve(np.zeros(caps.size), moments.covariance, 1.0, caps, np.zeros(caps.size)).weights
        low, most_sd, least_sd = _optimal_up_to(moments, first, caps), moments.sd(first), moments.sd(calm)
    aim = (1 + WITHIN) * least_sd
    if np.isinf(low) or most_sd <= aim:
        return Range(np.inf, 0.0)
    return Range(low, _falls_below(moments, caps, low, aim) if aim > 0 else np.inf)


def _by_means_alone(mean: F64, caps: F64) -> F64:
    """Return the weights of the largest mean: the best options, each as far as its cap allows."""
    weights = np.zeros(mean.size)
    left = 1.0
    for i in np.argsort(-mean, kind="stable"):
        weights[i] = min(left, caps[i])
        left -= weights[i]
    return weights


def _optimal_up_to(moments: Moments, weights: F64, caps: F64) -> float:
    """Return the largest ρ at which no shift from a held option to one below its cap pays."""
    held, below = weights > 0, weights < caps
    risk = moments.covariance @ weights
    lost = moments.mean[held][:, None] - moments.mean[below][None, :]
    saved = 2 * (risk[held][:, None] - risk[below][None, :])
    pays = saved > 0
    with np.errstate(over="ignore"):
        return float((np.maximum(lost, 0.0)[pays] / saved[pays]).min(initial=np.inf))


def _falls_below(moments: Moments, caps: F64 | None, low: float, aim: float) -> float:
    """Return the ρ from which on the best weights have at most this sd, which never rises with ρ."""
    sd = _sd_of_the_best(moments, caps)
    if low <= 0.0:  # ties of means: any scale that is far below what can matter
        spread = float(np.ptp(moments.mean)) or float(np.abs(moments.mean).max()) or 1.0
        low = 1e-12 * spread / float(moments.covariance.diagonal().max())
    high = 4 * low
    for _ in range(_MOST_STEPS):
        if not np.isfinite(high):
            break
        if sd(high) <= aim:
            while high > (1 + _CLOSE) * low:
                middle = float(np.sqrt(low) * np.sqrt(high))
                low, high = (low, middle) if sd(middle) <= aim else (middle, high)
            return high
        low, high = high, 4 * high
    raise NumericalFailure(f"no risk aversion reaches the sd {aim:.6g}: it is too small beside those of the options")
