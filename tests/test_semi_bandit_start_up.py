"""The rounds before a semi-bandit learner decides for itself: what is pulled, in which order, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
import semi_bandit_reference as naive
from decision_set import assert_on_the_set
from semi_bandit_play import PAPER, RISK_AVERSION, draw, is_over, make, play, seen

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")


@pytest.mark.parametrize("kind", PAPER)
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("least", [0.1, 0.5, 0.6, None])
def test_initial_pulls(kind: Any, d: int, least: float | None) -> None:
    learner = make(kind, d, least)
    schedule = naive.start_up_weights(d, least)
    assert len(schedule) == (d if least == 0.6 else d * d)
    assert np.array_equal(play(learner, draw(d, len(schedule))), schedule)
    assert is_over(learner)
    counts = learner._view.pair_count
    alone = least == 0.6
    assert (counts.diagonal() == (1 if alone else 2 * d - 1)).all()
    assert (counts[~np.eye(d, dtype=bool)] == (0 if alone else 2)).all()
    assert_on_the_set(learner.ask(), least)


@pytest.mark.parametrize("kind", PAPER)
def test_initial_pulls_go_on_while_rounds_are_outstanding(kind: Any) -> None:
    d = 4
    learner = make(kind, d)
    schedule = naive.start_up_weights(d, 0.1)
    for told, reward in enumerate(draw(d, d * d)):
        ahead = [learner.ask(outstanding=k) for k in range(2 * d * d)]
        assert np.array_equal(ahead[: d * d - told], schedule[told:])
        assert np.array_equal(ahead[d * d - told], schedule[told])  # all are played: what is left begins again
        learner.tell(schedule[told], seen(schedule[told], reward))
    # From now on a later round only has wider radii.
    bonus = []
    for k in range(3):
        assert_on_the_set(learner.ask(outstanding=k), 0.1)
        bonus.append(learner._view.bonus.copy())
    factors = [naive.confidence_term(d, d * d + 1 + k, 0.5) for k in range(3)]
    if kind is not cb.MCUCB:  # whose regularisation has the radii of the round as well
        assert bonus[2] / bonus[0] == pytest.approx(np.full((d, d), factors[2] / factors[0]), rel=1e-12)
    assert (bonus[2].diagonal() > bonus[0].diagonal()).all()


@pytest.mark.parametrize("kind", PAPER)
def test_what_history_told_is_not_pulled_again(kind: Any) -> None:
    pair, third = np.array([0.7, 0.3, 0.0]), np.array([0.0, 0.0, 1.0])
    half = {(i, j): (np.eye(3)[i] + np.eye(3)[j]) / 2 for i in range(3) for j in range(3)}
    once = make(kind, 3)
    once.tell(pair, [0.1, 0.2, np.nan])
    left = [third, half[0, 2], half[1, 0], half[1, 2], half[2, 0], half[2, 1]]
    assert np.array_equal(play(once, draw(3, 6)), left)
    assert is_over(once)
    twice = make(kind, 3)
    twice.tell_many([pair, pair], [[0.1, 0.2, None], [0.3, 0.1, None]])
    left = [third, half[0, 2], half[1, 2], half[2, 0], half[2, 1]]
    assert np.array_equal(play(twice, draw(3, 5)), left)
    assert is_over(twice)
    everything = make(kind, 3)
    everything.tell_many(np.full((2, 3), 1 / 3), draw(3, 2))
    assert is_over(everything)
    assert_on_the_set(everything.ask(), 0.1)
    alone = make(kind, 3, 0.6)
    alone.tell(pair, [0.1, 0.2, np.nan])
    assert np.array_equal(play(alone, draw(3, 1)), [third])
    assert is_over(alone)


def sets_needed(d: int, m: int) -> int:
    """Return Schönheim's bound: no fewer sets of m options show every pair."""
    return d * 2 if m == 1 else max(2, -(-d * -(-(d - 1) // (m - 1)) // m))


@pytest.mark.parametrize(
    ("d", "least", "m"),
    [
        (1, 0.1, 1),
        (2, 0.1, 2),
        (2, 0.6, 1),
        (5, 0.1, 5),
        (5, None, 5),
        (5, 0.2, 5),
        (3, 1 / 3, 3),
        (6, 0.2, 5),
        (5, 0.5, 2),
        (6, 0.3, 3),
        (4, 1.0, 1),
        (12, 0.2, 5),
        (20, 0.1, 10),
        (25, 0.25, 4),
    ],
)
def test_pair_ucb_shows_every_pair_in_few_rounds(d: int, least: float | None, m: int) -> None:
    learner = cb.PairUCB(n_options=d, risk_aversion=RISK_AVERSION, min_weight=least)
    ahead = [learner.ask(outstanding=k) for k in range(6)]
    rewards = draw(d, 1000)
    asked = []
    while not is_over(learner):
        asked.append(learner.ask())
        learner.tell(asked[-1], seen(asked[-1], rewards[len(asked)]))
    design = np.array(asked)
    assert_on_the_set(design, least)
    assert ((design > 0).sum(axis=1) == m).all()
    assert design.max() == pytest.approx(1 / m)
    n = min(len(ahead), len(design))
    assert np.array_equal(ahead[:n], design[:n])
    counts = (design > 0).T.astype(int) @ (design > 0)
    assert counts.diagonal().min() >= 2
    assert m == 1 or counts.min() >= 1
    if m == d:
        assert len(design) == 2
    assert sets_needed(d, m) <= len(design) <= 1.7 * sets_needed(d, m) + 1
    assert_on_the_set(learner.ask(), least)


def test_pair_ucb_counts_history() -> None:
    learner = cb.PairUCB(n_options=4, risk_aversion=1.0, min_weight=0.5)
    halves = [np.where(np.isin(range(4), pair), 0.5, 0.0) for pair in ((0, 1), (2, 3), (0, 2), (1, 3))]
    learner.tell_many(halves, [seen(w, r) for w, r in zip(halves, draw(4, 4), strict=True)])
    rest = play(learner, draw(4, 2, seed=1))
    assert {tuple(np.flatnonzero(w)) for w in rest} == {(0, 3), (1, 2)}
    assert is_over(learner)
    # Options that were seen together in many rounds at other weights are not shown again either.
    learner = cb.PairUCB(n_options=3, risk_aversion=1.0, min_weight=0.1)
    learner.tell_many(np.tile([0.8, 0.1, 0.1], (2, 1)), draw(3, 2))
    assert is_over(learner)
