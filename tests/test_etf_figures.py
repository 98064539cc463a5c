"""The forty annual returns that the package carries, against the list they were taken from, and what follows from them.

The list is typed in here a second time on purpose: a slip of a digit or a sign in the package must not pass.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import covbandit as cb

LIST = """
SPY 14.93 2.06 15.84 32.21 13.53 1.34 11.80 21.69
EFA 7.52 -12.18 17.22 22.62 -5.04 -0.90 0.96 24.94
TLT 9.25 33.60 3.25 -13.91 27.35 -1.65 1.36 8.92
VNQ 28.44 8.62 17.67 2.42 30.29 2.37 8.53 4.95
XLE 21.70 2.98 5.17 26.16 -8.61 -21.47 27.95 -1.01
"""
FUNDS = {line.split()[0]: [float(x) for x in line.split()[1:]] for line in LIST.split("\n") if line}


def test_every_figure_is_that_of_the_list() -> None:
    returns = cb.data.etf_returns()
    assert returns.options == tuple(FUNDS)
    assert returns.unit == "percent"
    for k, fund in enumerate(FUNDS):
        assert returns.values[:, k].tolist() == FUNDS[fund], fund


def test_moments_and_optimum_follow_from_the_list() -> None:
    """Written out with loops and, for the best weights, by solving the conditions of every support."""
    d, n = len(FUNDS), 8
    rows = list(FUNDS.values())
    mean = [sum(row) / n for row in rows]
    covariance = [
        [sum((a - mean[i]) * (b - mean[j]) for a, b in zip(rows[i], rows[j], strict=True)) / n for j in range(d)]
        for i in range(d)
    ]
    problem = cb.problems.etf(risk_aversion=0.1)
    np.testing.assert_allclose(problem.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(problem.covariance, covariance, rtol=1e-9)
    assert problem.variance_bound == pytest.approx(269.844, abs=5e-4)
    best, found = -np.inf, np.zeros(d)
    for size in range(1, d + 1):
        for support in itertools.combinations(range(d), size):
            chosen = list(support)
            matrix = np.block(
                [
                    [0.2 * np.array(covariance)[np.ix_(chosen, chosen)], np.ones((size, 1))],
                    [np.ones((1, size)), np.zeros((1, 1))],
                ]
            )
            weights = np.linalg.solve(matrix, [*np.array(mean)[chosen], 1.0])[:size]
            whole = np.zeros(d)
            whole[chosen] = weights
            value = whole @ mean - 0.1 * whole @ np.array(covariance) @ whole
            if (weights >= 0).all() and value > best:
                best, found = value, whole
    np.testing.assert_allclose(problem.optimum().weights, found, atol=1e-9)
    assert found.round(3).tolist() == [0.611, 0.0, 0.194, 0.195, 0.0]
    assert problem.optimum().utility == pytest.approx(best) == pytest.approx(9.641, abs=5e-4)
