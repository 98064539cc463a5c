"""The study that is timed, and one round of it: d = 20 options, outcomes drawn from one seed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import covbandit as cb
from covbandit.studies import Store

OPTIONS = tuple(f"option {k:02}" for k in range(20))
NAME = "benchmark"
LEARNERS = {"MC-Empirical": "MCEmpirical", "PairUCB": "PairUCB"}
RISK_AVERSION = 1.0


class Cost(NamedTuple):
    """Seconds by the clock, and of the processor in this process."""

    clock: float
    cpu: float


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


def play(study: cb.Study, learner: str, source: Iterator[list[float]]) -> Cost:
    """Ask and tell one round; return what both cost together, without what lies between."""
    rewards = next(source)
    clock, cpu = time.perf_counter(), time.process_time()
    asked = study.ask()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    outcome = told(asked.weights, rewards, learner)
    begun, cpu_begun = time.perf_counter(), time.process_time()
    study.tell(asked.id, outcome)
    return Cost(clock + time.perf_counter() - begun, cpu + time.process_time() - cpu_begun)
