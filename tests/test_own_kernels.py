"""Compiled learners of the user's own: whatever their kernels decide, options out of use get no weight."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput
from covbandit.learners import learner_classes, load_learner
from covbandit.simulation.engine import fresh_player, run_replication
from covbandit.simulation.plan import Plan, as_plan
from covbandit.testing import LearnerConformance
from own_kernels import Careless
from stores import sqlite_url


class TestCareless(LearnerConformance):
    memory_rounds = 1_000

    def make(self) -> Careless:
        return Careless(n_options=4)


class TestCarelessWithCaps(TestCareless):
    """One option may not be chosen at all: its cap is zero, in simulations as well."""

    def make(self) -> Careless:
        return Careless(n_options=4, max_weight=[1.0, 1.0, 1.0, 0.0])


class TestCarelessWithLeastWeight(TestCareless):
    def make(self) -> Careless:
        return Careless(n_options=4, min_weight=0.05)


class TestCarelessThatHolds(TestCareless):
    def make(self) -> Careless:
        return Careless(n_options=4, hold=([0.4, 0.3, 0.2, 0.1], 7))


def test_the_others_keep_their_proportions() -> None:
    learner = Careless(n_options=4)
    before = learner.ask()
    learner.set_retired([1])
    assert learner.ask() == pytest.approx(np.where(np.arange(4) == 1, 0.0, before) / (1 - before[1]), abs=1e-15)
    learner.set_retired([])
    assert np.array_equal(learner.ask(), before)


@pytest.mark.parametrize("odd", [(0.0, 1.0, 0.0, 0.0), (0.0, -1.0, 0.0, 0.0), (np.nan, np.nan, np.nan, np.nan)])
def test_if_nothing_usable_is_left_equal_weights_are_played(odd: tuple[float, ...]) -> None:
    learner = Careless(n_options=4, pattern=odd)
    learner.set_retired([1])
    assert learner.ask().tolist() == [1 / 3, 0.0, 1 / 3, 1 / 3]


def test_proportions_that_would_exceed_a_cap_are_not_kept() -> None:
    learner = Careless(n_options=4, max_weight=[0.3, 0.4, 0.5, 0.6])
    learner.set_retired([2])
    weights = learner.ask()
    assert weights[2] == 0.0
    assert (weights <= [0.3, 0.4, 0.5, 0.6]).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("retired", [[0], [3], [0, 2]])
@pytest.mark.parametrize("hold", [None, ([0.4, 0.3, 0.2, 0.1], 7)])
def test_the_engine_keeps_to_the_options_in_use_as_asking_does(retired: list[int], hold: Any) -> None:
    """Bit for bit, round for round. Simulations refuse learners with retired options: its loop does not rely on it."""
    learner = Careless(n_options=4, hold=hold)
    problem = cb.problems.random(4, "factor", seed=7, risk_aversion=0.5)
    checked = as_plan(problem, {"it": learner}, 40, 3, checkpoints=np.arange(1, 41))
    learner.set_retired(retired)
    plan = Plan(problem, {"it": learner}, 40, 3, checked.environment, checked.checkpoints)
    simulated = run_replication(plan, 0).weights[0]
    assert (simulated[:, retired] == 0.0).all()
    live = fresh_player(learner, 3, 0, 0)
    for weights, rewards in zip(simulated, plan.environment.sampler(problem, 3, 0).draw(40), strict=True):
        asked = live.ask()
        assert np.array_equal(asked, weights)
        live.tell(asked, np.where(asked > 0, rewards, np.nan))


def test_files_copies_and_resets_know_it_too(tmp_path: Path) -> None:
    learner = Careless(n_options=4, options=list("abcd"))
    learner.set_retired(["b"])
    learner.save(tmp_path / "learner.json")
    weights = learner.ask()
    for other in (load_learner(tmp_path / "learner.json"), learner.clone()):
        assert np.array_equal(other.ask(), weights)
    learner.reset()
    assert learner.ask()[1] == 0.0


def test_a_study_puts_nothing_on_a_retired_option(tmp_path: Path) -> None:
    study = cb.Study.create("own", list("abcd"), Careless(n_options=4), "per_unit", store=sqlite_url(tmp_path))
    study.retire("d")
    asked = study.ask()
    assert "d" not in asked.weights or asked.weights["d"] == 0
    assert sum(asked.weights.values()) == pytest.approx(1.0)
    study.close()


@pytest.mark.parametrize(
    ("learner", "told"),
    [
        (Careless(n_options=4, total=0.9), r"decided weights sum to 0\.9"),
        (Careless(n_options=4, pattern=(0.5, -0.5, 0.5, 0.5)), "decided weight -.* is negative"),
        (Careless(n_options=4, pattern=(np.nan, 1.0, 1.0, 1.0)), "decided weight"),
    ],
)
def test_weights_that_are_none_are_refused_as_those_of_plain_learners(learner: Careless, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        learner.ask()


def test_our_own_kernels_are_left_alone() -> None:
    """They keep to the options in use by themselves, and need not pay for being looked at."""
    known = {"n_options": 3, "risk_aversion": 0.5, "gamma": 1.0}
    for kind in learner_classes().values():
        wanted = inspect.signature(kind).parameters.values()
        needed = {each.name for each in wanted if each.default is each.empty} | {"n_options"}
        learner = kind(**{name: known[name] for name in needed})
        assert learner.compiled
        assert not learner._confined, kind.__name__
