"""The specification's reference figures for semi-bandit feedback, on seeded runs.

Reference: mean ± 95 % interval over 50 replications of an independent implementation, with c = .1 and λ = .5. Ours must
agree within three combined standard errors.
"""

from __future__ import annotations

import pytest

import covbandit as cb
from decision_set import assert_on_the_set
from reference_figures import assert_agrees

REFERENCE = {
    ("MC-UCB", 1_000): (79.1, 1.1),
    ("MC-UCB", 10_000): (164.2, 3.3),
    ("MC-UCB-Γ", 1_000): (21.7, 1.6),
    ("MC-UCB-Γ", 10_000): (33.2, 2.4),
    ("OLS-UCB-C", 1_000): (96.6, 1.3),
    ("OLS-UCB-C", 10_000): (812.0, 15.0),
}


@pytest.fixture(scope="module")
def result() -> cb.SimulationResult:
    problem = cb.problems.synthetic(risk_aversion=0.1, min_weight=0.1)
    learners = {
        "MC-UCB": cb.MCUCB(n_options=5, risk_aversion=0.1, min_weight=0.1, regularization=0.5),
        "MC-UCB-Γ": cb.MCUCBGamma(n_options=5, risk_aversion=0.1, min_weight=0.1, regularization=0.5),
        "OLS-UCB-C": cb.OLSUCBC(n_options=5, min_weight=0.1, regularization=0.5),
    }
    return cb.simulate(problem, learners, 10_000, 50, seed=2021, checkpoints=[1_000])


@pytest.mark.parametrize(("learner", "rounds"), list(REFERENCE))
def test_agrees_with_the_reference(result: cb.SimulationResult, learner: str, rounds: int) -> None:
    assert_agrees(result.at(learner, rounds), *REFERENCE[learner, rounds])


def test_the_order_of_the_paper_is_not_seen_with_the_tightest_gamma(result: cb.SimulationResult) -> None:
    assert result.ratio("MC-UCB", "MC-UCB-Γ").low > 1
    assert result.ratio("OLS-UCB-C", "MC-UCB").low > 1


def test_every_decision_is_on_the_decision_set(result: cb.SimulationResult) -> None:
    assert_on_the_set(result.weights, 0.1)
