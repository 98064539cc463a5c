"""The risk aversion that fits what one knows: a target volatility, weights held today, or a stated trade-off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.tables import as_number
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem
from covbandit.risk.landmarks import ROUNDING, crossing, find_ends, optimal_range
from covbandit.risk.option_moments import Moments, read_moments

if TYPE_CHECKING:
    import pandas as pd

_AT_THE_EDGE = 1e-9  # relative; a target volatility so close to the end of its range is taken to be the end


def choose_risk_aversion(
    returns: ArrayLike | Problem | pd.DataFrame | None,
    volatility: float | None = None,
    current_weights: ArrayLike | Mapping[str, float] | None = None,
    tradeoff: tuple[float, float, float] | None = None,
) -> float:
    r"""Return the risk aversion ρ that fits a target volatility, the weights held today, or a stated trade-off.

    Exactly one of the three must be given.

    Parameters
    ----------
    returns : array, n × d, DataFrame, Problem or None
        See `risk_path`. May be None with `tradeoff`, which needs no data.
    volatility : float, optional
        The sd the optimal weights should have, in units of reward per period. Where several ρ lead to it, the largest.
    current_weights : array of d floats or mapping from option names, optional
        Weights that you consider right. The answer is the ρ ≥ 0 that they imply: optimal weights satisfy
        :math:`θ_i - 2ρ(Σw)_i = μ` for every option held, and ρ and μ fit this best by least squares, each option
        counting by its weight. If the weights are optimal for some ρ > 0, that ρ is recovered exactly. Options that a
        mapping does not name have weight zero.
    tradeoff : (m, a, b), optional
        "I would give up m of mean to cut the sd from a to b": ρ = m / (a² − b²).

    Returns
    -------
    float
        ρ.

    Raises
    ------
    InvalidInput
        If the volatility is not attainable (the message names the range), or if the weights say nothing about ρ, as a
        single option does.

    Notes
    -----
    ρ is the mean given up per unit of variance, so its unit is 1 / (unit of reward). Means and sds must be in the unit
    in which rewards will be told: with percent instead of fractions, the same preference is a ρ 100 times smaller.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.etf()  # annual returns in percent
    >>> rho = cb.choose_risk_aversion(p, volatility=6.0)
    >>> round(rho, 4)
    0.0636
    >>> w = cb.maximize_utility(p.mean, p.covariance, rho).weights
    >>> round(float(w @ p.covariance @ w) ** 0.5, 6)
    6.0
    >>> round(cb.choose_risk_aversion(p, current_weights={"SPY": 0.6, "TLT": 0.3, "VNQ": 0.1}), 4)
    0.7041

    One point of mean for a cut of the sd from 15 to 10, in percent and in fractions:

    >>> cb.choose_risk_aversion(None, tradeoff=(1.0, 15.0, 10.0))
    0.008
    >>> round(cb.choose_risk_aversion(None, tradeoff=(0.01, 0.15, 0.10)), 6)
    0.8
    """
    ways = {"volatility": volatility, "current_weights": current_weights, "tradeoff": tradeoff}
    given = [name for name, value in ways.items() if value is not None]
    if len(given) != 1:
        raise InvalidInput(f"give exactly one of {', '.join(ways)}; got {' and '.join(given) or 'none'}")
    if tradeoff is not None:
        return _from_tradeoff(tradeoff)
    if returns is None:
        raise InvalidInput(f"{given[0]} needs returns, got None; only tradeoff does without")
    moments = read_moments(returns)
    if current_weights is not None:
        return _from_weights(moments, current_weights)
    return _from_volatility(moments, volatility)


def _from_tradeoff(tradeoff: tuple[float, float, float]) -> float:
    try:
        given_up, before, after = tradeoff
    except (TypeError, ValueError):
        raise InvalidInput(
            f"tradeoff must be (mean given up, sd before, sd after), three numbers, got {tradeoff!r}"
        ) from None
    m = validation.as_float(given_up, "tradeoff: mean given up")
    a = validation.as_float(before, "tradeoff: sd before")
    b = validation.as_float(after, "tradeoff: sd after")
    if m < 0:
        raise InvalidInput(f"tradeoff: the mean given up must not be negative, got {m}")
    if b < 0:
        raise InvalidInput(f"tradeoff: the sd after must not be negative, got {b}")
    if a <= b:
        raise InvalidInput(f"tradeoff: the sd must fall, but it goes from {a} to {b}; the order is (mean, from, to)")
    return m / ((a - b) * (a + b))


def _from_volatility(moments: Moments, volatility: object) -> float:
    target = validation.as_float(volatility, "volatility")
    if target <= 0:
        raise InvalidInput(f"volatility is a standard deviation and must be positive, got {target}")
    ends = find_ends(moments)
    least, most = ends.least_sd, ends.most_sd
    if target < least * (1 - _AT_THE_EDGE) or target > most * (1 + _AT_THE_EDGE):
        end = "the minimum sd" if target < least else "the sd at the best mean"
        side = "below" if target < least else "above"
        raise InvalidInput(
            f"volatility {as_number(target, 6)} is {side} {end}: attainable is {as_number(least, 6)} to "
            f"{as_number(most, 6)}, in the returns' units"
        )
    aim = max(min(target, most) * (1 - ROUNDING), least * (1 + _AT_THE_EDGE))
    if aim >= most:
        raise InvalidInput(
            f"every risk aversion gives the volatility {as_number(most, 6)}: the options of the best mean also have "
            "the least risk, so volatility cannot tell risk aversions apart"
        )
    return crossing(moments, ends.onset, aim)


def _from_weights(moments: Moments, current: ArrayLike | Mapping[str, float]) -> float:
    theta, sigma, options = moments
    w = validation.as_weights(
        validation.in_option_order(current, options, "current weight", default=0.0),
        theta.size,
        options,
        "current weight",
    )
    largest = int(np.argmax(w))
    if w[largest] >= 1 - validation.SUM_TOLERANCE:
        raise InvalidInput(_single_option_message(moments, largest))
    # Option i counts by w_i: weights that another optimiser left at 1e-12 instead of 0 then do no harm.
    risk = 2 * (sigma @ w)
    tilt = theta - w @ theta
    slope = risk - w @ risk
    spread = float(w @ slope**2)
    if spread <= (ROUNDING * float(np.abs(risk).max())) ** 2:
        raise InvalidInput(
            "current_weights have the least variance of all mixtures of the options they hold, so they imply no finite "
            "risk aversion: any large one fits, see risk_path(returns).minimum_variance_above"
        )
    return max(float(w @ (tilt * slope)) / spread, 0.0)


def _single_option_message(moments: Moments, k: int) -> str:
    held = np.zeros(moments.mean.size)
    held[k] = 1.0
    low, high = optimal_range(moments, held, held == 0)
    start = (
        f"current_weights hold only {validation.label(k, moments.options)}, which does not determine risk aversion: "
    )
    if low > high:
        return start + "there is none for which that is optimal"
    if low > 0:
        return start + f"any from {as_number(low, 6)} to {as_number(high, 6)} would do"
    if np.isinf(high):
        return start + "it has the best mean and the least risk, so any would do"
    return start + f"any up to {as_number(high, 6)} (single_option_below) would do"
