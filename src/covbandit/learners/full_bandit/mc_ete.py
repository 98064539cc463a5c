"""MC-ETE, Algorithm 3 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import Unsupported
from covbandit.kernels.algebra.cholesky import cholesky
from covbandit.kernels.jit.compilation import compiled, kernel, out_of_line
from covbandit.kernels.optimistic.search import SEARCH_SLABS, call_search
from covbandit.kernels.qp.simplex import call_simplex_maximizer, iteration_limit
from covbandit.learners.full_bandit.base import Indefinite, MergingExploreThenExploit
from covbandit.learners.full_bandit.design_schedule import (
    COMPLETED_A_ROUND,
    DesignState,
    absorb_action,
    scheduled_action,
)
from covbandit.learners.full_bandit.estimates import call_estimate_moments, project_covariance
from covbandit.learners.protocol.base import Hold
from covbandit.learners.protocol.certification import certify_search, over_all_options
from covbandit.learners.protocol.retired_options import first_in_use
from covbandit.learners.protocol.state import ABSORB, UPDATE, State
from covbandit.maximization import Optimum, solve


@kernel()
def _maximize_concave(s: DesignState, matrix: F64) -> None:
    """Find the best weights for a matrix with no negative eigenvalue (along the simplex)."""
    d = s.count.size
    call_simplex_maximizer(
        s.mean,
        matrix,
        2.0 * s.risk_aversion,
        s.cap,
        s.start_point,
        s.weights,
        s.search[0],
        s.work[:4],
        s.integers,
        iteration_limit(d),
    )


@kernel()
def _lift(s: DesignState) -> bool:
    """Write Σ̂ plus a constant; return True if that is positive definite.

    A constant takes the same from the utility of all weights, so what is then concave was so along the simplex.
    """
    d = s.count.size
    largest = 0.0
    for i in range(d):
        for j in range(d):
            if s.cap[i] > 0.0 and s.cap[j] > 0.0:
                largest = max(largest, abs(s.covariance[i, j]))
    for i in range(d):
        for j in range(d):
            if s.cap[i] > 0.0 and s.cap[j] > 0.0:
                s.lifted[i, j] = s.covariance[i, j] + 4.0 * largest
            else:
                s.lifted[i, j] = largest if i == j else 0.0  # a retired option, which must not matter
            s.search[0, i, j] = s.lifted[i, j]
    return largest == 0.0 or cholesky(s.search[0]) == 0


@kernel()
def _search(s: DesignState) -> None:
    """Find the best weights for an indefinite Σ̂, as far as a fast search does, in units in which nothing overflows."""
    d = s.count.size
    size = 0.0
    first = first_in_use(s.cap)
    for i in range(d):
        if s.cap[i] > 0.0:
            size = max(size, abs(s.mean[i] - s.mean[first]))
            for j in range(d):  # zero beside retired options
                size = max(size, s.risk_aversion * abs(s.covariance[i, j]))
    for i in range(d):
        s.centred_mean[i] = (s.mean[i] - s.mean[first]) / size if s.cap[i] > 0.0 else 0.0
        for j in range(d):
            s.lifted[i, j] = s.risk_aversion * s.covariance[i, j] / size
    call_search(
        s.centred_mean,
        s.zeros,
        s.lifted,
        0.0,
        s.cap,
        s.start_point,
        s.weights,
        s.work,
        s.search[:SEARCH_SLABS],
        s.integers,
    )


@kernel()
def _start_from_last(s: DesignState) -> None:
    for i in range(s.count.size):
        s.start_point[i] = s.weights[i]


@kernel(UPDATE)
def _refresh(state: State) -> None:
    """Estimate the moments and find what to play in exploitation (line 5), without negative eigenvalues."""
    s = DesignState(state)
    _start_from_last(s)
    call_estimate_moments(state)
    project_covariance(s)
    _maximize_concave(s, s.covariance)


@kernel(UPDATE)
def _refresh_exactly(state: State) -> None:
    """Do the same for Σ̂ as it is."""
    s = DesignState(state)
    _start_from_last(s)
    call_estimate_moments(state)
    if s.risk_aversion == 0.0 or _lift(s):
        _maximize_concave(s, s.lifted)
    else:
        _search(s)


_call_refresh = out_of_line(_refresh)
_call_refresh_exactly = out_of_line(_refresh_exactly)


@kernel(ABSORB)
def _absorb(state: State, w: F64, y: F64) -> None:
    if absorb_action(DesignState(state), w, y) == COMPLETED_A_ROUND:
        _call_refresh(state)


@kernel(ABSORB)
def _absorb_exactly(state: State, w: F64, y: F64) -> None:
    if absorb_action(DesignState(state), w, y) == COMPLETED_A_ROUND:
        _call_refresh_exactly(state)


_EXACT_KERNELS: dict[str, Callable[..., None]] = {
    "_absorb_kernel": _absorb_exactly,
    "_refresh_kernel": _refresh_exactly,
}


class MCETE(MergingExploreThenExploit):
    r"""MC-ETE for full-bandit feedback (Algorithm 3): explore by a design, then exploit, from totals alone.

    A round of exploration plays all actions of the design; from the means and variances of their totals follow the
    means and covariances of the options (``covbandit.learners.full_bandit.estimates``). With N rounds completed, the
    learner exploits at step t if :math:`N > t^{2/3} / d`, else it plays one more round, which is not interrupted:

    .. math:: w_t = \arg\max_w\; w'\hat θ - ρ\, w'\hat Σ w.

    With d = 5 rounds begin at t = 1, 16, 32, 59, 90, ..., and t = 31 is the first step of exploitation. What
    exploitation earns is not used. Theorem 5 bounds the regret by a multiple of :math:`T^{2/3}`.

    Estimated from totals, Σ̂ often has negative eigenvalues. Its utility then is not concave and is drawn to faces of
    the simplex that promise risk below zero. By default Σ̂ is therefore replaced by the nearest positive semi-definite
    matrix (Frobenius norm); ``indefinite="exact"`` takes the paper at its word.

    Rounds may be told late and in any order, and weights of the design that history tells count. Scale-free: with
    rewards multiplied by s and ρ divided by s, weights stay the same. Not invariant to the order of the options: the
    design is played in order. Memory grows with d², not with t, and only the step that completes a round takes longer
    than reading the weights.

    Actions with a retired option are not played, and d counts the options in use. Those with a new option are played
    until they have caught up with the others.

    Parameters
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    design : array, K × d, optional
        Actions of your own, one per row, K ≥ d(d+1)/2. They must determine all means and covariances, which is checked.
        By default all options alone, then all pairs with half on each, as in the paper.
    indefinite : {"project", "exact"}
        What to do if Σ̂ has negative eigenvalues: remove them, or maximise the utility as it is, by a fast search
        (see `certify`).
    options, seed, hold
        See `Learner`. Held rounds count as steps; they are observations if the held weights are in the design.

    Attributes
    ----------
    rounds_completed : int
        N: how often every action of the design has been observed.

    Examples
    --------
    >>> import covbandit as cb
    >>> learner = cb.MCETE(n_options=2, risk_aversion=5.0)
    >>> for total in (0.3, 0.1, 0.3, 0.5, 0.5, 0.4):
    ...     w = learner.ask()
    ...     learner.tell(w, total)
    ...     print(w.tolist(), total)
    [1.0, 0.0] 0.3
    [0.0, 1.0] 0.1
    [0.5, 0.5] 0.3
    [1.0, 0.0] 0.5
    [0.0, 1.0] 0.5
    [0.5, 0.5] 0.4
    >>> learner.ask().round(4).tolist()
    [0.7778, 0.2222]
    >>> learner.certify().certified
    True
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
        options: Sequence[str] | None = None,
        seed: int | None = None,
        hold: Hold | None = None,
    ) -> None:
        self.risk_aversion = validation.as_risk_aversion(risk_aversion)
        super().__init__(
            n_options=n_options, design=design, indefinite=indefinite, options=options, seed=seed, hold=hold
        )

    def _kernel(self, name: str) -> Callable[..., None]:
        """Return other kernels for the exact argmax: the search takes long to compile, and few need it."""
        if self.indefinite == "exact" and name in _EXACT_KERNELS:
            return _EXACT_KERNELS[name]
        return super()._kernel(name)

    def certify(self, outstanding: int = 0, tolerance: float = 1e-9, node_limit: int = 1_000_000) -> Optimum:
        """Return the proven best weights of the next round, if it is one of exploitation.

        With ``indefinite="project"`` a decision is exact, and this is its proof. With ``"exact"`` and an indefinite Σ̂
        `ask` only searches; branch and bound proves. To play what it finds, tell it: what is told need not be what was
        asked.

        Parameters
        ----------
        outstanding : int
            As in `ask`.
        tolerance, node_limit
            Of branch and bound, see `maximize_optimistic`.

        Raises
        ------
        Unsupported
            In exploration, before the first round is completed or while weights are held: there is nothing to maximise
            then.
        """
        weights = self.ask(outstanding)
        s = self._view
        t = self.rounds_told + 1 + outstanding
        if (self.hold is not None and t <= self.hold[1]) or compiled(scheduled_action)(self._state, t) >= 0:
            raise Unsupported(f"round {t} follows a schedule: there is nothing to certify but in exploitation")
        if self.rounds_completed == 0:
            raise Unsupported("nothing is known to certify a decision by before the first round of the design is told")
        rho, in_use = s.risk_aversion, s.cap > 0
        if self.indefinite == "exact":
            problem = s.mean, None, s.covariance, rho, None
            return certify_search(in_use, weights, *problem, tolerance, node_limit)
        covariance = np.ascontiguousarray(s.covariance[np.ix_(in_use, in_use)])
        status = "projected" if s.removed else "no"
        best = solve(s.mean[in_use], covariance, rho, None, weights[in_use], indefinite=status)
        return over_all_options(best, in_use)
