"""MC-UCB, Algorithm 2 of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import kernel
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.state import ABSORB, DECIDE, UPDATE, State
from covbandit.learners.semi_bandit.base import UpperConfidenceLearner
from covbandit.learners.semi_bandit.decision import maximize
from covbandit.learners.semi_bandit.radii import (
    UpperState,
    add_upper_covariances,
    begin_upper_sum,
    confidence_factor,
    covariance_radius,
    is_known,
    reward_bonus,
)
from covbandit.learners.semi_bandit.start_up import is_ready, play_initial
from covbandit.learners.semi_bandit.statistics import absorb_pairs, covariance


@kernel(DECIDE)
def _decide(state: State, t: int, w: F64) -> None:
    s = UpperState(state)
    if s.ready == 0.0:
        play_initial(s, t, w)
        return
    d = w.size
    log_t = np.log(t)
    factor = confidence_factor(s, log_t)
    for i in range(d):
        for j in range(i + 1):
            bonus = 0.0
            penalty = 0.0
            if is_known(s, i, j):
                penalty = s.risk_aversion * (covariance(s, i, j) - covariance_radius(s, i, j, log_t))  # line 4: Σ̲
                bonus = reward_bonus(s, i, j, factor, log_t)
            s.bonus[i, j] = bonus
            s.bonus[j, i] = bonus
            s.penalty[i, j] = penalty
            s.penalty[j, i] = penalty
    maximize(s, s.mean, w)  # line 6


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    s = UpperState(state)
    t = s.told + 1
    if s.ready == 1.0:
        add_upper_covariances(s, w, np.log(t))
    absorb_pairs(s, w, y)
    if s.ready == 0.0 and is_ready(s, w.size):
        s.ready = 1.0
        begin_upper_sum(s, np.log(t + 1.0), True)


@kernel(UPDATE, on_demand=True)
def _finish_start_up(state: State) -> None:
    """Find out whether start-up is over for the options now in use."""
    s = UpperState(state)
    anew = s.ready == 0.0
    s.ready = 0.0
    if is_ready(s, s.count.size):
        s.ready = 1.0
        begin_upper_sum(s, np.log(s.told + 1.0), anew)


class MCUCB(UpperConfidenceLearner):
    r"""MC-UCB for semi-bandit feedback (Algorithm 2): optimism in the reward and in the covariance.

    Start-up pulls every option once and every ordered pair once, half on each; what history already told need not be
    pulled again. From then on (lines 4-6)

    .. math:: w_t = \arg\max_{w ∈ Δ^c}\; w'\hat θ_{t-1} + E_t(w) - ρ\, w'\underline Σ_t w,
        \qquad \underline Σ_t = \hat Σ_{t-1} - g(t), \quad \bar Σ_t = \hat Σ_{t-1} + g(t)

    with the radii g and E of ``covbandit.learners.semi_bandit.radii``. The sum in E uses each round's own
    :math:`\bar Σ_s`, frozen when the round is told; rounds of start-up use the first one that is defined. Neither bound
    is clipped, and :math:`\hat Σ` is not positive semi-definite in general. If options come into use that were never
    pulled, start-up goes on with them; d counts the options in use. Cost and memory per round do not grow with t.

    The maximisation is not convex. `ask` uses a fast search, which is not certified; Theorem 3 assumes the true
    maximum. `certify` returns the proven one: tell it, as what was played, to follow the theorem to the letter.

    The radii are very wide, by 10 to 40 times, so learning is slow: `PairUCB` is the practical learner. With rewards
    multiplied by s, ρ divided by s and `variance_bound` multiplied by s² give the same weights.

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    min_weight : float or None
        c: every weight is zero or at least c. Above 1/2, only one option at a time is chosen and pairs are not pulled.
        None allows all weights.
    regularization : float
        λ > 0; Theorem 3 wants it below 1.
    variance_bound : float
        b: no option's variance is above it. The paper's unit is 1. A warning says when observations contradict it.
    radius_scale : (float, float)
        Factors on g and on E. (1, 1) are the paper's constants; smaller ones learn faster, without its guarantee.
    cap_upper : bool
        Clip :math:`\bar Σ` at `variance_bound`, which no covariance exceeds.
    options, seed, hold
        See `Learner`.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.MCUCB(n_options=2, risk_aversion=0.1, min_weight=0.2)
    >>> for reward in ([0.3, None], [None, 0.1], [0.2, 0.4], [0.1, -0.2]):
    ...     learner.tell(learner.ask(), reward)
    >>> learner.ask().round(4).tolist()
    [1.0, 0.0]
    >>> learner.certify().certified
    True
    """

    _state_class = UpperState
    _decide_kernel = _decide
    _absorb_kernel = _absorb
    _start_up_kernel = _finish_start_up

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        min_weight: float | None = 0.1,
        regularization: float = 0.5,
        variance_bound: float = 1.0,
        radius_scale: tuple[float, float] = (1.0, 1.0),
        cap_upper: bool = False,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.cap_upper = validation.as_flag(cap_upper, "cap_upper")
        super().__init__(
            n_options=n_options,
            min_weight=min_weight,
            regularization=regularization,
            variance_bound=variance_bound,
            radius_scale=radius_scale,
            options=options,
            seed=seed,
            hold=hold,
        )
