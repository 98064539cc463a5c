"""The level beside which the panels show the learners: somebody who knows Σ* and has only θ* to learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, Unsupported
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.full_information.decision import TrackedState, decide_tracked, start_tracking
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.state import ABSORB, State, parameters


class KnownState(TrackedState):
    """What the benchmark needs to know besides."""

    known_covariance = parameters("Σ*", square=True)


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    s = KnownState(state)
    d = w.size
    n = s.count[0] + 1.0
    for i in range(d):
        s.mean[i] += (y[i] - s.mean[i]) / n
        s.count[i] = n
        for j in range(d):
            s.scatter[i, j] = n * s.known_covariance[i, j]  # the decision divides by n
    if s.risk_aversion > 0.0:
        start_tracking(s, w)  # the decision then only checks whether the support of w is still the best one


class KnownCovariance(FullInformationLearner):
    r"""A benchmark that is told Σ* and sees every reward: it learns the means alone.

    .. math:: w_t = \arg\max_w\; w'\hat θ_{t-1} - ρ\, w'Σ^* w

    Equal weights in round 1. What a learner pays beyond it is the price of not knowing the covariance and, with
    semi-bandit and full-bandit feedback, of seeing less. Nobody has it in practice: it is a level to compare with, not
    a learner to use.

    Parameters
    ----------
    covariance : array, d × d
        Σ*.
    risk_aversion : float
        ρ.
    min_weight : float, optional
        c: every weight is zero or at least c.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> from covbandit.reproduction.known_covariance import KnownCovariance
    >>> learner = KnownCovariance(covariance=[[1.0, 0.0], [0.0, 1.0]], risk_aversion=0.5)
    >>> learner.tell([0.5, 0.5], [1.0, 0.0])
    >>> learner.tell([0.5, 0.5], [0.0, 0.4])
    >>> learner.ask().round(6).tolist()  # the estimated means are .5 and .2
    [0.65, 0.35]
    """

    _state_class = KnownState
    _view: KnownState
    _decide_kernel = decide_tracked
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        covariance: ArrayLike,
        risk_aversion: float,
        min_weight: float | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.covariance: NDArray[np.float64] = validation.as_array(covariance, "covariance", 2)
        if self.covariance.shape != self.covariance.T.shape:
            raise InvalidInput(f"covariance must be square, got an array of shape {self.covariance.shape}")
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.min_weight = validation.as_min_weight(min_weight)
        super().__init__(n_options=len(self.covariance), options=options, seed=seed, hold=hold)

    def _parameters(self) -> Mapping[str, ArrayLike]:
        return {
            "risk_aversion": self.risk_aversion or 0.0,
            "min_weight": self.min_weight or 0.0,
            "known_covariance": self.covariance,
        }

    def _absorb_partly(self, weights: F64, rewards: F64) -> None:
        raise Unsupported("KnownCovariance is a benchmark of simulations, in which no reward is missing")

    def _on_retirement(self) -> None:
        self._view.reference = 0.0  # the inverse may be of a support that is no longer allowed
        super()._on_retirement()
