"""The rules by which results decide a case: who pays more, how fast regret grows, whether a quantity rises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from covbandit.core.typing import F64
from covbandit.reproduction.claims.claim import (
    HORIZON,
    Case,
    Comparison,
    Outcomes,
    compared,
    must_exceed,
    must_stay_below,
    of_ratio,
    of_slope,
)
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import Interval, paired_ratio
from covbandit.theory import UpperBound

_ROUNDING = 1e-12


def pays_more(
    condition: str, result: SimulationResult, other: str, than: str, times: float = 1.0, papers: bool = False
) -> Case:
    """Decide whether one learner's regret at the horizon is more than so many times another's."""
    ratio = result.ratio(other, than)
    rule = f"regret of {other} over {than}: paired 95 % interval above {times:g}"
    comparison = of_ratio("", ratio, len(result.replications), times)
    return compared(_at_the_horizon(condition, result), rule, [comparison], must_exceed, papers=papers)


def grows_less(
    condition: str, result: SimulationResult, learner: str, exponent: float, shown: str, papers: bool = False
) -> Case:
    """Decide whether a learner's regret grows more slowly than T to some exponent: its slope in the last decade."""
    slope = _last_slope(result, learner)
    rule = f"{_slope_in_words(result, learner)}: 95 % interval below {shown}"
    comparison = of_slope("", slope, len(result.replications), exponent)
    return compared(_at_the_horizon(condition, result), rule, [comparison], must_stay_below, papers=papers)


def grows_like(condition: str, result: SimulationResult, learner: str, bound: UpperBound, papers: bool = False) -> Case:
    """Decide whether a learner's regret grows more slowly than a bound, its logarithms included, in the last decade.

    A steeper slope alone does not contradict an O(·): it may be that of the first rounds. With a regret that has passed
    the bound, its constant taken as 1, it does.
    """
    slope = _last_slope(result, learner)
    early, late = result.horizon // 10, result.horizon
    limits = bound.at([early, late])
    allowed = float(np.log(limits[1] / limits[0]) / np.log(late / early))
    within = bool(result.at(learner).mean() <= limits[1])

    def decide(outcomes: Outcomes) -> tuple[bool | None, str]:
        holds, _ = must_stay_below(outcomes)
        return (None, "") if holds is False and within else (holds, "")

    rule = (
        f"{_slope_in_words(result, learner)}: 95 % interval below {allowed:.3f}, the bound's own slope there; "
        f"if above, undecided while regret is below the bound with constant 1, {limits[1]:,.0f}"
    )
    comparison = of_slope("", slope, len(result.replications), allowed)
    return compared(_at_the_horizon(condition, result), rule, [comparison], decide, papers=papers)


def _at_the_horizon(condition: str, result: SimulationResult) -> str:
    """Return a condition with its horizon, on which a ratio or a slope may depend as much as on all else."""
    return f"{condition}{HORIZON}{result.horizon:,}"


def _last_slope(result: SimulationResult, learner: str) -> Interval:
    return result.slope(learner, result.horizon // 10, result.horizon)


def _slope_in_words(result: SimulationResult, learner: str) -> str:
    return f"log-log slope of {learner}, T = {result.horizon // 10:,} to {result.horizon:,}"


def rises(
    condition: str,
    rule: str,
    levels: Sequence[str],
    between: Callable[[int, int], Comparison],
    turning: int | None = None,
) -> Case:
    """Decide whether a quantity rises from level to level, by comparisons in their order.

    It rises if it is higher at the last level than at the first and no step to the next level, nor a half of the range,
    can be told to fall. It does not if a step falls, or one of the two halves of the range, or the whole of it. Nothing
    is decided if neither can be said.

    Parameters
    ----------
    condition, rule : str
        Of the case.
    levels : sequence of str
        In their order, as they are to be written.
    between : callable
        Compares the levels of two positions, the later with the earlier: the quantity rises where it exceeds.
    turning : int, optional
        The position of a level inside the range: then each half of the range, up to it and from it on, is compared too,
        since several small steps down may be clear together only.
    """
    last = len(levels) - 1
    spans = [(k, k + 1) for k in range(last)] if last > 1 else []
    if turning is not None:
        spans += [span for span in ((0, turning), (turning, last)) if span not in spans and span != (0, last)]
    spans.append((0, last))
    comparisons = [replace(between(a, b), what=f"{levels[a]} to {levels[b]}") for a, b in spans]

    def decide(outcomes: Outcomes) -> tuple[bool | None, str]:
        down = [span for span, up in zip(spans, outcomes, strict=True) if up is False]
        if not down:
            return outcomes[-1], ""
        ups = [span for span, up in zip(spans, outcomes, strict=True) if up]
        return False, turns(levels, down, ups)

    return compared(condition, rule, comparisons, decide)


def turns(levels: Sequence[str], down: Sequence[tuple[int, int]], up: Sequence[tuple[int, int]]) -> str:
    """Return in words between which levels a quantity falls and, if it does, rises: neighbouring spans joined."""
    falls, rises_ = (_joined(levels, spans) for spans in (down, up))
    return f"falls {falls}" + (f", rises {rises_}" if rises_ else "")


def _joined(levels: Sequence[str], spans: Sequence[tuple[int, int]]) -> str:
    covered = sorted({step for a, b in _narrowest(spans) for step in range(a, b)})
    runs: list[list[int]] = []
    for step in covered:
        if runs and runs[-1][1] == step:
            runs[-1][1] = step + 1
        else:
            runs.append([step, step + 1])
    return " and ".join(f"from {levels[a]} to {levels[b]}" for a, b in runs)


def _narrowest(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Leave out those spans that contain another one, which says the same more exactly."""
    return [
        one for one in spans if not any(other != one and one[0] <= other[0] and other[1] <= one[1] for other in spans)
    ]


def between_regrets(regret: F64, levels_apart: tuple[int, int]) -> Comparison:
    """Compare regret [level, replication] at two levels, paired: replication r had the same draws at every level."""
    earlier, later = levels_apart
    return of_ratio("", paired_ratio(regret[later], regret[earlier]), regret.shape[1])


def rises_exactly(condition: str, rule: str, values: Sequence[float]) -> Case:
    """Decide whether a quantity without chance rises over its levels: nowhere falls, and is higher at the end."""
    array = np.asarray(values)
    ratio = float(array[-1] / array[0])
    falls = bool((np.diff(array) < -_ROUNDING * np.abs(array[:-1])).any())
    ratio = 1.0 if abs(ratio - 1) < _ROUNDING else ratio
    return Case(condition, rule, exact(ratio), not falls and ratio > 1)


def exact(value: float) -> Interval:
    """Return a value that was computed, not measured."""
    return Interval(value, value, value)
