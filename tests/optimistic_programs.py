"""Problems for the optimistic maximiser, and two maximisers of another kind to check it against: a grid, and SCIP.

They maximise F(w) = w'mean + √(max(w'bonus w, 0)) - ρ w'risk w over weights that sum to one and are each 0 or at least
c. The matrices are symmetric and may be indefinite; c = None is the plain simplex.
"""

from __future__ import annotations

import itertools
import time
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from pyscipopt import Model, quicksum

from semi_bandit_reference import confidence_round, start_up_weights


class OptimisticProgram(NamedTuple):
    mean: np.ndarray
    bonus: np.ndarray
    risk: np.ndarray
    rho: float
    c: float | None


def quadratic(matrix, w):
    return np.einsum("...i,ij,...j->...", w, matrix, w)


def optimistic_value(w, mean, bonus, risk, rho):
    """Return F, at one point or at each row of many."""
    w = np.asarray(w, dtype=float)
    return w @ mean + np.sqrt(np.maximum(quadratic(bonus, w), 0)) - rho * quadratic(risk, w)


def optimistic_unit(mean, bonus, risk, rho):
    """Return the size of what F consists of, in which tolerances are told; a common offset of the means is no part."""
    return max(np.ptp(mean), np.sqrt(np.abs(bonus).max()), rho * np.abs(risk).max()) or 1.0


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
# Problems


def symmetric(matrix):
    return (matrix + matrix.T) / 2


def psd(rng, d):
    factor = rng.standard_normal((d + 2, d)) / np.sqrt(d + 2)
    return symmetric(factor.T @ factor)


def indefinite(rng, d):
    return symmetric(rng.standard_normal((d, d)))


def zero(rng, d):
    return np.zeros((d, d))


def tied(rng, d):
    """Exchangeable options: what is best is so in many places."""
    diagonal, other = rng.choice([-1.0, -0.05, 0.0, 0.5, 1.0, 2.0], 2)
    return np.where(np.eye(d, dtype=bool), diagonal, other)


def duplicated(rng, d):
    twins = rng.integers(0, max(d // 2, 1), d)
    return indefinite(rng, d)[np.ix_(twins, twins)]


def positive(rng, d):
    return symmetric(rng.uniform(0, 2, (d, d)))


def crossed(rng, d):
    """Positive, with pairs far less known than single options."""
    return np.where(np.eye(d, dtype=bool), rng.uniform(0.1, 0.5, d), symmetric(rng.uniform(1, 4, (d, d))))


def rank_one(rng, d):
    factor = rng.standard_normal(d)
    return np.outer(factor, factor)


def negative(rng, d):
    """No weights have a positive radicand."""
    return -psd(rng, d)


MATRICES = {
    kind.__name__: kind for kind in (psd, indefinite, zero, tied, duplicated, positive, crossed, rank_one, negative)
}


def seeded_program(rng, d, c, bonus, risk):
    """Return a problem with matrices of the named kinds; where the risk is tied, so are the means."""
    mean = np.full(d, rng.standard_normal()) if risk == "tied" else rng.standard_normal(d)
    rho = float(rng.choice([0.0, 0.1, 1.0, 10.0]))
    return OptimisticProgram(mean, MATRICES[bonus](rng, d), MATRICES[risk](rng, d), rho, c)


def played_program(rng, d, c, rounds, rho=0.1, **parameters):
    """Return the problem that MC-UCB faces after its start-up and some rounds of supports as they come."""
    deviations = rng.uniform(0.5, 1.0, d)
    factor = rng.standard_normal((d + 2, d))
    factor *= deviations / np.linalg.norm(factor, axis=0)
    mean = 0.3 * rng.standard_normal(d)
    pulls = start_up_weights(d, c)
    for _ in range(rounds):
        chosen = rng.permutation(d)[: rng.integers(1, max(min(d, int(1 / c)), 1) + 1)]
        pulls.append(np.isin(np.arange(d), chosen) / len(chosen))
    history = [(w, np.where(w > 0, mean + rng.standard_normal(d + 2) @ factor, np.nan)) for w in pulls]
    state = confidence_round(history, min_weight=c, **parameters)
    return OptimisticProgram(state.mean, state.bonus, state.lower, rho, c)


@st.composite
def seeded_programs(draw, least, most):
    """Problems of which Hypothesis chooses the structure and the seed."""
    d = draw(st.integers(least, most))
    c = draw(st.sampled_from([None, 0.05, 0.1, 0.2, 0.3, 1 / 3, 0.4, 0.5, 0.6, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if c is not None and draw(st.booleans()):
        return played_program(rng, d, c, draw(st.integers(0, 20)), draw(st.sampled_from([0.0, 0.1, 10.0])))
    return seeded_program(rng, d, c, *(draw(st.sampled_from(sorted(MATRICES))) for _ in range(2)))
