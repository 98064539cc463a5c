"""A compiled learner as a user would write it, whose kernel knows nothing of retired options or caps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import covbandit as cb
from covbandit.core import validation
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.state import ABSORB, COUNT, DECIDE, FIRST_ROW, Layout

MEAN = FIRST_ROW


@kernel(DECIDE)
def decide(s, t, w):  # type: ignore[no-untyped-def]
    """Play the pattern in the parameters, tilted by the means so far and by the round."""
    total = 0.0
    for i in range(w.size):
        w[i] = s.p[i] * (1.0 + 0.1 * np.tanh(s.v[MEAN, i]) + 0.01 / (1.0 + t + i))
        total += w[i]
    for i in range(w.size):
        w[i] *= s.p[w.size] / total


@kernel(ABSORB)
def absorb(s, w, y):  # type: ignore[no-untyped-def]
    for i in range(w.size):
        if not np.isnan(y[i]):
            s.v[COUNT, i] += 1.0
            s.v[MEAN, i] += (y[i] - s.v[MEAN, i]) / s.v[COUNT, i]


class Careless(cb.Learner):
    """Plays a pattern, slightly moved by the means, whatever was retired or capped."""

    feedback = "chosen"
    _layout = Layout(rows=("mean",))
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

    def _parameters(self) -> Sequence[float]:
        return (*self.pattern, self.total)
