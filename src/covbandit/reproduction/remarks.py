"""Remarks 1, 3 and 5: how correlation moves regret, measured in sweeps and in the theorems' bounds and factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covbandit.reproduction.claims import Case, Claim, above, trend
from covbandit.reproduction.experiments import CORRELATIONS, Experiments, Results, Sweep
from covbandit.reproduction.panels import Setting
from covbandit.reproduction.theorems import THEOREMS, bound_of
from covbandit.simulation.statistics import Interval

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Remark:
    """What a remark says of correlation, and the factor of the theorem's bound by which it says so.

    Attributes
    ----------
    source : str
        Which.
    statement : str
        What it says.
    symbol : str
        The factor as the paper writes it.
    factor : callable
        Returns the factor of a bound.
    on_negative : bool
        Whether it says that regret rises already where correlation is negative.
    """

    source: str
    statement: str
    symbol: str
    factor: Callable[[Any], float]
    on_negative: bool = True


REMARKS: dict[Setting, Remark] = {
    "fi": Remark(
        "Remark 1",
        "The more negatively (positively) the options are correlated, the lower (higher) the regret, by the factor "
        "√(w*'Σ*w*)",
        "√(w*'Σ*w*)",
        lambda bound: sqrt(bound.optimal_variance),
    ),
    "sb": Remark(
        "Remark 3",
        "Positive correlation renders a larger factor ‖Σ*‖₊ than negative correlation or none (and so, as we read it, "
        "a higher regret)",
        "‖Σ*‖₊",
        lambda bound: bound.positive_covariance,
        on_negative=False,
    ),
    "fb": Remark(
        "Remark 5",
        "Negative (positive) correlation shrinks (enlarges) the factor Z(ρ,π) and leads to a lower (higher) regret",
        "Z(ρ,π)",
        lambda bound: bound.estimation_factor,
    ),
}


def remark_claims(experiments: Experiments, results: Results) -> Iterator[Claim]:
    """Return the claims of the remarks that these results decide."""
    for setting, remark in REMARKS.items():
        sweeps = [sweep for sweep in experiments.sweeps if sweep.setting == setting]
        cases = [case for sweep in sweeps for case in _cases(remark, sweep, results)]
        yield Claim(f"correlation-{setting}", remark.source, remark.statement, tuple(cases))
        if setting == "fi":
            dominates = "In the minimum of Theorem 1 the first term, that with √(w*'Σ*w*), dominates under reasonable ρ"
            yield Claim("first-term-dominates", remark.source, dominates, tuple(map(_first_term, sweeps)))


def _cases(remark: Remark, sweep: Sweep, results: Results) -> Iterator[Case]:
    theorem, learner, _ = THEOREMS[sweep.setting]
    levels = np.array(CORRELATIONS)
    regret = np.array([results[sweep.point(x)].at(learner) for x in CORRELATIONS])
    horizon = results[sweep.point(0.0)].horizon
    rho = f"ρ = {sweep.risk_aversion:g}"

    def rule(what: str) -> str:
        return f"change of {what} per unit of correlation, relative to its mean: "

    for named, part in _parts(remark, levels):
        measured = trend(regret[part], levels[part].tolist())
        yield Case(
            f"{rho}, regret {named}, T = {horizon:,}",
            f"{rule(f'the regret of {learner}')}95 % interval above 0",
            measured,
            above(measured, 0),
        )
    bounds = _bounds(sweep)
    for named, what, values in (
        (f"the factor {remark.symbol} itself", "the factor", [remark.factor(bound) for bound in bounds]),
        (f"{theorem}'s bound itself, T = {horizon:,}", "the bound", [bound.at(horizon) for bound in bounds]),
    ):
        exact = trend(np.array(values)[:, None], CORRELATIONS)
        yield Case(f"{rho}, {named}", f"{rule(what)}above 0", exact, exact.estimate > 0)


def _parts(remark: Remark, levels: F64) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Give the ranges of correlation over which a trend is fitted, in words and as a choice of levels.

    At correlation 1 all options earn the same but for a constant, which two rounds tell: one point that is nothing
    like its neighbours. Trends are therefore fitted with it and without it.
    """
    regular = levels < 1
    yield f"from {levels[0]:g} to {levels[regular][-1]:g}", regular
    yield f"from {levels[0]:g} to 1, where options differ by constants only", np.ones(levels.size, dtype=bool)
    if remark.on_negative:
        yield f"where negative, {levels[0]:g} to 0", levels <= 0
    yield f"where positive, 0 to {levels[regular][-1]:g}", regular & (levels >= 0)
    yield "where positive, 0 to 1", levels >= 0


def _first_term(sweep: Sweep) -> Case:
    """Decide whether the first term of Theorem 1's minimum is the smaller one, whatever the correlation."""
    smaller = [bound.of_the_optimum < sqrt(bound.largest_variance) for bound in _bounds(sweep)]
    share = float(np.mean(smaller))
    rule = f"share of the correlations from {CORRELATIONS[0]:g} to {CORRELATIONS[-1]:g} at which it is the smaller: 1"
    return Case(f"ρ = {sweep.risk_aversion:g}", rule, Interval(share, share, share), share == 1)


def bound_at_correlations(sweep: Sweep, horizon: int) -> F64:
    """Return the theorem's bound, with constant 1, at each correlation of a sweep."""
    return np.array([bound.at(horizon) for bound in _bounds(sweep)])


def _bounds(sweep: Sweep) -> list[Any]:
    return [bound_of(sweep.setting, sweep.problem(x)) for x in CORRELATIONS]
