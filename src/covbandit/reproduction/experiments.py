"""All that a reproduction runs: the panels, the sweeps over the correlation, the hard instances of the lower bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from covbandit import problems
from covbandit.data import Returns
from covbandit.errors import InvalidInput
from covbandit.learners import MCUCB, FixedWeights, Learner, MCEmpirical, PairUCB, ShrunkEmpirical
from covbandit.problem import Problem
from covbandit.problem_distribution import ProblemDistribution
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
from covbandit.specifications.mistakes import likeliest
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
        Of the panels and hard instances; the sweeps take two fifths of them.
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
        return max(2, self.replications * 2 // 5)

    def sweep_horizon(self, setting: Setting) -> int:
        """Return the rounds of each point of a sweep."""
        share = {"fi": 0.1, "sb": 0.4, "fb": 0.1}[setting]
        return max(20, round(share * self.horizons[setting]))

    def hard_horizons(self, setting: Setting) -> list[int]:
        """Return the horizons at which the hard instances are played: three decades if there are as many."""
        longest = max(_LEAST_HARD_HORIZON, self.horizons[setting])
        return [h for h in (longest // 100, longest // 10, longest) if h >= min(_LEAST_HARD_HORIZON, longest)]


NORMAL = Scale({"fi": 100_000, "sb": 3_000, "fb": 100_000})
QUICK = Scale({"fi": 10_000, "sb": 500, "fb": 10_000}, replications=20)
FULL = Scale({"fi": 1_000_000, "sb": 100_000, "fb": 1_000_000}, other_share=1.0)


@dataclass(frozen=True)
class Sweep:
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
    sweeps: list[Sweep]
    hard: list[HardInstances]

    @property
    def names(self) -> list[str]:
        """All names, in the order in which they run."""
        return [
            *(panel.name for panel in self.panels),
            *(sweep.name for sweep in self.sweeps),
            *(hard.name for hard in self.hard),
        ]

    def tasks(self, scale: Scale, seed: int) -> list[Task]:
        """Return every simulation."""
        tasks = [panel_task(panel, scale, seed) for panel in self.panels]
        for sweep in self.sweeps:
            tasks += sweep.tasks(scale, seed)
        for hard in self.hard:
            tasks += hard.tasks(scale, seed)
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
        [Sweep(setting, rho) for rho in (0.1, 10.0) for setting in SETTINGS],
        [HardInstances("fi"), HardInstances("sb")],
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
    )


def _meant_by(name: str, everything: Experiments) -> set[str]:
    with_rho: list[Panel | Sweep] = [*everything.panels, *everything.sweeps]
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
