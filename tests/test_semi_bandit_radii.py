"""The radii of the semi-bandit learners cover the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from semi_bandit_play import PAPER, RISK_AVERSION, is_over, make, seen, some_weights


def misses(learner: Any, problem: cb.Problem, seed: int, rounds: int) -> tuple[int, int, int]:
    """Return how often g and E missed the truth after start-up, and in how many comparisons."""
    rng = np.random.default_rng(seed)
    rewards = cb.environments.Gaussian().sampler(problem, seed, 0).draw(rounds)
    of_g = of_e = compared = 0
    for reward in rewards:
        w = learner.ask()
        if is_over(learner):
            s = learner._view
            some = np.vstack([w, some_weights(rng, learner.n_options, learner.min_weight, 3)])
            off = np.abs(some @ (s.mean - problem.mean))
            of_e += int((off > np.sqrt(np.maximum(np.einsum("ki,ij,kj->k", some, s.bonus, some), 0))).sum())
            if learner.risk_aversion is not None:
                lower = s.penalty / learner.risk_aversion
                radius = learner._covariance() - lower
                of_g += int((np.abs(learner._covariance() - problem.covariance) > radius).sum())
            compared += 1
        learner.tell(w, seen(w, reward))
    return of_g, of_e, compared


def bounded_problem(d: int, correlation: Any, seed: int, variance: float = 1.0) -> cb.Problem:
    """Return a random problem whose largest variance is the bound."""
    p = cb.problems.random(d, correlation, seed, risk_aversion=RISK_AVERSION, min_weight=0.1)
    shrink = variance / p.covariance.diagonal().max()
    return cb.Problem(mean=p.mean, covariance=p.covariance * shrink, risk_aversion=RISK_AVERSION, min_weight=0.1)


@pytest.mark.parametrize("kind", PAPER)
def test_radii_with_the_constants_of_the_paper_never_miss(kind: Any) -> None:
    for seed, correlation in enumerate(("negative", "zero", "positive", "factor") * 2):
        bound = (1.0, 9.0)[seed % 2]
        problem = bounded_problem(4, correlation, seed, bound)
        of_g, of_e, compared = misses(make(kind, 4, variance_bound=bound), problem, seed, 400)
        assert (of_g, of_e) == (0, 0)
        assert compared == 400 - 16


def test_much_smaller_radii_miss() -> None:
    """The comparison above can fail."""
    learner = make(cb.MCUCB, 4, radius_scale=(0.02, 0.02))
    of_g, of_e, _ = misses(learner, bounded_problem(4, "factor", 1), 1, 400)
    assert of_g > 0
    assert of_e > 0
