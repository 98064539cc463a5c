"""The full-information learners against naive recomputation from the whole history."""

from __future__ import annotations

import numpy as np
import pytest

import covbandit as cb
from covbandit.maximization import frank_wolfe_gap


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
