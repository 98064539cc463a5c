"""Maximisation of the optimistic utility, which is neither convex nor concave."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import compiled, uncompiled
from covbandit.kernels.optimistic.node import BOUND_ROWS, BOUND_SLABS, Candidate, Program, Workspace
from covbandit.kernels.optimistic.proof import OUT_OF_NODES, OUT_OF_ROOM, prove_optimistic
from covbandit.kernels.optimistic.search import SEARCH_ROWS, SEARCH_SLABS, search_optimistic
from covbandit.kernels.optimistic.tree import N_COUNTERS, OPEN, SPARE, VISITED, Tree
from covbandit.kernels.qp.decision_set import largest_support
from covbandit.maximization.optimum import Optimum

_ROUNDING = 1e-12  # share of the terms below which nothing can be proven
_CHUNK = 20_000  # nodes after which Python may notice Ctrl-C; fewer from ten options on, since nodes then take longer
_CURVATURE = 4e-15  # share of the risk, for each option, that rounding of curvatures may hide
_LARGEST_POOL = 2**30  # bytes for waiting nodes


def maximize_optimistic(
    mean: ArrayLike,
    bonus: ArrayLike,
    risk: ArrayLike,
    risk_aversion: float,
    min_weight: float | None = None,
    certified: bool = False,
    start: ArrayLike | None = None,
    tolerance: float = 1e-9,
    node_limit: int = 1_000_000,
) -> Optimum:
    r"""Maximise :math:`w'θ + \sqrt{(w'Aw)_+} - ρ\,w'Rw` over weights that are zero or at least c.

    This is the decision of an upper-confidence learner: A is the squared width of the reward's confidence region, R the
    covariance less its radii. Both may be indefinite, so there are many local maxima.

    Parameters
    ----------
    mean : array of d floats
        θ.
    bonus : array, d × d
        A, symmetric. Where w'Aw is negative, its root counts as 0.
    risk : array, d × d
        R, symmetric.
    risk_aversion : float
        ρ ≥ 0.
    min_weight : float, optional
        c; None means the simplex.
    certified : bool
        False: a fast search, which proves nothing: the result is not `certified` and its bound is infinite. True:
        branch and bound from there, until the bound is proven or the nodes are used up.
    start : array of d floats, optional
        Weights from which the search may start as well, for example the last decision.
    tolerance : float
        The certificate sought, as a share of the utility (or of its terms, if they are smaller).
    node_limit : int
        Nodes that branch and bound may visit. If they do not suffice, the best weights found are returned with the
        bound proven so far. The same happens if the waiting nodes need more than a gigabyte.

    Returns
    -------
    Optimum
        Its `method` is ``"search"`` or ``"branch and bound"``.

    Examples
    --------
    >>> import covbandit as cb
    >>> bonus, risk = [[0.04, 0.0], [0.0, 0.09]], [[1.0, 0.2], [0.2, -0.5]]
    >>> o = cb.maximize_optimistic([0.1, 0.2], bonus, risk, risk_aversion=0.1, min_weight=0.1, certified=True)
    >>> o.weights.tolist(), round(o.utility, 6), o.certified
    ([0.0, 1.0], 0.55, True)
    """
    theta = validation.as_vector(mean, "mean")
    d = theta.size
    A = validation.as_symmetric(bonus, "bonus", d, signed=True)
    rho = validation.as_risk_aversion(risk_aversion)
    C = rho * validation.as_symmetric(risk, "risk", d, signed=True)
    c = validation.as_min_weight(min_weight)
    first = np.zeros(d) if start is None else validation.as_weights(start, d, name="start weight")
    share = validation.as_float(tolerance, "tolerance")
    if not share > 0:
        raise InvalidInput(f"tolerance must be positive, got {share}")
    limit = validation.as_count(node_limit, "node_limit", 1)
    # On the simplex a constant added to θ is added to the utility: taken out, it costs no digits.
    level = float(theta[0])
    theta = theta - level
    least = 0.0 if c is None else c
    size = terms(theta, A, C)
    weights, utility = search(theta, A, C, least, first)
    goal = max(share * min(abs(utility + level), size), _ROUNDING * size)
    if not certified:
        return Optimum(weights, utility + level, np.inf, goal, method="search")
    utility, certificate, nodes = prove(theta, A, C, least, weights, 0.5 * goal, limit)
    return Optimum(weights, utility + level, certificate, goal, method="branch and bound", nodes=nodes)


def terms(theta: F64, A: F64, C: F64) -> float:
    """Return the size of what the utility consists of, which must not overflow."""
    d = theta.size
    size = float(np.abs(theta).max() + np.sqrt(np.abs(A).max()) + np.abs(C).max())
    if not np.isfinite(4 * d * d * size * size):
        raise InvalidInput(f"terms of the utility of about {size:g} overflow when squared; use larger units of reward")
    return size


def search(theta: F64, A: F64, C: F64, least: float, start: F64) -> tuple[F64, float]:
    """Return the best weights found and their utility; zeros as `start` mean none."""
    d = theta.size
    weights = np.empty(d)
    utility = compiled(search_optimistic)(
        theta,
        A,
        C,
        least,
        np.ones(d),
        start,
        weights,
        np.empty((SEARCH_ROWS, d)),
        np.empty((SEARCH_SLABS, d, d)),
        np.empty(2 * d + 2, dtype=np.int64),
    )
    return weights, float(utility)


def prove(
    theta: F64, A: F64, C: F64, least: float, weights: F64, tolerance: float, limit: int
) -> tuple[float, float, int]:
    """Improve the weights until no others can be better by more than the tolerance, or the nodes are used up.

    Returns their utility, a bound on what others could gain, and the nodes visited.
    """
    bound, nodes = _branch_and_bound(theta, A, C, least, weights, tolerance, limit)
    root = np.sqrt(max(float(weights @ A @ weights), 0.0))
    utility = float(weights @ theta + root - weights @ C @ weights)
    return utility, max(bound - utility, 0.0), nodes


def _branch_and_bound(
    theta: F64, A: F64, C: F64, least: float, weights: F64, tolerance: float, limit: int
) -> tuple[float, int]:
    """Improve the weights; return the bound and the nodes."""
    d = theta.size
    eigenvalues = np.linalg.eigvalsh(A)
    slack = 1e-14 * d
    tau = max(-float(eigenvalues[0]), 0.0) + slack * float(np.abs(eigenvalues).max())
    if eigenvalues[-1] < -slack * np.abs(eigenvalues).max():  # no weights have a root
        tau, A = 0.0, np.zeros((d, d))
    elif _is_semidefinite(A, slack):  # up to rounding: it is lifted by as much, to be safe
        tau, A = 0.0, A + slack * np.diag(A.diagonal())
    # Where there is no root, no edge is ever cut, so there are no vertices to keep.
    m = uncompiled(largest_support)(least, d) if A.any() else 1
    chunk = max(int(_CHUNK / max(d / 10, 1.0) ** 3), 10)
    value = weights @ theta + np.sqrt(max(float(weights @ A @ weights), 0.0)) - weights @ C @ weights
    program = Program(theta, A, C, least, np.ones(d), tau)
    best = Candidate(weights, np.array([value]))
    found = Candidate(np.empty(d), np.empty(1))
    work = Workspace(
        rows=np.empty((BOUND_ROWS, d)),
        slabs=np.empty((BOUND_SLABS, d, d)),
        option=np.empty(d, dtype=np.int64),
        order=np.empty(2 * d, dtype=np.int64),
    )
    tree = _grow(None, 64, d, m)
    while True:
        upto = min(limit, int(tree.counters[VISITED]) + chunk)
        code = compiled(prove_optimistic)(program, tree, best, found, work, tolerance, upto)
        slots = len(tree.bounds)
        if code == OUT_OF_ROOM and 2 * slots * (8 * m * m + 8 * d) <= _LARGEST_POOL:
            tree = _grow(tree, 2 * slots, d, m)
        elif code != OUT_OF_NODES or upto == limit:
            break
    bound = max(best.value[0], tree.ceiling[0])
    if tree.counters[OPEN]:
        bound = max(bound, tree.bounds[tree.heap[0]])
    weights /= weights.sum()
    if tree.counters[VISITED] > 1:  # options may have been excluded by curvatures, which are known up to rounding
        bound += _CURVATURE * d * float(np.abs(C).max())
    return float(bound), int(tree.counters[VISITED])


def _is_semidefinite(A: F64, slack: float) -> bool:
    """Return True if A + slack × its diagonal has no negative eigenvalue; an option that A is zero for stays so."""
    unit = np.sqrt(np.maximum(A.diagonal(), 0.0))
    pairs = np.outer(unit, unit)
    if (np.abs(A) > (1 + slack) * pairs).any():
        return False
    correlation = np.divide(A, pairs, out=np.zeros_like(A), where=pairs > 0)
    return bool(np.linalg.eigvalsh(correlation)[0] >= -slack)


def _grow(tree: Tree | None, slots: int, d: int, m: int) -> Tree:
    """Return room for so many waiting nodes, with those that wait already."""
    larger = Tree(
        status=np.empty((slots, d), dtype=np.int64),
        rows=np.empty(slots, dtype=np.int64),
        vertices=np.empty((slots, m, m)),
        bounds=np.empty(slots),
        divisions=np.empty((slots, 3), dtype=np.int64),
        heap=np.empty(slots, dtype=np.int64),
        spare=np.empty(slots, dtype=np.int64),
        counters=np.zeros(N_COUNTERS, dtype=np.int64),
        ceiling=np.full(1, -np.inf),
    )
    before = 0
    if tree is not None:
        before = len(tree.bounds)
        for new, old in zip(larger, tree, strict=True):
            new[: len(old)] = old
    spare = int(larger.counters[SPARE])
    added = slots - before
    larger.spare[spare : spare + added] = np.arange(slots - 1, before - 1, -1)
    larger.counters[SPARE] += added
    return larger
