"""Exact, certified maximisation of the utility when its parameters are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from covbandit import validation
from covbandit.errors import InvalidInput
from covbandit.kernels.compilation import ready
from covbandit.kernels.simplex_qp import iteration_limit, maximize_on_simplex

F64 = NDArray[np.float64]
I64 = NDArray[np.intp]

CERTIFICATE_TOLERANCE = 1e-12
"""An optimum counts as certified when its gap is below this share of max(max|θ|, ρ max Σ_ii)."""

_DENSE_START_FROM = 64  # options; below, the active-set kernel alone is faster than LAPACK


@dataclass(frozen=True)
class Optimum:
    r"""Weights that maximise a utility, with the proof that they do.

    Attributes
    ----------
    weights : ndarray
        The maximiser.
    utility : float
        Its value f(w).
    certificate : float
        A bound on what any other feasible weights could gain: the Frank-Wolfe gap
        :math:`\max_v ∇f(w)'(v - w)`, computed without cancellation.
    tolerance : float
        The certificate below which the optimum counts as certified.
    indefinite : str
        ``"no"`` if the covariance was positive semi-definite, ``"projected"`` if it was replaced by the nearest such
        matrix; utility and certificate then refer to the replacement.
    nodes : int
        Nodes visited by branch and bound; 0 where none was needed.
    iterations : int
        Active-set iterations; 0 where a direct solution passed the certificate.
    """

    weights: F64
    utility: float
    certificate: float
    tolerance: float
    indefinite: str = "no"
    nodes: int = 0
    iterations: int = 0

    @property
    def upper_bound(self) -> float:
        """No feasible weights have a utility above this."""
        return self.utility + self.certificate

    @property
    def certified(self) -> bool:
        """Whether the certificate meets the tolerance."""
        return self.certificate <= self.tolerance


def maximize_utility(
    mean: ArrayLike,
    covariance: ArrayLike,
    risk_aversion: float,
    min_weight: float | None = None,
    max_weight: ArrayLike | None = None,
    indefinite: Literal["raise", "project"] = "raise",
    start: ArrayLike | None = None,
) -> Optimum:
    r"""Maximise :math:`w'θ - ρ\,w'Σw` over the simplex, exactly.

    Parameters
    ----------
    mean : array of d floats
        θ.
    covariance : array, d × d
        Σ, symmetric. Singular matrices, duplicated options and ties are ordinary.
    risk_aversion : float
        ρ ≥ 0: mean given up per unit of variance. With 0 the best option wins, the first one of several.
    min_weight : None
        Weights that are zero or at least c are not supported yet.
    max_weight : float or array of d floats, optional
        Caps on the weights; they must sum to at least one.
    indefinite : {"raise", "project"}
        What to do if Σ has a negative eigenvalue: refuse it, or replace it by the nearest positive semi-definite matrix
        (Frobenius norm). The result records which.
    start : array of d floats, optional
        Weights to start from. The optimum does not depend on them, the time does.

    Returns
    -------
    Optimum

    Examples
    --------
    >>> import covbandit as cb
    >>> o = cb.maximize_utility([0.2, 0.3], [[1.0, -0.05], [-0.05, 1.0]], risk_aversion=0.1)
    >>> o.weights.round(4).tolist(), o.certified
    ([0.2619, 0.7381], True)
    """
    theta = validation.as_vector(mean, "mean")
    d = theta.size
    sigma = validation.as_symmetric(covariance, "covariance", d)
    rho = validation.as_risk_aversion(risk_aversion)
    validation.refuse_min_weight(min_weight)
    caps = validation.as_caps(max_weight, d)
    first = np.zeros(d) if start is None else validation.as_weights(start, d, name="start weight")
    if indefinite not in ("raise", "project"):
        raise InvalidInput(f'indefinite must be "raise" or "project", got {indefinite!r}')
    status = "no"
    if not validation.is_positive_semidefinite(sigma):
        if indefinite == "raise":
            validation.require_positive_semidefinite(
                sigma, "covariance", '; indefinite="project" replaces it by the nearest matrix that is'
            )
        sigma = _nearest_positive_semidefinite(sigma)
        status = "projected"
    return solve(theta, sigma, rho, caps, first, status)


def solve(theta: F64, sigma: F64, rho: float, caps: F64 | None, start: F64, indefinite: str = "no") -> Optimum:
    """Maximise the utility of arguments that are already validated; zeros as `start` mean a cold start."""
    d = theta.size
    tolerance = CERTIFICATE_TOLERANCE * max(float(np.abs(theta).max()), rho * float(sigma.diagonal().max()))
    if not np.isfinite(4 * d * tolerance / CERTIFICATE_TOLERANCE):
        raise InvalidInput(f"risk_aversion {rho:g} times the largest variance overflows; use larger units of reward")
    weights = np.empty(d)
    work = np.empty((d, d)), np.empty((4, d)), np.empty(2 * d, dtype=np.int64)
    limits = [iteration_limit.py_func(d)]  # type: ignore[attr-defined]
    curved = 2 * rho * float(sigma.diagonal().max()) > 1e-10 * float(np.ptp(theta))
    if d >= _DENSE_START_FROM and curved and caps is None:
        # One option at a time is slow if hundreds belong in: unless few do, LAPACK first finds nearly all of them.
        support = np.flatnonzero(start > 0)
        if support.size == 0:
            limits.insert(0, max(40, d // 8))
        elif support.size >= _DENSE_START_FROM:
            limits.insert(0, 0)
    iterations = 0
    for limit in limits:
        if limit > 0:
            iterations = ready(maximize_on_simplex)(
                theta, sigma, 2 * rho, np.ones(d) if caps is None else caps, start, weights, *work, limit
            )
            if iterations >= 0:
                break
        if limit < limits[-1]:
            weights = start = _exchange_many(theta, sigma, 2 * rho, support if support.size else np.arange(d))
            if frank_wolfe_gap(theta, sigma, rho, caps, weights) <= 0.1 * tolerance:
                break
            weights = np.empty(d)
    return Optimum(
        weights=weights,
        utility=float(weights @ theta - rho * (weights @ sigma @ weights)),
        certificate=frank_wolfe_gap(theta, sigma, rho, caps, weights),
        tolerance=tolerance,
        indefinite=indefinite,
        iterations=abs(iterations),
    )


def frank_wolfe_gap(theta: F64, sigma: F64, rho: float, caps: F64 | None, weights: F64) -> float:
    """Return the most that a linear model of the utility promises anywhere on the decision set."""
    gradient = theta - theta[0] - 2 * rho * (sigma @ weights)
    gradient -= gradient @ weights
    if caps is None:
        return max(float(gradient.max()), 0.0)
    order = np.argsort(-gradient, kind="stable")
    room = np.minimum(caps[order], np.maximum(1 - np.concatenate(([0.0], np.cumsum(caps[order])[:-1])), 0))
    return max(float(room @ gradient[order]), 0.0)


def _nearest_positive_semidefinite(sigma: F64) -> F64:
    values, vectors = np.linalg.eigh(sigma)
    projected = (vectors * np.maximum(values, 0)) @ vectors.T
    return np.ascontiguousarray((projected + projected.T) / 2)


def _exchange_many(theta: F64, sigma: F64, scale: float, support: I64, passes: int = 12) -> F64:
    """Find weights at or near the optimum of a large problem by exchanging many options at once.

    Each pass solves the problem with the current support free (LAPACK), then drops every negative weight and takes in
    every option whose gradient is too good. Usually a handful of passes settle; if not, the active set continues from
    there.
    """
    centred = theta - theta.mean()
    largest = float(sigma.diagonal().max())
    weights = np.zeros(theta.size)
    for _ in range(passes):
        for ridge in (1e-14 * largest, 1e-6 * largest):  # the second if singular: it still points to a good support
            block = sigma.copy() if support.size == theta.size else sigma[np.ix_(support, support)]
            block.flat[:: support.size + 1] += ridge
            factor, failed = dpotrf(block.T, lower=1, overwrite_a=1, clean=0)
            if not failed:
                break
        sides = np.stack([centred[support] / scale, np.ones(support.size)]).T
        solution = dpotrs(factor, sides, lower=1)[0]
        along = solution[:, 1] / solution[:, 1].sum()
        part = solution[:, 0] + (1 - solution[:, 0].sum()) * along
        if part.min() >= 0:
            # One step of refinement, since the ridge and rounding leave their trace.
            residual = centred[support] / scale - sigma[support] @ _scatter(part, support, theta.size)
            step = dpotrs(factor, residual - residual.mean(), lower=1)[0]
            refined = part + step - step.sum() * along
            if refined.min() >= 0:
                part = refined / refined.sum()
        weights = _scatter(part, support, theta.size)
        gradient = centred - scale * (sigma @ weights)
        level = float(gradient @ weights)
        better = (gradient > level + 1e-13 * np.abs(gradient).max()) & (weights == 0)
        if part.min() >= 0 and not better.any():
            break
        support = np.flatnonzero((weights > 0) | better)
    weights = np.maximum(weights, 0)
    return np.asarray(weights / weights.sum())


def _scatter(part: F64, support: I64, size: int) -> F64:
    weights = np.zeros(size)
    weights[support] = part
    return weights
