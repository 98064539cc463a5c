"""Decisions of the semi-bandit learners with a proof that no other weights are better by their own index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners.protocol.serialization import describe
from decision_set import assert_on_the_set
from semi_bandit_play import KINDS, draw, make, past_start_up, seen, some_weights, value

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, None])
@pytest.mark.parametrize("kind", KINDS)
def test_certified_decisions(kind: Any, least: float | None) -> None:
    for seed in range(3):
        learner = past_start_up(make(kind, 5, least), seed, more=40 * seed)
        before = describe(learner)
        asked = learner.ask()
        best = learner.certify()
        assert describe(learner) == before
        assert best.certified
        assert best.method == "branch and bound"
        assert_on_the_set(best.weights, least)
        found, proven = value(learner, asked), value(learner, best.weights)
        assert proven == pytest.approx(best.utility, abs=1e-12)
        assert found - 1e-12 <= proven <= best.upper_bound
        rivals = some_weights(np.random.default_rng(seed), 5, least, 2000)
        assert value(learner, rivals).max() <= best.upper_bound + 1e-12
        learner.tell(best.weights, seen(best.weights, draw(5, 1)[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_nothing_to_certify_before_start_up_is_over(kind: Any) -> None:
    learner = make(kind, 3)
    with pytest.raises(Unsupported, match="round 1 follows a schedule"):
        learner.certify()
    with pytest.raises(Unsupported, match="round 6 follows a schedule"):
        learner.certify(outstanding=5)
    held = make(kind, 3, hold=([1 / 3] * 3, 30))
    held.tell_many(np.full((29, 3), 1 / 3), draw(3, 29))
    with pytest.raises(Unsupported, match="round 30 follows a schedule"):
        held.certify()
    assert held.certify(outstanding=1).certified
    with pytest.raises(InvalidInput, match="tolerance must be positive"):
        past_start_up(make(kind, 3)).certify(tolerance=0.0)


def test_a_certified_decision_of_a_later_round_has_wider_radii() -> None:
    learner = past_start_up(make(cb.MCUCB, 4))
    assert learner.certify(outstanding=50).utility > learner.certify().utility


def test_a_node_limit_ends_with_an_honest_bound() -> None:
    learner = past_start_up(make(cb.MCUCB, 8), more=100)
    best = learner.certify()
    limited = learner.certify(node_limit=1)
    assert limited.utility <= best.upper_bound
    assert best.utility <= limited.upper_bound
