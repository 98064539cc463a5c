"""The specification's reference figures for full-bandit feedback, on seeded runs.

Reference: mean ± 95 % interval over 50 replications of an independent implementation. Ours must agree within three
combined standard errors.
"""

from __future__ import annotations

import pytest

import covbandit as cb
from reference_figures import assert_agrees

REFERENCE = {
    ("MC-ETE", 10.0, 10_000): (10_299.0, 412.0),
    ("MC-ETE", 10.0, 100_000): (39_122.0, 925.0),
    ("OGD-ETE", 10.0, 10_000): (11_027.0, 389.0),
    ("OGD-ETE", 10.0, 100_000): (39_850.0, 921.0),
    ("LinearFB", 10.0, 10_000): (78_842.0, 89.0),
    ("LinearFB", 10.0, 100_000): (811_822.0, 606.0),
    ("MC-ETE", 0.1, 10_000): (353.0, 45.0),
    ("MC-ETE", 0.1, 100_000): (1_601.0, 173.0),
}


@pytest.fixture(scope="module")
def results() -> dict[float, cb.SimulationResult]:
    def run(rho: float) -> cb.SimulationResult:
        learners = {
            "MC-ETE": cb.MCETE(n_options=5, risk_aversion=rho),
            "OGD-ETE": cb.OGDETE(n_options=5, risk_aversion=rho),
            "LinearFB": cb.LinearFB(n_options=5),
        }
        problem = cb.problems.synthetic(risk_aversion=rho)
        return cb.simulate(problem, learners, 100_000, 50, seed=2021, checkpoints=[10_000])

    return {rho: run(rho) for rho in (10.0, 0.1)}


@pytest.mark.parametrize(("learner", "rho", "rounds"), list(REFERENCE))
def test_agrees_with_the_reference(
    results: dict[float, cb.SimulationResult], learner: str, rho: float, rounds: int
) -> None:
    assert_agrees(results[rho].at(learner, rounds), *REFERENCE[learner, rho, rounds])


def test_the_order_of_the_paper(results: dict[float, cb.SimulationResult]) -> None:
    assert results[10.0].ratio("OGD-ETE", "MC-ETE").low > 1
    assert results[10.0].ratio("LinearFB", "OGD-ETE").low > 10
