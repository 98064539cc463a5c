"""Confidence intervals for means and for ratios of paired means, and the tests that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from covbandit.core.typing import F64


class Interval(NamedTuple):
    """An estimate with its 95 % confidence interval."""

    estimate: float
    low: float
    high: float

    def in_words(self) -> tuple[str, str, str]:
        """Return estimate, low and high with so many digits that one sees where they differ."""
        digits = 4
        while digits < 8 and self.low != self.high and f"{self.low:.{digits}g}" == f"{self.high:.{digits}g}":
            digits += 1
        return f"{self.estimate:.{digits}g}", f"{self.low:.{digits}g}", f"{self.high:.{digits}g}"

    def __str__(self) -> str:
        estimate, low, high = self.in_words()
        return f"{estimate} [{low}, {high}]"


def half_width(values: F64, axis: int = 0) -> F64:
    """Return the half width of the 95 % Student-t interval of the mean; NaN for a single value."""
    n = values.shape[axis]
    if n < 2:
        return np.full(np.delete(values.shape, axis), np.nan)
    spread = values.std(axis=axis, ddof=1) / np.sqrt(n)
    return np.asarray(float(stdtrit(n - 1, 0.975)) * spread)


def visible_width(values: F64) -> float:
    """Return `half_width`, or 0 where values differ by rounding only: learners without chance have no more."""
    width = float(half_width(values))
    return 0.0 if width < 1e-9 * abs(values.mean()) else width


def paired_ratio(numerator: F64, denominator: F64) -> Interval:
    """Return mean(numerator) / mean(denominator) of paired values, with its 95 % interval.

    By the delta method on the logarithm, so the interval is positive and the same for the inverse ratio.
    """
    top, bottom = float(numerator.mean()), float(denominator.mean())
    if top <= 0 or bottom <= 0:
        ratio = top / bottom if bottom != 0 else float("nan" if top == 0 else "inf")
        return Interval(ratio, float("nan"), float("nan"))
    return ratio_of_products([numerator], [denominator])


def log_slope(late: F64, early: F64, decades: float) -> Interval:
    """Return the growth of a mean per decade on log-log axes, with its 95 % interval (values paired)."""
    ratio = paired_ratio(late, early)
    return Interval(*(float(np.log10(value) / decades) if value > 0 else float("nan") for value in ratio))


def ratio_of_products(numerators: Sequence[F64], denominators: Sequence[F64]) -> Interval:
    """Return the product of some means over the product of others, values paired, with its 95 % interval.

    `paired_ratio` is the case of one mean over one other; two over two tell which of two learners' regrets grew by the
    larger factor.
    """
    tops, bottoms = [float(x.mean()) for x in numerators], [float(x.mean()) for x in denominators]
    if min(*tops, *bottoms) <= 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    ratio = float(np.prod(tops) / np.prod(bottoms))
    influence = sum(x / mean for x, mean in zip(numerators, tops, strict=True)) - sum(
        x / mean for x, mean in zip(denominators, bottoms, strict=True)
    )
    width = float(half_width(np.asarray(influence)))
    return Interval(ratio, ratio * float(np.exp(-width)), ratio * float(np.exp(width)))


def p_value(interval: Interval, threshold: float, n: int, scale: Literal["linear", "log"]) -> float:
    """Return the two-sided p-value of a threshold, by the Student t test that gave a 95 % interval.

    It is below .05 exactly if the interval does not contain the threshold.

    Parameters
    ----------
    interval : Interval
        As `paired_ratio` (on the scale "log") or `log_slope` ("linear") return it.
    threshold : float
        The value that is put to the test.
    n : int
        How many replications it rests on.
    scale : {"linear", "log"}
        Where the interval is symmetric about its estimate.

    Returns
    -------
    float
        NaN if nothing could be computed. 0 for an estimate without spread that is not the threshold.

    Examples
    --------
    >>> from covbandit.simulation.statistics import Interval, p_value
    >>> round(p_value(Interval(1.5, 1.0, 2.0), 1.0, 50, "linear"), 6)
    0.05
    """
    if scale == "log":
        if min(interval) <= 0 or threshold <= 0:
            return float("nan")
        interval, threshold = Interval(*(float(np.log(x)) for x in interval)), float(np.log(threshold))
    distance, width = abs(interval.estimate - threshold), (interval.high - interval.low) / 2
    if not np.isfinite([distance, width]).all():
        return float("nan")
    if width <= 1e-12 * max(1.0, abs(interval.estimate)):  # nothing varies but by rounding
        return 0.0 if distance > 1e-9 * max(1.0, abs(threshold)) else 1.0
    return float(2 * stdtr(n - 1, -float(stdtrit(n - 1, 0.975)) * distance / width))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted after Holm: all decisions with one below .05 are right together with probability 95 %.

    NaN stays NaN and counts for nothing.

    Examples
    --------
    >>> from covbandit.simulation.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = [k for k, p in enumerate(p_values) if p == p]
    adjusted, least = list(p_values), 0.0
    for rank, k in enumerate(sorted(known, key=lambda k: p_values[k])):
        least = max(least, min(1.0, (len(known) - rank) * p_values[k]))
        adjusted[k] = least
    return adjusted
