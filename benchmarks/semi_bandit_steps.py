"""Whole simulation steps of the learners whose weights are zero or at least c, the maximisation included."""

from __future__ import annotations

from learner_steps import Contest

import covbandit as cb

MIN_WEIGHT = 0.1


def problem_of(d: int) -> cb.Problem:
    """Return the paper's instance for d = 5, else a random one with three factors."""
    if d == 5:
        return cb.problems.synthetic(min_weight=MIN_WEIGHT)
    return cb.problems.random(d, "factor", seed=1, risk_aversion=1.0, min_weight=MIN_WEIGHT)


def learners_of(problem: cb.Problem) -> dict[str, cb.Learner]:
    """Return all learners that take a least weight."""
    d, rho, c = problem.n_options, problem.risk_aversion, problem.min_weight
    bound = float(problem.covariance.diagonal().max())
    return {
        "MCUCB": cb.MCUCB(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound),
        "MCUCBGamma": cb.MCUCBGamma(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound),
        "OLSUCBC": cb.OLSUCBC(n_options=d, min_weight=c, variance_bound=bound),
        "PairUCB": cb.PairUCB(n_options=d, risk_aversion=rho, min_weight=c),
        "MCEmpirical": cb.MCEmpirical(n_options=d, risk_aversion=rho, min_weight=c),
    }


CONTEST = Contest(
    problem_of=problem_of,
    learners_of=learners_of,
    base="MCEmpirical",
    start_up=lambda d: d * d + 100,
    notes=[f"Start-up is d² rounds for the first three, a covering design for PairUCB. c = {MIN_WEIGHT:g}."],
    targets={(5, "MCUCB"): 25_000.0},
)
