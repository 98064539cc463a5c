"""The instances on which full-bandit learners are compared: some like the paper's, some hard in one respect each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import covbandit as cb
from covbandit.core.typing import F64
from covbandit.environments import Environment, Gaussian, Skewed, StudentT


@dataclass(frozen=True)
class Instance:
    """A problem, where its rewards come from, and what is hard about it."""

    name: str
    problem: cb.Problem
    environment: Environment = field(default_factory=Gaussian)

    @property
    def interior(self) -> bool:
        """Whether all options belong to the optimum."""
        return bool((self.problem.optimum().weights > 1e-9).all())

    def __str__(self) -> str:
        return f"{self.name}, d = {self.problem.n_options}, ρ = {self.problem.risk_aversion:g}"


def equicorrelated(d: int, correlation: float) -> F64:
    """Return a covariance with unit variances and one correlation."""
    return np.asarray((1 - correlation) * np.eye(d) + correlation * np.ones((d, d)))


_MEAN = np.array([0.2, 0.3, 0.2, 0.2, 0.2])


def _like_synthetic(correlation: float, risk_aversion: float) -> cb.Problem:
    return cb.Problem(mean=_MEAN, covariance=equicorrelated(5, correlation), risk_aversion=risk_aversion)


def _ten() -> cb.Problem:
    mean = 0.2 + 0.1 * np.sin(2.3 * np.arange(10))
    return cb.Problem(mean=mean, covariance=equicorrelated(10, -0.05), risk_aversion=1.0)


def _boundary() -> cb.Problem:
    return cb.Problem(mean=[0.2, 0.6, 0.2, 0.5, -0.3], covariance=equicorrelated(5, -0.05), risk_aversion=1.0)


def _degenerate() -> cb.Problem:
    """Return a problem at whose optimum two options have no weight, and would not lose by having some."""
    covariance = equicorrelated(5, 0.0)
    best = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    return cb.Problem(mean=2.0 * covariance @ best, covariance=covariance, risk_aversion=1.0)


def _unequal_scales() -> cb.Problem:
    deviation = np.array([0.3, 0.5, 1.0, 2.0, 3.0])
    covariance = equicorrelated(5, 0.1) * np.outer(deviation, deviation)
    return cb.Problem(mean=[0.1, 0.2, 0.3, 0.6, 0.8], covariance=covariance, risk_aversion=1.0)


HIGH = Instance("high correlation (+.9)", _like_synthetic(0.9, 1.0))
"""Where the tangent of the simplex is nearly flat, so that everything takes long."""

COMPARED = (
    Instance("synthetic", cb.problems.synthetic(10.0)),
    Instance("synthetic", cb.problems.synthetic(0.1)),
    Instance("negative correlation (-.2)", _like_synthetic(-0.2, 1.0)),
    Instance("positive correlation (+.3)", _like_synthetic(0.3, 1.0)),
    HIGH,
    Instance("high correlation (+.9)", _like_synthetic(0.9, 10.0)),
    Instance("boundary optimum", _boundary()),
    Instance("ten options", _ten()),
    Instance("Student-t 5", cb.problems.synthetic(1.0), StudentT(df=5)),
)
"""On which GradientTS is compared with MC-ETE."""

HARD = (
    Instance("near-degenerate optimum", _degenerate()),
    Instance("unequal scales", _unequal_scales()),
    Instance("skewed noise", cb.problems.synthetic(1.0), Skewed(-2.0)),
    Instance("two options", cb.Problem(mean=[0.2, 0.3], covariance=[[1.0, 0.2], [0.2, 0.5]], risk_aversion=1.0)),
)
"""Further ones, each hard in one respect."""


def random_instances(seed: int, count: int) -> list[Instance]:
    """Return random instances of different size, correlation, spread of means and volatilities, and ρ."""
    rng = np.random.default_rng(seed)
    kinds = ("negative", "zero", "positive", "factor")
    made = []
    for k in range(count):
        kind = kinds[k % 4]
        problem = cb.problems.random(
            int(rng.choice([2, 3, 4, 5, 6, 8])),
            kind,
            int(rng.integers(1_000_000)),
            risk_aversion=float(rng.choice([0.1, 0.3, 1.0, 3.0, 10.0])),
            mean_spread=float(rng.choice([0.05, 0.2, 0.5])),
            volatility_spread=float(rng.choice([0.0, 0.3, 0.6])),
        )
        made.append(Instance(f"random, {kind}", problem))
    return made
