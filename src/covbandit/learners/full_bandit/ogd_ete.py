"""OGD-ETE, the gradient baseline of the paper's full-bandit experiments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.kernels.jit.compilation import compiled, kernel, out_of_line
from covbandit.kernels.moments import subtract_risk_gradient
from covbandit.kernels.qp.projection import project_on_simplex
from covbandit.learners.full_bandit.base import ExploreThenExploit, Indefinite
from covbandit.learners.full_bandit.design_schedule import (
    COMPLETED_A_ROUND,
    EXACT,
    EXPLOITED,
    DesignState,
    absorb_action,
)
from covbandit.learners.full_bandit.estimates import call_estimate_moments, project_covariance
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.state import ABSORB, UPDATE, State


@kernel(UPDATE)
def _refresh(state: State) -> None:
    """Estimate the moments; after the first round, the iterate starts from equal weights."""
    s = DesignState(state)
    call_estimate_moments(state)
    if s.indefinite != EXACT:
        project_covariance(s)
    begun = False
    for i in range(s.count.size):
        begun = begun or s.weights[i] > 0.0
    if not begun:
        for i in range(s.count.size):
            s.weights[i] = s.start_weights[i]


_call_refresh = out_of_line(_refresh)


@kernel()
def _step(s: DesignState) -> None:
    """Move the iterate along the gradient θ̂ - 2ρΣ̂x, by 1/√(bt); a level common to all means changes nothing."""
    d = s.count.size
    x = s.weights
    g = s.work[0]
    size = 1.0 / np.sqrt(s.variance_bound * (s.told + 1.0))
    for i in range(d):
        g[i] = s.mean[i] - s.mean[0]
    subtract_risk_gradient(g, s.risk_aversion, s.covariance, 1.0, x)
    for i in range(d):
        x[i] += size * g[i]
    if s.n_in_use < d:
        for i in range(d):
            if s.cap[i] <= 0.0:
                x[i] = -np.inf  # farther from any weight than all others: projected to zero
    project_on_simplex(x)


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    s = DesignState(state)
    told = absorb_action(s, w, y)
    if told == COMPLETED_A_ROUND:
        _call_refresh(state)
    elif told == EXPLOITED and s.told >= s.hold_rounds:
        _step(s)


class OGDETE(ExploreThenExploit):
    r"""OGD-ETE for full-bandit feedback: the exploration of MC-ETE, with gradient steps for exploitation.

    In each step t of exploitation it plays its iterate x, which then moves to :math:`Π(x + ∇ / \sqrt{bt})` with
    :math:`∇ = \hat θ - 2ρ\hat Σx`, the estimates of the last completed round and Π, the Euclidean projection on the
    simplex. The iterate starts from equal weights and is kept while more rounds are played. It moves on its own, once
    per round told in a step of exploitation, whatever was played: the gradient depends on the estimates only. Held
    rounds do not move it. If options are retired, it moves to the nearest weights without them; one that comes back
    starts at zero. With rounds outstanding, `ask` gives the iterate where it stands.

    A step has the inverse unit of the rewards, as `OGD` explains: say by `variance_bound` how large variances are. It
    cannot be merged, since its iterate depends on the order of the rounds.

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    design
        See `MCETE`.
    indefinite : {"project", "exact"}
        Whether negative eigenvalues of Σ̂ are removed, or the gradient is taken of the utility as it is.
    variance_bound : float
        b, about the largest variance of an option: the unit of the step.
    options, seed, hold
        See `Learner`.

    Attributes
    ----------
    rounds_completed : int
        How often every action of the design has been observed.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.OGDETE(n_options=3, risk_aversion=0.5)
    >>> for _ in range(2):  # rounds of the design: three options, three pairs
    ...     for total in (0.9, 0.1, 0.3, 0.5, 0.6, 0.2):
    ...         learner.tell(learner.ask(), total)
    >>> learner.ask().round(4).tolist()
    [0.3333, 0.3333, 0.3333]
    >>> learner.tell(learner.ask(), 0.4)
    >>> learner.ask().round(4).tolist()
    [0.4628, 0.2409, 0.2964]
    """

    invariances = frozenset({"scale"})
    _absorb_kernel = _absorb
    _refresh_kernel = _refresh

    def __init__(
        self,
        *,
        n_options: int,
        risk_aversion: float,
        design: ArrayLike | None = None,
        indefinite: Indefinite = "project",
        variance_bound: float = 1.0,
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        self.variance_bound = validation.as_positive(variance_bound, "variance_bound")
        super().__init__(
            n_options=n_options, design=design, indefinite=indefinite, options=options, seed=seed, hold=hold
        )

    def _on_retirement(self) -> None:
        super()._on_retirement()
        s = self._view
        if s.weights.any():
            s.weights[s.cap <= 0] = -np.inf
            compiled(project_on_simplex)(s.weights)
