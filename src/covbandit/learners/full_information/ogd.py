"""Online gradient descent, the convex-optimisation baseline of the paper's full-information experiments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import kernel, ready
from covbandit.kernels.moments import update_moments
from covbandit.kernels.qp.projection import project_on_semicontinuous, project_on_simplex
from covbandit.learners.full_information import missing_rewards
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.retired_options import level
from covbandit.learners.protocol.serialization import require_weights
from covbandit.learners.protocol.state import (
    ABSORB,
    CAP,
    COUNT,
    DECIDE,
    FIRST_INT,
    FIRST_ROW,
    IN_USE,
    START,
    TOLD,
    Layout,
    State,
)

DELTA = FIRST_ROW  # scratch
SORTED = FIRST_ROW + 1
TRIAL = FIRST_ROW + 2
MEAN = FIRST_ROW + 3
ITERATE = FIRST_ROW + 4
SCATTER = 0

RISK_AVERSION = 0
PLUGIN = 1  # 1: gradient of the estimated utility, 0: of the current sample's
CURVATURE = 2  # 2ρλ for steps 1/(2ρλt), 0 for steps 1/√(bt)
VARIANCE_BOUND = 3  # b
MIN_WEIGHT = 4  # c, or 0


@kernel(DECIDE)
def _decide(s: State, t: int, w: F64) -> None:
    row = START if s.v[COUNT, 0] == 0.0 else ITERATE
    for i in range(w.size):
        w[i] = s.v[row, i]


@kernel(ABSORB)
def _absorb(s: State, w: F64, y: F64) -> None:
    d = w.size
    x = s.v[ITERATE]
    mean = s.v[MEAN]
    delta = s.v[DELTA]
    n = s.v[COUNT, 0]
    t = s.i[TOLD] + 1.0
    rho = s.p[RISK_AVERSION]
    step = 1.0 / np.sqrt(s.p[VARIANCE_BOUND] * t) if s.p[CURVATURE] == 0.0 else 1.0 / (s.p[CURVATURE] * t)
    if n == 0.0:
        for i in range(d):
            x[i] = s.v[START, i]
            mean[i] = y[i]  # the mean before the first reward counts as that reward
    if s.p[PLUGIN] == 0.0:
        # ∇ = θ_t - 2ρ (θ_t - θ̄_{t-1}) (θ_t - θ̄_{t-1})'x
        along = 0.0
        for i in range(d):
            along += (y[i] - mean[i]) * x[i]
        for i in range(d):
            x[i] += step * (y[i] - 2.0 * rho * (y[i] - mean[i]) * along)
    n = update_moments(mean, s.m[SCATTER], n, 1.0, y, delta)
    if s.p[PLUGIN] == 1.0:
        # ∇ = θ̂_t - 2ρ Σ̂_t x
        for i in range(d):
            delta[i] = mean[i]
        for j in range(d):
            weight = 2.0 * rho * x[j] / n
            for i in range(d):
                delta[i] -= weight * s.m[SCATTER, j, i]
        for i in range(d):
            x[i] += step * delta[i]
    if s.i[IN_USE] < d:
        for i in range(d):
            if s.v[CAP, i] <= 0.0:
                x[i] = -np.inf  # farther from any weight than all others: projected to zero
    if s.p[MIN_WEIGHT] > 0.0:
        project_on_semicontinuous(x, s.p[MIN_WEIGHT], s.v[SORTED], s.v[TRIAL], s.i[FIRST_INT:])
    else:
        project_on_simplex(x)
    for i in range(d):
        s.v[COUNT, i] = n


class OGD(FullInformationLearner):
    r"""Online gradient descent for full information: one projected gradient step per round.

    :math:`x_{t+1} = Π(x_t + η_t ∇_t)` with the Euclidean projection on the simplex, starting from equal weights. The
    paper names neither gradient nor step, so both are parameters. The iterate moves on its own; under full information
    the gradient does not depend on what was played.

    The projection is on the options in use; one that comes back starts at zero. Once a reward was missing
    (`tell_partly`), options enter and moments are estimated as in `MCEmpirical`, and an option that enters starts at
    zero. With the gradient of a sample, an option without a reward stays where it is, the average gradient of
    the others being taken from theirs, and the mean before an option's first reward counts as that reward.

    A step has the inverse unit of the rewards. The paper's unit is one in which no variance exceeds 1; for others, say
    by `variance_bound` how large variances are. Rewards multiplied by s, ρ divided by s and b (and λ) multiplied by s²
    give the same weights; rewards in percent with b = 1 make steps a hundred times as long as in fractions.

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    gradient : {"sample", "plugin"}
        ``"sample"``: :math:`θ_t - 2ρ(θ_t - \bar θ_{t-1})(θ_t - \bar θ_{t-1})'x_t`, from the newest reward alone;
        ``"plugin"``: :math:`\hat θ_t - 2ρ\hat Σ_t x_t`, from all of them.
    step : {"sqrt", "strong"}
        :math:`1/\sqrt{bt}`, or :math:`1/(2ρλt)` for strong concavity.
    curvature : float, optional
        λ, a lower bound on the curvature of Σ along the simplex; required by ``step="strong"``.
    variance_bound : float
        b, about the largest variance of an option: the unit of ``step="sqrt"``.
    min_weight : float, optional
        c: every weight is zero or at least c. The projection is then on that set, which is not convex: the gradient
        steps keep no guarantee, and an option that is at zero, or enters there, may stay there.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.OGD(n_options=2, risk_aversion=0.1)
    >>> learner.tell([0.5, 0.5], [0.3, 0.1])
    >>> learner.ask().round(3).tolist()
    [0.6, 0.4]
    """

    invariances = frozenset({"scale", "permutation"})
    _means = MEAN
    _scatter = SCATTER
    _layout = Layout(rows=("mean", "iterate"), slabs=("scatter",), scratch_rows=3, scratch_ints=1)
    _decide_kernel = _decide
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        gradient: Literal["sample", "plugin"] = "sample",
        step: Literal["sqrt", "strong"] = "sqrt",
        curvature: float | None = None,
        variance_bound: float = 1.0,
        min_weight: float | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.min_weight = validation.as_min_weight(min_weight)
        if gradient not in ("sample", "plugin"):
            raise InvalidInput(f'gradient must be "sample" or "plugin", got {gradient!r}')
        if step not in ("sqrt", "strong"):
            raise InvalidInput(f'step must be "sqrt" or "strong", got {step!r}')
        self.gradient = gradient
        self.step = step
        self.curvature = None if curvature is None else validation.as_float(curvature, "curvature")
        if step == "strong":
            if self.curvature is None or not self.curvature > 0:
                raise InvalidInput(
                    f'step="strong" needs curvature > 0, a lower bound on the curvature of Σ, got {curvature!r}'
                )
            if self.risk_aversion == 0:
                raise InvalidInput('step="strong" needs risk_aversion > 0: without risk there is no curvature')
        elif curvature is not None:
            raise InvalidInput('curvature is used by step="strong" only')
        self.variance_bound = validation.as_positive(variance_bound, "variance_bound")
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> Sequence[float]:
        assert self.risk_aversion is not None
        strong = 2 * self.risk_aversion * self.curvature if self.curvature is not None else 0.0
        return (
            self.risk_aversion,
            float(self.gradient == "plugin"),
            strong,
            self.variance_bound,
            self.min_weight or 0.0,
        )

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        super()._check_saved(rounds, arrays, statistics)
        require_weights(arrays, "iterate")

    def _adapt(self) -> None:
        super()._adapt()
        if self._state.v[ITERATE].any():
            self._project()

    def _absorb_partly(self, weights: F64, rewards: F64) -> None:
        known = ~np.isnan(rewards)
        before = self._state.v[MEAN].copy(), self.counts > 0
        if self.statistics:
            before = missing_rewards.means(self.statistics), self.counts > 0
        super()._absorb_partly(weights, rewards)
        members = self._members()
        if not members.size:
            return
        x = self._state.v[ITERATE]
        if not x.any():
            x[:] = level(self._state.v[CAP], self.min_weight)
        if self.gradient == "sample":
            away = np.where(known & before[1], rewards - before[0], 0.0)
            slope = rewards - 2 * self._rho * away * float(away @ x)
            members = members[known[members]]
        else:
            s = self._state
            slope = s.v[MEAN] - 2 * self._rho * (s.m[SCATTER] @ x) / s.v[COUNT, 0]
        if members.size:
            t = self.rounds_told + 1
            strong = self._state.p[CURVATURE]
            step = 1 / (strong * t) if strong > 0 else 1 / np.sqrt(self.variance_bound * t)
            x[members] += step * (slope[members] - slope[members].mean())
            self._project()

    @property
    def _rho(self) -> float:
        assert self.risk_aversion is not None
        return self.risk_aversion

    def _project(self) -> None:
        """Move the iterate to the nearest weights on the options that may be chosen."""
        s = self._state
        if not s.v[CAP].any():  # nothing is known of the options in use: the start weights are played
            return
        x = s.v[ITERATE]
        x[s.v[CAP] <= 0] = -np.inf
        if self.min_weight is None:
            ready(project_on_simplex)(x)
        else:
            ready(project_on_semicontinuous)(x, self.min_weight, s.v[SORTED], s.v[TRIAL], s.i[FIRST_INT:])
