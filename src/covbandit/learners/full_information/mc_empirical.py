"""MC-Empirical, Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import expm1, log
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, Unsupported
from covbandit.kernels.jit.compilation import UNROLLED, kernel
from covbandit.kernels.moments import merge_moments, update_moments
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.full_information.decision import (
    TrackedState,
    absorb_and_track,
    decide_tracked,
    is_tracking,
    same_support,
    start_tracking,
)
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.explanation import STANDARD_ERROR, Estimates
from covbandit.learners.protocol.serialization import require_whole
from covbandit.learners.protocol.state import ABSORB, State, parameter


class MCEmpiricalState(TrackedState):
    """What MC-Empirical needs to know besides."""

    keep = parameter("what an old observation keeps of its weight per round")


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    s = MCEmpiricalState(state)
    # lines 6-7: θ̂ and Σ̂, the latter with 1/t
    trackable = s.keep == 1.0 and s.risk_aversion > 0.0 and same_support(s, w)
    if trackable and is_tracking(s):
        if w.size == UNROLLED:
            absorb_and_track(s, w, y, UNROLLED)
        else:
            absorb_and_track(s, w, y, w.size)
        return
    n = update_moments(s.mean, s.scatter, s.count[0], s.keep, y, s.deviation)
    for i in range(w.size):
        s.count[i] = n
    if trackable:
        start_tracking(s, w)
    else:
        s.reference = 0.0


class MCEmpirical(FullInformationLearner):
    r"""MC-Empirical for full information (Algorithm 1): play the best weights for the empirical moments.

    Round 1 plays equal weights. From then on (line 4)

    .. math:: w_t = \arg\max_w\; w'\hat θ_{t-1} - ρ\, w'\hat Σ_{t-1} w

    by an exact maximiser. A singular or zero :math:`\hat Σ` is ordinary. Scale-free. Theorem 1 bounds its regret by
    :math:`\tilde O(\sqrt T)`; at an interior optimum it grows like ln T.

    Once a reward was missing (`tell_partly`), each moment is that of the rounds in which the option, or both of the
    pair, were seen. An option enters the decision once it was seen twice, and twice together with each of the others;
    before that it gets no weight (``covbandit.learners.full_information.base``).

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ ≥ 0: mean given up per unit of variance.
    min_weight : float, optional
        c: every weight is zero or at least c. Each decision is then exact by branch and bound, unless more than 2,000
        nodes were needed (with 50 options and more): then the best weights found are played.
    max_weight : float or array, optional
        Caps on the weights. Not together with `min_weight`.
    half_life : float, optional
        Forget exponentially: an observation counts half after so many rounds. Off by default.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.MCEmpirical(n_options=2, risk_aversion=0.5)
    >>> learner.ask().tolist()
    [0.5, 0.5]
    >>> learner.tell([0.5, 0.5], [1.0, 0.0])
    >>> learner.tell([1.0, 0.0], [0.0, 0.8])
    >>> learner.ask().round(4).tolist()
    [0.5679, 0.4321]
    """

    invariances = frozenset({"scale", "permutation"})
    _state_class = MCEmpiricalState
    _view: MCEmpiricalState
    _decide_kernel = decide_tracked
    _absorb_kernel = _absorb

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        min_weight: float | None = None,
        max_weight: ArrayLike | None = None,
        half_life: float | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        size = validation.as_count(n_options, "n_options", 1)
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.min_weight = validation.as_min_weight(min_weight, max_weight)
        self.max_weight = validation.as_caps(max_weight, size, validation.as_options(options, size))
        self.half_life = half_life
        if half_life is not None:
            self.half_life = validation.as_float(half_life, "half_life")
            if not self.half_life > 0:
                raise InvalidInput(f"half_life must be a positive number of rounds, got {half_life}")
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)

    def _parameters(self) -> Mapping[str, ArrayLike]:
        return {
            "risk_aversion": self.risk_aversion or 0.0,
            "min_weight": self.min_weight or 0.0,
            "keep": 1.0 if self.half_life is None else 0.5 ** (1 / self.half_life),
        }

    def _keep(self) -> float:
        return self._view.keep

    def _squares(self) -> float:
        if self.half_life is None:
            return super()._squares()
        squared = -2 * log(2) / self.half_life  # the logarithm of keep²
        return expm1(self.rounds_told * squared) / expm1(squared)

    def _complete_estimates(self) -> Estimates:
        s = self._view
        if self.half_life is None:
            return super()._complete_estimates()
        moments = s.mean, s.scatter, float(s.count[0])
        return Estimates.from_moments(*moments, self._squares(), f"{STANDARD_ERROR}, old observations counting less")

    def _write_moments(self, members: NDArray[np.int64], mean: F64, covariance: F64, n: float) -> None:
        super()._write_moments(members, mean, covariance, n)
        self._view.reference = 0.0

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        super()._check_saved(rounds, arrays, statistics)
        require_whole(arrays, "reference", self.n_options)

    def _on_retirement(self) -> None:
        self._view.reference = 0.0  # the inverse may be of a support that is no longer allowed
        super()._on_retirement()

    def _merge(self, other: Self) -> None:
        if self.half_life is not None:
            raise Unsupported("learners that forget (half_life) cannot be merged: their statistics depend on the order")
        if self._keeps_pairs or other._keeps_pairs:
            raise Unsupported("learners that were told rounds with missing rewards cannot be merged; tell them to one")
        mine, theirs = self._view, other._view
        mine.mean, mine.scatter = merge_moments(
            mine.mean, mine.scatter, mine.count[0], theirs.mean, theirs.scatter, theirs.count[0]
        )
        mine.reference = 0.0
