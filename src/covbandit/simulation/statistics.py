"""Confidence intervals for means and for ratios of paired means."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

F64 = NDArray[np.float64]


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
    width = float(half_width(numerator / top - denominator / bottom))
    ratio = top / bottom
    return Interval(ratio, ratio * float(np.exp(-width)), ratio * float(np.exp(width)))


def log_slope(late: F64, early: F64, decades: float) -> Interval:
    """Return the growth of a mean per decade on log-log axes, with its 95 % interval (values paired)."""
    ratio = paired_ratio(late, early)
    return Interval(*(float(np.log10(value) / decades) if value > 0 else float("nan") for value in ratio))
