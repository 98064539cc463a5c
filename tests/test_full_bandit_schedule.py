"""When the full-bandit learners explore: in step, with rounds outstanding, told late or out of order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import Unsupported
from covbandit.learners.protocol.serialization import describe
from explore_then_exploit_reference import exploration_steps, is_exploitation, paper_design


def _learner(d: int, **more: Any) -> cb.MCETE:
    return cb.MCETE(n_options=d, risk_aversion=0.7, **more)


def _total(rng: np.random.Generator, weights: np.ndarray) -> float:
    return float(weights @ rng.standard_normal(weights.size) + weights[0])


def _action(weights: np.ndarray, design: np.ndarray) -> int | None:
    at = np.flatnonzero(np.abs(design - weights).max(axis=1) < 1e-12)
    return int(at[0]) if at.size else None


def test_the_dates_of_the_specification() -> None:
    learner = _learner(5)
    starts, first = [], None
    rng = np.random.default_rng(0)
    for t in range(1, 100):
        before = learner.rounds_completed
        weights = learner.ask()
        if np.array_equal(weights, np.eye(5)[0]) and not is_exploitation(before, t, 5):
            starts.append(t)
        if first is None and is_exploitation(before, t, 5) and _action(weights, paper_design(5)) is None:
            first = t
        learner.tell(weights, _total(rng, weights))
    assert starts == [1, 16, 32, 59, 90]
    assert first == 31


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_the_schedule_is_that_of_the_algorithm(d: int) -> None:
    horizon = 1_500
    learner = _learner(d)
    design = paper_design(d)
    rng = np.random.default_rng(d)
    for t, action in enumerate(exploration_steps(d, horizon), start=1):
        weights = learner.ask()
        if action is None:
            assert is_exploitation(learner.rounds_completed, t, d)
        else:
            assert np.array_equal(weights, design[action])
        learner.tell(weights, _total(rng, weights))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_rounds_outstanding_follow_the_schedule(d: int) -> None:
    """Asking ahead gives what asking gives after the rounds between were told, as far as it is scheduled."""
    learner = _learner(d)
    steps = exploration_steps(d, 400)
    design = paper_design(d)
    rng = np.random.default_rng(d)
    for t in range(1, 201):
        for outstanding in (0, 1, 2, 7, 40, 190):
            expected = steps[t - 1 + outstanding]
            weights = learner.ask(outstanding)
            if expected is not None:
                assert np.array_equal(weights, design[expected])
            elif learner.rounds_completed:
                assert np.allclose(weights, learner.certify(outstanding).weights, rtol=0, atol=1e-9)
            else:
                assert np.array_equal(weights, np.full(d, 1 / d))
                with pytest.raises(Unsupported, match="nothing is known"):
                    learner.certify(outstanding)
        weights = learner.ask()
        learner.tell(weights, _total(rng, weights))


def test_a_far_look_ahead_takes_no_time() -> None:
    learner = _learner(3)
    rng = np.random.default_rng(0)
    for _ in range(100):
        weights = learner.ask()
        learner.tell(weights, _total(rng, weights))
    assert learner.ask(outstanding=10**6).sum() == pytest.approx(1)


def test_a_round_told_out_of_order_gives_the_same_estimates() -> None:
    straight, shuffled = _learner(4), _learner(4)
    design = paper_design(4)
    rng = np.random.default_rng(3)
    for _ in range(2):  # rounds
        totals = [_total(rng, action) for action in design]
        for action, total in zip(design, totals, strict=True):
            straight.tell(action, total)
        for k in rng.permutation(len(design)):
            assert shuffled.rounds_completed == straight.rounds_completed - 1
            shuffled.tell(design[k], totals[k])
        assert shuffled.rounds_completed == straight.rounds_completed
    assert np.array_equal(straight.ask(), shuffled.ask())
    mine, theirs = describe(straight)["arrays"], describe(shuffled)["arrays"]
    assert {name for name in mine if mine[name] != theirs[name]} == {"last"}


def test_told_out_of_order_the_first_action_with_the_fewest_observations_is_next() -> None:
    learner = _learner(3)
    design = paper_design(3)
    for k in (4, 0, 4, 2):
        learner.tell(design[k], 0.1 * k)
    order = [_action(learner.ask(outstanding=k), design) for k in range(8)]
    assert order == [1, 3, 5, 0, 1, 2, 3, 5]  # 1, 3 and 5 complete the first round; of the second 4 is told already
    for k in (1, 3, 5):
        assert learner.rounds_completed == 0
        learner.tell(design[k], 0.1)
    assert learner.rounds_completed == 1
    assert [_action(learner.ask(outstanding=k), design) for k in range(5)] == [0, 1, 2, 3, 5]


def test_late_tells_of_many_rounds_at_once() -> None:
    """Sixteen in flight, told in random order: every observation of the design that is due is used once."""
    learner = _learner(3)
    design = paper_design(3)
    rng = np.random.default_rng(5)
    waiting: list[np.ndarray] = []
    seen = 0
    for _ in range(400):
        while len(waiting) < 16:
            waiting.append(learner.ask(outstanding=len(waiting)))
        weights = waiting.pop(int(rng.integers(len(waiting))))
        exploring = not is_exploitation(learner.rounds_completed, learner.rounds_told + 1, 3)
        counts = np.array(describe(learner)["arrays"]["action_count"]).ravel()[: len(design)]
        seen_before = counts.sum()
        learner.tell(weights, _total(rng, weights))
        counted = np.array(describe(learner)["arrays"]["action_count"]).sum() - seen_before
        in_progress = counts.max() > counts.min()
        assert counted == (_action(weights, design) is not None and (exploring or in_progress))
        seen += int(counted)
    assert learner.rounds_completed >= 400 ** (2 / 3) / 3 - 1
    assert seen == np.array(describe(learner)["arrays"]["action_count"]).sum()


def test_what_exploitation_earns_is_not_used() -> None:
    learner = _learner(5)
    rng = np.random.default_rng(0)
    for _ in range(30):
        weights = learner.ask()
        learner.tell(weights, _total(rng, weights))
    before = describe(learner)["arrays"]
    learner.tell(np.eye(5)[2], 1e6)  # in the design, but t = 31 is exploitation
    after = describe(learner)["arrays"]
    assert {name for name in before if before[name] != after[name]} == {"last"}


def test_weights_of_ones_own_are_not_used_in_exploration() -> None:
    learner = _learner(3)
    learner.tell([0.2, 0.3, 0.5], 1.0)
    learner.tell([0.5, 0.5 - 2e-9, 2e-9], 1.0)
    assert learner.counts.sum() == 0
    learner.tell([0.5, 0.5 - 1e-10, 1e-10], 1.0)
    assert learner.counts.tolist() == [1, 1, 0]


def test_held_weights_count_if_they_are_in_the_design() -> None:
    plain = _learner(3, hold=([0.2, 0.3, 0.5], 4))
    first = _learner(3, hold=([1.0, 0.0, 0.0], 4))
    for learner in (plain, first):
        for _ in range(4):
            weights = learner.ask()
            learner.tell(weights, 0.3)
    assert plain.counts.tolist() == [0, 0, 0]
    assert np.array_equal(plain.ask(), np.eye(3)[0])
    assert first.counts.tolist() == [4, 0, 0]
    assert np.array_equal(first.ask(), np.eye(3)[1])


def test_held_rounds_that_are_outstanding_advance_nothing() -> None:
    learner = _learner(3, hold=([0.2, 0.3, 0.5], 4))
    learner.tell(learner.ask(), 0.1)
    assert learner.ask(outstanding=2).tolist() == [0.2, 0.3, 0.5]
    assert np.array_equal(learner.ask(outstanding=3), np.eye(3)[0])
    assert np.array_equal(learner.ask(outstanding=5), np.eye(3)[2])


@pytest.mark.parametrize("told", [7, 19, 33])
def test_saved_in_the_middle_of_a_round(tmp_path: Path, told: int) -> None:
    learner = _learner(4)
    rng = np.random.default_rng(1)
    for _ in range(told):
        weights = learner.ask()
        learner.tell(weights, _total(rng, weights))
    learner.save(tmp_path / "it.json")
    again = cb.load_learner(tmp_path / "it.json")
    for _ in range(60):
        weights = learner.ask()
        assert np.array_equal(weights, again.ask())
        total = _total(rng, weights)
        learner.tell(weights, total)
        again.tell(weights, total)
