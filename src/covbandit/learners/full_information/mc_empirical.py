"""MC-Empirical, Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
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
    DELTA,
    MEAN,
    N_WORK_ROWS,
    N_WORK_SLABS,
    REFERENCE,
    RISK_AVERSION,
    SCATTER,
    absorb_and_track,
    decide_plug_in,
    is_tracking,
    same_support,
    start_tracking,
)
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.explanation import STANDARD_ERROR, Estimates
from covbandit.learners.protocol.serialization import require_whole
from covbandit.learners.protocol.state import ABSORB, COUNT, Layout, State

KEEP = 2  # parameter: what an old observation keeps of its weight per round


@kernel(ABSORB)
def _absorb(s: State, w: F64, y: F64) -> None:
    # lines 6-7: θ̂ and Σ̂, the latter with 1/t
    trackable = s.p[KEEP] == 1.0 and s.p[RISK_AVERSION] > 0.0 and same_support(s, w)
    if trackable and is_tracking(s):
        if w.size == UNROLLED:
            absorb_and_track(s, w, y, UNROLLED)
        else:
            absorb_and_track(s, w, y, w.size)
        return
    n = update_moments(s.v[MEAN], s.m[SCATTER], s.v[COUNT, 0], s.p[KEEP], y, s.v[DELTA])
    for i in range(w.size):
        s.v[COUNT, i] = n
    if trackable:
        start_tracking(s, w)
    else:
        s.v[REFERENCE, 0] = 0.0


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
    _means = MEAN
    _scatter = SCATTER
    _layout = Layout(
        rows=("mean", "reference", "candidate"),
        slabs=("scatter", "inverse"),
        scratch_rows=N_WORK_ROWS,
        scratch_slabs=N_WORK_SLABS,
        scratch_ints=2,
    )
    _decide_kernel = decide_plug_in
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

    def _parameters(self) -> Sequence[float]:
        assert self.risk_aversion is not None
        return (
            self.risk_aversion,
            self.min_weight or 0.0,
            1.0 if self.half_life is None else 0.5 ** (1 / self.half_life),
        )

    def _keep(self) -> float:
        return float(self._state.p[KEEP])

    def _squares(self) -> float:
        if self.half_life is None:
            return super()._squares()
        squared = -2 * log(2) / self.half_life  # the logarithm of KEEP²
        return expm1(self.rounds_told * squared) / expm1(squared)

    def _complete_estimates(self) -> Estimates:
        s = self._state
        if self.half_life is None:
            return super()._complete_estimates()
        moments = s.v[MEAN], s.m[SCATTER], float(s.v[COUNT, 0])
        return Estimates.from_moments(*moments, self._squares(), f"{STANDARD_ERROR}, old observations counting less")

    def _write(self, members: NDArray[np.int64], mean: F64, covariance: F64, n: float) -> None:
        super()._write(members, mean, covariance, n)
        self._state.v[REFERENCE, 0] = 0.0

    def _check_saved(self, rounds: int, arrays: dict[str, F64], statistics: dict[str, Any]) -> None:
        super()._check_saved(rounds, arrays, statistics)
        require_whole(arrays, "reference", self.n_options)

    def _adapt(self) -> None:
        self._state.v[REFERENCE, 0] = 0.0  # the inverse may be of a support that is no longer allowed
        super()._adapt()

    def _merge(self, other: Self) -> None:
        if self.half_life is not None:
            raise Unsupported("learners that forget (half_life) cannot be merged: their statistics depend on the order")
        if self.statistics or other.statistics:
            raise Unsupported("learners that were told rounds with missing rewards cannot be merged; tell them to one")
        mine, theirs = self._state, other._state
        mine.v[MEAN], mine.m[SCATTER] = merge_moments(
            mine.v[MEAN], mine.m[SCATTER], mine.v[COUNT, 0], theirs.v[MEAN], theirs.m[SCATTER], theirs.v[COUNT, 0]
        )
        mine.v[REFERENCE, 0] = 0.0
