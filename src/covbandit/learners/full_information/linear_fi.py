"""LinearFI, the risk-blind baseline of the paper's full-information experiments."""

from __future__ import annotations

from collections.abc import Sequence

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.full_information.base import FullInformationLearner
from covbandit.learners.full_information.statistics import MomentState, absorb_moments
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.retired_options import put_all_on_largest
from covbandit.learners.protocol.state import DECIDE, State


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = MomentState(state)
    if s.count[0] == 0.0:
        for i in range(w.size):
            w[i] = s.start_weights[i]
        return
    put_all_on_largest(s.mean, s.cap, w)


class LinearFI(FullInformationLearner):
    r"""LinearFI for full information: everything on the option with the largest mean so far.

    :math:`w_t = e_i` with :math:`i = \arg\max \hat θ_{t-1,i}`, the first one of several; equal weights in round 1. The
    paper's linear adaptation of MC-Empirical: it ignores risk.

    Parameters
    ----------
    n_options : int
        d.
    min_weight : float, optional
        c: every weight is zero or at least c. Weights 0 and 1 always are; only round 1 depends on c.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.LinearFI(n_options=2)
    >>> learner.tell([0.5, 0.5], [1.0, 2.0])
    >>> learner.ask().tolist()
    [0.0, 1.0]
    """

    invariances = frozenset({"scale", "permutation"})
    _state_class = MomentState
    _decide_kernel = _decide
    _absorb_kernel = absorb_moments

    def __init__(
        self,
        *,
        n_options: int,
        min_weight: float | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.min_weight = validation.as_min_weight(min_weight)
        super().__init__(n_options=n_options, options=options, seed=seed, hold=hold)
