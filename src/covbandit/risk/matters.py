"""Between which risk aversions the best weights change at all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covbandit.core.typing import F64
from covbandit.errors import NumericalFailure
from covbandit.maximization import solve
from covbandit.risk.ends import WITHIN, find_ends
from covbandit.risk.moments import Moments

_CLOSE = 1e-3  # the upper end is found within this share: it is for people
_MOST_STEPS = 400  # of the search for it: more are needed only where rounding hides it


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
    start = np.zeros(moments.mean.size)

    def sd(rho: float) -> float:
        nonlocal start
        start = solve(moments.mean, moments.covariance, rho, caps, start).weights
        return moments.sd(start)

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
