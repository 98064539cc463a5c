"""Online gradient descent, the convex-optimisation baseline of the paper's full-information experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import compiled, kernel, uncompiled
from covbandit.kernels.moments import subtract_risk_gradient, update_moments
from covbandit.kernels.qp.projection import project_on_semicontinuous, project_on_simplex
from covbandit.learners.full_information import missing_rewards
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.full_information.statistics import MomentState
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.retired_options import level
from covbandit.learners.protocol.serialization import require_weights
from covbandit.learners.protocol.state import ABSORB, DECIDE, UPDATE, State, parameter, row, work_integers, work_row


class OGDState(MomentState):
    """What online gradient descent keeps."""

    iterate = row("x: what is played next, and moves along the gradient")

    risk_aversion = parameter("ρ")
    plugin = parameter("1 for the gradient of the estimated utility, 0 for that of the newest rewards")
    curvature = parameter("2ρλ for steps 1/(2ρλt), 0 for steps 1/√(bt)")
    variance_bound = parameter("b")
    min_weight = parameter("c, or 0")

    sorted = work_row("for the projection")
    trial = work_row("for the projection")
    integers = work_integers("for the projection", 1)


@kernel()
def _step_size(curvature: float, variance_bound: float, t: float) -> float:
    """Return η_t: 1/(2ρλt) with a curvature 2ρλ, 1/√(bt) without."""
    return 1.0 / np.sqrt(variance_bound * t) if curvature == 0.0 else 1.0 / (curvature * t)


@kernel()
def _sample_gradient(reward: float, away: float, along: float, rho: float) -> float:
    """Return θ_t - 2ρ (θ_t - θ̄_{t-1}) (θ_t - θ̄_{t-1})'x, of which `away` and `along` are the two last factors."""
    return reward - 2.0 * rho * away * along


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = OGDState(state)
    x = s.start_weights if s.count[0] == 0.0 else s.iterate
    for i in range(w.size):
        w[i] = x[i]


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    s = OGDState(state)
    d = w.size
    x = s.iterate
    mean = s.mean
    deviation = s.deviation
    n = s.count[0]
    step = _step_size(s.curvature, s.variance_bound, s.told + 1.0)
    if n == 0.0:
        for i in range(d):
            x[i] = s.start_weights[i]
            mean[i] = y[i]  # the mean before the first reward counts as that reward
    if s.plugin == 0.0:
        along = 0.0
        for i in range(d):
            along += (y[i] - mean[i]) * x[i]
        for i in range(d):
            x[i] += step * _sample_gradient(y[i], y[i] - mean[i], along, s.risk_aversion)
    n = update_moments(mean, s.scatter, n, 1.0, y, deviation)
    if s.plugin == 1.0:
        # ∇ = θ̂_t - 2ρ Σ̂_t x
        for i in range(d):
            deviation[i] = mean[i]
        subtract_risk_gradient(deviation, s.risk_aversion, s.scatter, n, x)
        for i in range(d):
            x[i] += step * deviation[i]
    _project(state)
    for i in range(d):
        s.count[i] = n


@kernel()
def _project(state: State) -> None:
    """Move the iterate to the nearest weights on the options that may be chosen."""
    s = OGDState(state)
    for i in range(s.iterate.size):
        if s.cap[i] <= 0.0:
            s.iterate[i] = -np.inf  # farther from any weight than all others: projected to zero
    if s.min_weight > 0.0:
        project_on_semicontinuous(s.iterate, s.min_weight, s.sorted, s.trial, s.integers)
    else:
        project_on_simplex(s.iterate)


@kernel(UPDATE, on_demand=True)
def _project_once(state: State) -> None:
    _project(state)


class OGD(FullInformationLearner):
    r"""Online gradient descent for full information: one projected gradient step per round.

    :math:`x_{t+1} = Π(x_t + η_t ∇_t)` with the Euclidean projection on the simplex, starting from equal weights. The
    paper names neither gradient nor step, so both are parameters. The iterate moves on its own; under full information
    the gradient does not depend on what was played.

    The projection is on the options in use; one that comes back starts at zero. Once a reward was missing
    (`tell_partly`), options enter and moments are estimated as in `MCEmpirical`, and an option that enters starts at
    zero. With the gradient of a sample, options without a reward take no step: the average gradient of the
    others is subtracted from theirs. The mean before an option's first reward counts as that reward.

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
    _state_class = OGDState
    _view: OGDState
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

    def _parameters(self) -> Mapping[str, ArrayLike]:
        rho = self.risk_aversion or 0.0
        return {
            "risk_aversion": rho,
            "plugin": self.gradient == "plugin",
            "curvature": 2 * rho * self.curvature if self.curvature is not None else 0.0,
            "variance_bound": self.variance_bound,
            "min_weight": self.min_weight or 0.0,
        }

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        super()._check_saved(rounds, arrays, statistics)
        require_weights(arrays, "iterate")

    def _on_retirement(self) -> None:
        super()._on_retirement()
        if self._view.iterate.any():
            self._project()

    def _absorb_partly(self, weights: F64, rewards: F64) -> None:
        known = ~np.isnan(rewards)
        before = self._view.mean.copy(), self.counts > 0
        if self._keeps_pairs:
            before = missing_rewards.means(self.statistics), self.counts > 0
        super()._absorb_partly(weights, rewards)
        members = self._members()
        if not members.size:
            return
        s = self._view
        x, rho = s.iterate, s.risk_aversion
        if not x.any():
            x[:] = level(s.cap, self.min_weight)
        if self.gradient == "sample":
            away = np.where(known & before[1], rewards - before[0], 0.0)
            slope = uncompiled(_sample_gradient)(rewards, away, float(away @ x), rho)
            members = members[known[members]]
        else:
            slope = s.mean - 2 * rho * (s.scatter @ x) / s.count[0]
        if members.size:
            step = uncompiled(_step_size)(s.curvature, s.variance_bound, self.rounds_told + 1)
            x[members] += step * (slope[members] - slope[members].mean())
            self._project()

    def _project(self) -> None:
        if self._view.cap.any():  # else nothing is known of the options in use, and the start weights are played
            compiled(_project_once)(self._state)
