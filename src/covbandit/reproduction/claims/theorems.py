"""The theorems' rates put to the test: upper bounds on the panels, lower bounds on their own hard instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from covbandit.problems.problem import Problem
from covbandit.reproduction.claims.claim import (
    Claim,
    Decision,
    Outcomes,
    compared,
    must_exceed,
    of_ratio,
    of_slope,
)
from covbandit.reproduction.claims.rules import grows_like
from covbandit.reproduction.experiments import Experiments, HardInstances, Results
from covbandit.reproduction.panels import EQUAL, Setting
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import log_slope, paired_ratio
from covbandit.theory import UpperBound, full_bandit_bound, full_information_bound, semi_bandit_bound

_BOUNDS: dict[Setting, Callable[[Problem], UpperBound]] = {
    "fi": full_information_bound,
    "sb": semi_bandit_bound,
    "fb": full_bandit_bound,
}
THEOREMS: dict[Setting, tuple[str, str, str]] = {
    "fi": ("Theorem 1", "MC-Empirical", "√T"),
    "sb": ("Theorem 3", "MC-UCB", "√T"),
    "fb": ("Theorem 5", "MC-ETE", "T^(2/3)"),
}
"""Of each setting: the theorem, the learner it is about, its rate."""

RATE_TOLERANCE = 0.05
"""How far a measured slope may be from the exponent of a rate whose constants and logarithms are not known."""


def bound_of(setting: Setting, problem: Problem) -> UpperBound:
    """Return the upper bound of a setting's theorem."""
    return _BOUNDS[setting](problem)


def theorem_claims(experiments: Experiments, results: Results) -> list[Claim]:
    """Return a claim for each theorem that these results decide, in the paper's order."""
    claims = [*_rates(experiments, results), *(_lower_bound(hard, results) for hard in experiments.hard)]
    return sorted(claims, key=lambda claim: claim.source)


def _rates(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, (theorem, learner, rate) in THEOREMS.items():
        cases = tuple(
            grows_like(
                panel.condition(),
                result,
                learner,
                bound_of(setting, Problem.from_dict(result.specification["problem"])),
                panel.papers,
            )
            for panel, result in experiments.played(setting, results)
        )
        statement = f"{learner}'s regret grows like {rate}, up to logarithms, or more slowly"
        yield Claim(f"rate-{setting}", theorem, statement, cases)


def _lower_bound(hard: HardInstances, results: Results) -> Claim:
    """Judge a lower bound, which measuring some learners cannot prove, but one that paid less would refute."""
    played = sorted(
        (results[name] for name in results if name.startswith(f"{hard.name}-")), key=lambda result: result.horizon
    )
    early, late = played[0], played[-1]
    floor = hard.distribution(late.horizon).regret_floor
    n = len(late.replications)
    cases = []
    for learner in late.learners:
        paid = late.at(learner)
        times = of_ratio("", paired_ratio(paid, np.full(paid.size, floor)), n)
        rule = (
            f"regret of {learner} over the floor in the proof, {floor:.3g}, T = {late.horizon:,}: 95 % interval above 1"
        )
        condition = f"the proof's floor, played by {learner}"
        cases.append(compared(condition, rule, [times], must_exceed, universal=True))
        if len(played) > 1:
            slope = log_slope(paid, early.at(learner), float(np.log10(late.horizon / early.horizon)))
            rule = (
                f"log-log slope of the regret of {learner} in the horizon, T = {early.horizon:,} to {late.horizon:,}, "
                f"each with its own instances: 95 % interval above 1/2 less {RATE_TOLERANCE:g}; if below, undecided "
                "while regret is above the floor"
            )
            condition = f"the rate, played by {learner}"
            rate = of_slope("", slope, n, 0.5 - RATE_TOLERANCE)
            decision = _rate_above(bool(paid.mean() > floor))
            cases.append(compared(condition, rule, [rate], decision, universal=True))
    theorem, order = ("Theorem 2", "√T") if hard.setting == "fi" else ("Theorem 4", "√(cdT)")
    statement = f"On a certain distribution of instances every learner pays at least of order {order}"
    return Claim(f"lower-bound-{hard.setting}", theorem, statement, tuple(cases), _note(late, floor))


def _rate_above(paid_the_floor: bool) -> Decision:
    """Return the rule by which the slope of a learner's regret is judged against a lower bound.

    A small slope alone does not contradict the bound: regret may grow slowly between these horizons and still stay
    above a constant times the bound. It contradicts the bound if regret has also fallen below the floor of the proof.
    """

    def decide(outcomes: Outcomes) -> tuple[bool | None, str]:
        holds, _ = must_exceed(outcomes)
        return (None, "") if holds is False and paid_the_floor else (holds, "")

    return decide


def _note(result: SimulationResult, floor: float) -> str:
    """Say what a lower bound's measurements can show, and what each learner paid."""
    paid = sorted((float(result.at(learner).mean()), learner) for learner in result.learners)
    each = ", ".join(f"{learner} {mean:,.3g}" for mean, learner in paid)
    text = (
        "It speaks of every learner; the few played here may contradict it but cannot confirm it. On these instances, "
        f"at T = {result.horizon:,}, mean regret is: {each}; the floor of the proof is {floor:.3g}."
    )
    if EQUAL in result.learners:
        text += f" The slope of {EQUAL} is 1/2 by construction: other horizons scale the same draws."
    return text
