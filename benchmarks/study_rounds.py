"""The study that is timed, and one round of it: d = 20 options, outcomes drawn from one seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from process_time import ServerClock

import covbandit as cb
from covbandit.studies import Store

OPTIONS = tuple(f"option {k:02}" for k in range(20))
NAME = "benchmark"
LEARNERS = {"MC-Empirical": "MCEmpirical", "PairUCB": "PairUCB"}
RISK_AVERSION = 1.0


class Cost(NamedTuple):
    """CPU seconds, of this process and of the database's own for it, and seconds by the clock."""

    cpu: float
    clock: float


def _nothing() -> float:
    return 0.0


def create(url: str | Store, learner: str, name: str = NAME) -> cb.Study:
    """Create the study under one of the names of `LEARNERS`."""
    described = {"class": LEARNERS[learner], "risk_aversion": RISK_AVERSION}
    return cb.Study.create(name, OPTIONS, described, "per_unit", store=url)


def outcomes(seed: int) -> Iterator[list[float]]:
    """Yield correlated rewards of all options, for ever."""
    rng = np.random.default_rng(seed)
    d = len(OPTIONS)
    mean, factor = rng.uniform(0.0, 1.0, d), rng.normal(size=(d, d)) / d**0.5
    while True:
        for noise in rng.normal(size=(1_000, d)):
            yield (mean + factor @ noise).tolist()


def told(weights: dict[str, float], rewards: list[float], learner: str) -> dict[str, float]:
    """Return what is told of a round: all options, or those with weight where only they are seen."""
    return {
        name: reward
        for name, reward in zip(OPTIONS, rewards, strict=True)
        if learner == "MC-Empirical" or weights[name] > 0.0
    }


def costing(server: ServerClock, *calls: Callable[[], object]) -> Cost:
    """Make calls one after the other; return what they cost together, without what lies between."""
    spent, clock, cpu = server(), 0.0, 0.0
    for call in calls:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        call()
        clock, cpu = clock + time.perf_counter() - begun, cpu + time.process_time() - cpu_begun
    return Cost(cpu + server() - spent, clock)


def play(study: cb.Study, learner: str, source: Iterator[list[float]], server: ServerClock = _nothing) -> Cost:
    """Ask and tell one round; return what both cost together."""
    rewards = next(source)
    asked: list[Any] = []
    spent = server()
    first = costing(_nothing, lambda: asked.append(study.ask()))
    outcome = told(asked[0].weights, rewards, learner)
    second = costing(_nothing, lambda: study.tell(asked[0].id, outcome))
    return Cost(first.cpu + second.cpu + server() - spent, first.clock + second.clock)
