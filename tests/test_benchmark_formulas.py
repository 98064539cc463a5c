"""The formulas by which benchmarks predict, and that docs/full-bandit-rate.md states, against what they stand for."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import covbandit as cb

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def regret(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("full_bandit_regret")


@pytest.fixture
def instances(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("full_bandit_instances")


@pytest.fixture
def market(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("market_history")


# What a total tells about utility -------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [5.0, 7.5, 30.0])
def test_kurtosis_of_student_t_totals(regret: Any, df: float) -> None:
    assert regret.kurtosis(cb.environments.StudentT(df)) == pytest.approx(3 + float(stats.t(df).stats("k")), rel=1e-12)


def test_kurtosis_that_is_infinite_or_unknown(regret: Any) -> None:
    assert regret.kurtosis(cb.environments.StudentT(4.0)) == float("inf")
    with pytest.raises(ValueError, match="Skewed"):
        regret.kurtosis(cb.environments.Skewed(-2.0))


@pytest.mark.parametrize("df", [5.0, 6.0, None])
def test_noise_of_utility_is_the_variance_of_one_total_s_utility(regret: Any, instances: Any, df: float | None) -> None:
    """Var(ε - ρε²) by integration over the density of ε, which for t with five degrees of freedom no sample shows."""
    problem = cb.problems.synthetic(1.0)
    environment = cb.environments.Gaussian() if df is None else cb.environments.StudentT(df)
    weights = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    s = float(np.sqrt(weights @ problem.covariance @ weights))
    law = stats.norm(scale=s) if df is None else stats.t(df, scale=s * np.sqrt((df - 2) / df))

    def moment(k: int) -> float:
        return float(
            2 * integrate.quad(lambda x: law.pdf(x) * (x - x * x) ** k / 2, 0, np.inf)[0]
            + 2 * integrate.quad(lambda x: law.pdf(x) * (-x - x * x) ** k / 2, 0, np.inf)[0]
        )

    kappa = regret.noise_of_utility(instances.Instance("it", problem, environment), weights)
    assert kappa == pytest.approx(moment(2) - moment(1) ** 2, rel=1e-6)


@pytest.mark.parametrize("df", [12.0, None])
def test_noise_of_utility_by_drawing(regret: Any, instances: Any, df: float | None) -> None:
    """Any mix of the rewards that are played has this noise."""
    problem = cb.problems.random(4, "positive", seed=3, risk_aversion=0.7)
    environment = cb.environments.Gaussian() if df is None else cb.environments.StudentT(df)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    noise = (environment.sampler(problem, 5, 0).draw(400_000) - problem.mean) @ weights
    kappa = regret.noise_of_utility(instances.Instance("it", problem, environment), weights)
    assert (noise - 0.7 * noise**2).var() == pytest.approx(kappa, rel=0.05)


def test_predictions_of_the_documented_table(regret: Any, instances: Any) -> None:
    """docs/gradient-ts.md, T = 1,000,000."""
    documented = [13_000, 3_361, 1_202, 5_169, 9_308, 73_816, 2_548, 3_491, 3_448]
    assert [round(regret.predicted(instance, 10**6)) for instance in instances.COMPARED] == pytest.approx(
        documented, abs=1
    )
    assert [instance.interior for instance in instances.COMPARED].count(False) == 1


def test_break_even_is_where_the_prediction_meets_equal_weights(regret: Any, instances: Any) -> None:
    for instance in instances.COMPARED:
        horizon = regret.break_even(instance)
        d = instance.problem.n_options
        lost = instance.problem.gap(np.full(d, 1 / d)) * horizon
        assert regret.predicted(instance, horizon) == pytest.approx(lost, rel=1e-9)
    assert regret.break_even(instances.COMPARED[1]) == pytest.approx(31_000, rel=0.01)  # as the documents say


def test_break_even_of_the_treatment_mix(regret: Any, instances: Any) -> None:
    """docs/treatment-mix.md."""
    covariance = [[16.0, 9.6, 2.4], [9.6, 64.0, 0.0], [2.4, 0.0, 9.0]]
    problem = cb.Problem(mean=[2.0, 3.0, 1.5], covariance=covariance, risk_aversion=0.1)
    best = problem.optimum().weights
    instance = instances.Instance("mix", problem)
    assert best @ problem.covariance @ best == pytest.approx(7.43, abs=0.005)
    assert regret.noise_of_utility(instance, best) == pytest.approx(8.53, abs=0.005)
    assert problem.gap(np.full(3, 1 / 3)) == pytest.approx(0.24, abs=0.0005)
    assert regret.break_even(instance) == pytest.approx(1_185, abs=5)


# The lower bound for totals -------------------------------------------------------------------------------------------


def test_the_prior_of_the_lower_bound() -> None:
    """The density cos²(πa/2)/1 on [-1, 1]: its Fisher information is π², its variance 1/3 - 2/π²."""

    def density(a: float) -> float:
        return float(np.cos(np.pi * a / 2) ** 2)

    assert integrate.quad(density, -1, 1)[0] == pytest.approx(1, rel=1e-10)
    score = integrate.quad(lambda a: (np.pi * np.tan(np.pi * a / 2)) ** 2 * density(a), -1, 1)[0]
    assert score == pytest.approx(np.pi**2, rel=1e-8)
    variance = integrate.quad(lambda a: a * a * density(a), -1, 1)[0]
    assert variance == pytest.approx(1 / 3 - 2 / np.pi**2, rel=1e-10)


@pytest.mark.parametrize(("share", "constant"), [(1.0, 0.0549), (1 / 3 - 2 / np.pi**2, 0.133)])
@pytest.mark.parametrize(("k", "sigma"), [(1.0, 1.0), (0.2, 3.0), (40.0, 0.05)])
def test_the_constant_of_the_lower_bound(share: float, constant: float, k: float, sigma: float) -> None:
    """The best choice of ε² = b/√T, found numerically; k (so ρ) cancels, and σ remains as a factor."""

    def bound(log_b: float) -> float:
        b = np.exp(log_b)
        curvature = 2 * k**2 / sigma**2
        # y[(2k²/σ²)(y + share·b) + π²/b] >= 1: the least y, and the regret (k/2) y per direction and √T
        linear = curvature * share * b + np.pi**2 / b
        y = (-linear + np.sqrt(linear**2 + 4 * curvature)) / (2 * curvature)
        return float(k * y / 2)

    scale = np.log(np.pi * sigma / (np.sqrt(2 * share) * k))
    best = optimize.minimize_scalar(lambda x: -bound(x), bounds=(scale - 5, scale + 5), method="bounded")
    assert -best.fun / sigma == pytest.approx(constant, rel=0.005)
    if share == 1.0:
        root = max(np.roots([2, 2 * np.sqrt(2) * np.pi, -1]).real)
        assert -best.fun / sigma == pytest.approx(root / 2, rel=1e-6)


def test_regret_along_an_orthonormal_basis_is_a_sum_over_directions() -> None:
    """The step of the proof that gives the factor d - 1, on a random instance."""
    rng = np.random.default_rng(1)
    d, rho = 5, 0.7
    loadings = rng.standard_normal((d, d))
    sigma = loadings @ loadings.T + np.eye(d)
    tangent = np.linalg.svd(np.ones((1, d)))[2][1:].T  # columns: a basis of the directions that sum to zero
    pseudo_inverse = tangent @ np.linalg.inv(tangent.T @ sigma @ tangent) @ tangent.T
    # tangent v_j with v_i'Σ†v_j = 1 if i = j, else 0
    v = tangent @ np.linalg.cholesky(tangent.T @ sigma @ tangent)
    assert np.allclose(v.T @ pseudo_inverse @ v, np.eye(d - 1))
    k = 1 / (2 * rho)
    a = rng.standard_normal(d - 1)
    moved = pseudo_inverse @ v @ a / (2 * rho)  # where θ + va moves the optimum
    delta = tangent @ rng.standard_normal(d - 1)
    m = v.T @ delta / k
    assert np.allclose(v.T @ moved / k, a)
    regret = rho * (delta - moved) @ sigma @ (delta - moved)
    assert regret == pytest.approx(k / 2 * ((m - a) ** 2).sum(), rel=1e-10)


# Market histories -----------------------------------------------------------------------------------------------------


def test_days_are_compounded_by_group(market: Any) -> None:
    daily = np.array([[0.1, 0.0], [0.1, -0.5], [0.0, 1.0], [-0.2, 0.0]])
    assert np.allclose(market.compounded(daily, ["a", "a", "b", "b"]), [[0.21, -0.5], [-0.2, 1.0]])


def test_weights_drift_and_trading_costs(market: Any) -> None:
    returns = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    realised, turnover = market.walk(market.History("two", returns, 1), lambda past: np.array([0.5, 0.5]))
    # half and half has drifted to 2/3 and 1/3: a third is traded, at ten basis points
    assert realised == pytest.approx([0.5, (1 - 0.001 / 3) * 1.25 - 1])
    assert turnover == pytest.approx(1 / 12)


def test_learners_are_told_the_past_alone(market: Any) -> None:
    returns = np.random.default_rng(0).standard_normal((30, 3)) / 100
    decide = market.Played(cb.MCEmpirical(n_options=3, risk_aversion=3.0))
    for t in (10, 11, 20):
        past = returns[:t]
        best = cb.maximize_utility(past.mean(axis=0), np.cov(past.T, bias=True), 3.0)
        assert np.allclose(decide(past), best.weights, atol=1e-8)


def test_risk_parity_contributes_equally(market: Any) -> None:
    past = np.random.default_rng(0).standard_normal((200, 4)) @ np.diag([1.0, 2.0, 0.5, 1.0])
    weights = market.risk_parity(past)
    shares = weights * (np.cov(past.T) @ weights)
    assert np.allclose(shares, shares.mean(), rtol=1e-9)
