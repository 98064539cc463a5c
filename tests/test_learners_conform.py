"""Every learner inherits the conformance suite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.testing import LearnerConformance
from example_learners import Exploring, FollowTheLeader, TotalChaser

# Learners that choose one option at a time say so when they are made; that is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:min_weight=.* is above one half:covbandit.errors.SetupWarning")

DESIGN = np.random.default_rng(0).dirichlet(np.ones(3), size=8)  # two actions more than needed

MAKERS: dict[str, Any] = {
    "mc-empirical": lambda: cb.MCEmpirical(n_options=4, risk_aversion=0.5),
    "mc-empirical, 12 options": lambda: cb.MCEmpirical(n_options=12, risk_aversion=5.0),
    "mc-empirical, capped": lambda: cb.MCEmpirical(n_options=4, risk_aversion=0.5, max_weight=[0.3, 0.5, 0.1, 1.0]),
    "mc-empirical, forgetting": lambda: cb.MCEmpirical(n_options=4, risk_aversion=0.5, half_life=20.0),
    "mc-empirical, held": lambda: cb.MCEmpirical(n_options=3, risk_aversion=2.0, hold=([0.2, 0.3, 0.5], 10)),
    "mc-empirical, linear": lambda: cb.MCEmpirical(n_options=3, risk_aversion=0.0),
    "ogd": lambda: cb.OGD(n_options=4, risk_aversion=0.5),
    "ogd, plug-in": lambda: cb.OGD(n_options=4, risk_aversion=0.5, gradient="plugin"),
    "ogd, strong": lambda: cb.OGD(n_options=4, risk_aversion=0.5, step="strong", curvature=0.5),
    "linear-fi": lambda: cb.LinearFI(n_options=4),
    "fixed": lambda: cb.FixedWeights(n_options=4),
    "fixed, given": lambda: cb.FixedWeights(weights=[0.1, 0.2, 0.3, 0.4]),
    "shrunk-empirical": lambda: cb.ShrunkEmpirical(n_options=4, risk_aversion=0.5),
    "shrunk-empirical, two options": lambda: cb.ShrunkEmpirical(n_options=2, risk_aversion=3.0),
    "mc-ucb": lambda: cb.MCUCB(n_options=4, risk_aversion=0.5, variance_bound=4.0),
    "mc-ucb, clipped": lambda: cb.MCUCB(n_options=5, risk_aversion=0.1, variance_bound=4.0, cap_upper=True),
    "mc-ucb, any weights": lambda: cb.MCUCB(
        n_options=4, risk_aversion=0.5, min_weight=None, variance_bound=4.0, radius_scale=(0.02, 0.2)
    ),
    "mc-ucb, one at a time": lambda: cb.MCUCB(n_options=4, risk_aversion=0.5, min_weight=0.6, variance_bound=4.0),
    "mc-ucb, 10 options": lambda: cb.MCUCB(n_options=10, risk_aversion=0.5, min_weight=0.3, variance_bound=4.0),
    "mc-ucb, held": lambda: cb.MCUCB(
        n_options=3, risk_aversion=2.0, min_weight=0.2, options=["a", "b", "c"], hold=([0.2, 0.3, 0.5], 5)
    ),
    "mc-ucb-gamma": lambda: cb.MCUCBGamma(n_options=4, risk_aversion=0.5, variance_bound=4.0),
    "mc-ucb-gamma, matrix": lambda: cb.MCUCBGamma(
        n_options=3, risk_aversion=0.5, min_weight=0.3, gamma=np.eye(3) + 0.5, options=["a", "b", "c"]
    ),
    "mc-ucb-gamma, one at a time": lambda: cb.MCUCBGamma(n_options=3, risk_aversion=0.5, min_weight=0.9, gamma=2.0),
    "mc-ucb-gamma, held": lambda: cb.MCUCBGamma(n_options=2, risk_aversion=0.5, hold=([1.0, 0.0], 7)),
    "ols-ucb-c": lambda: cb.OLSUCBC(n_options=5, variance_bound=4.0),
    "ols-ucb-c, matrix": lambda: cb.OLSUCBC(n_options=3, min_weight=1 / 3, gamma=np.eye(3) + 0.5),
    "ols-ucb-c, one at a time": lambda: cb.OLSUCBC(n_options=3, min_weight=0.6, options=["a", "b", "c"]),
    "ols-ucb-c, any weights": lambda: cb.OLSUCBC(n_options=3, min_weight=None, hold=([0.2, 0.3, 0.5], 10)),
    "pair-ucb": lambda: cb.PairUCB(n_options=4, risk_aversion=0.5),
    "pair-ucb, two options": lambda: cb.PairUCB(n_options=2, risk_aversion=0.5, min_weight=0.5),
    "pair-ucb, any weights": lambda: cb.PairUCB(n_options=4, risk_aversion=0.5, min_weight=None),
    "pair-ucb, one at a time": lambda: cb.PairUCB(n_options=4, risk_aversion=0.5, min_weight=0.6),
    "pair-ucb, 12 options": lambda: cb.PairUCB(n_options=12, risk_aversion=2.0, min_weight=0.25),
    "pair-ucb, held": lambda: cb.PairUCB(
        n_options=3, risk_aversion=2.0, min_weight=0.2, options=["a", "b", "c"], hold=([0.2, 0.3, 0.5], 10)
    ),
    "mc-ete": lambda: cb.MCETE(n_options=4, risk_aversion=0.5),
    "mc-ete, exact": lambda: cb.MCETE(n_options=4, risk_aversion=5.0, indefinite="exact"),
    "mc-ete, own design": lambda: cb.MCETE(n_options=3, risk_aversion=0.5, design=DESIGN, options=["a", "b", "c"]),
    "mc-ete, two options": lambda: cb.MCETE(n_options=2, risk_aversion=3.0),
    "mc-ete, held": lambda: cb.MCETE(n_options=3, risk_aversion=2.0, hold=([0.5, 0.0, 0.5], 10)),
    "ogd-ete": lambda: cb.OGDETE(n_options=4, risk_aversion=0.5),
    "ogd-ete, held": lambda: cb.OGDETE(n_options=3, risk_aversion=0.5, indefinite="exact", hold=([0.2, 0.3, 0.5], 10)),
    "linear-fb": lambda: cb.LinearFB(n_options=4),
    "linear-fb, own design": lambda: cb.LinearFB(n_options=3, design=DESIGN),
    "gradient-ts": lambda: cb.GradientTS(n_options=4, risk_aversion=0.5, seed=2),
    "gradient-ts, two options": lambda: cb.GradientTS(n_options=2, risk_aversion=3.0, start_up=8),
    "gradient-ts, held": lambda: cb.GradientTS(
        n_options=3, risk_aversion=2.0, options=["a", "b", "c"], hold=([0.2, 0.3, 0.5], 10)
    ),
    "gradient-ts, linear": lambda: cb.GradientTS(n_options=3, risk_aversion=0.0),
    "plain Python": lambda: FollowTheLeader(n_options=3),
    "plain Python, randomised": lambda: Exploring(n_options=3, seed=5),
    "plain Python, total": lambda: TotalChaser(n_options=3),
}


@pytest.mark.parametrize("name", list(MAKERS))
class TestLearners(LearnerConformance):
    @pytest.fixture(autouse=True)
    def _choose(self, name: str) -> None:
        self.name = name

    @property
    def history(self) -> int:  # type: ignore[override]
        if self.name == "mc-ucb, 10 options":
            return 150  # it starts by 100 pulls
        return 90 if "-ete" in self.name or "-fb" in self.name else 60  # they start by two or three rounds of a design

    @property
    def memory_rounds(self) -> int:  # type: ignore[override]
        if self.name.startswith("plain"):
            return 2_000
        return 100_000 if self.make().feedback == "all" else 5_000

    def make(self) -> cb.Learner:
        return MAKERS[self.name]()


def test_the_suite_catches_a_learner_that_breaks_its_promises() -> None:
    class Leaky(FollowTheLeader):
        def _absorb(self, weights: Any, observation: Any) -> None:
            super()._absorb(weights, observation)
            self.statistics.setdefault("log", []).append(float(np.sum(observation)))

    class Fickle(FollowTheLeader):
        def _decide(self, t: int) -> Any:
            return np.random.default_rng().dirichlet(np.ones(self.n_options))

    class Suite(LearnerConformance):
        memory_rounds = 50

        def __init__(self, kind: type[cb.Learner]) -> None:
            self.kind = kind

        def make(self) -> cb.Learner:
            return self.kind(n_options=3)

    with pytest.raises(AssertionError):
        Suite(Leaky).test_memory_is_bounded()
    with pytest.raises(AssertionError):
        Suite(Fickle).test_ask_is_pure()
    with pytest.raises(AssertionError):
        Suite(Fickle).test_live_equals_simulation()
