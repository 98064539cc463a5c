"""MC-UCB-Γ, the paper's semi-bandit baseline with a universal covariance bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.state import DECIDE, State
from covbandit.learners.semi_bandit.base import UpperConfidenceLearner
from covbandit.learners.semi_bandit.decision import maximize
from covbandit.learners.semi_bandit.radii import (
    RadiusState,
    confidence_factor,
    covariance_radius,
    fill_gamma_bonus,
    is_known,
)
from covbandit.learners.semi_bandit.start_up import absorb_counted, finish_start_up_counted, play_initial
from covbandit.learners.semi_bandit.statistics import covariance


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = RadiusState(state)
    if s.ready == 0.0:
        play_initial(s, t, w)
        return
    log_t = np.log(t)
    fill_gamma_bonus(s, confidence_factor(s, log_t), w.size)
    for i in range(w.size):
        for j in range(i + 1):
            penalty = 0.0
            if is_known(s, i, j):
                penalty = s.risk_aversion * (covariance(s, i, j) - covariance_radius(s, i, j, log_t))
            s.penalty[i, j] = penalty
            s.penalty[j, i] = penalty
    maximize(s, s.mean, w)


class MCUCBGamma(UpperConfidenceLearner):
    r"""MC-UCB-Γ for semi-bandit feedback: `MCUCB` with a universal bound Γ on the covariance instead of :math:`\bar Σ`.

    Γ takes the place of every :math:`\bar Σ_s` in the confidence region E of the reward; the covariance in the risk
    keeps its own radii. Everything else is as in `MCUCB`, the fast and the certified maximisation too.

    Parameters
    ----------
    n_options, risk_aversion, min_weight, regularization, variance_bound, radius_scale
        See `MCUCB`.
    gamma : float or array, d × d, optional
        Γ, no entry below the covariance's. By default `variance_bound` everywhere, the tightest bound that holds for
        every covariance with such variances.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.MCUCBGamma(n_options=2, risk_aversion=0.1, min_weight=0.2, gamma=5.0)
    >>> learner.ask().tolist()
    [1.0, 0.0]
    """

    _state_class = RadiusState
    _decide_kernel = _decide
    _absorb_kernel = absorb_counted
    _start_up_kernel = finish_start_up_counted

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        min_weight: float | None = 0.1,
        regularization: float = 0.5,
        variance_bound: float = 1.0,
        gamma: ArrayLike | None = None,
        radius_scale: tuple[float, float] = (1.0, 1.0),
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
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
