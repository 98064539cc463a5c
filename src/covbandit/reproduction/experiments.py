"""All that a reproduction runs.

The panels, the sweeps over the correlation and over the number of options, the hard instances of the lower bounds, and
the instances without risk aversion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from covbandit import problems
from covbandit.core.spelling import likeliest
from covbandit.data import Returns
from covbandit.errors import InvalidInput
from covbandit.learners import MCUCB, FixedWeights, Learner, LinearFI, MCEmpirical, PairUCB, ShrunkEmpirical
from covbandit.problems.distribution import ProblemDistribution
from covbandit.problems.problem import Problem
from covbandit.reproduction.panels import (
    EQUAL,
    ETF,
    GRADIENT,
    LEARNERS,
    MIN_WEIGHT,
    PAIR,
    PAPERS_RHO,
    SETTINGS,
    SHRUNK,
    SYNTHETIC,
    Instance,
    Panel,
    Setting,
    all_panels,
    instance_of,
)
from covbandit.simulation import SimulationResult
from covbandit.simulation.campaign import Task
from covbandit.simulation.plan import as_plan
from covbandit.theory import FullInformationLowerBound, SemiBanditLowerBound

Results = Mapping[str, SimulationResult]
"""Finished simulations, by their names."""

CORRELATIONS = (-0.25, -0.2, -0.1, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Off-diagonal entries of the synthetic Σ* over the whole range in which it is positive semi-definite."""

SWEPT: dict[Setting, tuple[str, ...]] = {
    "fi": ("MC-Empirical", SHRUNK, EQUAL),
    "sb": ("MC-UCB", PAIR, EQUAL),
    "fb": ("MC-ETE", GRADIENT, EQUAL),
}
"""Who plays in the sweeps: the learner of the remark, ours, and the baseline."""

DIMENSIONS = (2, 3, 4, 6)
"""Numbers of options of the sweep over d."""

DIMENSION_SETTINGS: tuple[Setting, ...] = ("fi", "sb")
"""Whose dependence on d Remark 3 compares."""

GAPS = (0.2, 0.4, 0.8, 1.6)
"""Differences between the best mean and the others, of the instances at ρ = 0 with a gap that does not change."""

_HARD_OPTIONS = 5
_HARD_MIN_WEIGHT = 0.4
_LEAST_HARD_HORIZON = 50


@dataclass(frozen=True)
class Scale:
    """How much is played.

    Attributes
    ----------
    horizons : dict
        Rounds of the panels, by setting.
    replications : int
        Of the panels and hard instances; the sweeps take half of them.
    other_share : float
        Semi-bandit panels at the other ρ, which are slow and settle early, play this share of the rounds.
    """

    horizons: dict[Setting, int]
    replications: int = 50
    other_share: float = 0.4

    def panel_horizon(self, panel: Panel) -> int:
        """Return the rounds of a panel."""
        share = 1.0 if panel.papers or panel.setting != "sb" else self.other_share
        return max(20, round(share * self.horizons[panel.setting]))

    @property
    def sweep_replications(self) -> int:
        """Replications of each point of a sweep."""
        return max(2, self.replications // 2)

    def sweep_horizon(self, setting: Setting) -> int:
        """Return the rounds of each point of a sweep."""
        share = {"fi": 0.1, "sb": 0.4, "fb": 0.1}[setting]
        return max(20, round(share * self.horizons[setting]))

    @property
    def dimension_horizon(self) -> int:
        """The rounds of each point of the sweep over d: as many with full information as with semi-bandit feedback."""
        return self.sweep_horizon("sb")

    def hard_horizons(self, setting: Setting) -> list[int]:
        """Return the horizons at which the hard instances are played: three decades if there are as many."""
        longest = max(_LEAST_HARD_HORIZON, self.horizons[setting])
        return _three_decades(longest, min(_LEAST_HARD_HORIZON, longest))

    @property
    def no_risk_horizons(self) -> list[int]:
        """The horizons at which the gap at ρ = 0 shrinks, likewise: short, so that many replications are cheap."""
        return _three_decades(self.sweep_horizon("fi"), 10)

    @property
    def no_risk_replications(self) -> int:
        """Replications at ρ = 0, where regret varies much: few would leave its rate undecided."""
        return 10 * self.replications


def _three_decades(longest: int, least: int) -> list[int]:
    """Return a horizon, its tenth and its hundredth, the shortest first, without those that are too short."""
    return [h for h in (longest // 100, longest // 10, longest) if h >= least]


NORMAL = Scale({"fi": 100_000, "sb": 3_000, "fb": 100_000})
QUICK = Scale({"fi": 10_000, "sb": 500, "fb": 10_000}, replications=20)
FULL = Scale({"fi": 1_000_000, "sb": 100_000, "fb": 1_000_000}, other_share=1.0)


@dataclass(frozen=True)
class CorrelationSweep:
    """The synthetic instance at several correlations, in one setting and at one risk aversion (Remarks 1, 3 and 5)."""

    setting: Setting
    risk_aversion: float

    @property
    def name(self) -> str:
        """As on the command line."""
        name = f"{self.setting}-correlation"
        return name if self.risk_aversion == PAPERS_RHO[self.setting] else f"{name}-rho{self.risk_aversion:g}"

    @property
    def title(self) -> str:
        """As above the figure."""
        return f"{SETTINGS[self.setting]}, correlation, $ρ={self.risk_aversion:g}$"

    def point(self, correlation: float) -> str:
        """Return the name of the simulation at one correlation."""
        return f"{self.name}{correlation:+g}"

    def problem(self, correlation: float) -> Problem:
        """Return the problem at one correlation."""
        return problems.synthetic(self.risk_aversion, MIN_WEIGHT if self.setting == "sb" else None, correlation)

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return the simulations, one per correlation, all with the same draws."""
        tasks = []
        for correlation in CORRELATIONS:
            problem = self.problem(correlation)
            learners = LEARNERS[self.setting](problem)
            plan = as_plan(
                problem,
                {name: learners[name] for name in SWEPT[self.setting]},
                scale.sweep_horizon(self.setting),
                seed,
            )
            tasks.append(Task(self.point(correlation), plan, scale.sweep_replications, self.name))
        return tasks


@dataclass(frozen=True)
class Dimensions:
    """The synthetic instance with other numbers of options, in the two settings that Remark 3 compares."""

    risk_aversion: float

    @property
    def name(self) -> str:
        """As on the command line."""
        return "dimension" if self.risk_aversion == PAPERS_RHO["sb"] else f"dimension-rho{self.risk_aversion:g}"

    @property
    def title(self) -> str:
        """As above the figure."""
        return f"Number of options, $ρ={self.risk_aversion:g}$"

    def point(self, setting: Setting, d: int) -> str:
        """Return the name of the simulation in one setting with d options."""
        return f"{self.name}-{setting}-d{d}"

    def problem(self, setting: Setting, d: int) -> Problem:
        """Return the synthetic instance with d options: one is better by .1, every covariance is -.05."""
        return synthetic_with(d, 0.1, self.risk_aversion, MIN_WEIGHT if setting == "sb" else None)

    def learner(self, setting: Setting) -> str:
        """Return who plays in a setting."""
        return {"fi": "MC-Empirical", "sb": "MC-UCB", "fb": "MC-ETE"}[setting]

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return the simulations, one per setting and number of options."""
        tasks = []
        for setting in DIMENSION_SETTINGS:
            for d in DIMENSIONS:
                problem = self.problem(setting, d)
                name = self.learner(setting)
                learners = LEARNERS[setting](problem)
                plan = as_plan(problem, {name: learners[name], EQUAL: learners[EQUAL]}, scale.dimension_horizon, seed)
                tasks.append(Task(self.point(setting, d), plan, scale.sweep_replications, self.name))
        return tasks


def synthetic_with(d: int, gap: float, risk_aversion: float, min_weight: float | None = None) -> Problem:
    """Return the paper's synthetic instance with d options and another gap between the best mean and the others."""
    mean, covariance = np.full(d, 0.2), np.full((d, d), -0.05)
    mean[1] += gap
    np.fill_diagonal(covariance, 1.0)
    return Problem(
        mean=mean,
        covariance=covariance,
        risk_aversion=risk_aversion,
        min_weight=min_weight,
        name=f"synthetic, {d} options, gap {gap:g}",
    )


@dataclass(frozen=True)
class NoRisk:
    """The synthetic instance at ρ = 0, with gaps that shrink with the horizon and with gaps that do not (Remark 1)."""

    name = "fi-no-risk"

    def shrinking(self, horizon: int) -> Problem:
        """Return the instance whose gap is √(Σmax / T)."""
        return synthetic_with(5, 1 / sqrt(horizon), 0.0)

    def constant(self, gap: float) -> Problem:
        """Return the instance with a given gap."""
        return synthetic_with(5, gap, 0.0)

    def shrinking_point(self, horizon: int) -> str:
        """Return the name of the simulation whose gap shrinks with this horizon."""
        return f"{self.name}-T{horizon}"

    def constant_point(self, gap: float) -> str:
        """Return the name of the simulation with a given gap."""
        return f"{self.name}-gap{gap:g}"

    def horizons(self, results: Results) -> list[int]:
        """Return the horizons at which the gap shrinks, of those played."""
        prefix = f"{self.name}-T"
        return sorted(int(name.removeprefix(prefix)) for name in results if name.startswith(prefix))

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return the simulations, one per horizon and one per gap."""
        played = [(self.shrinking_point(h), self.shrinking(h), h) for h in scale.no_risk_horizons]
        horizon = scale.sweep_horizon("fi")
        played += [(self.constant_point(gap), self.constant(gap), horizon) for gap in GAPS]
        tasks = []
        for point, problem, horizon in played:
            learners: dict[str, Learner] = {
                "MC-Empirical": MCEmpirical(n_options=5, risk_aversion=0.0),
                "LinearFI": LinearFI(n_options=5),
            }
            tasks.append(Task(point, as_plan(problem, learners, horizon, seed), scale.no_risk_replications, self.name))
        return tasks


@dataclass(frozen=True)
class HardInstances:
    """The instance distribution of a lower bound, at several horizons (Theorems 2 and 4)."""

    setting: Setting

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"{self.setting}-lower-bound"

    def distribution(self, horizon: int) -> FullInformationLowerBound | SemiBanditLowerBound:
        """Return the distribution for a horizon, on which it depends."""
        if self.setting == "fi":
            return problems.full_information_lower_bound(_HARD_OPTIONS, horizon)
        return problems.semi_bandit_lower_bound(_HARD_OPTIONS, horizon, _HARD_MIN_WEIGHT)

    def learners(self, distribution: ProblemDistribution) -> dict[str, Learner]:
        """Return who plays."""
        d, rho = distribution.n_options, distribution.risk_aversion
        if self.setting == "fi":
            return {
                "MC-Empirical": MCEmpirical(n_options=d, risk_aversion=rho),
                SHRUNK: ShrunkEmpirical(n_options=d, risk_aversion=rho),
                EQUAL: FixedWeights(n_options=d),
            }
        c = distribution.min_weight
        return {
            "MC-UCB": MCUCB(n_options=d, risk_aversion=rho, min_weight=c),
            PAIR: PairUCB(n_options=d, risk_aversion=rho, min_weight=c),
        }

    def point(self, horizon: int) -> str:
        """Return the name of the simulation at one horizon."""
        return f"{self.name}-{horizon}"

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return the simulations, one per horizon."""
        tasks = []
        for horizon in scale.hard_horizons(self.setting):
            distribution = self.distribution(horizon)
            plan = as_plan(distribution, self.learners(distribution), horizon, seed)
            tasks.append(Task(self.point(horizon), plan, scale.replications, self.name))
        return tasks


def panel_task(panel: Panel, scale: Scale, seed: int) -> Task:
    """Return a panel's simulation."""
    plan = as_plan(panel.problem(), panel.learners(), scale.panel_horizon(panel), seed)
    return Task(panel.name, plan, scale.replications)


@dataclass(frozen=True)
class Experiments:
    """What one reproduction runs and reports on."""

    panels: list[Panel]
    sweeps: list[CorrelationSweep]
    hard: list[HardInstances]
    dimensions: list[Dimensions] = field(default_factory=list)
    no_risk: list[NoRisk] = field(default_factory=list)

    @property
    def several(self) -> list[CorrelationSweep | Dimensions | HardInstances | NoRisk]:
        """Those that consist of several simulations, in the order in which they run."""
        return [*self.sweeps, *self.dimensions, *self.hard, *self.no_risk]

    @property
    def names(self) -> list[str]:
        """All names, in the order in which they run."""
        return [*(panel.name for panel in self.panels), *(one.name for one in self.several)]

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return every simulation."""
        tasks = [panel_task(panel, scale, seed) for panel in self.panels]
        for one in self.several:
            tasks += one.tasks(scale, seed)
        return tasks

    def played(self, setting: Setting, results: Results) -> Iterator[tuple[Panel, SimulationResult]]:
        """Give the panels of a setting with their results."""
        return ((panel, results[panel.name]) for panel in self.panels if panel.setting == setting)

    @property
    def instances(self) -> list[Instance]:
        """The instances of the panels, each once."""
        return list({panel.instance.name: panel.instance for panel in self.panels}.values())


def experiments_named(names: Sequence[str] = (), returns: Returns | None = None) -> Experiments:
    """Return the experiments of these names, each once; all if there are none.

    The beginning of a name up to a hyphen, if it is no name itself, stands for every experiment that begins so: ``fi``
    for all with full information. A panel's name followed by the paper's own ρ is the panel.

    Parameters
    ----------
    names : sequence of str
        As on the command line.
    returns : Returns, optional
        The user's own, in place of the five ETFs.
    """
    everything = Experiments(
        all_panels((SYNTHETIC, ETF if returns is None else instance_of(returns))),
        [CorrelationSweep(setting, rho) for rho in (0.1, 10.0) for setting in SETTINGS],
        [HardInstances("fi"), HardInstances("sb")],
        [Dimensions(rho) for rho in (0.1, 10.0)],
        [NoRisk()],
    )
    if not names:
        return everything
    wanted: set[str] = set()
    for name in names:
        wanted |= _meant_by(name, everything)
    return Experiments(
        [panel for panel in everything.panels if panel.name in wanted],
        [sweep for sweep in everything.sweeps if sweep.name in wanted],
        [hard for hard in everything.hard if hard.name in wanted],
        [dimensions for dimensions in everything.dimensions if dimensions.name in wanted],
        [no_risk for no_risk in everything.no_risk if no_risk.name in wanted],
    )


def _meant_by(name: str, everything: Experiments) -> set[str]:
    with_rho: list[Panel | CorrelationSweep | Dimensions] = [
        *everything.panels,
        *everything.sweeps,
        *everything.dimensions,
    ]
    explicit = {f"{e.name}-rho{e.risk_aversion:g}": e.name for e in with_rho if "-rho" not in e.name}
    if name in everything.names or name in explicit:
        return {explicit.get(name, name)}
    found = {full for full in everything.names if full.startswith(f"{name}-")}
    if not found:
        near = likeliest(name, everything.names)
        hint = f" (did you mean {near}?)" if near else ""
        raise InvalidInput(
            f"no panel {name!r}{hint}; there is {', '.join(everything.names)}, or the beginning of several, such as fi"
        )
    return found
