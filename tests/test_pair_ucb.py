"""PairUCB plays what its docstring says: its index recomputed from the raw history."""

from __future__ import annotations

import numpy as np
import pytest

import covbandit as cb
from covbandit.environments import Gaussian
from semi_bandit_reference import moments

KAPPA = 5.0


def _index(history: list, rho: float, c: float, a: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return believed mean, believed covariance and what is subtracted from the mean, as the docstring gives them."""
    counts, mean, covariance = moments(history)
    d = len(mean)
    n = counts.diagonal()
    raw = covariance.diagonal() * n / (n - 1)
    correlations = np.clip(covariance / np.sqrt(np.outer(raw, raw)), -1, 1)
    low = np.tril_indices(d, -1)
    average = max((counts * correlations)[low].sum() / counts[low].sum(), -1 / d)
    variance = (n * raw + KAPPA * raw.mean()) / (n + KAPPA)
    scale = np.sqrt(np.outer(variance, variance))
    believed = (counts * covariance + KAPPA * average * scale) / (counts + KAPPA)
    np.fill_diagonal(believed, variance)
    precision = n / variance
    level = precision @ mean / precision.sum()
    pairs = np.outer(precision, precision)[low]
    between = pairs @ np.subtract.outer(mean, mean)[low] ** 2 / (2 * pairs.sum())
    trusted = level + (mean - level) * between / (between + variance / n)
    fit = min(d, int(1 / c))
    deviation = np.sqrt((1 / fit + (1 - 1 / fit) * average) / (1 / variance).mean())
    t = len(history) + 1
    bonus = a * np.sqrt(np.log(t)) * (1 + 2 * rho * deviation) * np.sqrt(scale / counts) * (1 + 2 / counts)
    return trusted, believed, rho * believed - bonus


@pytest.mark.parametrize(("d", "c"), [(3, 0.4), (5, 0.1), (6, 0.3)])
def test_the_index_is_the_documented_one(d: int, c: float) -> None:
    problem = cb.problems.random(d, "factor", seed=d, risk_aversion=2.0, min_weight=c)
    rewards = Gaussian().sampler(problem, 1, 0).draw(300)
    learner = cb.PairUCB(n_options=d, risk_aversion=2.0, min_weight=c, bonus=0.8)
    history: list = []
    for k, reward in enumerate(rewards):
        weights = learner.ask()
        if k > 2 * d * d and k % 20 == 0:
            mean, believed, penalty = _index(history, 2.0, c, 0.8)
            s = learner._view
            assert np.allclose(s.believed_mean, mean, rtol=0, atol=1e-12)
            assert np.allclose(s.believed_covariance, believed, rtol=0, atol=1e-12)
            assert np.allclose(s.penalty, penalty, rtol=0, atol=1e-11)
            best = cb.maximize_optimistic(mean, np.zeros((d, d)), penalty, 1.0, c, certified=True)
            assert weights @ mean - weights @ penalty @ weights >= best.utility - 1e-9
            n, t = moments(history)[0].diagonal(), len(history) + 1
            width = 0.8 * np.sqrt(np.log(t) * believed.diagonal() / n) * (1 + 2 / n)
            assert learner.explain().widths == pytest.approx(tuple(width), rel=1e-9)
        seen = np.where(weights > 0, reward, np.nan)
        learner.tell(weights, seen)
        history.append((weights, seen))


def test_two_rounds_of_equal_weights_start_it_where_all_options_fit() -> None:
    learner = cb.PairUCB(n_options=4, risk_aversion=1.0, min_weight=0.25)
    for reward in ([1.0, 2.0, 3.0, 4.0], [2.0, 2.5, 1.0, 0.0]):
        assert learner.ask().tolist() == [0.25] * 4
        learner.tell(learner.ask(), reward)
    assert learner.certify().method == "branch and bound"


@pytest.mark.parametrize("d", [2, 4])
def test_an_option_that_was_unlucky_twice_gets_another_chance(d: int) -> None:
    """The first option is best, but two observations, three standard deviations below its mean, say otherwise."""
    rng = np.random.default_rng(2)
    learner = cb.PairUCB(n_options=d, risk_aversion=0.1, min_weight=0.1)
    sd = 0.75
    for _ in range(2):
        learner.tell(np.full(d, 1 / d), [0.4 - 3 * sd, *rng.normal(0.2, sd, d - 1)])
    for _ in range(3_000):
        weights = learner.ask()
        reward = rng.normal(np.array([0.4] + [0.2] * (d - 1)), sd)
        learner.tell(weights, np.where(weights > 0, reward, np.nan))
    assert learner.explain().counts[0] > 1_000


def test_regret_beats_equal_weights_and_the_papers_learner() -> None:
    problem = cb.problems.synthetic(min_weight=0.1)
    shared = {"n_options": 5, "risk_aversion": 0.1, "min_weight": 0.1}
    learners = {"pair": cb.PairUCB(**shared), "paper": cb.MCUCB(**shared), "equal": cb.FixedWeights(n_options=5)}
    result = cb.simulate(problem, learners, 5_000, 8, seed=3)
    pair, paper, equal = result.regret[:, :, -1].mean(axis=1)
    assert pair < equal
    assert 2 * pair < paper
