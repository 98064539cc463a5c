"""Learners in plain Python, as a user would write them."""

from __future__ import annotations

from typing import Any

import numpy as np

import covbandit as cb


class FollowTheLeader(cb.Learner):
    """Everything on the option with the largest total so far."""

    feedback = "all"
    invariances = frozenset({"scale", "permutation"})

    def __init__(self, *, n_options: int, options: Any = None, seed: Any = None, hold: Any = None) -> None:
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _initialize(self) -> None:
        self.statistics["total"] = np.zeros(self.n_options)

    def _decide(self, t: int) -> Any:
        return np.eye(self.n_options)[np.argmax(self.statistics["total"])]

    def _absorb(self, weights: Any, observation: Any) -> None:
        self.statistics["total"] += observation


class Exploring(FollowTheLeader):
    """The leader, or now and then a random option: draws depend on the seed and the round alone."""

    invariances = frozenset({"scale"})

    def _decide(self, t: int) -> Any:
        rng = self._random(t)
        if rng.random() < 0.3:
            return np.eye(self.n_options)[rng.integers(self.n_options)]
        return super()._decide(t)


class TotalChaser(FollowTheLeader):
    """Sees totals only: credits them to the options that were played."""

    feedback = "total"

    def _absorb(self, weights: Any, observation: Any) -> None:
        self.statistics["total"] += weights * observation
