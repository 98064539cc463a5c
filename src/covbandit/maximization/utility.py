"""Exact, certified maximisation of the utility when its parameters are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput, Unsupported
from covbandit.kernels.jit.compilation import compiled, uncompiled
from covbandit.kernels.qp.semicontinuous import SEMICONTINUOUS_ROWS, maximize_semicontinuous
from covbandit.kernels.qp.simplex import iteration_limit, maximize_on_simplex
from covbandit.maximization import optimistic
from covbandit.maximization.optimum import Optimum

CERTIFICATE_TOLERANCE = 1e-12
"""An optimum counts as certified when its gap is below this share of max(max|θ|, ρ max Σ_ii)."""

NODE_LIMIT = 200_000
"""Nodes that branch and bound may visit before it ends with the best weights found and their honest bound."""

_PROVABLE = 4e-14  # share of the terms, for each option, that a proof by branch and bound may lose by rounding
_NODE_WORK = 2.5e8  # nodes × d² that branch and bound may take on an indefinite problem: seconds
_DENSE_START_FROM = 64  # options; below, the active-set kernel alone is faster than LAPACK


def maximize_utility(
    mean: ArrayLike,
    covariance: ArrayLike,
    risk_aversion: float,
    min_weight: float | None = None,
    max_weight: ArrayLike | None = None,
    indefinite: Literal["raise", "project", "exact"] = "raise",
    start: ArrayLike | None = None,
) -> Optimum:
    r"""Maximise :math:`w'θ - ρ\,w'Σw` over the simplex, or over weights that are zero or at least c, exactly.

    Parameters
    ----------
    mean : array of d floats
        θ.
    covariance : array, d × d
        Σ, symmetric. Singular matrices, duplicated options and ties are ordinary.
    risk_aversion : float
        ρ ≥ 0: mean given up per unit of variance. With 0 the best option wins, the first one of several.
    min_weight : float, optional
        c: every weight is zero or at least c. Solved by branch and bound, exactly up to hundreds of thousands of nodes;
        should these not suffice (some problems with 50 options and more), the best weights found are returned with
        their honest bound, and are not `certified`.
    max_weight : float or array of d floats, optional
        Caps on the weights; they must sum to at least one. Not together with `min_weight`.
    indefinite : {"raise", "project", "exact"}
        What to do if Σ has a negative eigenvalue; the result records it.

        * ``"raise"``: refuse it.
        * ``"project"``: replace it by the nearest positive semi-definite matrix (Frobenius norm).
        * ``"exact"``: maximise the utility as it is, even with negative entries on Σ's diagonal. Unless it is concave
          on the simplex all the same, this takes branch and bound, and caps are not supported. Up to 16 options the
          nodes suffice (up to 10 in milliseconds, also with `min_weight`), and with more they often do. Else it ends
          after seconds with the best weights found and their honest bound, and is not `certified`. The tolerance is
          1e-12 (beyond 25 options 4e-14 for each) of the terms' size, in which a constant added to all means, or to
          all entries of Σ, does not count.
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
    >>> o = cb.maximize_utility([0.2, 0.3], [[1.0, -0.05], [-0.05, 1.0]], risk_aversion=0.1, min_weight=0.3)
    >>> o.weights.round(4).tolist(), o.certified
    ([0.3, 0.7], True)

    An estimated covariance that is none, as it is:

    >>> estimate = [[1.0, 1.4, -0.2], [1.4, 1.2, 0.1], [-0.2, 0.1, -0.1]]
    >>> o = cb.maximize_utility([0.3, 0.2, 0.1], estimate, risk_aversion=0.5, indefinite="exact")
    >>> o.weights.round(4).tolist(), o.certified, o.indefinite
    ([0.2308, 0.0, 0.7692], True, 'exact')
    """
    if indefinite not in ("raise", "project", "exact"):
        raise InvalidInput(f'indefinite must be "raise", "project" or "exact", got {indefinite!r}')
    theta = validation.as_vector(mean, "mean")
    d = theta.size
    sigma = validation.as_symmetric(covariance, "covariance", d, signed=indefinite == "exact")
    rho = validation.as_risk_aversion(risk_aversion)
    least = validation.as_min_weight(min_weight, max_weight)
    caps = validation.as_caps(max_weight, d)
    first = np.zeros(d) if start is None else validation.as_weights(start, d, name="start weight")
    if validation.is_positive_semidefinite(sigma):
        return solve(theta, sigma, rho, caps, first, least)
    if indefinite == "exact":
        return _solve_indefinite(theta, sigma, rho, caps, first, least)
    if indefinite == "raise":
        validation.require_positive_semidefinite(
            sigma,
            "covariance",
            '; indefinite="project" replaces it by the nearest matrix that is, indefinite="exact" takes it as it is',
        )
    return solve(theta, nearest_positive_semidefinite(sigma), rho, caps, first, least, "projected")


def solve(
    theta: F64,
    sigma: F64,
    rho: float,
    caps: F64 | None,
    start: F64,
    least: float | None = None,
    indefinite: str = "no",
) -> Optimum:
    """Maximise the utility of arguments that are already validated; zeros as `start` mean a cold start."""
    d = theta.size
    tolerance = CERTIFICATE_TOLERANCE * max(float(np.abs(theta).max()), rho * float(sigma.diagonal().max()))
    if not np.isfinite(4 * d * tolerance / CERTIFICATE_TOLERANCE):
        raise InvalidInput(f"risk_aversion {rho:g} times the largest variance overflows; use larger units of reward")
    if least is not None:
        return _solve_semicontinuous(theta, sigma, rho, least, start, tolerance, indefinite)
    weights = np.empty(d)
    work = np.empty((d, d)), np.empty((4, d)), np.empty(2 * d, dtype=np.int64)
    limits = [uncompiled(iteration_limit)(d)]
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
            iterations = compiled(maximize_on_simplex)(
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


def _solve_semicontinuous(
    theta: F64, sigma: F64, rho: float, least: float, start: F64, tolerance: float, indefinite: str
) -> Optimum:
    d = theta.size
    weights, known = np.empty(d), np.empty(2)
    # A constant added to all means is added to every utility: it must not loosen what may be forgone.
    centred = theta - theta[0]
    spread = max(float(np.abs(centred).max()), rho * float(sigma.diagonal().max()))
    nodes = compiled(maximize_semicontinuous)(
        centred,
        sigma,
        2 * rho,
        least,
        np.ones(d),
        start,
        NODE_LIMIT,
        0.1 * min(tolerance, CERTIFICATE_TOLERANCE * spread),  # what is left is for rounding
        weights,
        known,
        np.empty((d, d)),
        np.empty((d, d)),
        np.empty((SEMICONTINUOUS_ROWS, d)),
        np.empty(2 * d, dtype=np.int64),
    )
    return Optimum(
        weights=weights,
        utility=float(weights @ theta - rho * (weights @ sigma @ weights)),
        certificate=float(known[1] - known[0]),
        tolerance=tolerance,
        indefinite=indefinite,
        method="branch and bound",
        nodes=abs(nodes),
    )


def _solve_indefinite(theta: F64, sigma: F64, rho: float, caps: F64 | None, start: F64, least: float | None) -> Optimum:
    """Maximise a utility whose Σ is indefinite, by the active set where it is concave all the same."""
    d = theta.size
    # On the simplex a constant added to θ, or to all entries of Σ, is added to the utility: taken out, it costs no
    # digits. Of Σ it is the entry nearest to zero, unless there are both signs.
    level = float(np.clip(0.0, sigma.min(), sigma.max()))
    common = float(theta[0]) - rho * level
    theta, C = theta - theta[0], rho * (sigma - level)
    none = np.zeros((d, d))
    tolerance = max(CERTIFICATE_TOLERANCE, _PROVABLE * d) * optimistic.terms(theta, none, C)

    # Relative to option r, w'Cw = w'Dw + 2 w'C_r - C_rr with D_ij = C_ij - C_ir - C_rj + C_rr: what D bends, C bends.
    r = int(np.argmin(np.abs(C.diagonal())))
    from_r = C[r] - C[r, r]
    D = (C - C[r]) - from_r[:, None]
    D = (D + D.T) / 2
    if validation.is_positive_semidefinite(D):
        optimum = solve(theta - 2 * from_r, D, 1.0, caps, start, least, "exact")
        w = optimum.weights
        return replace(optimum, utility=float(w @ theta - w @ C @ w) + common, tolerance=tolerance)
    if caps is not None:
        raise Unsupported(
            'max_weight together with indefinite="exact" is not supported for this covariance, with which the utility '
            'is not concave; leave max_weight out, or use indefinite="project"'
        )
    minimum = 0.0 if least is None else least
    weights, _ = optimistic.search(theta, none, C, minimum, start)
    limit = min(NODE_LIMIT, max(int(_NODE_WORK / d**2), 100))
    utility, certificate, nodes = optimistic.prove(theta, none, C, minimum, weights, 0.5 * tolerance, limit)
    return Optimum(weights, utility + common, certificate, tolerance, "exact", "branch and bound", nodes)


def frank_wolfe_gap(theta: F64, sigma: F64, rho: float, caps: F64 | None, weights: F64) -> float:
    """Return the most that a linear model of the utility promises anywhere on the decision set."""
    gradient = theta - theta[0] - 2 * rho * (sigma @ weights)
    gradient -= gradient @ weights
    if caps is None:
        return max(float(gradient.max()), 0.0)
    order = np.argsort(-gradient, kind="stable")
    room = np.minimum(caps[order], np.maximum(1 - np.concatenate(([0.0], np.cumsum(caps[order])[:-1])), 0))
    return max(float(room @ gradient[order]), 0.0)


def nearest_positive_semidefinite(sigma: F64) -> F64:
    """Return the nearest positive semi-definite matrix in Frobenius norm: negative eigenvalues become zero."""
    values, vectors = np.linalg.eigh(sigma)
    projected = (vectors * np.maximum(values, 0)) @ vectors.T
    return np.ascontiguousarray((projected + projected.T) / 2)


# A good start for problems in which hundreds of options share the weight ----------------------------------------------


def _exchange_many(theta: F64, sigma: F64, scale: float, support: NDArray[np.intp], passes: int = 12) -> F64:
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


def _scatter(part: F64, support: NDArray[np.intp], size: int) -> F64:
    weights = np.zeros(size)
    weights[support] = part
    return weights
