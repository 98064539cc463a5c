"""The specification's reference figures for full information, on seeded runs.

Reference: mean ± 95 % interval over 50 replications of an independent implementation. Ours must agree within three
combined standard errors.
"""

from __future__ import annotations

import numpy as np
import pytest

import covbandit as cb
from covbandit.reproduction import experiments_named
from reference_figures import assert_agrees

REFERENCE = {
    ("MC-Empirical", 1_000): (15.4, 2.2),
    ("MC-Empirical", 10_000): (34.4, 3.6),
    ("MC-Empirical", 100_000): (58.7, 5.3),
    ("OGD", 1_000): (22.8, 1.4),
    ("OGD", 10_000): (101.6, 4.3),
    ("OGD", 100_000): (392.5, 7.8),
    ("OGD (plug-in)", 1_000): (15.3, 2.5),
    ("OGD (plug-in)", 10_000): (34.8, 3.9),
    ("OGD (plug-in)", 100_000): (59.4, 5.6),
    ("LinearFI", 1_000): (44.6, 6.5),
    ("LinearFI", 10_000): (254.0, 9.0),
    ("LinearFI", 100_000): (2328.0, 9.0),
}


@pytest.fixture(scope="module")
def result() -> cb.SimulationResult:
    (panel,) = experiments_named(["fi-synthetic"]).panels
    return cb.simulate(panel.problem(), panel.learners(), 100_000, 50, seed=2021, checkpoints=[52, 1_000, 10_000])


@pytest.mark.parametrize(("learner", "rounds"), list(REFERENCE))
def test_agrees_with_the_reference(result: cb.SimulationResult, learner: str, rounds: int) -> None:
    assert_agrees(result.at(learner, rounds), *REFERENCE[learner, rounds])


def test_equal_weights_are_hard_to_beat_early(result: cb.SimulationResult) -> None:
    assert result.at("equal weights", 52).mean() == pytest.approx(52 * 0.019047619, rel=1e-6)
    assert result.ratio("MC-Empirical", "equal weights", 52).low > 1
    assert result.ratio("equal weights", "MC-Empirical").low > 10


def test_regret_grows_like_the_logarithm_with_the_predicted_constant() -> None:
    """dR/d ln T = [(d-1)(1 + 4ρ²s²) + θ_T'Σ_T⁻¹θ_T] / (4ρ) at an interior optimum; 10.16 here."""
    problem = cb.problems.synthetic()
    d, rho, w = 5, problem.risk_aversion, problem.optimum().weights
    basis = np.linalg.svd(np.ones((1, d)))[2][1:]
    along = basis @ problem.mean
    s2 = w @ problem.covariance @ w
    spread = along @ np.linalg.solve(basis @ problem.covariance @ basis.T, along)
    predicted = ((d - 1) * (1 + 4 * rho**2 * s2) + spread) / (4 * rho)
    assert predicted == pytest.approx(10.16, abs=0.01)
    learner = {"it": cb.MCEmpirical(n_options=d, risk_aversion=rho)}
    r = cb.simulate(problem, learner, 100_000, 200, seed=7, checkpoints=[10_000])
    seen = (r.at("it") - r.at("it", 10_000)).mean() / np.log(10)
    assert seen == pytest.approx(predicted, rel=0.15)
