"""What a report contains, computed from the results: tables, verdicts and settings, before any layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from covbandit.core.tables import Table, with_error
from covbandit.problems.problem import Problem
from covbandit.reproduction.claims.claim import ELSEWHERE, IN_THE_FIGURE, Claim, Multiplicity
from covbandit.reproduction.claims.remarks import bound_at_correlations
from covbandit.reproduction.claims.theorems import bound_of
from covbandit.reproduction.experiments import (
    CORRELATIONS,
    DIMENSION_SETTINGS,
    DIMENSIONS,
    FULL,
    SWEPT,
    CorrelationSweep,
    Dimensions,
    Experiments,
    Scale,
)
from covbandit.reproduction.panels import MIN_WEIGHT, PAPERS_RHO, SETTINGS, Instance, Panel, Setting
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import visible_width
from covbandit.theory import coverage

_FEEDBACK = {"fi": "all", "sb": "chosen", "fb": "total"}
_COVERAGE_REPLICATIONS = 500
QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class HeatMap:
    """A covariance with the correlation of each pair, to be coloured by it."""

    options: list[str]
    covariance: list[list[float]]
    correlation: list[list[float]]


@dataclass(frozen=True)
class InstanceSection:
    """What is known of an instance: its parameters and what is best on it."""

    instance: Instance
    table: Table
    heat_map: HeatMap
    variance_bound: float


@dataclass(frozen=True)
class PanelSection:
    """One panel: its figure's name and tables."""

    panel: Panel
    summary: Table
    ratios: Table
    slopes: Table
    bound: Table
    parameters: Table
    svg: str = ""

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in their order."""
        return self.summary, self.ratios, self.slopes, self.bound, self.parameters


@dataclass(frozen=True)
class SweepSection:
    """One sweep over the correlation."""

    sweep: CorrelationSweep
    table: Table
    svg: str = ""


@dataclass(frozen=True)
class DimensionSection:
    """One sweep over the number of options."""

    dimensions: Dimensions
    table: Table
    svg: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that a report says."""

    command: str
    settings: Table
    versions: Table
    claims: list[Claim]
    panels: list[PanelSection]
    sweeps: list[SweepSection]
    instances: list[InstanceSection]
    radii: list[Table]
    results: dict[str, dict[str, str | int]]
    dimensions: list[DimensionSection] = field(default_factory=list)
    horizons: str = ""

    @property
    def papers_claims(self) -> list[Claim]:
        """The paper's statements."""
        return [claim for claim in self.claims if not claim.ours]

    @property
    def our_claims(self) -> list[Claim]:
        """Our own."""
        return [claim for claim in self.claims if claim.ours]

    @property
    def multiplicity(self) -> Multiplicity:
        """How many comparisons there are, and what considering them together changes."""
        return Multiplicity.of(self.claims)

    def statement_of(self, name: str) -> str:
        """Return what the claim of a name says."""
        return next(claim.statement for claim in self.claims if claim.name == name)

    @property
    def in_short(self) -> str:
        """How many of the paper's statements hold, in the paper's own figure and elsewhere."""
        places = {IN_THE_FIGURE: "In the paper's own figure", ELSEWHERE: "Elsewhere"}
        sentences = [f"{len(self.papers_claims)} statements of the paper."]
        for where, begin in places.items():
            parts = [claim.parts[where] for claim in self.papers_claims if where in claim.parts]
            if parts:
                sentences.append(f"{begin}, of {len(parts)} put to the test: {_tally(parts)}.")
        return " ".join(sentences)


def _tally(claims: list[Claim]) -> str:
    """Return how many statements hold, in every case or in some, in words."""
    contradicted = [claim for claim in claims if claim.count(False)]
    others = [claim for claim in claims if not claim.count(False) and not claim.universal]
    universal = [claim for claim in claims if not claim.count(False) and claim.universal]
    partly = sum(claim.count(True) > 0 for claim in contradicted)
    whole = sum(not claim.count(None) for claim in others)
    undecided = sum(not claim.count(True) for claim in others)
    counts = [
        (whole, "held in every case"),
        (len(others) - whole - undecided, "in every case that could be decided"),
        (partly, "in some cases only"),
        (len(contradicted) - partly, "in none"),
        (undecided, "could not be decided at all"),
    ]
    if universal:
        counts.append((len(universal), "speak of every learner and are consistent with what was measured"))
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def panel_section(panel: Panel, result: SimulationResult, svg: str) -> PanelSection:
    """Return a panel's tables."""
    return PanelSection(
        panel,
        _summary(result),
        _ratios(result),
        result.slopes(),
        _against_bound(panel, result),
        _parameters(result),
        svg,
    )


def _summary(result: SimulationResult) -> Table:
    """Return what each learner paid: the mean, and quantiles over replications, which show how skewed it is."""
    slopes = {name: float("nan") for name in result.learners}
    if result.decades():
        early, late = result.decades()[0]
        slopes = {name: result.slope(name, early, late).estimate for name in result.learners}
    rows: list[list[object]] = []
    for name in result.learners:
        values = result.at(name)
        spread = [float(q) for q in np.quantile(values, QUANTILES)]
        rows.append([name, with_error(float(values.mean()), visible_width(values)), *spread, round(slopes[name], 3)])
    return Table(
        ["learner", "mean regret ± 95 %", *(f"{q:.0%}".replace("%", " %") for q in QUANTILES), "log-log slope"],
        rows,
        f"Regret after {result.horizon:,} rounds, {len(result.replications)} replications: mean, and quantiles over "
        "replications",
    )


def _ratios(result: SimulationResult) -> Table:
    """Return every learner's regret relative to the paper's, decade by decade: who is better may depend on when."""
    first, *others = result.learners
    rounds = _decade_ends(result)
    rows = [[name, *(str(result.ratio(name, first, t)) for t in rounds)] for name in others]
    return Table(["learner", *(f"{t:,} rounds" for t in rounds)], rows, f"Regret in multiples of {first}'s")


def _decade_ends(result: SimulationResult) -> list[int]:
    return [early for early, _ in result.decades()[::-1] if early > 1] + [result.horizon]


def _parameters(result: SimulationResult) -> Table:
    """Return the learners' parameters, among them those that the paper leaves open."""
    rows = []
    for name, learner in result.specification["learners"].items():
        given = {key: value for key, value in learner["config"].items() if value is not None and key != "n_options"}
        rows.append([name, learner["class"], ", ".join(f"{key} = {_in_words(value)}" for key, value in given.items())])
    return Table(["learner", "class", "parameters"], rows, "Parameters")


def _in_words(value: object) -> str:
    if isinstance(value, dict):  # a matrix, which the report shows among the instances
        return "that of the instance"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _against_bound(panel: Panel, result: SimulationResult) -> Table:
    """Return the paper's learner against its theorem's bound, which a ratio that goes on rising would contradict."""
    bound = bound_of(panel.setting, panel.problem())
    learner = result.learners[0]
    rows = []
    for rounds in _decade_ends(result):
        paid, limit = float(result.at(learner, rounds).mean()), float(bound.at(rounds))
        rows.append([rounds, paid, limit, paid / limit])
    title = f"{learner} against {bound.label}"
    return Table(["rounds", "mean regret", "bound", "regret / bound"], rows, title)


def sweep_section(sweep: CorrelationSweep, results: Mapping[str, SimulationResult], svg: str) -> SweepSection:
    """Return a sweep's table: regret of every learner, and the bound, at each correlation."""
    rows = []
    horizon = results[sweep.point(0.0)].horizon
    for correlation, limit in zip(CORRELATIONS, bound_at_correlations(sweep, horizon), strict=True):
        result = results[sweep.point(correlation)]
        cells: list[object] = [correlation]
        for learner in SWEPT[sweep.setting]:
            values = result.at(learner)
            cells.append(with_error(float(values.mean()), visible_width(values)))
        rows.append([*cells, float(limit)])
    count = len(results[sweep.point(0.0)].replications)
    title = f"{sweep.title.replace('$', '')}: regret after {horizon:,} rounds, {count} replications, ± 95 %"
    columns = ["correlation", *SWEPT[sweep.setting], "bound, constant 1"]
    return SweepSection(sweep, Table(columns, rows, title, align_right=True), svg)


def dimension_section(dimensions: Dimensions, results: Mapping[str, SimulationResult], svg: str) -> DimensionSection:
    """Return the table of a sweep over the number of options: regret and bound in both settings."""
    first = results[dimensions.point("fi", DIMENSIONS[0])]
    rows = []
    for d in DIMENSIONS:
        cells: list[object] = [d]
        for setting in DIMENSION_SETTINGS:
            values = results[dimensions.point(setting, d)].at(dimensions.learner(setting))
            bound = bound_of(setting, dimensions.problem(setting, d))
            cells += [with_error(float(values.mean()), visible_width(values)), float(bound.at(first.horizon))]
        rows.append(cells)
    title = (
        f"{dimensions.title.replace('$', '')}: regret after {first.horizon:,} rounds, {len(first.replications)} "
        "replications, ± 95 %"
    )
    columns = ["d"]
    for setting in DIMENSION_SETTINGS:
        columns += [f"{dimensions.learner(setting)}, {SETTINGS[setting].lower()}", "bound, constant 1"]
    return DimensionSection(dimensions, Table(columns, rows, title, align_right=True), svg)


def horizons_in_words(scale: Scale) -> str:
    """Say how long each setting was played, and what a longer run would change."""

    def played(one: Scale) -> str:
        rounds = [f"{one.horizons[setting]:,} {'rounds ' if setting == 'fi' else ''}{name}" for setting, name in named]
        share = "" if one.other_share == 1 else f" ({one.other_share * one.horizons['sb']:,.0f} at the other ρ)"
        rounds[1] += share
        return ", ".join(rounds)

    named: tuple[tuple[Setting, str], ...] = (
        ("fi", "with full information"),
        ("sb", "with semi-bandit feedback"),
        ("fb", "with full-bandit feedback"),
    )
    text = f"Each setting has its own horizon: {played(scale)}. Sweeps are shorter."
    if scale.horizons == FULL.horizons:
        return text
    return (
        f"{text} After so few rounds the semi-bandit learners, whose radii are wide, are still at their beginnings, "
        f"and so are the verdicts on them. --full plays {played(FULL)}; a verdict on a ratio or a slope may be another "
        "there."
    )


def instance_section(instance: Instance) -> InstanceSection:
    """Return an instance's parameters, its best weights at the paper's two risk aversions, and its covariance."""
    settings = [(rho, c) for rho in sorted(set(PAPERS_RHO.values())) for c in (None, MIN_WEIGHT)]
    problems = [instance.problem(rho, c) for rho, c in settings]
    first = problems[0]
    options = list(first.options or [f"option {k + 1}" for k in range(first.n_options)])
    rows = []
    for k, name in enumerate(options):
        deviation = float(np.sqrt(first.covariance[k, k]))
        rows.append([name, float(first.mean[k]), deviation, *(float(p.optimum().weights[k]) for p in problems)])
    rows.append(["f(w*)", None, None, *(p.optimum().utility for p in problems)])
    best = [f"best, ρ = {rho:g}" + ("" if c is None else f", c = {c:g}") for rho, c in settings]
    columns = ["option", "mean θ*", "standard deviation", *best]
    return InstanceSection(instance, Table(columns, rows), _heat_map(first, options), first.variance_bound)


def _heat_map(problem: Problem, options: list[str]) -> HeatMap:
    deviation = np.sqrt(problem.covariance.diagonal())
    scale = np.where(deviation > 0, deviation, 1.0)
    correlation = problem.covariance / np.outer(scale, scale)
    return HeatMap(options, problem.covariance.tolist(), correlation.tolist())


def radius_tables(experiments: Experiments, seed: int) -> list[Table]:
    """Return how often the lemmas' radii fail and how wide they are, in the settings of the report."""
    tables = []
    for setting in SETTINGS:
        synthetic = [p for p in experiments.panels if p.setting == setting and p.instance.name == "synthetic"]
        if synthetic:
            problem = synthetic[0].instance.problem(PAPERS_RHO[setting], MIN_WEIGHT if setting == "sb" else None)
            feedback = _FEEDBACK[setting]
            tables.append(coverage(problem, feedback, replications=_COVERAGE_REPLICATIONS, seed=seed).table())  # type: ignore[arg-type]
    return tables
