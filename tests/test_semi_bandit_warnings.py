"""Semi-bandit learners warn, once, where the observed variances contradict the bound that they were given."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.core.processes import pool_of
from covbandit.errors import AssumptionWarning
from semi_bandit_play import KINDS, PAPER, RISK_AVERSION, make, play

DOUBT = r"option 'b' \(index 1\): observed variance [\d.]+ after \d+ observations exceeds variance_bound=1, .*{}.*raise"


def doubted(action: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return list(caught)


def wide(n: int, seed: int = 0) -> Any:
    """Return rewards of which those of the second option have a variance of nine."""
    return np.random.default_rng(seed).standard_normal((n, 3)) * [0.5, 3.0, 0.5]


@pytest.mark.parametrize("kind", PAPER)
def test_a_variance_above_its_bound_is_doubted_once(kind: Any) -> None:
    learner = make(kind, 3, options=["a", "b", "c"])
    live = doubted(lambda: play(learner, wide(200)))
    assert [w.category for w in live] == [AssumptionWarning]
    assert live[0].filename == play.__code__.co_filename  # who called tell
    with pytest.warns(AssumptionWarning, match=DOUBT.format(kind.__name__)):
        warnings.warn(live[0].message, stacklevel=1)
    weights = np.full((200, 3), 1 / 3)
    learner = make(kind, 3, options=["a", "b", "c"])
    at_once = doubted(lambda: [learner.tell_many(weights, wide(200)) for _ in range(3)])
    assert [w.category for w in at_once] == [AssumptionWarning]
    assert at_once[0].filename == __file__
    with pytest.warns(AssumptionWarning, match=DOUBT.format(kind.__name__)):
        warnings.warn(at_once[0].message, stacklevel=1)
    # A bound that holds, or units in which it does, leave no doubt.
    fits = make(kind, 3, variance_bound=12.0)
    fits.tell_many(weights, wide(200))
    make(kind, 3).tell_many(weights, wide(200) / 4)


@pytest.mark.parametrize("kind", PAPER)
def test_after_a_reset_it_is_doubted_again(kind: Any) -> None:
    weights = np.full((200, 3), 1 / 3)
    learner = make(kind, 3)
    for _ in range(2):
        assert len(doubted(lambda: learner.tell_many(weights, wide(200)))) == 1
        assert doubted(lambda: learner.tell_many(weights, wide(200))) == []
        learner.reset()


@pytest.mark.parametrize("kind", KINDS)
def test_no_doubt_where_there_is_no_reason(kind: Any) -> None:
    """Neither of few observations nor of variances equal to their bound; warnings are errors here."""
    for seed in range(10):
        play(make(kind, 3), np.random.default_rng(seed).standard_normal((150, 3)))
    few = make(kind, 3)
    few.tell_many(np.full((9, 3), 1 / 3), wide(9))
    if kind is cb.PairUCB:  # which assumes no bound
        few.tell_many(np.full((200, 3), 1 / 3), wide(200))


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_simulation_doubts_once_per_learner(workers: str, request: pytest.FixtureRequest) -> None:
    if workers == "processes":
        request.getfixturevalue("shared_by_processes")
    truth = {"mean": [0.1, 0.2, 0.0], "risk_aversion": RISK_AVERSION, "min_weight": 0.1, "options": ["a", "b", "c"]}
    wild = cb.Problem(covariance=np.diag([0.3, 9.0, 0.3]), **truth)
    tame = cb.Problem(covariance=np.diag([0.3, 1.0, 0.3]), **truth)
    players = {kind.__name__: make(kind, 3, options=["a", "b", "c"]) for kind in KINDS}
    players["fits"] = make(cb.MCUCB, 3, variance_bound=9.0)

    # Processes are not forked: in a process with threads, as this one may be, Python warns of that from 3.12 on.
    with pool_of(2) if workers == "processes" else nullcontext(2) as who:
        caught, calm = (
            doubted(lambda problem=problem: cb.simulate(problem, players, 300, 6, seed=1, workers=who))
            for problem in (wild, tame)
        )
    assert [w.category for w in caught] == [AssumptionWarning] * 3
    assert {w.filename for w in caught} == {__file__}
    for warning, kind in zip(caught, PAPER, strict=True):
        start = (
            f"learner '{kind.__name__}', in 6 of 6 replications, first in 0: option 'b' (index 1): observed variance"
        )
        assert str(warning.message).startswith(start)
    assert calm == []
