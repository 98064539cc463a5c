"""Learners as a user of version 0.1 wrote them, after docs/add-a-learner.md: in plain Python, and compiled.

Saved ones are among the files of 0.1 (``tests/files_of_0_1``), so these must go on as they are. The modules that they
import are those that 0.1 documented.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import covbandit as cb

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # there may be better names by now
    from covbandit.kernels.compilation import kernel
    from covbandit.learners.state import ABSORB, COUNT, DECIDE, FIRST_ROW, Layout

MEAN, SCATTER = FIRST_ROW, FIRST_ROW + 1


class InverseVariance(cb.Learner):
    """Weights inversely proportional to each option's variance so far."""

    feedback = "all"
    invariances = frozenset({"scale", "permutation"})

    def __init__(self, *, n_options: int, options: Any = None, seed: Any = None, hold: Any = None) -> None:
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _initialize(self) -> None:
        self.statistics = {"n": 0, "mean": np.zeros(self.n_options), "scatter": np.zeros(self.n_options)}

    def _decide(self, t: int) -> Any:
        if self.statistics["n"] < 2:
            return np.full(self.n_options, 1 / self.n_options)
        weights = 1 / np.maximum(self.statistics["scatter"], 1e-300)
        return weights / weights.sum()

    def _absorb(self, weights: Any, observation: Any) -> None:
        s = self.statistics
        s["n"] += 1
        delta = observation - s["mean"]
        s["mean"] = s["mean"] + delta / s["n"]
        s["scatter"] = s["scatter"] + delta * (observation - s["mean"])


@kernel(DECIDE)
def decide(s, t, w):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(w.size):
        w[i] = 1.0 if s.v[COUNT, i] < 2.0 else 1.0 / max(s.v[SCATTER, i], 1e-300)
        total += w[i]
    for i in range(w.size):
        w[i] /= total


@kernel(ABSORB)
def absorb(s, w, y):  # type: ignore[no-untyped-def]
    for i in range(w.size):
        s.v[COUNT, i] += 1.0
        delta = y[i] - s.v[MEAN, i]
        s.v[MEAN, i] += delta / s.v[COUNT, i]
        s.v[SCATTER, i] += delta * (y[i] - s.v[MEAN, i])


class CompiledInverseVariance(cb.Learner):
    """Weights inversely proportional to each option's variance so far."""

    feedback = "all"
    invariances = frozenset({"scale", "permutation"})
    _layout = Layout(rows=("mean", "scatter"))
    _decide_kernel = decide
    _absorb_kernel = absorb
