"""PairUCB: optimism pair by pair, the recommended learner for semi-bandit feedback."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covbandit import validation
from covbandit.kernels.compilation import kernel
from covbandit.learners.base import Hold
from covbandit.learners.covering import is_covered, play_cover
from covbandit.learners.pairwise import (
    BONUS,
    MIN_WEIGHT,
    PAIRS,
    PENALTY,
    READY,
    RISK_AVERSION,
    SPREAD,
    absorb_pairs,
    covariance,
    maximize,
    pairwise_layout,
)
from covbandit.learners.state import ABSORB, CAP, COUNT, DECIDE, F64, State
from covbandit.learners.upper_confidence import SemiBanditLearner

WEIGHT = 2  # parameter: a
PRIOR = 3

@kernel(DECIDE)
def _decide(s: State, t: int, w: F64) -> None:
    if s.v[READY, 0] == 0.0:
        play_cover(s, t, w)
        return
    d = w.size
    # Volatilities, for the bonus only
    average = 0.0
    for i in range(d):
        s.v[SPREAD, i] = covariance(s, i, i)
        average += s.v[SPREAD, i] / d
    for i in range(d):
        n = s.v[COUNT, i]
        s.v[SPREAD, i] = np.sqrt((n * s.v[SPREAD, i] + s.p[PRIOR] * average) / (n + s.p[PRIOR]))
    factor = s.p[WEIGHT] * np.sqrt(np.log(t))
    together = s.p[MIN_WEIGHT] <= 0.5
    for i in range(d):
        for j in range(i + 1):
            value = 0.0
            if i == j or (together and s.m[PAIRS, i, j] > 0.0):
                bonus = factor * np.sqrt(s.v[SPREAD, i] * s.v[SPREAD, j] / s.m[PAIRS, i, j])
                value = s.p[RISK_AVERSION] * covariance(s, i, j) - bonus
            s.m[PENALTY, i, j] = value
            s.m[PENALTY, j, i] = value
            s.m[BONUS, i, j] = 0.0
            s.m[BONUS, j, i] = 0.0
    maximize(s, w)


@kernel(ABSORB)
def _absorb(s: State, w: F64, y: F64) -> None:
    absorb_pairs(s, w, y)
    if s.v[READY, 0] == 0.0 and is_covered(s):
        s.v[READY, 0] = 1.0


class PairUCB(SemiBanditLearner):
    """PairUCB."""

    invariances = frozenset({"scale", "permutation"})
    _width_kind = "PairUCB's bonus of the option alone"
    _layout = pairwise_layout()
    _decide_kernel = _decide
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        min_weight: float | None = 0.1,
        bonus: float = 0.5,
        prior: float = 0.0,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.min_weight = validation.as_min_weight(min_weight)
        self.bonus = validation.as_not_negative(bonus, "bonus")
        self.prior = prior
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> Sequence[float]:
        assert self.risk_aversion is not None
        return self.risk_aversion, self.min_weight or 0.0, self.bonus, self.prior
