"""Whole runs of the full-bandit learners against the algorithm in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners.protocol.serialization import describe
from explore_then_exploit_reference import is_exploitation, paper_design, play

KINDS: dict[str, Any] = {"MC-ETE": cb.MCETE, "OGD-ETE": cb.OGDETE, "LinearFB": cb.LinearFB}


def _rewards(d: int, n: int, seed: int = 0, offset: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng([d, seed])
    return offset + 0.3 * rng.standard_normal(d) + rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / d**0.5


def _own_design(d: int, seed: int = 0) -> np.ndarray:
    """More actions than needed, in general position."""
    return np.random.default_rng([d, seed]).dirichlet(np.ones(d), size=d * (d + 1) // 2 + 3)


def _make(kind: str, d: int, rho: float, **more: Any) -> cb.Learner:
    if kind != "LinearFB":
        more["risk_aversion"] = rho
    learner: cb.Learner = KINDS[kind](n_options=d, **more)
    return learner


def _run(learner: cb.Learner, rewards: np.ndarray) -> np.ndarray:
    played = []
    for reward in rewards:
        weights = learner.ask()
        learner.tell(weights, float(weights @ reward))
        played.append(weights)
    return np.array(played)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize(("d", "rho"), [(1, 1.0), (2, 0.1), (2, 10.0), (3, 0.5), (5, 10.0), (5, 0.1), (7, 2.0)])
def test_follows_the_algorithm(kind: str, d: int, rho: float) -> None:
    rewards = _rewards(d, 700)
    expected = play(kind, rewards, rho, paper_design(d))
    assert np.allclose(_run(_make(kind, d, rho), rewards), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", list(KINDS))
def test_follows_the_algorithm_with_a_design_of_ones_own(kind: str) -> None:
    rewards = _rewards(4, 700, seed=1)
    design = _own_design(4)
    expected = play(kind, rewards, 0.5, design)
    # The design has more than d(d+1)/2 actions, so a round is longer; the threshold is the same.
    assert np.allclose(_run(_make(kind, 4, 0.5, design=design), rewards), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["MC-ETE", "OGD-ETE"])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_follows_the_algorithm_with_the_covariance_as_it_is(kind: str, d: int) -> None:
    rewards = _rewards(d, 500, seed=2)
    expected = play(kind, rewards, 3.0, paper_design(d), "exact")
    found = _run(_make(kind, d, 3.0, indefinite="exact"), rewards)
    assert np.allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_default_given_as_a_design_makes_no_difference(kind: str) -> None:
    rewards = _rewards(5, 600, seed=3)
    one = _run(_make(kind, 5, 1.0), rewards)
    other = _run(_make(kind, 5, 1.0, design=paper_design(5)), rewards)
    assert np.abs(one - other).max() <= 1e-12


@pytest.mark.parametrize("kind", ["MC-ETE", "LinearFB"])
@pytest.mark.parametrize("more", [{}, {"design": _own_design(3)}, {"indefinite": "exact"}])
def test_scale_free(kind: str, more: dict[str, Any]) -> None:
    if kind == "LinearFB" and "indefinite" in more:
        return
    rewards = _rewards(3, 300, seed=4)
    expected = _run(_make(kind, 3, 2.0, **more), rewards)
    for factor in (1e-3, 37.0, 1e30):
        found = _run(_make(kind, 3, 2.0 / factor, **more), factor * rewards)
        assert np.abs(found - expected).max() <= 1e-9


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_large_level_common_to_all_rewards_costs_no_digits(kind: str) -> None:
    rewards = _rewards(4, 300, seed=5)
    high = np.round(rewards * 2**20) / 2**20
    expected = _run(_make(kind, 4, 1.0), high)
    assert np.allclose(_run(_make(kind, 4, 1.0), high + 2.0**26), expected, rtol=0, atol=1e-5)


def test_the_iterate_moves_once_per_step_of_exploitation_whatever_is_told() -> None:
    one, other = _make("OGD-ETE", 3, 1.0), _make("OGD-ETE", 3, 1.0)
    rng = np.random.default_rng(0)
    for t, reward in enumerate(_rewards(3, 120), start=1):
        weights = one.ask()
        assert np.array_equal(weights, other.ask())
        assert isinstance(one, cb.OGDETE)
        exploits = is_exploitation(one.rounds_completed, t, 3)
        one.tell(weights, float(weights @ reward))
        own = rng.dirichlet(np.ones(3)) if exploits else weights
        other.tell(own, float(own @ reward))


def test_held_rounds_do_not_move_the_iterate() -> None:
    learner = cb.OGDETE(n_options=2, risk_aversion=1.0, hold=([1.0, 0.0], 20))
    design = paper_design(2)
    for _ in range(2):
        for action in design:
            learner.tell(action, float(action @ [1.0, 0.0]))
    assert is_exploitation(learner.rounds_completed, learner.rounds_told + 1, 2)
    learner.tell(learner.ask(), 1.0)  # held, in a step that would be exploitation
    assert np.array(describe(learner)["arrays"]["weights"]).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("more", [{}, {"indefinite": "exact"}, {"design": _own_design(3)}])
def test_merging_gives_the_estimates_of_all_observations(more: dict[str, Any]) -> None:
    design = more.get("design", paper_design(3))
    rng = np.random.default_rng(2)
    totals = rng.standard_normal((4, len(design)))  # of four rounds of exploration, two in each learner
    one, other, both = (cb.MCETE(n_options=3, risk_aversion=1.0, **more) for _ in range(3))
    for learner, rows in ((one, totals[:2]), (other, totals[2:]), (both, totals)):
        for row in rows:
            while is_exploitation(learner.rounds_completed, learner.rounds_told + 1, 3):
                learner.tell([0.2, 0.3, 0.5], 9.0)
            for action, total in zip(design, row, strict=True):
                learner.tell(action, total)
    one.merge(other)
    assert one.rounds_completed == both.rounds_completed == 4
    mine, theirs = describe(one)["arrays"], describe(both)["arrays"]
    for name in ("action_count", "action_mean", "action_scatter", "mean", "covariance", "width", "count"):
        assert np.allclose(mine[name], theirs[name], rtol=1e-12, atol=1e-12), name
    assert np.allclose(mine["weights"], theirs["weights"], rtol=0, atol=1e-9)


def test_merging_in_the_middle_of_rounds() -> None:
    design = paper_design(2)
    one, other = (cb.MCETE(n_options=2, risk_aversion=1.0) for _ in range(2))
    one.tell(design[0], 1.0)
    other.tell(design[1], 2.0)
    other.tell(design[0], 3.0)
    one.merge(other)
    assert one.rounds_completed == 0
    assert np.array_equal(one.ask(), design[2])
    one.tell(design[2], 2.0)
    assert one.rounds_completed == 1
    assert np.allclose(one._estimates().mean, [2.0, 2.0])
    assert np.array_equal(one.ask(), design[1])  # of the second round the first action is told


def test_a_learner_with_an_iterate_cannot_be_merged() -> None:
    with pytest.raises(Unsupported, match="OGDETE cannot be merged"):
        _make("OGD-ETE", 2, 1.0).merge(_make("OGD-ETE", 2, 1.0))
    with pytest.raises(InvalidInput, match="cannot merge: design"):
        _make("MC-ETE", 3, 1.0).merge(_make("MC-ETE", 3, 1.0, design=_own_design(3)))


def test_decisions_are_certified() -> None:
    statuses = set()
    for more in ({}, {"indefinite": "exact"}):
        learner = cb.MCETE(n_options=5, risk_aversion=10.0, **more)
        for t, reward in enumerate(_rewards(5, 400, seed=6), start=1):
            weights = learner.ask()
            if is_exploitation(learner.rounds_completed, t, 5):
                proven = learner.certify()
                assert proven.certified
                assert np.allclose(proven.weights, weights, rtol=0, atol=1e-6)
                statuses.add((*more, proven.indefinite))
            else:
                with pytest.raises(Unsupported, match=f"round {t} follows a schedule"):
                    learner.certify()
            learner.tell(weights, float(weights @ reward))
    assert ("projected",) in statuses


def test_a_held_round_cannot_be_certified() -> None:
    learner = cb.MCETE(n_options=2, risk_aversion=1.0, hold=([1.0, 0.0], 3))
    with pytest.raises(Unsupported, match="round 1 follows a schedule"):
        learner.certify()


def test_three_hundred_options_complete_rounds() -> None:
    d = 300
    learner = cb.MCETE(n_options=d, risk_aversion=1.0)
    rng = np.random.default_rng(0)
    factor = rng.standard_normal(d)
    for _ in range(d * (d + 1)):  # two rounds
        weights = learner.ask()
        noise = rng.standard_normal() * np.sqrt(weights @ weights)  # of independent options
        learner.tell(weights, float(weights @ factor * rng.standard_normal() + noise))
    assert learner.rounds_completed == 2
    estimates = learner._estimates()
    for values in (estimates.mean, estimates.covariance, estimates.width):
        assert np.isfinite(np.asarray(values)).all()
    assert np.asarray(estimates.width).min() > 0
    found = np.array(describe(learner)["arrays"]["weights"])
    assert estimates.mean is not None
    assert estimates.covariance is not None
    proven = cb.maximize_utility(estimates.mean, estimates.covariance, 1.0, indefinite="project", start=found)
    assert proven.certified
    assert np.allclose(found, proven.weights, rtol=0, atol=1e-8)
