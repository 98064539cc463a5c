"""The statements of the paper, and some of our own, each decided by the results and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from covbandit.problem import Problem
from covbandit.reproduction.claims import Case, Claim, above, below, grows_less, grows_like, pays_more, trend
from covbandit.reproduction.experiments import CORRELATIONS, Experiments, HardInstances, Sweep
from covbandit.reproduction.panels import (
    EQUAL,
    GRADIENT,
    LOOSE,
    LOOSE_GAMMA,
    PAIR,
    SHRUNK,
    Panel,
    Setting,
)
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import Interval, half_width, log_slope, paired_ratio
from covbandit.theory import UpperBound, full_bandit_bound, full_information_bound, semi_bandit_bound

F64 = NDArray[np.float64]
Results = Mapping[str, SimulationResult]

ORDERS_OF_MAGNITUDE = 100.0
"""What "multiple orders of magnitude" is taken to mean."""

_BOUNDS: dict[Setting, Callable[[Problem], UpperBound]] = {
    "fi": full_information_bound,
    "sb": semi_bandit_bound,
    "fb": full_bandit_bound,
}
_THEOREMS: dict[Setting, tuple[str, str, str]] = {
    "fi": ("Theorem 1", "MC-Empirical", "√T"),
    "sb": ("Theorem 3", "MC-UCB", "√T"),
    "fb": ("Theorem 5", "MC-ETE", "T^(2/3)"),
}
_REMARKS: dict[Setting, tuple[str, str]] = {
    "fi": ("Remark 1", "The more negatively (positively) the options are correlated, the lower (higher) the regret"),
    "sb": ("Remark 3", "Positive correlation means a larger factor than negative or none, and so a higher regret"),
    "fb": (
        "Remark 5",
        "Negative (positive) correlation shrinks (enlarges) the factor and leads to a lower (higher) regret",
    ),
}
_OURS: dict[Setting, str] = {"fi": SHRUNK, "sb": PAIR, "fb": GRADIENT}
_NARROW = 0.05
_TOLERANCE = 0.05


def judge(experiments: Experiments, results: Results) -> list[Claim]:
    """Return every statement that these results decide, with its verdict; the paper's first."""
    theorems = [*_rates(experiments, results), *(_lower_bound(hard, results) for hard in experiments.hard)]
    claims = [
        *_section_6(experiments, results),
        *sorted(theorems, key=lambda claim: claim.source),
        *_remarks(experiments, results),
        *_ours(experiments, results),
    ]
    return [claim for claim in claims if claim.cases]


def _of(experiments: Experiments, results: Results, setting: Setting) -> Iterator[tuple[Panel, SimulationResult]]:
    return ((panel, results[panel.name]) for panel in experiments.panels if panel.setting == setting)


def _where(panel: Panel, note: str = "") -> str:
    instance = {"synthetic": "synthetic", "etf": "funds"}[panel.instance.name]
    text = f"{instance}, ρ = {panel.risk_aversion:g}"
    text += "" if panel.papers else " (not in the paper's figure)"
    return f"{text}, {note}" if note else text


def _section_6(experiments: Experiments, results: Results) -> Iterator[Claim]:
    def claim(
        name: str, setting: Setting, statement: str, *comparisons: tuple[str, str, str], times: float = 1
    ) -> Claim:
        cases = tuple(
            pays_more(_where(panel, note), result, other, than, times)
            for panel, result in _of(experiments, results, setting)
            for other, than, note in comparisons
        )
        return Claim(name, f"Section 6, {setting.upper()}", statement, cases)

    newest, all_samples = "OGD on the newest sample's gradient", "OGD on the plug-in gradient"
    yield claim(
        "orders-of-magnitude",
        "fi",
        "MC-Empirical has multiple orders of magnitude (at least 100 times) less regret than the benchmarks",
        ("OGD", "MC-Empirical", newest),
        ("OGD (plug-in)", "MC-Empirical", all_samples),
        ("LinearFI", "MC-Empirical", "LinearFI"),
        times=ORDERS_OF_MAGNITUDE,
    )
    yield claim(
        "better-than-ogd",
        "fi",
        "MC-Empirical is superior to OGD",
        ("OGD", "MC-Empirical", newest),
        ("OGD (plug-in)", "MC-Empirical", all_samples),
    )
    tight, loose = "Γ = the largest variance, the tightest universal bound", f"Γ = {LOOSE:g} times the largest variance"
    yield claim(
        "mc-ucb-lowest",
        "sb",
        "MC-UCB achieves the lowest regret",
        ("MC-UCB-Γ", "MC-UCB", f"against MC-UCB-Γ, {tight}"),
        (LOOSE_GAMMA, "MC-UCB", f"against MC-UCB-Γ, {loose}"),
        ("OLS-UCB-C", "MC-UCB", "against OLS-UCB-C"),
    )
    yield claim(
        "gamma-inferior",
        "sb",
        "MC-UCB-Γ is inferior to MC-UCB",
        ("MC-UCB-Γ", "MC-UCB", tight),
        (LOOSE_GAMMA, "MC-UCB", loose),
    )
    yield claim(
        "ols-highest",
        "sb",
        "OLS-UCB-C suffers the highest regret",
        ("OLS-UCB-C", "MC-UCB", "against MC-UCB"),
        ("OLS-UCB-C", "MC-UCB-Γ", f"against MC-UCB-Γ, {tight}"),
        ("OLS-UCB-C", LOOSE_GAMMA, f"against MC-UCB-Γ, {loose}"),
    )
    yield claim(
        "mc-ete-best",
        "fb",
        "MC-ETE achieves the best regret",
        ("OGD-ETE", "MC-ETE", "against OGD-ETE"),
        ("LinearFB", "MC-ETE", "against LinearFB"),
    )
    yield claim(
        "ogd-ete-higher", "fb", "OGD-ETE has a higher regret than MC-ETE", ("OGD-ETE", "MC-ETE", "against MC-ETE")
    )
    yield claim(
        "linear-fb-worst",
        "fb",
        "LinearFB shows the worst performance",
        ("LinearFB", "MC-ETE", "against MC-ETE"),
        ("LinearFB", "OGD-ETE", "against OGD-ETE"),
    )
    yield Claim(
        "narrow-intervals",
        "Section 6, FB, footnote",
        "With full-bandit feedback the confidence intervals are so narrow that they cannot be seen",
        tuple(
            _narrow(panel, result, learner)
            for panel, result in _of(experiments, results, "fb")
            if panel.papers
            for learner in ("MC-ETE", "OGD-ETE", "LinearFB")
        ),
    )


def _narrow(panel: Panel, result: SimulationResult, learner: str) -> Case:
    values = result.at(learner)
    mean = float(values.mean())
    width = float(half_width(values)) / mean if mean > 0 else float("nan")
    relative = Interval(width, width, width)
    rule = f"half width of the 95 % interval of {learner}'s mean regret, relative to the mean: below {_NARROW:g}"
    return Case(_where(panel, learner), rule, relative, below(relative, _NARROW))


def _rates(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, (theorem, learner, rate) in _THEOREMS.items():
        cases = tuple(
            grows_like(
                _where(panel), result, learner, bound_of(setting, Problem.from_dict(result.specification["problem"]))
            )
            for panel, result in _of(experiments, results, setting)
        )
        statement = f"{learner}'s regret grows like {rate}, up to logarithms, or more slowly"
        yield Claim(f"rate-{setting}", theorem, statement, cases)


def bound_of(setting: Setting, problem: Problem) -> UpperBound:
    """Return the upper bound of a setting's theorem."""
    return _BOUNDS[setting](problem)


def _lower_bound(hard: HardInstances, results: Results) -> Claim:
    """Judge a lower bound, which measuring some learners cannot prove, but one that paid less would refute."""
    played = sorted(
        (results[name] for name in results if name.startswith(f"{hard.name}-")), key=lambda result: result.horizon
    )
    early, late = played[0], played[-1]
    floor = hard.distribution(late.horizon).regret_floor
    cases = []
    for learner in late.learners:
        paid = late.at(learner)
        times = paired_ratio(paid, np.full(paid.size, floor))
        rule = (
            f"regret of {learner} over the floor in the proof, {floor:.3g}, T = {late.horizon:,}: 95 % interval above 1"
        )
        cases.append(Case(f"the proof's floor, played by {learner}", rule, times, above(times, 1)))
        if len(played) > 1:
            slope = log_slope(paid, early.at(learner), float(np.log10(late.horizon / early.horizon)))
            rule = (
                f"log-log slope of the regret of {learner} in the horizon, T = {early.horizon:,} to {late.horizon:,}, "
                f"each with its own instances: 95 % interval above 1/2 less {_TOLERANCE:g}"
            )
            cases.append(Case(f"the rate, played by {learner}", rule, slope, above(slope, 0.5 - _TOLERANCE)))
    theorem, rate = ("Theorem 2", "√T") if hard.setting == "fi" else ("Theorem 4", "√(cdT)")
    statement = f"On a certain distribution of instances every learner pays at least of order {rate}"
    return Claim(f"lower-bound-{hard.setting}", theorem, statement, tuple(cases))


def _remarks(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, (remark, statement) in _REMARKS.items():
        sweeps = [sweep for sweep in experiments.sweeps if sweep.setting == setting]
        cases = [case for sweep in sweeps for case in _cases_of_a_sweep(sweep, results)]
        yield Claim(f"correlation-{setting}", remark, statement, tuple(cases))


def _cases_of_a_sweep(sweep: Sweep, results: Results) -> Iterator[Case]:
    theorem, learner = _THEOREMS[sweep.setting][:2]
    levels = np.array(CORRELATIONS)
    regret = np.array([results[sweep.point(x)].at(learner) for x in CORRELATIONS])
    horizon = results[sweep.point(0.0)].horizon
    rho = f"ρ = {sweep.risk_aversion:g}"

    def rule(what: str) -> str:
        return f"change of {what} per unit of correlation, relative to its mean, T = {horizon:,}"

    parts = {
        f"{rho}, regret from {levels[0]:g} to {levels[-1]:g}": np.ones(levels.size, dtype=bool),
        f"{rho}, regret where negative, {levels[0]:g} to 0": levels <= 0,
        f"{rho}, regret where positive, 0 to {levels[-1]:g}": levels >= 0,
    }
    for condition, part in parts.items():
        measured = trend(regret[part], levels[part].tolist())
        yield Case(
            condition, f"{rule(f'the regret of {learner}')}: 95 % interval above 0", measured, above(measured, 0)
        )
    exact = trend(bound_at_correlations(sweep, horizon)[:, None], CORRELATIONS)
    yield Case(f"{rho}, {theorem}'s bound itself", f"{rule('the bound')}: above 0", exact, exact.estimate > 0)


def bound_at_correlations(sweep: Sweep, horizon: int) -> F64:
    """Return the theorem's bound, with constant 1, at each correlation of a sweep."""
    return np.array([bound_of(sweep.setting, sweep.problem(x)).at(horizon) for x in CORRELATIONS])


def _ours(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, ours in _OURS.items():
        theirs = _THEOREMS[setting][1]
        found = list(_of(experiments, results, setting))
        cases = tuple(pays_more(_where(panel), result, theirs, ours) for panel, result in found)
        name = ours.removesuffix(" (ours)")
        yield Claim(f"{name}-better", "ours", f"{name} pays less than {theirs}", cases)
        cases = tuple(pays_more(_where(panel), result, EQUAL, ours) for panel, result in found)
        yield Claim(f"{name}-equal", "ours", f"{name} pays less than equal weights", cases)
        if setting == "fb":
            cases = tuple(grows_less(_where(panel), result, ours, 2 / 3, "2/3") for panel, result in found)
            yield Claim(f"{name}-rate", "ours", f"{name}'s regret grows more slowly than T^(2/3)", cases)
