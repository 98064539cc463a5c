"""The exact maximiser agrees with Clarabel and skfolio, on random and on real correlation matrices."""

from __future__ import annotations

from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from quadratic_programs import (
    QP,
    prove,
    prove_from_anywhere,
    scale,
    seeded_covariance,
    utility,
)


def solve_with_clarabel(qp):
    d = qp.mean.size
    rows = [np.ones((1, d)), -sp.identity(d)]
    bounds = [1.0, *np.zeros(d)]
    if qp.caps is not None:
        rows.append(sp.identity(d))
        bounds.extend(qp.caps)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = 1e-12
    # Units in which the largest entry is one: Clarabel's absolute tolerances are about numbers of that size.
    unit = scale(qp)
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(2 * qp.rho * qp.covariance / unit)),
        -qp.mean / unit,
        sp.vstack(rows, format="csc"),
        np.array(bounds),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(bounds) - 1)],
        settings,
    ).solve()
    status = clarabel.SolverStatus
    # Stalling just short of so tight a tolerance is not a failure.
    assert solution.status in (status.Solved, status.AlmostSolved, status.InsufficientProgress)
    weights = np.maximum(solution.x, 0)
    return weights / weights.sum()


@pytest.mark.parametrize("d", [2, 3, 4, 6, 9, 13, 20, 30, 45, 60])
@pytest.mark.parametrize("kind", ["full", "deficient", "equicorrelated"])
@pytest.mark.parametrize("capped", [False, True])
def test_agrees_with_clarabel_on_random_problems(d, kind, capped):
    rng = np.random.default_rng([d, len(kind), capped])
    for rho in (0.01, 0.3, 10.0):
        caps = np.full(d, min(1.0, 3 / d)) if capped else None
        qp = QP(0.5 + 0.3 * rng.standard_normal(d), seeded_covariance(rng, d, kind), rho, caps)
        ours = qp.solve()
        prove(qp, ours)
        theirs = utility(qp, solve_with_clarabel(qp))
        assert ours.utility == pytest.approx(theirs, rel=1e-7)
        # Their weights may exceed a cap by their tolerance, but they must not be better by more than that.
        assert ours.utility >= theirs - 1e-9 * scale(qp)


@pytest.fixture(scope="module")
def skfolio():
    """The parts of skfolio that are used; importing it takes seconds, so only tests that need it pay."""
    from skfolio import RiskMeasure
    from skfolio.datasets import load_factors_dataset, load_sp500_dataset
    from skfolio.optimization import MeanRisk, ObjectiveFunction
    from skfolio.prior import BasePrior, ReturnDistribution

    class FixedMoments(BasePrior):
        def __init__(self, mean=None, covariance=None):
            self.mean = mean
            self.covariance = covariance

        def fit(self, X, y=None, **fit_params):
            self.return_distribution_ = ReturnDistribution(mu=self.mean, covariance=self.covariance, returns=X)
            return self

    def solve(qp):
        unit = scale(qp)
        model = MeanRisk(
            objective_function=ObjectiveFunction.MAXIMIZE_UTILITY,
            risk_measure=RiskMeasure.VARIANCE,
            risk_aversion=qp.rho,
            prior_estimator=FixedMoments(qp.mean / unit, qp.covariance / unit),
            min_weights=0.0,
            max_weights=None,
            budget=1.0,
            solver="CLARABEL",
            solver_params={"max_threads": 1, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10},
        )
        return np.array(model.fit(np.zeros((2, qp.mean.size))).weights_)

    # The files come with the package: nothing is downloaded.
    stocks = load_sp500_dataset().pct_change().dropna().to_numpy()
    factors = load_factors_dataset().pct_change().dropna().to_numpy()
    return SimpleNamespace(solve=solve, stocks=stocks, factors=factors)


def real_qps(skfolio, rho):
    """Yield problems with the moments of daily returns (percent) of 5 factors and of 5, 10 and 20 stocks."""
    rng = np.random.default_rng(7)
    tables = [
        skfolio.factors,
        skfolio.stocks,
        skfolio.stocks[-252:],
        *(skfolio.stocks[:, np.sort(rng.choice(20, d, replace=False))] for d in (5, 5, 10, 10)),
    ]
    for returns in tables:
        percent = 100 * returns
        yield QP(percent.mean(axis=0), np.cov(percent, rowvar=False, bias=True), rho, None)


@pytest.mark.parametrize("rho", [0.1, 1.0, 10.0, 100.0])
def test_agrees_with_clarabel_on_real_correlations(skfolio, rho):
    for qp in real_qps(skfolio, rho):
        ours = qp.solve()
        prove(qp, ours)
        assert ours.utility == pytest.approx(utility(qp, solve_with_clarabel(qp)), rel=1e-8)


@pytest.mark.parametrize("rho", [0.1, 1.0, 10.0, 100.0])
def test_agrees_with_skfolio_on_real_correlations(skfolio, rho):
    for qp in real_qps(skfolio, rho):
        assert qp.solve().utility == pytest.approx(utility(qp, skfolio.solve(qp)), rel=1e-5)


def test_real_correlations_from_fewer_days_than_stocks(skfolio):
    for first in range(0, 2000, 100):
        percent = 100 * skfolio.stocks[first : first + 15]
        for rho in (0.1, 10.0):
            qp = QP(percent.mean(axis=0), np.cov(percent, rowvar=False, bias=True), rho, None)
            prove_from_anywhere(qp, first)
