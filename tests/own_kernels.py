"""A compiled learner as a user would write it, whose kernel knows nothing of retired options or caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import covbandit as cb
from covbandit.core import validation
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import ABSORB, DECIDE, LearnerState, parameter, parameters, row


class CarelessState(LearnerState):
    mean = row("mean of each option's rewards")
    total = parameter("what the weights sum to")
    pattern = parameters("what to play")


@kernel(DECIDE)
def decide(state, t, w):  # type: ignore[no-untyped-def]
    """Play the pattern in the parameters, tilted by the means so far and by the round."""
    s = CarelessState(state)
    total = 0.0
    for i in range(w.size):
        w[i] = s.pattern[i] * (1.0 + 0.1 * np.tanh(s.mean[i]) + 0.01 / (1.0 + t + i))
        total += w[i]
    for i in range(w.size):
        w[i] *= s.total / total


@kernel(ABSORB)
def absorb(state, w, y):  # type: ignore[no-untyped-def]
    s = CarelessState(state)
    for i in range(w.size):
        if not np.isnan(y[i]):
            s.count[i] += 1.0
            s.mean[i] += (y[i] - s.mean[i]) / s.count[i]


class Careless(cb.Learner):
    """Plays a pattern, slightly moved by the means, whatever was retired or capped."""

    feedback = "chosen"
    _state_class = CarelessState
    _decide_kernel = decide
    _absorb_kernel = absorb

    def __init__(
        self,
        *,
        n_options: int,
        pattern: Sequence[float] = (0.1, 0.2, 0.3, 0.4),
        total: float = 1.0,
        max_weight: Any = None,
        min_weight: float | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Any = None,
    ) -> None:
        self.pattern = tuple(pattern)
        self.total = total
        self.max_weight = validation.as_caps(max_weight, n_options, options)
        self.min_weight = validation.as_min_weight(min_weight)
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> dict[str, Any]:
        return {"total": self.total, "pattern": self.pattern}
