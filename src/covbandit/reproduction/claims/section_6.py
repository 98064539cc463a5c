"""The statements of the paper's experiments section, as a table: what is said of whom, and the rule that decides it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from covbandit.reproduction.claims.claim import Case, Claim
from covbandit.reproduction.claims.rules import exact, grows_less, pays_more
from covbandit.reproduction.claims.theorems import RATE_TOLERANCE
from covbandit.reproduction.experiments import Experiments, Results
from covbandit.reproduction.panels import LOOSE, LOOSE_GAMMA, Panel, Setting
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import half_width

ORDERS_OF_MAGNITUDE = 100.0
"""What "multiple orders of magnitude" is taken to mean."""

_NARROW = 0.05

Rule = Callable[[Panel, SimulationResult], Iterable[Case]]
"""Returns the cases of a statement in one panel."""


@dataclass(frozen=True)
class Statement:
    """A statement of Section 6 about one setting.

    Attributes
    ----------
    name : str
        Short, unique.
    setting : Setting
        In whose panels it is put to the test.
    text : str
        What is claimed.
    rule : callable
        Decides it, panel by panel.
    note : str
        What a reader of the cases should know.
    place : str
        Where in the section's part on the setting it stands, if not in the text.
    """

    name: str
    setting: Setting
    text: str
    rule: Rule
    note: str = ""
    place: str = ""

    def claim(self, experiments: Experiments, results: Results) -> Claim:
        """Return the statement, decided by the panels of its setting."""
        cases = tuple(case for played in experiments.played(self.setting, results) for case in self.rule(*played))
        return Claim(self.name, f"Section 6, {self.setting.upper()}{self.place}", self.text, cases, self.note)


def _pays_more(*pairs: tuple[str, str], times: float = 1) -> Rule:
    """Return the rule: of each pair, the first learner pays more than so many times the second's regret."""

    def cases(panel: Panel, result: SimulationResult) -> Iterator[Case]:
        for other, than in pairs:
            yield pays_more(panel.condition(f"{other} against {than}"), result, other, than, times, panel.papers)

    return cases


def _grows_like_root(*learners: str) -> Rule:
    """Return the rule: the regret of each learner grows like √T or more slowly."""

    def cases(panel: Panel, result: SimulationResult) -> Iterator[Case]:
        for learner in learners:
            limit, shown = 0.5 + RATE_TOLERANCE, f"1/2 plus {RATE_TOLERANCE:g}"
            yield grows_less(panel.condition(learner), result, learner, limit, shown, panel.papers)

    return cases


def _is_narrow(*learners: str) -> Rule:
    """Return the rule: in the paper's figure, the interval of each learner's mean regret is narrow."""

    def cases(panel: Panel, result: SimulationResult) -> Iterator[Case]:
        for learner in learners if panel.papers else ():
            values = result.at(learner)
            mean = float(values.mean())
            width = float(half_width(values)) / mean if mean > 0 else float("nan")
            rule = (
                f"half width of the 95 % interval of {learner}'s mean regret, relative to the mean: below {_NARROW:g}"
            )
            holds = None if width != width else width < _NARROW
            yield Case(panel.condition(learner), rule, exact(width), holds, panel.papers)

    return cases


_TWO_GRADIENTS = (
    "OGD takes the gradient of the newest sample, OGD (plug-in) that of the moments of all samples; the paper does not "
    "say which."
)
_TWO_GAMMAS = (
    "The paper does not give Γ. MC-UCB-Γ takes the largest variance, the tightest universal bound, "
    f"{LOOSE_GAMMA} takes {LOOSE:g} times that."
)

STATEMENTS = (
    Statement(
        "orders-of-magnitude",
        "fi",
        "MC-Empirical has multiple orders of magnitude (at least 100 times) less regret than the benchmarks",
        _pays_more(
            ("OGD", "MC-Empirical"),
            ("OGD (plug-in)", "MC-Empirical"),
            ("LinearFI", "MC-Empirical"),
            times=ORDERS_OF_MAGNITUDE,
        ),
        _TWO_GRADIENTS,
    ),
    Statement(
        "better-than-ogd",
        "fi",
        "MC-Empirical is superior to OGD",
        _pays_more(("OGD", "MC-Empirical"), ("OGD (plug-in)", "MC-Empirical")),
        _TWO_GRADIENTS,
    ),
    Statement(
        "ogd-rate",
        "fi",
        "OGD, too, has a regret of order √T",
        _grows_like_root("OGD", "OGD (plug-in)"),
        _TWO_GRADIENTS,
    ),
    Statement(
        "mc-ucb-lowest",
        "sb",
        "MC-UCB achieves the lowest regret",
        _pays_more(("MC-UCB-Γ", "MC-UCB"), (LOOSE_GAMMA, "MC-UCB"), ("OLS-UCB-C", "MC-UCB")),
        _TWO_GAMMAS,
    ),
    Statement(
        "gamma-inferior",
        "sb",
        "MC-UCB-Γ is inferior to MC-UCB",
        _pays_more(("MC-UCB-Γ", "MC-UCB"), (LOOSE_GAMMA, "MC-UCB")),
        _TWO_GAMMAS,
    ),
    Statement(
        "ols-highest",
        "sb",
        "OLS-UCB-C suffers the highest regret",
        _pays_more(("OLS-UCB-C", "MC-UCB"), ("OLS-UCB-C", "MC-UCB-Γ"), ("OLS-UCB-C", LOOSE_GAMMA)),
        _TWO_GAMMAS,
    ),
    Statement(
        "mc-ete-best",
        "fb",
        "MC-ETE achieves the best regret",
        _pays_more(("OGD-ETE", "MC-ETE"), ("LinearFB", "MC-ETE")),
    ),
    Statement("ogd-ete-higher", "fb", "OGD-ETE has a higher regret than MC-ETE", _pays_more(("OGD-ETE", "MC-ETE"))),
    Statement(
        "linear-fb-worst",
        "fb",
        "LinearFB shows the worst performance",
        _pays_more(("LinearFB", "MC-ETE"), ("LinearFB", "OGD-ETE")),
    ),
    Statement(
        "narrow-intervals",
        "fb",
        "In some cases, those of full-bandit feedback among them, the confidence intervals are narrow and "
        "indistinguishable",
        _is_narrow("MC-ETE", "OGD-ETE", "LinearFB"),
        place=", footnote",
    ),
)


def section_6_claims(experiments: Experiments, results: Results) -> list[Claim]:
    """Return the claims of Section 6, in its order."""
    return [statement.claim(experiments, results) for statement in STATEMENTS]
