"""What `against_revision.py` lets every learner play: problems, settings, rounds.

Only public names are used, since these cases run against sources of different revisions. The list is fixed: whoever
adds a learner adds cases for it, and `against_revision.py` refuses to run until that is done.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import covbandit as cb
from covbandit import learners


@dataclass(frozen=True)
class Case:
    """One learner with its settings on one problem.

    Parameters
    ----------
    kind : str
        The name of the learner's class.
    what : str
        Says, together with `kind`, which case it is.
    problem : callable
        Returns the problem, or the distribution of problems.
    config : dict
        Arguments of the learner beside those that the problem determines.
    horizon, replications : int
        Of the simulation.
    environment : callable, optional
        Returns where rewards come from.
    """

    kind: str
    what: str
    problem: Callable[[], Any]
    config: dict[str, Any] = field(default_factory=dict)
    horizon: int = 20_000
    replications: int = 3
    environment: Callable[[], Any] | None = None

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.kind}: {self.what}"

    def played(self) -> Any:
        """Return a problem, drawn if there is a distribution of them."""
        problem = self.problem()
        return problem if isinstance(problem, cb.Problem) else problem.draw(seed=0, index=0)

    def learner(self) -> Any:
        """Return a new learner that fits the problem."""
        kind, problem = getattr(cb, self.kind), self.played()
        accepted = inspect.signature(kind).parameters
        fitting = {
            "n_options": problem.n_options,
            "risk_aversion": problem.risk_aversion,
            "min_weight": problem.min_weight,
            "max_weight": problem.max_weight,
        }
        return kind(**{name: value for name, value in fitting.items() if name in accepted} | self.config)


def _synthetic(rho: float, least: float | None = None) -> Callable[[], Any]:
    return lambda: cb.problems.synthetic(rho, min_weight=least)


def _etf(rho: float, least: float | None = None) -> Callable[[], Any]:
    return lambda: cb.problems.etf(rho, min_weight=least)


def _random(d: int, kind: str, rho: float, least: float | None = None) -> Callable[[], Any]:
    return lambda: cb.problems.random(d, kind, seed=d, risk_aversion=rho, min_weight=least)  # type: ignore[arg-type]


def _capped(rho: float) -> Callable[[], Any]:
    def problem() -> Any:
        free = cb.problems.synthetic(rho)
        return cb.Problem(
            mean=free.mean, covariance=free.covariance, risk_aversion=rho, max_weight=[0.3, 0.2, 0.5, 0.1, 1.0]
        )

    return problem


def _held(d: int, rounds: int) -> dict[str, Any]:
    return {"hold": ([0.5, 0.5] + [0.0] * (d - 2), rounds)}


def _design(d: int) -> Any:
    """Return more actions than it takes."""
    return np.random.default_rng(d).dirichlet(np.ones(d), size=d * (d + 1) // 2 + 2)


def _from_history() -> Any:
    return cb.environments.Bootstrap(cb.data.etf_returns())


def _student() -> Any:
    return cb.environments.StudentT(5.0)


def _skewed() -> Any:
    return cb.environments.Skewed(-2.0)


def _bounded() -> Any:
    return cb.environments.Bounded()


_FULL_INFORMATION = [
    Case("FixedWeights", "equal weights, ETF", _etf(0.1)),
    Case("FixedWeights", "own weights, d = 3", _random(3, "zero", 1.0), {"weights": [0.5, 0.3, 0.2]}),
    Case("LinearFI", "synthetic", _synthetic(0.1)),
    Case("LinearFI", "d = 20, least weight", _random(20, "factor", 1.0, 0.1), horizon=2_000),
    Case("LinearFI", "Student's t, held", _etf(0.1), _held(5, 40), environment=_student),
    Case("MCEmpirical", "synthetic, ρ = 0.1", _synthetic(0.1)),
    Case("MCEmpirical", "synthetic, ρ = 10", _synthetic(10.0)),
    Case("MCEmpirical", "ETF", _etf(0.1)),
    Case("MCEmpirical", "ETF, drawn from the history", _etf(0.1), environment=_from_history),
    Case("MCEmpirical", "no risk aversion, held", _random(3, "zero", 0.0), _held(3, 20)),
    Case("MCEmpirical", "d = 2", _random(2, "negative", 2.0)),
    Case("MCEmpirical", "d = 20", _random(20, "factor", 1.0), horizon=2_000),
    Case("MCEmpirical", "least weight", _synthetic(1.0, 0.3), horizon=1_000),
    Case("MCEmpirical", "largest weights", _capped(1.0)),
    Case("MCEmpirical", "half-life", _synthetic(1.0), {"half_life": 50.0}),
    Case("MCEmpirical", "half-life and largest weights", _capped(0.5), {"half_life": 200.0}),
    Case("MCEmpirical", "hard instances", lambda: cb.problems.full_information_lower_bound(5, 1_000), horizon=1_000),
    Case("ShrunkEmpirical", "synthetic", _synthetic(1.0)),
    Case("ShrunkEmpirical", "ETF, skewed", _etf(0.1), environment=_skewed),
    Case("ShrunkEmpirical", "d = 2, held", _random(2, "positive", 3.0), _held(2, 10)),
    Case("ShrunkEmpirical", "d = 20", _random(20, "factor", 1.0), horizon=2_000),
    Case("ShrunkEmpirical", "least weight", _synthetic(1.0, 0.3), horizon=1_000),
    Case("OGD", "sample gradient, synthetic", _synthetic(0.1)),
    Case("OGD", "plug-in gradient, ETF", _etf(0.1), {"gradient": "plugin", "variance_bound": 270.0}),
    Case("OGD", "strong steps, d = 3", _random(3, "positive", 2.0), {"step": "strong", "curvature": 0.5}),
    Case("OGD", "plug-in gradient, d = 20, held", _random(20, "factor", 1.0), {"gradient": "plugin"} | _held(20, 9)),
]

_SEMI_BANDIT = [
    Case("MCUCB", "synthetic, ρ = 0.1", _synthetic(0.1, 0.1), horizon=2_000),
    Case("MCUCB", "ETF, ρ = 0.1", _etf(0.1, 0.1), {"variance_bound": 270.0}, horizon=2_000),
    Case("MCUCB", "narrow radii", _synthetic(1.0, 0.15), {"radius_scale": (0.1, 0.1)}, horizon=2_000),
    Case("MCUCB", "radii clipped", _synthetic(0.1, 0.1), {"cap_upper": True, "regularization": 1.0}, horizon=2_000),
    Case("MCUCB", "any weights, held", _random(3, "zero", 1.0), {"radius_scale": (0.1, 0.1)} | _held(3, 20)),
    Case("MCUCB", "one option at a time", _random(3, "negative", 1.0, 0.6), horizon=2_000),
    Case("MCUCB", "d = 20", _random(20, "factor", 1.0, 0.1), horizon=1_000, replications=2),
    Case("MCUCBGamma", "synthetic, ρ = 0.1", _synthetic(0.1, 0.1), horizon=2_000),
    Case("MCUCBGamma", "ETF", _etf(0.1, 0.1), {"variance_bound": 270.0}, horizon=2_000),
    Case("MCUCBGamma", "own Γ, held", _random(3, "positive", 1.0, 0.3), {"gamma": np.eye(3) + 0.5} | _held(3, 7)),
    Case("MCUCBGamma", "d = 2, narrow radii", _random(2, "zero", 2.0, 0.1), {"radius_scale": (0.1, 0.1)}),
    Case("OLSUCBC", "synthetic", _synthetic(0.1, 0.1), horizon=2_000),
    Case("OLSUCBC", "ETF, bounded", _etf(0.1, 0.1), {"variance_bound": 270.0}, environment=_bounded),
    Case("OLSUCBC", "own Γ", _random(3, "positive", 1.0, 0.3), {"gamma": np.eye(3) + 0.5}),
    Case("OLSUCBC", "any weights, narrow radii, held", _synthetic(0.1), {"radius_scale": (0.1, 0.1)} | _held(5, 10)),
    Case("PairUCB", "synthetic, ρ = 0.1", _synthetic(0.1, 0.1), horizon=2_000),
    Case("PairUCB", "synthetic, ρ = 10", _synthetic(10.0, 0.1), horizon=2_000),
    Case("PairUCB", "ETF", _etf(0.1, 0.2), horizon=2_000),
    Case("PairUCB", "any weights", _synthetic(1.0), horizon=1_000),
    Case("PairUCB", "d = 2, held", _random(2, "positive", 0.5, 0.5), _held(2, 10)),
    Case("PairUCB", "d = 3, larger bonus", _random(3, "negative", 1.0, 0.2), {"bonus": 1.5}),
    Case("PairUCB", "one option at a time", _random(3, "zero", 1.0, 0.6)),
    Case("PairUCB", "d = 20", _random(20, "factor", 1.0, 0.25), horizon=800, replications=2),
    Case(
        "PairUCB",
        "hard instances",
        lambda: cb.problems.semi_bandit_lower_bound(4, 1_000, min_weight=0.5),
        horizon=1_000,
    ),
]

_FULL_BANDIT = [
    Case("MCETE", "synthetic, ρ = 0.1", _synthetic(0.1), horizon=100_000),
    Case("MCETE", "ETF", _etf(0.1), horizon=100_000),
    Case("MCETE", "synthetic, ρ = 10, exact argmax", _synthetic(10.0), {"indefinite": "exact"}),
    Case("MCETE", "own design, held", _random(3, "positive", 1.0), {"design": _design(3)} | _held(3, 10)),
    Case("MCETE", "d = 2", _random(2, "negative", 3.0)),
    Case("MCETE", "d = 20", _random(20, "factor", 1.0), horizon=2_000, replications=2),
    Case("OGDETE", "synthetic", _synthetic(1.0), horizon=100_000),
    Case("OGDETE", "ETF", _etf(0.1), {"variance_bound": 270.0}),
    Case("OGDETE", "exact moments, held", _random(3, "zero", 0.5), {"indefinite": "exact"} | _held(3, 10)),
    Case("LinearFB", "synthetic", _synthetic(0.1), horizon=100_000),
    Case("LinearFB", "own design", _random(3, "positive", 1.0), {"design": _design(3)}),
    Case("LinearFB", "d = 20", _random(20, "factor", 1.0), horizon=2_000),
    Case("GradientTS", "synthetic, ρ = 0.1", _synthetic(0.1)),
    Case("GradientTS", "synthetic, ρ = 10", _synthetic(10.0)),
    Case("GradientTS", "ETF, Student's t", _etf(0.1), environment=_student),
    Case("GradientTS", "no risk aversion, held", _random(3, "zero", 0.0), _held(3, 10)),
    Case("GradientTS", "d = 2, short start", _random(2, "positive", 3.0), {"start_up": 8, "start_radius": 0.3}),
    Case("GradientTS", "always forced", _synthetic(2.0), {"forced": 1.0, "refresh": 0.05}),
    Case(
        "GradientTS",
        "other sampling",
        _synthetic(2.0),
        {"sampling": 0.5, "least_sampling": 0.1, "curvature_sampling": 0.0, "prior": 1.0, "clip": 2.0},
    ),
    Case("GradientTS", "d = 20", _random(20, "factor", 1.0), horizon=2_000, replications=2),
]

CASES = [*_FULL_INFORMATION, *_SEMI_BANDIT, *_FULL_BANDIT]


def _timed() -> list[Case]:
    """Return the cases whose steps are timed: every learner with five options, the main ones with twenty."""
    semi_bandit = {case.kind for case in _SEMI_BANDIT}
    cases = [
        Case(kind, "d = 5", _synthetic(1.0, 0.1 if kind in semi_bandit else None))
        for kind in dict.fromkeys(case.kind for case in CASES)
    ]
    cases += [
        Case(kind, "d = 20", _random(20, "factor", 1.0, 0.25 if kind in semi_bandit else None))
        for kind in ("MCEmpirical", "ShrunkEmpirical", "OGD", "PairUCB", "MCETE", "GradientTS")
    ]
    return cases


TIMED = _timed()

STARTED = [case for case in TIMED if case.name in ("MCEmpirical: d = 5", "PairUCB: d = 5", "GradientTS: d = 5")]
"""Cases whose first compilation and warm start are timed: one learner for each kind of feedback."""


def learners_without_cases() -> list[str]:
    """Return the learners of the sources that run now for which the list has no case."""
    known = {case.kind for case in CASES}
    return [
        name
        for name in learners.__all__
        if inspect.isclass(kind := getattr(learners, name))
        and issubclass(kind, cb.Learner)
        and kind is not cb.Learner
        and name not in known
    ]
