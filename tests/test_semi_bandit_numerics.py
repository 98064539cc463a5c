"""Neither the level, the size nor the units of rewards cost semi-bandit learners digits or change their weights."""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import AssumptionWarning
from covbandit.kernels.jit.compilation import compiled
from covbandit.learners.protocol.state import LearnerState
from decision_set import assert_on_the_set
from semi_bandit_play import KINDS, PAPER, RISK_AVERSION, draw, make, play, seen

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")


@pytest.mark.parametrize("kind", [cb.MCUCB, cb.MCUCBGamma, cb.PairUCB])
def test_no_cancellation_far_from_zero(kind: Any) -> None:
    """A million rounds with means a million times the standard deviation."""
    absorb = compiled(kind._absorb_kernel)

    @numba.njit
    def feed(state: Any, weights: Any, rewards: Any) -> None:
        s = LearnerState(state)
        for k in range(len(weights)):
            absorb(state, weights[k], rewards[k])
            s.told += 1

    d, n, level = 3, 1_000_000, 1e6
    rng = np.random.default_rng(5)
    supports = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]) * 1.0
    weights = supports[rng.integers(0, 7, n)]
    rewards = level + draw(d, n, seed=5, scale=1.0)
    learner = make(kind, d)
    feed(learner._state, weights / weights.sum(axis=1, keepdims=True), rewards)
    near = rewards - level  # without rounding
    mean = (weights * near).sum(axis=0) / weights.sum(axis=0)
    centred = weights * (near - mean)
    covariance = centred.T @ centred / (weights.T @ weights)
    assert np.array_equal(learner.counts, weights.sum(axis=0))
    assert np.abs(learner._view.mean - level - mean).max() < 1e-7
    assert np.abs(learner._covariance() - covariance).max() < 1e-8
    assert_on_the_set(learner.ask(), 0.1)
    # Sums of products would have lost what matters.
    products = (weights * rewards).T @ (weights * rewards) / (weights.T @ weights)
    assert np.abs(products - np.outer(mean + level, mean + level) - covariance).max() > 1e-6


@pytest.mark.parametrize("least", [0.1, 0.25, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_added_to_all_rewards_does_not_change_the_weights(kind: Any, least: float | None) -> None:
    near, far = make(kind, 4, least), make(kind, 4, least)
    for reward in draw(4, 150, seed=2):
        weights = near.ask()
        assert np.abs(weights - far.ask()).max() < 1e-6
        near.tell(weights, seen(weights, reward))
        far.tell(weights, seen(weights, reward + 1e6))


@pytest.mark.parametrize("kind", KINDS)
def test_very_large_and_very_small_rewards(kind: Any) -> None:
    for size in (1e-40, 1e40, 1e90):
        bound = {} if kind is cb.PairUCB else {"variance_bound": size**2}
        learner = make(kind, 3, **bound)
        assert_on_the_set(play(learner, size * draw(3, 60)), 0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_units_do_not_matter_if_the_bound_has_them_too(kind: Any) -> None:
    """A whole run: rewards times s, ρ by s and the bound times s² give the same weights."""
    rewards = draw(4, 150, seed=6)
    plain = play(make(kind, 4), rewards)
    for s in (1e-3, 64.0):
        changes: dict[str, Any] = {} if kind is cb.PairUCB else {"variance_bound": s * s}
        if kind is not cb.OLSUCBC:
            changes["risk_aversion"] = RISK_AVERSION / s
        assert np.abs(play(make(kind, 4, **changes), s * rewards) - plain).max() < 1e-6
    if kind in PAPER:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            without = (
                play(make(kind, 4, risk_aversion=RISK_AVERSION / 8), 8 * rewards)
                if kind is not cb.OLSUCBC
                else play(make(kind, 4), 8 * rewards)
            )
        assert np.abs(without - plain).max() > 0.1
