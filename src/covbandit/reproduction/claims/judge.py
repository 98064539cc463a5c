"""Every statement that results decide: those of the paper, then our own."""

from __future__ import annotations

from collections.abc import Iterator

from covbandit.reproduction.claims.claim import Claim, adjusted, shown_once
from covbandit.reproduction.claims.remarks import remark_claims
from covbandit.reproduction.claims.rules import grows_less, pays_more
from covbandit.reproduction.claims.section_6 import section_6_claims
from covbandit.reproduction.claims.theorems import THEOREMS, theorem_claims
from covbandit.reproduction.experiments import Experiments, Results
from covbandit.reproduction.panels import EQUAL, GRADIENT, PAIR, SHRUNK, Setting

_OURS: dict[Setting, str] = {"fi": SHRUNK, "sb": PAIR, "fb": GRADIENT}


def judge(experiments: Experiments, results: Results) -> list[Claim]:
    """Return every statement that these results decide, with its verdict; the paper's first.

    All comparisons are considered together, and a measurement that decides several statements is shown under the first.
    """
    claims = [
        *section_6_claims(experiments, results),
        *theorem_claims(experiments, results),
        *remark_claims(experiments, results),
        *_our_claims(experiments, results),
    ]
    return adjusted(shown_once([claim for claim in claims if claim.cases]))


def _our_claims(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, ours in _OURS.items():
        theirs = THEOREMS[setting][1]
        found = list(experiments.played(setting, results))
        name = ours.removesuffix(" (ours)")
        for ending, other, than in (("better", theirs, theirs), ("equal", EQUAL, "equal weights")):
            cases = tuple(
                pays_more(panel.condition(), result, other, ours, papers=panel.papers) for panel, result in found
            )
            yield Claim(f"{name}-{ending}", "ours", f"{name} pays less than {than}", cases)
        if setting == "fb":
            cases = tuple(
                grows_less(panel.condition(), result, ours, 2 / 3, "2/3", panel.papers) for panel, result in found
            )
            yield Claim(f"{name}-rate", "ours", f"{name}'s regret grows more slowly than T^(2/3)", cases)
