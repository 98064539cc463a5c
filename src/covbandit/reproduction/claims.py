"""Statements, the paper's and our own, each with a rule that decides it by measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import Interval


@dataclass(frozen=True)
class Verdict:
    """A statement, the rule that decides it, what was measured and what follows."""

    statement: str
    rule: str
    measured: Interval
    holds: bool | None

    @property
    def word(self) -> str:
        """The verdict in words."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]


Claim = Callable[[SimulationResult], Verdict]


def above(interval: Interval, threshold: float) -> bool | None:
    """Decide whether a measured quantity lies above a threshold: None if its interval contains the threshold."""
    if interval.low > threshold:
        return True
    return False if interval.high < threshold else None


def pays_more(statement: str, other: str, than: str, times: float = 1.0) -> Claim:
    """State that one learner's regret at the horizon is more than so many times another's."""

    def decide(result: SimulationResult) -> Verdict:
        ratio = result.ratio(other, than)
        rule = f"regret of {other} / {than} at T = {result.horizon:,}: 95 % interval above {times:g}"
        return Verdict(statement, rule, ratio, above(ratio, times))

    return decide


def grows_at_most(statement: str, learner: str, exponent: float) -> Claim:
    """State that a learner's regret grows like T to at most some exponent: its slope in the last decade."""

    def decide(result: SimulationResult) -> Verdict:
        late = result.horizon
        slope = result.slope(learner, late // 10, late)
        exceeds = above(slope, exponent)
        rule = f"log-log slope of {learner} from T = {late // 10:,} to {late:,}: 95 % interval below {exponent:.3g}"
        return Verdict(statement, rule, slope, None if exceeds is None else not exceeds)

    return decide
