"""The baseline of baselines: weights that never change."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.full_information.statistics import MomentState, absorb_moments
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.retired_options import confine, level
from covbandit.learners.protocol.state import DECIDE, State
from covbandit.problems.problem import Problem


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = MomentState(state)
    for i in range(w.size):
        w[i] = s.start_weights[i]


class FixedWeights(FullInformationLearner):
    """The same weights in every round, equal ones by default.

    If options are retired, the others keep their proportions, or share equally if they had no weight. Options that were
    never seen get their weight as well.

    Hard to beat at first, and for long where the best weights are nearly equal: every figure and table shows it.

    Parameters
    ----------
    n_options : int, optional
        d; not needed if weights are given.
    weights : array of d floats, optional
        What to play; equal weights by default.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.FixedWeights(weights=[0.25, 0.75]).ask().tolist()
    [0.25, 0.75]
    >>> cb.FixedWeights(n_options=4).ask().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    invariances = frozenset({"scale"})
    _state_class = MomentState
    _decide_kernel = _decide
    _absorb_kernel = absorb_moments

    def __init__(
        self,
        *,
        n_options: int | None = None,
        weights: ArrayLike | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        size = n_options
        if size is None and weights is not None:
            size = len(validation.as_array(weights, "weights", 1))
        if size is None and options is not None:
            size = len(options)
        if size is None:
            raise InvalidInput("FixedWeights needs n_options, weights or options, to know how many options there are")
        self.weights: F64 | None = None
        if weights is not None:
            self.weights = validation.as_weights(weights, size, validation.as_options(options, size))
            self.weights /= self.weights.sum()
        super().__init__(n_options=size, options=options, seed=seed, hold=hold)

    def _update_books(self) -> None:
        super()._update_books()
        if self.weights is not None:
            in_use = self._view.active
            self._view.start_weights = confine(self.weights, in_use, level(in_use))

    def mismatch(self, problem: Problem) -> str | None:
        """Say why this learner must not play a problem: any whose decision set contains its weights will do."""
        if self.retired:
            return super().mismatch(problem)
        caps = problem.max_weight
        if self.n_options == problem.n_options and caps is not None and (self._view.start_weights > caps + 1e-12).any():
            return f"its weights {self._view.start_weights} exceed the problem's max_weight {caps}"
        least, weights = problem.min_weight, self._view.start_weights
        if least is not None and ((weights > 0) & (weights < least - 1e-12)).any():
            return f"its weights {weights} are not all zero or at least the problem's min_weight {least}"
        return None if self.n_options == problem.n_options else super().mismatch(problem)
