"""The full-information learners against naive recomputation from the whole history."""

from __future__ import annotations

import numpy as np
import pytest

import covbandit as cb
from covbandit.maximization import frank_wolfe_gap
from covbandit.problems import Correlation


def _rewards(d: int, n: int, seed: int, offset: float = 0.0, scale: float = 1.0) -> np.ndarray:
    problem = cb.problems.random(d, "factor", seed=seed)
    return offset + scale * cb.environments.Gaussian().sampler(problem, seed, 0).draw(n)


def _project(x: np.ndarray) -> np.ndarray:
    """Project on the simplex by sorting (independent of the kernel)."""
    u = np.sort(x)[::-1]
    css = np.cumsum(u) - 1
    k = np.nonzero(u - css / np.arange(1, x.size + 1) > 0)[0][-1]
    return np.maximum(x - css[k] / (k + 1), 0)


@pytest.mark.parametrize(
    ("d", "rho", "n", "caps"),
    [
        (1, 1.0, 20, None),
        (2, 0.1, 200, None),
        (5, 0.1, 3000, None),
        (8, 10.0, 2500, None),
        (30, 3.0, 300, None),
        (5, 1.0, 400, 0.3),
        (6, 1.0, 400, 0.3),
        (60, 50.0, 200, None),
    ],
)
def test_mc_empirical_is_the_argmax_of_the_empirical_utility(d: int, rho: float, n: int, caps: float | None) -> None:
    learner = cb.MCEmpirical(n_options=d, risk_aversion=rho, max_weight=caps)
    limits = None if caps is None else np.full(d, caps)
    history = _rewards(d, n, seed=d)
    for t in range(n):
        w = learner.ask()
        if t == 0:
            assert np.allclose(w, 1 / d)
        elif t % 7 == 0 or t < 40 or t > n - 40:
            past = history[:t]
            mean = past.mean(axis=0)
            covariance = (past - mean).T @ (past - mean) / t
            size = max(np.abs(mean).max(), rho * covariance.diagonal().max())
            assert frank_wolfe_gap(mean, covariance, rho, limits, w) <= 1e-12 * size
            assert abs(w.sum() - 1) <= 1e-12
            assert w.min() >= 0
        learner.tell(w, history[t])


def test_mc_empirical_keeps_its_digits_far_from_zero() -> None:
    near, far = (cb.MCEmpirical(n_options=4, risk_aversion=0.5) for _ in range(2))
    for reward in _rewards(4, 400, seed=2):
        near.tell(near.ask(), reward)
        far.tell(far.ask(), reward + 1e6)
    assert np.abs(near.ask() - far.ask()).max() < 1e-7


def _shrunk(past: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
    """Return means, covariance and intensities by the formulas of `ShrunkEmpirical`'s docstring, in plain NumPy."""
    t, d = past.shape
    more = max(d - 3, 0)
    variance = past.var(axis=0, ddof=1)
    logs = np.log(variance)
    beta = min(1.0, more * (2 / (t - 1) + 2 / (t - 1) ** 2) / ((logs - logs.mean()) ** 2).sum())
    deviation = np.exp(((1 - beta) * logs + beta * logs.mean()) / 2)
    r = np.corrcoef(past.T)
    weight = 0.0
    if d >= 3:
        pairs = r[np.triu_indices(d, 1)]
        inside = 1 - 1 / t
        middle = min(max(pairs.mean(), -inside / (d - 1)), inside)
        weight = min(1.0, (1 - middle**2) ** 2 / ((t - 1) * pairs.var()))
        r = (1 - weight) * r + weight * middle
        np.fill_diagonal(r, 1.0)
    covariance = r * np.outer(deviation, deviation)
    mean = past.mean(axis=0)
    trust = 1.0
    if more:
        precision = np.linalg.inv(covariance)
        level = precision.sum(axis=0) @ mean / precision.sum()
        signal = t * (mean - level) @ precision @ (mean - level)
        trust = signal / (signal + 2 * more)
        mean = level + trust * (mean - level)
    return mean, covariance, {"variances": beta, "correlations": weight, "means": trust}


@pytest.mark.parametrize(
    ("d", "kind", "rho", "n"),
    [
        (2, "positive", 0.5, 60),
        (3, "factor", 1.0, 200),
        (4, "factor", 0.1, 200),
        (5, "factor", 1.0, 600),
        (5, "zero", 10.0, 200),
        (6, "negative", 1.0, 200),
        (12, "factor", 3.0, 400),
    ],
)
def test_shrunk_empirical_equals_a_naive_recomputation(d: int, kind: Correlation, rho: float, n: int) -> None:
    problem = cb.problems.random(d, kind, seed=d, volatility_spread=0.2, mean_spread=0.3)
    history = cb.environments.Gaussian().sampler(problem, 7, 0).draw(n)
    learner = cb.ShrunkEmpirical(n_options=d, risk_aversion=rho)
    seen: dict[str, list[float]] = {"variances": [], "correlations": [], "means": []}
    for t in range(n):
        w = learner.ask()
        if t >= 2:
            mean, covariance, shares = _shrunk(history[:t])
            known = learner._estimates()
            size = np.abs(covariance).max()
            assert np.abs(np.asarray(known.covariance) - covariance).max() <= 1e-11 * size, t
            assert np.abs(np.asarray(known.mean) - mean).max() <= 1e-8 * np.sqrt(size), t
            gain = frank_wolfe_gap(np.asarray(known.mean), np.asarray(known.covariance), rho, None, w)
            assert gain <= 1e-12 * max(np.abs(mean).max(), rho * size)
            for name, share in shares.items():
                seen[name].append(share)
        learner.tell(w, history[t])
    # each intensity was strictly inside its range at last: a wrong one could not have passed
    if d > 3:
        assert 0 < seen["variances"][-1] < 1
        assert 0 < seen["means"][-1] < 1
    if d > 2 and kind == "factor":
        assert 0 < seen["correlations"][-1] < 1


@pytest.mark.parametrize(("correlation", "expected"), [(0.0, 1.0), (0.9, 0.1), (-0.2, 1.2)])
def test_shrunk_empirical_s_risk_after_one_round(correlation: float, expected: float) -> None:
    """The variance across options stands for σ²(1 - r) where all means are equal: the risk along the simplex."""
    d = 5
    covariance = (1 - correlation) * np.eye(d) + correlation
    problem = cb.Problem(mean=np.full(d, 0.3), covariance=covariance, risk_aversion=1.0)
    draws = cb.environments.Gaussian().sampler(problem, 3, 0).draw(20_000)
    assert draws.var(axis=1, ddof=1).mean() == pytest.approx(expected, rel=0.02)
    learner = cb.ShrunkEmpirical(n_options=d, risk_aversion=1.0)
    learner.tell(learner.ask(), draws[0])
    best = cb.maximize_utility(draws[0], draws[0].var(ddof=1) * np.eye(d), 1.0)
    assert np.allclose(learner.ask(), best.weights, atol=1e-9)


@pytest.mark.parametrize("gradient", ["sample", "plugin"])
@pytest.mark.parametrize("step", ["sqrt", "strong"])
def test_ogd_by_hand(gradient: str, step: str) -> None:
    d, rho, curvature = 4, 0.3, 0.4
    options = {"curvature": curvature} if step == "strong" else {}
    learner = cb.OGD(n_options=d, risk_aversion=rho, gradient=gradient, step=step, **options)  # type: ignore[arg-type]
    x = np.full(d, 1 / d)
    history = _rewards(d, 300, seed=4)
    for t in range(1, 301):
        assert np.abs(learner.ask() - x).max() < 1e-10
        learner.tell(learner.ask(), history[t - 1])
        past, newest = history[:t], history[t - 1]
        if gradient == "sample":
            away = newest - (history[: t - 1].mean(axis=0) if t > 1 else newest)
            slope = newest - 2 * rho * away * (away @ x)
        else:
            slope = past.mean(axis=0) - 2 * rho * np.cov(past.T, bias=True) @ x
        eta = 1 / np.sqrt(t) if step == "sqrt" else 1 / (2 * rho * curvature * t)
        x = _project(x + eta * slope)


def test_ogd_moves_on_its_own_whatever_was_played() -> None:
    one, other = (cb.OGD(n_options=3, risk_aversion=0.3) for _ in range(2))
    for reward in _rewards(3, 30, seed=1):
        one.tell(one.ask(), reward)
        other.tell([1.0, 0.0, 0.0], reward)
    assert np.array_equal(one.ask(), other.ask())


def test_linear_fi_takes_the_first_best_option() -> None:
    learner = cb.LinearFI(n_options=3)
    assert np.allclose(learner.ask(), 1 / 3)
    learner.tell([1, 0, 0], [1.0, 2.0, 2.0])
    assert learner.ask().tolist() == [0, 1, 0]
    learner.tell([1, 0, 0], [1.0, 0.0, 2.0])
    assert learner.ask().tolist() == [0, 0, 1]


def test_fixed_weights() -> None:
    assert cb.FixedWeights(options=["a", "b"]).ask().tolist() == [0.5, 0.5]
    learner = cb.FixedWeights(weights=[0.2, 0.8])
    learner.tell([0.2, 0.8], [5.0, -5.0])
    assert learner.ask().tolist() == [0.2, 0.8]


def test_first_weights_respect_caps() -> None:
    learner = cb.MCEmpirical(n_options=4, risk_aversion=1.0, max_weight=[0.1, 0.2, 1.0, 1.0])
    assert np.allclose(learner.ask(), [0.1, 0.2, 0.35, 0.35])
    learner = cb.MCEmpirical(n_options=3, risk_aversion=1.0, max_weight=[0.0, 0.5, 0.5])
    assert learner.ask().tolist() == [0.0, 0.5, 0.5]


def test_rewards_without_variance() -> None:
    for kind in (cb.MCEmpirical, cb.ShrunkEmpirical):
        learner = kind(n_options=3, risk_aversion=1.0)
        for _ in range(5):
            learner.tell(learner.ask(), [0.1, 0.3, 0.3])
        assert learner.ask().tolist() == [0, 1, 0]


def test_outstanding_rounds_do_not_change_learners_without_a_schedule() -> None:
    for kind in (cb.MCEmpirical, cb.ShrunkEmpirical, cb.OGD):
        learner = kind(n_options=3, risk_aversion=1.0)
        assert np.array_equal(learner.ask(outstanding=7), learner.ask())
