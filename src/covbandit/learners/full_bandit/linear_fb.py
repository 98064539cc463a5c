"""LinearFB, the risk-blind baseline of the paper's full-bandit experiments."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel, out_of_line
from covbandit.learners.full_bandit.base import MergingExploreThenExploit
from covbandit.learners.full_bandit.design_schedule import COMPLETED_A_ROUND, DesignState, absorb_action
from covbandit.learners.full_bandit.estimates import call_estimate_moments
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.retired_options import put_all_on_largest
from covbandit.learners.protocol.state import ABSORB, UPDATE, State


@kernel(UPDATE)
def _refresh(state: State) -> None:
    """Estimate the means and choose the largest, the first one of several."""
    s = DesignState(state)
    call_estimate_moments(state)
    put_all_on_largest(s.mean, s.cap, s.weights)


_call_refresh = out_of_line(_refresh)


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    if absorb_action(DesignState(state), w, y) == COMPLETED_A_ROUND:
        _call_refresh(state)


class LinearFB(MergingExploreThenExploit):
    r"""LinearFB for full-bandit feedback: MC-ETE's exploration, then everything on the option with the largest mean.

    :math:`w_t = e_i` with :math:`i = \arg\max \hat θ_i` of the last completed round, the first one of several. The
    paper's linear adaptation of MC-ETE: it ignores risk.

    Parameters
    ----------
    n_options : int
        d.
    design
        See `MCETE`.
    options, seed, hold
        See `Learner`.

    Attributes
    ----------
    rounds_completed : int
        How often every action of the design has been observed.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.LinearFB(n_options=2)
    >>> for total in (0.3, 0.1, 0.2, 0.4, 0.5, 0.1):
    ...     learner.tell(learner.ask(), total)
    >>> learner.ask().tolist()
    [1.0, 0.0]
    """

    invariances = frozenset({"scale"})
    _absorb_kernel = _absorb
    _refresh_kernel = _refresh

    def __init__(
        self,
        *,
        n_options: int,
        design: ArrayLike | None = None,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        # It ignores risk, so the covariances that it shows are the estimates as they are, without projection.
        super().__init__(n_options=n_options, design=design, indefinite="exact", options=options, seed=seed, hold=hold)
