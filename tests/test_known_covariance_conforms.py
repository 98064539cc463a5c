"""Who is told the covariance keeps the promises of every learner: asking is pure, live use equals simulation, …"""

from __future__ import annotations

import pytest

import covbandit as cb
from covbandit.errors import Unsupported
from covbandit.reproduction.known_covariance import KnownCovariance
from covbandit.testing import LearnerConformance

PROBLEM = cb.problems.random(4, "factor", 3, risk_aversion=0.5)


class TestKnownCovariance(LearnerConformance):
    memory_rounds = 2_000

    def make(self) -> cb.Learner:
        return KnownCovariance(covariance=PROBLEM.covariance, risk_aversion=0.5)


class TestKnownCovarianceWithALeastWeight(LearnerConformance):
    memory_rounds = 2_000

    def make(self) -> cb.Learner:
        return KnownCovariance(covariance=PROBLEM.covariance, risk_aversion=0.5, min_weight=0.2)


def test_missing_rewards_are_refused() -> None:
    learner = KnownCovariance(covariance=PROBLEM.covariance, risk_aversion=0.5)
    with pytest.raises(Unsupported, match="benchmark of simulations"):
        learner.tell_partly([1.0, 0.0, 0.0, 0.0], [0.1, None, 0.2, 0.3])
