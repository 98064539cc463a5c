"""A statement, the cases in which it was put to the test, and the verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import Interval, half_width
from covbandit.theory import UpperBound

F64 = NDArray[np.float64]

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Case:
    """One measurement that decides a statement under one condition.

    Attributes
    ----------
    condition : str
        Under which it was measured.
    rule : str
        How it is decided.
    measured : Interval
        The quantity of the rule.
    holds : bool or None
        What follows; None if the interval contains the threshold.
    """

    condition: str
    rule: str
    measured: Interval
    holds: bool | None

    @property
    def word(self) -> str:
        """The outcome in words."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]


@dataclass(frozen=True)
class Claim:
    """A statement with its cases.

    Attributes
    ----------
    name : str
        Short, unique.
    source : str
        Where it stands: a section, theorem or remark of the paper, or "ours".
    statement : str
        What is claimed.
    cases : tuple of Case
        Where it was put to the test.
    """

    name: str
    source: str
    statement: str
    cases: tuple[Case, ...]

    @property
    def ours(self) -> bool:
        """Whether the statement is our own, not the paper's."""
        return self.source == "ours"

    def count(self, outcome: bool | None) -> int:
        """Return the number of cases with an outcome: it holds (True), it does not (False), undecided (None)."""
        return sum(case.holds is outcome for case in self.cases)

    @property
    def verdict(self) -> str:
        """Holds, does not hold, undecided, or under which conditions it holds."""
        if len({case.holds for case in self.cases}) == 1:
            return self.cases[0].word
        held = f"holds under {self._listed(True)}" if self.count(True) else "does not hold"
        return f"{held}; undecided under {self._listed(None)}" if self.count(None) else held

    @property
    def short_verdict(self) -> str:
        """The verdict without its conditions, for tables."""
        if len({case.holds for case in self.cases}) == 1:
            return self.cases[0].word
        outcome = self.count(True) > 0
        word = "holds" if outcome else "does not hold"
        undecided = f", {self.count(None)} undecided" if self.count(None) else ""
        return f"{word} in {self.count(outcome)} of {len(self.cases)} cases{undecided}"

    def _listed(self, outcome: bool | None) -> str:
        return "; ".join(case.condition for case in self.cases if case.holds is outcome)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what could not be computed as None."""
        cases = [
            {**asdict(case), "measured": _finite(case.measured._asdict()), "outcome": case.word} for case in self.cases
        ]
        return {
            "name": self.name,
            "source": self.source,
            "statement": self.statement,
            "verdict": self.verdict,
            "cases": cases,
        }


def _finite(numbers: dict[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in numbers.items()}


def above(interval: Interval, threshold: float) -> bool | None:
    """Decide whether a measured quantity lies above a threshold: None if its interval contains the threshold."""
    if interval.low > threshold:
        return True
    return False if interval.high < threshold else None


def below(interval: Interval, threshold: float) -> bool | None:
    """Decide whether a measured quantity lies below a threshold: None if its interval contains the threshold."""
    exceeds = above(interval, threshold)
    return None if exceeds is None else not exceeds


def pays_more(condition: str, result: SimulationResult, other: str, than: str, times: float = 1.0) -> Case:
    """Decide whether one learner's regret at the horizon is more than so many times another's."""
    ratio = result.ratio(other, than)
    rule = f"regret of {other} over {than}: paired 95 % interval above {times:g}"
    return Case(_at_the_horizon(condition, result), rule, ratio, above(ratio, times))


def grows_less(condition: str, result: SimulationResult, learner: str, exponent: float, shown: str) -> Case:
    """Decide whether a learner's regret grows more slowly than T to some exponent: its slope in the last decade."""
    slope = _last_slope(result, learner)
    rule = f"{_slope_in_words(result, learner)}: 95 % interval below {shown}"
    return Case(_at_the_horizon(condition, result), rule, slope, below(slope, exponent))


def grows_like(condition: str, result: SimulationResult, learner: str, bound: UpperBound) -> Case:
    """Decide whether a learner's regret grows more slowly than a bound, its logarithms included, in the last decade.

    A steeper slope alone does not contradict an O(·): it may be that of the first rounds. With a regret that has passed
    the bound, its constant taken as 1, it does.
    """
    slope = _last_slope(result, learner)
    early, late = result.horizon // 10, result.horizon
    limits = bound.at([early, late])
    allowed = float(np.log(limits[1] / limits[0]) / np.log(late / early))
    holds = below(slope, allowed)
    if holds is False and result.at(learner).mean() <= limits[1]:
        holds = None
    rule = (
        f"{_slope_in_words(result, learner)}: 95 % interval below {allowed:.3f}, the bound's own slope there; "
        f"if above, undecided while regret is below the bound with constant 1, {limits[1]:,.0f}"
    )
    return Case(_at_the_horizon(condition, result), rule, slope, holds)


def _at_the_horizon(condition: str, result: SimulationResult) -> str:
    """Return a condition with its horizon, on which a ratio or a slope may depend as much as on all else."""
    return f"{condition}, T = {result.horizon:,}"


def _last_slope(result: SimulationResult, learner: str) -> Interval:
    return result.slope(learner, result.horizon // 10, result.horizon)


def _slope_in_words(result: SimulationResult, learner: str) -> str:
    return f"log-log slope of {learner}, T = {result.horizon // 10:,} to {result.horizon:,}"


def trend(regret: F64, levels: Sequence[float]) -> Interval:
    """Return the change of regret per unit of a level, relative to its mean, with the 95 % interval.

    Parameters
    ----------
    regret : array [level, replication]
        Paired: replication r had the same draws at every level.
    levels : sequence of float
        For each, a least-squares line in the level is fitted in every replication.
    """
    x = np.asarray(levels) - np.mean(levels)
    slopes = x @ regret / (x @ x)
    means = regret.mean(axis=0)
    relative = float(slopes.mean() / means.mean())
    relative = 0.0 if abs(relative) < _ROUNDING else relative
    width = float(half_width((slopes - relative * means) / means.mean())) if regret.shape[1] > 1 else 0.0
    return Interval(relative, relative - width, relative + width)
