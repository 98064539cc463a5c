"""The semi-bandit learners against Algorithm 2 recomputed from the raw history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
import semi_bandit_reference as naive
from decision_set import assert_on_the_set
from semi_bandit_play import RISK_AVERSION, draw, is_over, make, seen, some_weights, value

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")

MATRIX = np.array([[2.0, -0.3, 0.6, 0.1], [-0.3, 1.5, 0.2, 0.4], [0.6, 0.2, 3.0, -0.5], [0.1, 0.4, -0.5, 1.0]])
TIGHT = {"radius_scale": (0.02, 0.3), "variance_bound": 0.5, "regularization": 0.9}
NAIVE: dict[str, tuple[Any, dict[str, Any]]] = {
    "mc-ucb": (cb.MCUCB, {}),
    "mc-ucb, capped": (cb.MCUCB, {"cap_upper": True}),
    "mc-ucb, capped where the radii are small": (cb.MCUCB, {"cap_upper": True, **TIGHT}),
    "mc-ucb, other radii": (cb.MCUCB, {"variance_bound": 2.5, "radius_scale": (0.1, 2.0), "regularization": 0.2}),
    "mc-ucb, one at a time": (cb.MCUCB, {"min_weight": 0.6}),
    "mc-ucb, any weights": (cb.MCUCB, {"min_weight": None, **TIGHT}),
    "mc-ucb-gamma": (cb.MCUCBGamma, {}),
    "mc-ucb-gamma, number": (cb.MCUCBGamma, {"gamma": 5.0, "variance_bound": 2.0}),
    "mc-ucb-gamma, matrix": (cb.MCUCBGamma, {"gamma": MATRIX, **TIGHT}),
    "mc-ucb-gamma, one at a time": (cb.MCUCBGamma, {"min_weight": 0.7, "gamma": MATRIX}),
    "ols-ucb-c": (cb.OLSUCBC, {"variance_bound": 2.0}),
    "ols-ucb-c, matrix": (cb.OLSUCBC, {"gamma": MATRIX, "min_weight": 0.25, "radius_scale": (1.0, 0.2)}),
    "ols-ucb-c, one at a time": (cb.OLSUCBC, {"min_weight": 0.51}),
}


def assert_close(ours: Any, theirs: Any, what: str) -> None:
    """Compare to 1e-12 of the largest entry."""
    assert np.abs(ours - theirs).max() <= 1e-12 * max(1.0, np.abs(theirs).max()), what


@pytest.mark.parametrize("told", ["as asked", "otherwise"])
@pytest.mark.parametrize("name", list(NAIVE))
def test_equals_a_naive_recomputation(name: str, told: str) -> None:
    """400 rounds; where told otherwise, history comes before start-up and a third of the rounds plays other weights."""
    kind, arguments = NAIVE[name]
    d, rounds = 4, 400
    learner = make(kind, d, **arguments)
    c = learner.min_weight
    together = ~np.eye(d, dtype=bool) if c is None or c <= 0.5 else np.zeros((d, d), dtype=bool)
    used = together | np.eye(d, dtype=bool)
    rng = np.random.default_rng(len(name))
    other = some_weights(rng, d, min(c or 0.1, 0.3), rounds)
    history: list[tuple[Any, Any]] = []
    settings = {k: v for k, v in arguments.items() if k != "gamma"}
    if kind is not cb.MCUCB:
        settings["gamma"] = arguments.get("gamma", learner.variance_bound)
    first = None
    for k, reward in enumerate(draw(d, rounds, seed=1)):
        asked = learner.ask()
        assert_on_the_set(asked, c)
        over = bool(history) and naive.start_up_is_over(naive.moments(history).counts, c)
        assert is_over(learner) == over
        if over:
            first = k if first is None else first
            s = learner._view
            counts, mean, covariance = naive.moments(history)
            assert np.array_equal(s.pair_count, counts)
            assert np.array_equal(learner.counts, counts.diagonal())
            assert_close(s.mean, mean, "mean")
            known = (counts > 0) & ~(np.eye(len(counts), dtype=bool) & (counts < 2))  # one observation has no variance
            if known.any():
                assert_close(learner._covariance()[known], covariance[known], "covariance")
            if kind is cb.OLSUCBC:
                assert (s.penalty == 0).all()
            else:
                radius = learner.radius_scale[0] * learner.variance_bound * naive.covariance_radius(counts, k + 1)
                lower = np.where(used, RISK_AVERSION * (covariance - radius), 0.0)
                assert_close(s.penalty, lower, "penalty")
            # The sum over the rounds is slow to recompute: not every time.
            if k < first + 2 or k % 80 == 79:
                expected = naive.confidence_round(history, **settings)
                assert expected.t == k + 1
                assert_close(s.bonus, np.where(used, expected.bonus, 0.0), "bonus")
                if kind is not cb.OLSUCBC:
                    assert_close(s.penalty, np.where(used, RISK_AVERSION * expected.lower, 0.0), "lower covariance")
                assert value(learner, asked) >= value(learner, some_weights(rng, d, c, 200)).max() - 1e-12
        played = other[k] if told == "otherwise" and (k < 5 or k % 3 == 0) else asked
        history.append((played, seen(played, reward)))
        learner.tell(*history[-1])
    assert first is not None
    assert first < 30
