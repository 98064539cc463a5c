"""Intervals and tests of simulations, against SciPy's and against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from covbandit.simulation.statistics import (
    Interval,
    half_width,
    holm,
    log_slope,
    p_value,
    paired_ratio,
    ratio_of_products,
)


@pytest.mark.parametrize("n", [2, 5, 50])
def test_half_width_is_that_of_the_student_interval(n: int) -> None:
    values = np.random.default_rng(n).gamma(2.0, 3.0, (3, n))
    for row, width in zip(values, half_width(values, axis=1), strict=True):
        low, high = stats.t.interval(0.95, n - 1, loc=row.mean(), scale=stats.sem(row))
        assert (row.mean() - width, row.mean() + width) == pytest.approx((low, high), rel=1e-12)
    assert np.isnan(half_width(values[:, :1], axis=1)).all()


def test_the_interval_of_a_ratio_is_that_of_its_logarithm() -> None:
    rng = np.random.default_rng(7)
    top, bottom = rng.gamma(5.0, 2.0, 40), rng.gamma(5.0, 1.0, 40)
    shares = top / top.mean() - bottom / bottom.mean()  # the delta method: how each pair moves the logarithm
    ratio = paired_ratio(top, bottom)
    low, high = stats.t.interval(0.95, 39, loc=np.log(top.mean() / bottom.mean()), scale=stats.sem(shares))
    assert (ratio.low, ratio.high) == pytest.approx((np.exp(low), np.exp(high)), rel=1e-9)
    assert ratio_of_products([top], [bottom]) == pytest.approx(ratio)


def test_a_product_of_ratios_covers() -> None:
    """(2 · 3) / (4 · 1) = 1.5, from paired values with a common part; nine in ten intervals and more contain it."""
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(400):
        common = rng.gamma(20.0, 0.05, 30)
        a, b, c, d = (mean * (common + 0.2 * rng.standard_normal(30)) for mean in (2.0, 3.0, 4.0, 1.0))
        found = ratio_of_products([a, b], [c, d])
        covered += found.low <= 1.5 <= found.high
    assert 0.92 <= covered / 400 <= 0.98
    assert np.isnan(ratio_of_products([a, b], [c, np.zeros(30)])).all()


def test_p_values_are_those_of_the_tests_that_give_the_intervals() -> None:
    rng = np.random.default_rng(5)
    top, bottom = rng.gamma(5.0, 1.1, 25), rng.gamma(5.0, 1.0, 25)
    ratio, shares = paired_ratio(top, bottom), top / top.mean() - bottom / bottom.mean()
    for threshold in (0.8, 1.0, 2.0):
        expected = stats.ttest_1samp(shares + np.log(ratio.estimate), np.log(threshold)).pvalue
        assert p_value(ratio, threshold, 25, "log") == pytest.approx(expected, rel=1e-9)
    slope = log_slope(top, bottom, 2.0)
    expected = stats.ttest_1samp((shares + np.log(ratio.estimate)) / (2 * np.log(10)), 0.1).pvalue
    assert p_value(slope, 0.1, 25, "linear") == pytest.approx(expected, rel=1e-9)
    for edge in (ratio.low, ratio.high):
        assert p_value(ratio, edge, 25, "log") == pytest.approx(0.05)


def test_p_values_where_nothing_varies_or_nothing_is_known() -> None:
    nan = float("nan")
    assert p_value(Interval(0.5, 0.5, 0.5), 0.45, 50, "linear") == 0
    assert p_value(Interval(1.0, 1.0, 1.0), 1.0, 50, "log") == 1
    assert np.isnan(p_value(Interval(2.0, nan, nan), 1.0, 50, "log"))
    assert np.isnan(p_value(Interval(-1.0, -2.0, 0.0), 1.0, 50, "log"))


def test_holm_is_the_closed_procedure() -> None:
    """A hypothesis is given up only if every set of hypotheses that contains it is, each by Bonferroni."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        p = rng.uniform(size=5) ** 3
        sets = [s for size in range(1, 6) for s in itertools.combinations(range(5), size)]
        closed = [max(min(1.0, len(s) * min(p[list(s)])) for s in sets if k in s) for k in range(5)]
        assert holm(p.tolist()) == pytest.approx(closed)
    nan = float("nan")
    assert holm([nan, 0.01, nan, 0.02])[1::2] == [0.02, 0.02]
    assert np.isnan(holm([nan, 0.01])[0])
    assert holm([]) == []
