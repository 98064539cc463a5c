"""Semi-bandit learners where rewards do not vary, all options look the same, or one is never seen again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from decision_set import assert_on_the_set
from semi_bandit_play import KINDS, PAPER, draw, is_over, make, past_start_up, play, seen, some_weights

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("d", "least"),
    [(1, 0.1), (1, 1.0), (1, None), (2, 0.5), (2, 0.1), (2, 0.7), (4, 0.25), (4, 0.5), (4, 0.51), (3, 1 / 3)],
)
@pytest.mark.parametrize("rewards", ["constant", "equal", "zero", "two values"])
def test_degenerate_inputs(kind: Any, d: int, least: float | None, rewards: str) -> None:
    learner = make(kind, d, least)
    rng = np.random.default_rng(0)
    drawn = {
        "constant": np.tile(0.1 * np.arange(d), (60, 1)),
        "equal": np.tile(0.3 * rng.standard_normal((60, 1)), (1, d)),
        "zero": np.zeros((60, d)),
        "two values": rng.integers(0, 2, (60, d)) * 1.0,
    }[rewards]
    asked = play(learner, drawn)
    assert_on_the_set(asked, least)
    assert is_over(learner)
    for array in learner._snapshot()[1].values():
        assert np.isfinite(array).all()
    if d == 1:
        assert (asked == 1).all()
    if rewards in ("constant", "zero"):
        covariance = learner._covariance()
        assert np.abs(covariance[learner._view.pair_count > 0]).max() <= 1e-30
    assert learner.certify().certified
    assert learner.explain().to_dict()["rounds"] == 60


@pytest.mark.parametrize("kind", KINDS)
def test_ties_go_to_the_lowest_index(kind: Any) -> None:
    """Where only one option fits and all look the same, the first one is chosen."""
    learner = make(kind, 3, 0.6)
    learner.tell_many(np.full((4, 3), 1 / 3), np.tile([[0.5], [-0.5], [0.25], [-0.25]], (1, 3)))  # no rounding
    assert learner.ask().tolist() == [1, 0, 0]


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_an_option_never_seen_again(kind: Any, least: float | None) -> None:
    learner = past_start_up(make(kind, 4, least), more=0)
    before = learner.counts
    rng = np.random.default_rng(3)
    weights = np.zeros((3000, 4))
    weights[:, :3] = some_weights(rng, 3, least, 3000)
    rewards = draw(4, 3000, seed=4)
    for chunk, part in pairwise(range(0, 3001, 300)):
        learner.tell_many(
            weights[chunk:part], [seen(w, r) for w, r in zip(weights[chunk:part], rewards[chunk:part], strict=True)]
        )
        assert_on_the_set(learner.ask(), least)
        assert np.isfinite(learner._view.bonus).all()
        assert np.isfinite(learner._view.penalty).all()
        explanation = learner.explain()
        assert None not in explanation.mean_contributions
    assert learner.counts[3] == before[3]
    assert learner.counts[:3].min() > before[:3].max()
    if kind in PAPER:
        assert learner.ask()[3] > 0  # all that is not known speaks for it
        assert np.argmax(explanation.widths) == 3
    assert learner.certify().certified
