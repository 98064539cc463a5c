"""Remarks 1, 3 and 5: how correlation and the number of options move regret, and what is left at ρ = 0.

Measured in sweeps, and computed in the theorems' bounds and factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from covbandit.core.typing import F64
from covbandit.reproduction.claims.claim import (
    Case,
    Claim,
    Comparison,
    compared,
    must_exceed,
    must_stay_below,
    of_ratio,
    of_slope,
)
from covbandit.reproduction.claims.rules import between_regrets, exact, grows_less, rises, rises_exactly
from covbandit.reproduction.claims.theorems import RATE_TOLERANCE, THEOREMS, bound_of
from covbandit.reproduction.experiments import (
    CORRELATIONS,
    DIMENSION_SETTINGS,
    DIMENSIONS,
    GAPS,
    CorrelationSweep,
    Dimensions,
    Experiments,
    NoRisk,
    Results,
)
from covbandit.reproduction.panels import Setting
from covbandit.simulation.statistics import log_slope, ratio_of_products

_SEEN = 40.0  # rounds times gap² over Σmax after which the best option is mistaken once in 200,000 rounds


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
            for no_risk in experiments.no_risk:
                yield from _no_risk(no_risk, results)
        if setting == "sb":
            cases = [case for dimensions in experiments.dimensions for case in _dimensions(dimensions, results)]
            yield Claim(
                "dimension",
                "Remark 3",
                "The bound with semi-bandit feedback depends more heavily on d than that with full information, since "
                "less is seen (and so, as we read it, does the regret)",
                tuple(cases),
            )


def _cases(remark: Remark, sweep: CorrelationSweep, results: Results) -> Iterator[Case]:
    theorem, learner, _ = THEOREMS[sweep.setting]
    levels = np.array(CORRELATIONS)
    regret = np.array([results[sweep.point(x)].at(learner) for x in CORRELATIONS])
    horizon = results[sweep.point(0.0)].horizon
    rho = f"ρ = {sweep.risk_aversion:g}"
    named = [_signed(x) for x in CORRELATIONS]

    def over(chosen: list[int], which: str, rule: str) -> Case:
        def between(earlier: int, later: int) -> Comparison:
            return between_regrets(regret, (chosen[earlier], chosen[later]))

        zero = CORRELATIONS.index(0.0)
        turning = chosen.index(zero) if zero in chosen[1:-1] else None
        return rises(f"{rho}, regret {which}, T = {horizon:,}", rule, [named[k] for k in chosen], between, turning)

    regular = [k for k, x in enumerate(levels) if x < 1 and (x >= 0 or remark.on_negative)]
    first, last = named[regular[0]], named[regular[-1]]
    halves = ", nor in a half of the range," if remark.on_negative else ""
    yield over(
        regular,
        f"from {first} to {last}",
        f"regret of {learner} at {last} over that at {first}: 95 % interval above 1; and in no step to the next "
        f"correlation{halves} can it be told to fall",
    )
    if not remark.on_negative:
        ends = [CORRELATIONS.index(-0.2), CORRELATIONS.index(0.2)]
        yield over(ends, "at .2 against −.2", f"regret of {learner} at .2 over that at −.2: 95 % interval above 1")
    yield over(
        [levels.size - 2, levels.size - 1],
        f"from {named[-2]} to 1, where options differ by constants only",
        f"regret of {learner} at 1 over that at {named[-2]}: 95 % interval above 1",
    )
    bounds = _bounds(sweep)
    whole = f"at 1 over that at {named[0]}: above 1, and nowhere falling"
    yield rises_exactly(
        f"{rho}, the factor {remark.symbol} itself", f"the factor {whole}", [remark.factor(bound) for bound in bounds]
    )
    yield rises_exactly(
        f"{rho}, {theorem}'s bound itself, T = {horizon:,}",
        f"the bound {whole}",
        [float(bound.at(horizon)) for bound in bounds],
    )


def _signed(correlation: float) -> str:
    return f"{correlation:g}".replace("-", "−").replace("0.", ".")


def _dimensions(dimensions: Dimensions, results: Results) -> Iterator[Case]:
    """Compare by which factor regret grows with d in the two settings, step by step, and so for their bounds."""
    semi, full = (
        [results[dimensions.point(setting, d)].at(dimensions.learner(setting)) for d in DIMENSIONS]
        for setting in ("sb", "fi")
    )
    horizon = results[dimensions.point("fi", DIMENSIONS[0])].horizon

    def between(earlier: int, later: int) -> Comparison:
        ratio = ratio_of_products([semi[later], full[earlier]], [semi[earlier], full[later]])
        return of_ratio("", ratio, full[0].size)

    rho, first, last = f"ρ = {dimensions.risk_aversion:g}", DIMENSIONS[0], DIMENSIONS[-1]
    yield rises(
        f"{rho}, regret from d = {first} to {last}, T = {horizon:,}",
        f"factor by which the regret of MC-UCB grows from d = {first} to {last}, over that of MC-Empirical: 95 % "
        "interval above 1; and in no step to the next d can it be told to fall",
        [str(d) for d in DIMENSIONS],
        between,
    )
    bounds = {
        setting: [float(bound_of(setting, dimensions.problem(setting, d)).at(horizon)) for d in DIMENSIONS]
        for setting in DIMENSION_SETTINGS
    }
    yield rises_exactly(
        f"{rho}, the bounds of Theorems 3 and 1 themselves, T = {horizon:,}",
        f"factor by which the bound of Theorem 3 grows from d = {first} to {last}, over that of Theorem 1: above 1, "
        "and nowhere falling",
        [semi_bandit / all_seen for semi_bandit, all_seen in zip(bounds["sb"], bounds["fi"], strict=True)],
    )


def _no_risk(no_risk: NoRisk, results: Results) -> Iterator[Claim]:
    """Judge what Remark 1 says of ρ = 0: what the problem becomes, and what regret is with and without a gap."""
    horizons = no_risk.horizons(results)
    names = [*map(no_risk.shrinking_point, horizons), *map(no_risk.constant_point, GAPS)]
    apart = max(
        float(np.abs(results[name].at("MC-Empirical") - results[name].at("LinearFI")).max() / results[name].horizon)
        for name in names
    )
    alone = min(float(no_risk.constant(gap).optimum().weights.max()) for gap in GAPS)
    yield Claim(
        "no-risk-linear",
        "Remark 1",
        "At ρ = 0 the problem reduces to a d-armed bandit in which every reward is seen",
        (
            Case(
                "ρ = 0, the best weights",
                "largest weight of the optimum, whatever the gap: 1",
                exact(alone),
                alone > 1 - 1e-9,
            ),
            Case(
                "ρ = 0, MC-Empirical plays the option with the largest mean so far, as LinearFI does",
                "largest difference of their regrets in a replication, per round: 0",
                exact(apart),
                apart < 1e-12,
            ),
        ),
    )
    early, late = (results[no_risk.shrinking_point(h)] for h in (horizons[0], horizons[-1]))
    cases = []
    if len(horizons) > 1:
        slope = log_slope(
            late.at("MC-Empirical"), early.at("MC-Empirical"), float(np.log10(late.horizon / early.horizon))
        )
        n = len(late.replications)
        for which, decision, sign, word in (
            ("not faster than √T", must_stay_below, 1, "below 1/2 plus"),
            ("not more slowly: the rate is tight", must_exceed, -1, "above 1/2 less"),
        ):
            cases.append(
                compared(
                    f"ρ = 0, gap √(Σmax/T), T = {early.horizon:,} to {late.horizon:,}, {which}",
                    "log-log slope of the regret of MC-Empirical in the horizon, each with its own gap: 95 % interval "
                    f"{word} {RATE_TOLERANCE:g}",
                    [of_slope("", slope, n, 0.5 + sign * RATE_TOLERANCE)],
                    decision,
                )
            )
    yield Claim(
        "no-risk-rate",
        "Remark 1",
        "At ρ = 0, with the gap √(Σmax/T), regret is of order √(Σmax T), so that the bound, Õ(√(dΣmax T)) there, is "
        "tight in T",
        tuple(cases),
    )
    yield Claim(
        "no-risk-gap",
        "Remark 1",
        "At ρ = 0 regret with a constant gap Δ is of order Σmax/Δ, whatever T",
        tuple(_constant_gaps(no_risk, results)),
    )


def _constant_gaps(no_risk: NoRisk, results: Results) -> Iterator[Case]:
    for gap in GAPS:
        result = results[no_risk.constant_point(gap)]
        if result.horizon / 10 * gap**2 < _SEEN:  # the last decade would show how the gap is found, not what is left
            continue
        yield grows_less(f"ρ = 0, gap {gap:g}", result, "MC-Empirical", RATE_TOLERANCE, f"{RATE_TOLERANCE:g}")
    narrow, wide = (results[no_risk.constant_point(gap)] for gap in (GAPS[0], GAPS[-1]))
    slope = log_slope(wide.at("MC-Empirical"), narrow.at("MC-Empirical"), float(np.log10(GAPS[-1] / GAPS[0])))
    yield compared(
        f"ρ = 0, from gap {GAPS[0]:g} to {GAPS[-1]:g}, T = {narrow.horizon:,}",
        f"log-log slope of the regret of MC-Empirical in the gap: 95 % interval above −1 less {RATE_TOLERANCE:g}",
        [of_slope("", slope, len(narrow.replications), -1 - RATE_TOLERANCE)],
        must_exceed,
    )


def _first_term(sweep: CorrelationSweep) -> Case:
    """Decide whether the first term of Theorem 1's minimum is the smaller one, whatever the correlation."""
    smaller = [bound.of_the_optimum < sqrt(bound.largest_variance) for bound in _bounds(sweep)]
    share = float(np.mean(smaller))
    rule = f"share of the correlations from {CORRELATIONS[0]:g} to {CORRELATIONS[-1]:g} at which it is the smaller: 1"
    return Case(f"ρ = {sweep.risk_aversion:g}", rule, exact(share), share == 1)


def bound_at_correlations(sweep: CorrelationSweep, horizon: int) -> F64:
    """Return the theorem's bound, with constant 1, at each correlation of a sweep."""
    return np.array([bound.at(horizon) for bound in _bounds(sweep)])


def _bounds(sweep: CorrelationSweep) -> list[Any]:
    return [bound_of(sweep.setting, sweep.problem(x)) for x in CORRELATIONS]
