"""GradientTS: an adaptive learner for totals, by posterior sampling of the gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covbandit import validation
from covbandit.errors import InvalidInput, Unsupported
from covbandit.kernels.compilation import kernel
from covbandit.kernels.counter_random import fill_normal, stream, uniform
from covbandit.kernels.random_coefficients import pair_count
from covbandit.learners.base import Hold, Learner
from covbandit.learners.explanation import Estimates
from covbandit.learners.gradient_belief import call_refresh, maximize_tilted
from covbandit.learners.gradient_statistics import (
    CENTRE,
    COVARIANCE,
    DRAWS,
    FORCED,
    MEAN,
    MEAN_COVARIANCE,
    NEXT,
    NOISE,
    ORIGIN,
    SLOPE,
    START_RADIUS,
    START_UP,
    TILT,
    UNIT,
    absorb_total,
    begin,
    gradient_layout,
    keep_first,
)
from covbandit.learners.state import ABSORB, COUNT, DECIDE, F64, HOLD_ROUNDS, SEED, START, TOLD, State

_MOST_OPTIONS = 64
_FORCED_RADIUS = 0.5  # a forced pull goes half the way from the best weights to a design action


@kernel()
def _pull(s: State, k: int, row: int, radius: float, w: F64) -> None:
    """Write weights part of the way from those in a row to the k-th design action: an option, or half and half of two."""
    d = w.size
    for i in range(d):
        w[i] = (1.0 - radius) * s.v[row, i]
    if k < d:
        w[k] += radius
        return
    k -= d
    i = 0
    while k >= d - 1 - i:
        k -= d - 1 - i
        i += 1
    w[i] += 0.5 * radius
    w[i + 1 + k] += 0.5 * radius


@kernel(DECIDE)
def _decide(s: State, t: int, w: F64) -> None:
    d = w.size
    if d == 1:
        w[0] = 1.0
        return
    after = t - s.i[HOLD_ROUNDS]
    if after <= s.p[START_UP] or s.v[UNIT, 0] == 0.0:
        _pull(s, (after - 1) % pair_count(d), START, s.p[START_RADIUS], w)
        return
    key = stream(s.i[SEED], t)
    if uniform(key, 0) < s.p[FORCED] / np.sqrt(t):
        _pull(s, int(uniform(key, 1) * pair_count(d)), CENTRE, _FORCED_RADIUS, w)
        return
    z = s.v[DRAWS]
    fill_normal(key, 2, z)
    for i in range(d):
        s.v[SLOPE, i] = s.v[TILT, i]
        for j in range(i + 1):
            s.v[SLOPE, i] += s.m[NOISE, i, j] * z[j]
    maximize_tilted(s, s.v[SLOPE], s.v[CENTRE], w)


@kernel(ABSORB)
def _absorb(s: State, w: F64, y: F64) -> None:
    d = w.size
    for i in range(d):
        s.v[COUNT, i] += w[i] > 0.0
    if d == 1:
        return
    t = s.i[TOLD] + 1
    if t <= s.p[START_UP]:
        keep_first(s, w, y[0])
        if t == s.p[START_UP]:
            begin(s)
            for i in range(d):
                s.v[CENTRE, i] = s.v[START, i]
            call_refresh(s, t + 1)
        return
    absorb_total(s, w, y[0])
    if t + 1 >= s.v[NEXT, 0]:
        call_refresh(s, t + 1)


class GradientTS(Learner):
    """DOC"""

    feedback = "total"
    invariances = frozenset({"scale"})
    _decide_kernel = _decide
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        start_up: int | None = None,
        start_radius: float = 0.25,
        forced: float = 0.2,
        refresh: float = 0.005,
        sampling: float = 1.0,
        least_sampling: float = 0.25,
        prior: float = 4.0,
        clip: float = 3.0,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        d = validation.as_count(n_options, "n_options", 1)
        self.start_up = None if start_up is None else validation.as_count(start_up, "start_up", 2)
        self.start_radius = start_radius
        self.forced = validation.as_not_negative(forced, "forced")
        self.refresh = validation.as_not_negative(refresh, "refresh")
        self.sampling = validation.as_not_negative(sampling, "sampling")
        self.least_sampling = least_sampling
        self.prior = prior
        self.clip = clip
        self._layout = gradient_layout(self._first_totals(d))
        super().__init__(n_options=d, options=options, seed=seed, hold=hold)

    def _first_totals(self, d: int) -> int:
        return 3 * d * (d + 1) // 2 if self.start_up is None else self.start_up

    def reset(self) -> None:
        """Forget everything told."""
        super().reset()
        if self.hold is not None:
            self._state.v[START] = self.hold[0] / self.hold[0].sum()

    def _parameters(self) -> Sequence[float]:
        assert self.risk_aversion is not None
        return (
            self.risk_aversion,
            self._first_totals(self.n_options),
            self.start_radius,
            self.forced,
            self.refresh,
            self.sampling,
            self.least_sampling,
            self.prior,
            self.clip,
        )

    def _estimates(self) -> Estimates:
        s = self._state
        unit = float(s.v[UNIT, 0])
        if unit == 0.0:
            return Estimates()
        return Estimates(
            s.v[ORIGIN, 0] + unit * s.v[MEAN],
            unit**2 * s.m[COVARIANCE],
            unit * np.sqrt(s.m[MEAN_COVARIANCE].diagonal()),
        )
