"""GradientTS on hard instances: it does not get stuck, and pays less than MC-ETE. Seeded, 50 replications."""

from __future__ import annotations

import numpy as np
import pytest

import covbandit as cb
from covbandit.environments import Environment, Gaussian, Skewed, StudentT


def equicorrelated(correlation: float) -> np.ndarray:
    return (1 - correlation) * np.eye(5) + correlation


SYNTHETIC_MEAN = [0.2, 0.3, 0.2, 0.2, 0.2]
DEVIATION = np.array([0.3, 0.5, 1.0, 2.0, 3.0])
INSTANCES: dict[str, tuple[cb.Problem, Environment]] = {
    "negative correlation": (
        cb.Problem(mean=SYNTHETIC_MEAN, covariance=equicorrelated(-0.2), risk_aversion=1.0),
        Gaussian(),
    ),
    "positive correlation": (
        cb.Problem(mean=SYNTHETIC_MEAN, covariance=equicorrelated(0.3), risk_aversion=1.0),
        Gaussian(),
    ),
    "high correlation": (
        cb.Problem(mean=SYNTHETIC_MEAN, covariance=equicorrelated(0.9), risk_aversion=10.0),
        Gaussian(),
    ),
    "high correlation, little risk aversion": (
        cb.Problem(mean=SYNTHETIC_MEAN, covariance=equicorrelated(0.9), risk_aversion=1.0),
        Gaussian(),
    ),
    "boundary": (
        cb.Problem(mean=[0.2, 0.6, 0.2, 0.5, -0.3], covariance=equicorrelated(-0.05), risk_aversion=1.0),
        Gaussian(),
    ),
    "near-degenerate": (
        cb.Problem(mean=[1.0, 0.6, 0.4, 0.0, 0.0], covariance=np.eye(5), risk_aversion=1.0),
        Gaussian(),
    ),
    "unequal scales": (
        cb.Problem(
            mean=[0.1, 0.2, 0.3, 0.6, 0.8],
            covariance=equicorrelated(0.1) * np.outer(DEVIATION, DEVIATION),
            risk_aversion=1.0,
        ),
        Gaussian(),
    ),
    "Student-t": (cb.problems.synthetic(1.0), StudentT(df=5)),
    "skewed": (cb.problems.synthetic(1.0), Skewed(-2.0)),
    "two options": (cb.Problem(mean=[0.2, 0.3], covariance=[[1.0, 0.2], [0.2, 0.5]], risk_aversion=1.0), Gaussian()),
}
GRADIENT, ETE = "GradientTS", "MC-ETE"


@pytest.fixture(scope="module", params=list(INSTANCES))
def result(request: pytest.FixtureRequest) -> cb.SimulationResult:
    problem, environment = INSTANCES[request.param]
    d, rho = problem.n_options, problem.risk_aversion
    learners = {
        GRADIENT: cb.GradientTS(n_options=d, risk_aversion=rho),
        ETE: cb.MCETE(n_options=d, risk_aversion=rho),
    }
    return cb.simulate(
        problem, learners, 20_000, 50, seed=77, environment=environment, checkpoints=[2_000], progress=False
    )


def test_no_replication_is_stuck(result: cb.SimulationResult) -> None:
    """None grows nearly linearly in the last decade (slope above .9) and has paid more than MC-ETE does on average.

    A steep slope alone is no fault where equal weights are nearly best: having paid next to nothing is no promise.
    """
    late, early = result.at(GRADIENT), result.at(GRADIENT, 2_000)
    stuck = (np.log10(late / early) > 0.9) & (late > result.at(ETE).mean())
    assert stuck.sum() == 0


def test_it_pays_less_than_mc_ete(result: cb.SimulationResult) -> None:
    assert result.ratio(ETE, GRADIENT).low > 1
    assert result.at(GRADIENT).max() < result.at(ETE).max()
