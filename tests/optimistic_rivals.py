"""Maximisers to check the optimistic one against: a grid, SCIP, and ascents from given weights."""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

import numpy as np
from pyscipopt import Model, quicksum

from decision_set import largest_support
from optimistic_checks import unit, value
from optimistic_programs import optimistic_unit, optimistic_value, quadratic

# ----------------------------------------------------------------------------------------------------------------------
# A grid on every support


class GridMaximum(NamedTuple):
    """The best value found, where, and what no feasible weights exceed."""

    value: float
    weights: np.ndarray
    upper: float


def grid_maximum(mean, bonus, risk, rho, c, steps):
    """Return the maximum over a lattice on each support, refined by climbing from its best points.

    The weights of a support of k options are w = c + (1 - kc) b with b on the simplex. As the entries of b sum to one,
    w = T b with T = c 11' + (1 - kc) I, so F has the same form in b.
    """
    d, c = len(mean), c or 0.0
    best = GridMaximum(-np.inf, np.zeros(d), -np.inf)
    for k in range(1, d + 1):
        if k * c > 1 + 1e-12:
            break
        T = c + max(1 - k * c, 0.0) * np.eye(k)
        points = lattice(k, steps)
        # Rounding remainders to the lattice moves most when they are all equal: j of them, each j/k, are rounded up.
        reach = (k // 2) * ((k + 1) // 2) / k / steps
        for support in itertools.combinations(range(d), k):
            block = np.ix_(support, support)
            face = T @ mean[list(support)], T @ bonus[block] @ T, T @ risk[block] @ T, rho
            tops = [climb(start, face) for start in best_apart(points, optimistic_value(points, *face))]
            top = max(tops, key=lambda b: optimistic_value(b, *face))
            weights = np.zeros(d)
            weights[list(support)] = T @ top
            value = float(optimistic_value(weights, mean, bonus, risk, rho))
            upper = max(best.upper, float(cell_bounds(points, *face, reach).max()))
            best = GridMaximum(value, weights, upper) if value > best.value else best._replace(upper=upper)
    return best


def lattice(k, steps):
    """Return the points of the simplex in k dimensions whose coordinates are multiples of 1/steps."""
    parts = [part for part in itertools.product(range(steps + 1), repeat=k - 1) if sum(part) <= steps]
    return np.array([(*part, steps - sum(part)) for part in parts]) / steps


def best_apart(points, values, most=4, distance=0.2):
    """Return the best points that are not near a better one: neighbours would all climb the same hill."""
    chosen = []
    for point in points[np.argsort(-values)]:
        if all(np.abs(point - other).sum() > distance for other in chosen):
            chosen.append(point)
            if len(chosen) == most:
                break
    return chosen


def climb(b, face):
    """Move weight from option to option as long as that helps, in ever smaller amounts."""
    best, step = optimistic_value(b, *face), 0.1
    while step > 1e-10:
        amounts = np.minimum(step, b)
        moved = np.array(
            [b + amounts[i] * (np.eye(len(b))[j] - np.eye(len(b))[i]) for i, j in np.ndindex(len(b), len(b))]
        )
        values = optimistic_value(moved, *face)
        if values.max() > best:
            b, best = moved[values.argmax()], values.max()
        else:
            step /= 2
    return b


def cell_bounds(points, mean, bonus, risk, rho, reach):
    """Return for each point b of the simplex a bound on F over all points that have at most `reach` of b elsewhere.

    Such a point is b + δ with δ = r (p - n), r <= reach, where p and n are distributions and n takes only from what b
    holds. So v'δ <= reach (max v - min v over the support of b), and δ'Mδ <= 2 reach² (max M - min M). The root is
    bounded by √q <= (q + u²)/2u, true for q >= 0 and every u > 0; where q < 0, F has no root.
    """

    def rise(v):
        return reach * (v.max(axis=1) - np.where(points > 0, v, np.inf).min(axis=1))

    def bend(M):
        return 2 * reach**2 * (M.max(axis=(-2, -1)) - M.min(axis=(-2, -1)))

    rootless = points @ mean - rho * quadratic(risk, points)
    slope = mean - 2 * rho * points @ risk
    q = quadratic(bonus, points)
    # The u that fits the largest q nearby; the smallest number stands in where q is zero all over.
    u = np.sqrt(np.maximum(np.maximum(q, 0) + rise(2 * points @ bonus) + bend(bonus), np.finfo(float).tiny))
    column, matrix = u[:, None], u[:, None, None]
    rooted = (
        rootless
        + (q + u**2) / (2 * u)
        + rise(slope + points @ bonus / column)
        + bend(bonus / (2 * matrix) - rho * risk)
    )
    return np.maximum(rooted, rootless + rise(slope) + bend(rho * risk))


# ----------------------------------------------------------------------------------------------------------------------
# SCIP


class ScipMaximum(NamedTuple):
    """F at SCIP's weights, these weights made exactly feasible, SCIP's upper bound, CPU seconds, and its status."""

    value: float
    weights: np.ndarray
    bound: float
    seconds: float
    status: str


def scip_maximum(mean, bonus, risk, rho, c, gap=1e-9, limit=20.0):
    """Return the maximum that SCIP proves to within `gap`, told in units of `optimistic_unit`.

    The value is F at the weights, not SCIP's objective: a radicand that is wrong by the feasibility tolerance of 1e-9
    makes a root near zero wrong by 3e-5. The bound suffers from this where the radicand is near zero. After `limit` CPU
    seconds in user mode (exchangeable options can take for ever) the status says so; value and bound hold all the same.
    """
    d, begun = len(mean), time.process_time()
    unit = optimistic_unit(mean, bonus, risk, rho)
    offset = mean.min()
    gains, squares, costs = (mean - offset) / unit, bonus / unit**2, rho * risk / unit

    model = Model()
    model.hideOutput()
    model.setParams(
        {
            "limits/absgap": gap,
            "limits/time": limit,
            "lp/threads": 1,
            "numerics/feastol": 1e-9,
            "parallel/maxnthreads": 1,
            "timing/clocktype": 1,  # CPU seconds in user mode, for the limit
        }
    )
    w = [model.addVar(lb=0.0, ub=1.0) for _ in range(d)]
    model.addCons(quicksum(w) == 1)
    if c is not None:
        chosen = [model.addVar(vtype="B") for _ in range(d)]
        for weight, binary in zip(w, chosen, strict=True):
            model.addCons(weight >= c * binary)
            model.addCons(weight <= binary)

    def form(matrix):
        return quicksum(matrix[i, j] * w[i] * w[j] for i in range(d) for j in range(d))

    # On the simplex a quadratic form lies between the least and the largest entry of its matrix.
    most = np.sqrt(max(squares.max(), 0.0))
    root = model.addVar(lb=0.0, ub=most)
    if squares.min() >= 0 or np.linalg.eigvalsh(squares)[0] >= 0:
        model.addCons(root * root <= form(squares))
    else:
        rooted = model.addVar(vtype="B")
        model.addCons(root <= most * rooted)
        model.addCons(root * root <= form(squares) - squares.min() * (1 - rooted))
    cost = model.addVar(lb=costs.min(), ub=costs.max())
    model.addCons(cost >= form(costs))
    model.setObjective(quicksum(gains[i] * w[i] for i in range(d)) + root - cost, "maximize")
    model.optimize()

    weights = np.array([model.getVal(weight) for weight in w])
    if c is not None:
        weights = feasible(weights, np.array([model.getVal(binary) > 0.5 for binary in chosen]), c)
    else:
        weights = feasible(weights, np.ones(d, dtype=bool), 0.0)
    return ScipMaximum(
        value=float(optimistic_value(weights, mean, bonus, risk, rho)),
        weights=weights,
        bound=offset + unit * model.getDualbound(),
        seconds=time.process_time() - begun,
        status=model.getStatus(),
    )


def feasible(weights, chosen, c):
    """Return weights of the chosen options of at least c that sum to one, for weights that are so up to a tolerance."""
    above = np.where(chosen, np.maximum(weights - c, 0.0), 0.0)
    free = max(1 - c * chosen.sum(), 0.0)
    return np.where(chosen, c, 0.0) + (free * above / above.sum() if above.any() else 0.0)


# ----------------------------------------------------------------------------------------------------------------------
# Ascents


def ascend(program, w):
    """Return the value that moving weight between two options leads to, also to and from none: always the best move."""
    mean, bonus, risk, rho, c = program
    m = largest_support(len(program.mean), program.c)
    fractions = 0.5 ** np.arange(12)
    w = w.copy()
    for _ in range(300):
        support = np.flatnonzero(w)
        aw, rw = bonus @ w, risk @ w
        q = w @ aw
        j, i = support[:, None], np.arange(len(w))[None, :]
        inside = w[i] > 0
        # Within the support any share of what is above c; to a new option everything, or c if that leaves c.
        amounts = np.where(inside, fractions[:, None, None] * (w[j] - c), 0.0)
        amounts[0] = w[j] + 0 * i
        spare = ~inside & (w[j] >= 2 * c) & (len(support) < m)
        amounts[1] = np.where(inside, w[j] - c, np.where(spare, c, 0.0))
        bend = [M[i, i] + M[j, j] - 2 * M[i, j] for M in (bonus, risk)]
        square = q + amounts * (2 * (aw[i] - aw[j]) + amounts * bend[0])
        gain = amounts * (mean[i] - mean[j]) + np.sqrt(np.maximum(square, 0)) - np.sqrt(max(q, 0.0))
        gain -= rho * amounts * (2 * (rw[i] - rw[j]) + amounts * bend[1])
        size, giver, taker = np.unravel_index(gain.argmax(), gain.shape)
        if gain[size, giver, taker] <= 1e-12 * unit(program):
            break
        amount = amounts[size, giver, taker]
        w[taker] += amount
        w[support[giver]] = 0.0 if size == 0 else w[support[giver]] - amount
    return value(program, w)
