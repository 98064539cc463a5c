"""A statement, the cases in which it was put to the test, and the verdict that follows from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from covbandit.simulation.statistics import Interval, holm, p_value

LEVEL = 0.05
"""How likely a wrong one may be among a report's comparisons, all of them taken together."""

IN_THE_FIGURE, ELSEWHERE = "in the paper's figure", "elsewhere"

HORIZON = ", T = "
"""What stands before the horizon in the condition of a case."""


@dataclass(frozen=True)
class Comparison:
    """A measured quantity against a threshold.

    Attributes
    ----------
    what : str
        Which of the comparisons of its case it is; empty if it is the only one.
    measured : Interval
        The quantity.
    threshold : float
        With what it is compared.
    p_value : float
        Of the threshold, two-sided, by the test that gave the interval; NaN if it could not be computed.
    adjusted : float
        The same adjusted for all comparisons of the report (Holm); by default for none.
    """

    what: str
    measured: Interval
    threshold: float
    p_value: float
    adjusted: float | None = None

    @property
    def alone(self) -> bool | None:
        """Whether the quantity exceeds the threshold; None if its 95 % interval contains it."""
        return above(self.measured, self.threshold)

    @property
    def exceeds(self) -> bool | None:
        """The same after the adjustment."""
        p = self.p_value if self.adjusted is None else self.adjusted
        return self.alone if p < LEVEL else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what could not be computed as None."""
        numbers = {"threshold": self.threshold, "p_value": self.p_value, "adjusted_p_value": self.adjusted}
        return {"what": self.what, "measured": _finite(self.measured._asdict()), **_finite(numbers)}


def of_ratio(what: str, ratio: Interval, n: int, threshold: float = 1.0) -> Comparison:
    """Compare a ratio of mean regrets over n replications with a threshold."""
    return Comparison(what, ratio, threshold, p_value(ratio, threshold, n, "log"))


def of_slope(what: str, slope: Interval, n: int, threshold: float) -> Comparison:
    """Compare a log-log slope over n replications with a threshold."""
    return Comparison(what, slope, threshold, p_value(slope, threshold, n, "linear"))


Outcomes = Sequence[bool | None]
"""Of comparisons: the quantity exceeds its threshold, lies below it, or neither can be said."""

Decision = Callable[[Outcomes], tuple[bool | None, str]]
"""What follows from the outcomes of a case's comparisons: whether its statement holds, and what to add in words."""


def must_exceed(outcomes: Outcomes) -> tuple[bool | None, str]:
    """Decide a statement that says: the quantity is larger."""
    return outcomes[0], ""


def must_stay_below(outcomes: Outcomes) -> tuple[bool | None, str]:
    """Decide a statement that says: the quantity is smaller."""
    (exceeds,) = outcomes
    return None if exceeds is None else not exceeds, ""


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
        What follows, all comparisons of the report considered; None if nothing does.
    papers : bool
        Whether it was measured in a panel of the paper's figure.
    universal : bool
        Whether the statement speaks of every learner: a measurement then may contradict it, but cannot confirm it.
    comparisons : tuple of Comparison
        What has chance in it; nothing if the measured quantity is exact.
    decision : callable
        What follows from the comparisons.
    alone : bool or None
        What would follow if each comparison were the only one of the report.
    detail : str
        What to add to the outcome: where a trend turns.
    alone_detail : str
        The same of what would follow if each comparison were the only one.
    shown_under : str
        The name of another claim under which the same measurement is shown; empty if it is shown here.
    """

    condition: str
    rule: str
    measured: Interval
    holds: bool | None
    papers: bool = False
    universal: bool = False
    comparisons: tuple[Comparison, ...] = ()
    decision: Decision = field(default=must_exceed, compare=False, repr=False)
    alone: bool | None = None
    detail: str = ""
    alone_detail: str = ""
    shown_under: str = ""

    @property
    def word(self) -> str:
        """The outcome in words."""
        return self._word(self.holds)

    @property
    def falls(self) -> bool:
        """Whether its own interval decides it, but not after the adjustment for all comparisons of the report."""
        return bool(self.comparisons) and self.holds is None and self.alone is not None

    @property
    def outcome(self) -> str:
        """The outcome in words, with what is to be added."""
        added = [self.detail] if self.detail else []
        if self.falls:
            added.append(f"by its own interval: {self.by_itself}")
        return f"{self.word} ({'; '.join(added)})" if added else self.word

    @property
    def by_itself(self) -> str:
        """The outcome in words if each comparison were the only one of the report, with what is to be added."""
        return self._word(self.alone) + (f", {self.alone_detail}" if self.alone_detail else "")

    @property
    def key(self) -> tuple[str, str]:
        """What two cases that are the same measurement have in common."""
        return self.condition, self.rule

    def adjusted(self, adjusted: Sequence[float]) -> Case:
        """Return the case decided by adjusted p-values, which may leave it undecided but never turn it round."""
        comparisons = tuple(replace(c, adjusted=p) for c, p in zip(self.comparisons, adjusted, strict=True))
        holds, detail = self.decision([c.exceeds for c in comparisons])
        if holds is not self.alone:  # a fall that is no longer certain does not make a rise of the whole
            holds, detail = None, ""
        return replace(self, comparisons=comparisons, holds=holds, detail=detail)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what could not be computed as None."""
        return {
            "condition": self.condition,
            "rule": self.rule,
            "measured": _finite(self.measured._asdict()),
            "holds": self.holds,
            "outcome": self.word,
            "detail": self.detail,
            "in_papers_figure": self.papers,
            "outcome_by_its_own_interval": self._word(self.alone) if self.comparisons else self.word,
            "detail_by_its_own_interval": self.alone_detail,
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
            "shown_under": self.shown_under,
        }

    def _word(self, holds: bool | None) -> str:
        held = "consistent with it" if self.universal else "holds"
        return {True: held, False: "does not hold", None: "undecided"}[holds]


def compared(
    condition: str,
    rule: str,
    comparisons: Sequence[Comparison],
    decision: Decision,
    *,
    papers: bool = False,
    universal: bool = False,
) -> Case:
    """Return a case that comparisons decide; the last of them is the one to be shown."""
    holds, detail = decision([comparison.alone for comparison in comparisons])
    return Case(
        condition,
        rule,
        comparisons[-1].measured,
        holds,
        papers,
        universal,
        tuple(comparisons),
        decision,
        holds,
        detail,
        detail,
    )


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
    note : str
        What a reader of the cases should know.
    """

    name: str
    source: str
    statement: str
    cases: tuple[Case, ...]
    note: str = ""

    @property
    def ours(self) -> bool:
        """Whether the statement is our own, not the paper's."""
        return self.source == "ours"

    @property
    def universal(self) -> bool:
        """Whether it speaks of every learner, so that measurements can only be consistent with it."""
        return any(case.universal for case in self.cases)

    @property
    def parts(self) -> dict[str, Claim]:
        """The claim with its cases in the paper's figure, and with those elsewhere, as far as there are any."""
        split = {
            where: replace(self, cases=tuple(case for case in self.cases if case.papers is papers))
            for where, papers in ((IN_THE_FIGURE, True), (ELSEWHERE, False))
        }
        return {where: part for where, part in split.items() if part.cases}

    @property
    def shown(self) -> tuple[Case, ...]:
        """The cases to be shown with it: not those that are shown under another claim."""
        return tuple(case for case in self.cases if not case.shown_under)

    @property
    def shown_elsewhere(self) -> dict[str, int]:
        """How many of its cases are shown under which other claims, by their names."""
        names = [case.shown_under for case in self.cases if case.shown_under]
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def count(self, outcome: bool | None) -> int:
        """Return the number of cases with an outcome: it holds (True), it does not (False), undecided (None)."""
        return sum(case.holds is outcome for case in self.cases)

    @property
    def verdict(self) -> str:
        """Holds, does not hold, undecided, or under which conditions it holds."""
        if len({case.holds for case in self.cases}) == 1:
            return self.cases[0].word
        held = f"{self._held} {self._listed(True)}" if self.count(True) else "does not hold"
        return f"{held}; undecided {self._listed(None)}" if self.count(None) else held

    @property
    def short_verdict(self) -> str:
        """The verdict without its conditions, for tables."""
        if len({case.holds for case in self.cases}) == 1:
            return self.cases[0].word
        outcome = self.count(True) > 0
        word = self._held if outcome else "does not hold"
        undecided = f", {self.count(None)} undecided" if self.count(None) else ""
        return f"{word} in {self.count(outcome)} of {len(self.cases)} cases{undecided}"

    @property
    def _held(self) -> str:
        return "consistent with it" if self.universal else "holds"

    def _listed(self, outcome: bool | None) -> str:
        """Return the conditions with an outcome; a horizon that all of them share is named once."""
        found = [case.condition for case in self.cases if case.holds is outcome]
        horizons = {condition.rpartition(HORIZON)[2] for condition in found}
        if len(found) > 1 and len(horizons) == 1 and all(HORIZON in condition for condition in found):
            shared = f"at T = {horizons.pop()} "
            return f"{shared}under " + "; ".join(condition.rpartition(HORIZON)[0] for condition in found)
        return "under " + "; ".join(found)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; what could not be computed as None."""
        return {
            "name": self.name,
            "source": self.source,
            "statement": self.statement,
            "verdict": self.verdict,
            "verdicts": {where: part.verdict for where, part in self.parts.items()},
            "note": self.note,
            "cases": [case.to_dict() for case in self.cases],
        }


def _finite(numbers: dict[str, float | None]) -> dict[str, float | None]:
    return {key: value if value is not None and math.isfinite(value) else None for key, value in numbers.items()}


def above(interval: Interval, threshold: float) -> bool | None:
    """Decide whether a measured quantity lies above a threshold: None if its interval contains the threshold."""
    if interval.low > threshold:
        return True
    return False if interval.high < threshold else None


def shown_once(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with every measurement shown under the first claim that it decides, and only there."""
    first: dict[tuple[str, str], str] = {}
    marked = []
    for claim in claims:
        cases = []
        for case in claim.cases:
            owner = first.setdefault(case.key, claim.name)
            cases.append(case if owner == claim.name else replace(case, shown_under=owner))
        marked.append(replace(claim, cases=tuple(cases)))
    return marked


def adjusted(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims decided anew, with all comparisons of all of them considered together (Holm).

    The family is every comparison in which chance plays a part, decided or not: to take only those decided would be to
    choose the family by its outcome. One that decides several claims counts once.
    """
    cases = {case.key: case for claim in claims for case in claim.cases}
    p_values = {
        (key, position): comparison.p_value
        for key, case in cases.items()
        for position, comparison in enumerate(case.comparisons)
    }
    found = dict(zip(p_values, holm(list(p_values.values())), strict=True))

    def decided(case: Case) -> Case:
        if not case.comparisons:
            return case
        return case.adjusted([found[case.key, position] for position in range(len(case.comparisons))])

    return [replace(claim, cases=tuple(decided(case) for case in claim.cases)) for claim in claims]


@dataclass(frozen=True)
class Multiplicity:
    """How many comparisons a report makes, and what considering them together changes.

    Attributes
    ----------
    comparisons : int
        With chance in them; those that decide several statements count once.
    cases : int
        That they decide, or not.
    decided_alone : int
        Cases that would be decided if each comparison were the only one.
    decided : int
        Cases that are decided.
    """

    comparisons: int
    cases: int
    decided_alone: int
    decided: int

    @classmethod
    def of(cls, claims: Sequence[Claim]) -> Multiplicity:
        """Count."""
        cases = [case for case in {c.key: c for claim in claims for c in claim.cases}.values() if case.comparisons]
        return cls(
            sum(not math.isnan(c.p_value) for case in cases for c in case.comparisons),
            len(cases),
            sum(case.alone is not None for case in cases),
            sum(case.holds is not None for case in cases),
        )

    def __str__(self) -> str:
        fall = self.decided_alone - self.decided
        return (
            f"{self.comparisons:,} comparisons have chance in them. They are judged together, after Holm, so that the "
            f"chance of even one wrong among them is at most {LEVEL:.0%}".replace("%", " %")
            + ", as far as Student's t fits means of so many replications"
            + f". {self.decided} of {self.cases} cases are decided; with each judged by its own 95 % interval it would "
            f"be {self.decided_alone}, so {fall or 'none'} {'falls' if fall == 1 else 'fall'}"
            + (", marked where they stand." if fall else ".")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "method": "Holm",
            "level": LEVEL,
            "comparisons": self.comparisons,
            "cases": self.cases,
            "decided_by_their_own_intervals": self.decided_alone,
            "decided": self.decided,
        }
