"""OLS-UCB-C, the risk-blind baseline of the paper's semi-bandit experiments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.state import DECIDE, State
from covbandit.learners.semi_bandit.base import UpperConfidenceLearner
from covbandit.learners.semi_bandit.decision import maximize
from covbandit.learners.semi_bandit.radii import RadiusState, confidence_factor, fill_gamma_bonus
from covbandit.learners.semi_bandit.start_up import absorb_counted, finish_start_up_counted, play_initial


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = RadiusState(state)
    if s.ready == 0.0:
        play_initial(s, t, w)
        return
    # There is no risk term: the penalty, which nobody writes, stays zero.
    fill_gamma_bonus(s, confidence_factor(s, np.log(t)), w.size)
    maximize(s, s.mean, w)


class OLSUCBC(UpperConfidenceLearner):
    r"""OLS-UCB-C for semi-bandit feedback: :math:`w_t = \arg\max_{w ∈ Δ^c} w'\hat θ_{t-1} + E_t(w)`.

    OLS-UCB of Degenne and Perchet on continuous weights, with the confidence region E of `MCUCBGamma`. It ignores risk.

    Parameters
    ----------
    n_options, min_weight, regularization, variance_bound, gamma
        See `MCUCBGamma`.
    radius_scale : (float, float)
        The second factor is on E. The first, on g, is not used here.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.OLSUCBC(n_options=3).ask().tolist()
    [1.0, 0.0, 0.0]
    """

    _state_class = RadiusState
    _decide_kernel = _decide
    _absorb_kernel = absorb_counted
    _start_up_kernel = finish_start_up_counted

    def __init__(
        self,
        *,
        n_options: int,
        min_weight: float | None = 0.1,
        regularization: float = 0.5,
        variance_bound: float = 1.0,
        gamma: ArrayLike | None = None,
        radius_scale: tuple[float, float] = (1.0, 1.0),
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        super().__init__(
            n_options=n_options,
            min_weight=min_weight,
            regularization=regularization,
            variance_bound=variance_bound,
            radius_scale=radius_scale,
            gamma=gamma,
            options=options,
            seed=seed,
            hold=hold,
        )
