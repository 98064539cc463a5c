"""Problems for the optimistic maximiser, and weights that it may choose.

It maximises F(w) = w'mean + √(max(w'bonus w, 0)) - ρ w'risk w over weights that sum to one and are each 0 or at least
c. The matrices are symmetric and may be indefinite; c = None is the plain simplex.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import covbandit as cb
from decision_set import largest_support
from quadratic_programs import symmetric
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


@cache
def harvested(d, c, rounds, every, seed=0, rho=0.1):
    """Return problems that MC-UCB meets: four kinds of correlation, at several rounds after start-up."""
    programs = []
    for kind in ("negative", "zero", "positive", "factor"):
        problem = cb.problems.random(d, kind, seed, risk_aversion=rho, min_weight=c)
        bound = float(problem.covariance.diagonal().max())
        learner = cb.MCUCB(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound)
        rng = np.random.default_rng([seed, d])
        rewards = rng.multivariate_normal(problem.mean, problem.covariance, d * d + rounds, method="cholesky")
        for t, y in enumerate(rewards):
            w = learner.ask()
            after = t - d * d
            if after >= 0 and after % every == 0:
                s = learner._view
                programs.append(OptimisticProgram(s.mean.copy(), s.bonus.copy(), s.penalty.copy(), 1.0, c))
            learner.tell(w, np.where(w > 0, y, np.nan))
    return tuple(programs)


@st.composite
def seeded_programs(draw, least, most):
    """Problems of which Hypothesis chooses the structure and the seed."""
    d = draw(st.integers(least, most))
    c = draw(st.sampled_from([None, 0.05, 0.1, 0.2, 0.3, 1 / 3, 0.4, 0.5, 0.6, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if c is not None and draw(st.booleans()):
        return played_program(rng, d, c, draw(st.integers(0, 20)), draw(st.sampled_from([0.0, 0.1, 10.0])))
    return seeded_program(rng, d, c, *(draw(st.sampled_from(sorted(MATRICES))) for _ in range(2)))


def random_weights(program, rng, n):
    """Return feasible weights, one row each: random supports, with corners as likely as the middle."""
    d, c = len(program.mean), program.c or 0.0
    rows = np.zeros((n, d))
    for row in rows:
        k = int(rng.integers(1, largest_support(d, program.c) + 1))
        shares = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 10.0])))
        row[rng.permutation(d)[:k]] = c + max(1 - k * c, 0.0) * shares
    return rows
