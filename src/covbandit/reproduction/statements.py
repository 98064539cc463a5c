"""The statements of the paper, and some of our own, each decided by the results and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from covbandit.reproduction.claims import Case, Claim, adjusted, exact, grows_less, pays_more, shown_once
from covbandit.reproduction.experiments import Experiments, Results
from covbandit.reproduction.panels import EQUAL, GRADIENT, LOOSE, LOOSE_GAMMA, PAIR, SHRUNK, Panel, Setting
from covbandit.reproduction.remarks import remark_claims
from covbandit.reproduction.theorems import RATE_TOLERANCE, THEOREMS, theorem_claims
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import half_width

ORDERS_OF_MAGNITUDE = 100.0
"""What "multiple orders of magnitude" is taken to mean."""

_OURS: dict[Setting, str] = {"fi": SHRUNK, "sb": PAIR, "fb": GRADIENT}
_NARROW = 0.05


def judge(experiments: Experiments, results: Results) -> list[Claim]:
    """Return every statement that these results decide, with its verdict; the paper's first.

    All comparisons are considered together, and a measurement that decides several statements is shown under the first.
    """
    claims = [
        *_section_6(experiments, results),
        *theorem_claims(experiments, results),
        *remark_claims(experiments, results),
        *_ours(experiments, results),
    ]
    return adjusted(shown_once([claim for claim in claims if claim.cases]))


def _section_6(experiments: Experiments, results: Results) -> Iterator[Claim]:
    def claim(
        name: str, setting: Setting, statement: str, *comparisons: tuple[str, str], times: float = 1, note: str = ""
    ) -> Claim:
        cases = tuple(
            pays_more(panel.condition(f"{other} against {than}"), result, other, than, times, panel.papers)
            for panel, result in experiments.played(setting, results)
            for other, than in comparisons
        )
        return Claim(name, f"Section 6, {setting.upper()}", statement, cases, note)

    both = (
        "OGD takes the gradient of the newest sample, OGD (plug-in) that of the moments of all samples; the paper does "
        "not say which."
    )
    yield claim(
        "orders-of-magnitude",
        "fi",
        "MC-Empirical has multiple orders of magnitude (at least 100 times) less regret than the benchmarks",
        ("OGD", "MC-Empirical"),
        ("OGD (plug-in)", "MC-Empirical"),
        ("LinearFI", "MC-Empirical"),
        times=ORDERS_OF_MAGNITUDE,
        note=both,
    )
    yield claim(
        "better-than-ogd",
        "fi",
        "MC-Empirical is superior to OGD",
        ("OGD", "MC-Empirical"),
        ("OGD (plug-in)", "MC-Empirical"),
        note=both,
    )
    yield Claim(
        "ogd-rate",
        "Section 6, FI",
        "OGD, too, has a regret of order √T",
        tuple(
            grows_less(
                panel.condition(learner),
                result,
                learner,
                0.5 + RATE_TOLERANCE,
                f"1/2 plus {RATE_TOLERANCE:g}",
                panel.papers,
            )
            for panel, result in experiments.played("fi", results)
            for learner in ("OGD", "OGD (plug-in)")
        ),
        both,
    )
    gammas = (
        "The paper does not give Γ. MC-UCB-Γ takes the largest variance, the tightest universal bound, "
        f"{LOOSE_GAMMA} takes {LOOSE:g} times that."
    )
    yield claim(
        "mc-ucb-lowest",
        "sb",
        "MC-UCB achieves the lowest regret",
        ("MC-UCB-Γ", "MC-UCB"),
        (LOOSE_GAMMA, "MC-UCB"),
        ("OLS-UCB-C", "MC-UCB"),
        note=gammas,
    )
    yield claim(
        "gamma-inferior",
        "sb",
        "MC-UCB-Γ is inferior to MC-UCB",
        ("MC-UCB-Γ", "MC-UCB"),
        (LOOSE_GAMMA, "MC-UCB"),
        note=gammas,
    )
    yield claim(
        "ols-highest",
        "sb",
        "OLS-UCB-C suffers the highest regret",
        ("OLS-UCB-C", "MC-UCB"),
        ("OLS-UCB-C", "MC-UCB-Γ"),
        ("OLS-UCB-C", LOOSE_GAMMA),
        note=gammas,
    )
    yield claim(
        "mc-ete-best",
        "fb",
        "MC-ETE achieves the best regret",
        ("OGD-ETE", "MC-ETE"),
        ("LinearFB", "MC-ETE"),
    )
    yield claim("ogd-ete-higher", "fb", "OGD-ETE has a higher regret than MC-ETE", ("OGD-ETE", "MC-ETE"))
    yield claim(
        "linear-fb-worst",
        "fb",
        "LinearFB shows the worst performance",
        ("LinearFB", "MC-ETE"),
        ("LinearFB", "OGD-ETE"),
    )
    yield Claim(
        "narrow-intervals",
        "Section 6, FB, footnote",
        "In some cases, those of full-bandit feedback among them, the confidence intervals are narrow and "
        "indistinguishable",
        tuple(
            _narrow(panel, result, learner)
            for panel, result in experiments.played("fb", results)
            if panel.papers
            for learner in ("MC-ETE", "OGD-ETE", "LinearFB")
        ),
    )


def _narrow(panel: Panel, result: SimulationResult, learner: str) -> Case:
    values = result.at(learner)
    mean = float(values.mean())
    width = float(half_width(values)) / mean if mean > 0 else float("nan")
    rule = f"half width of the 95 % interval of {learner}'s mean regret, relative to the mean: below {_NARROW:g}"
    holds = None if width != width else width < _NARROW
    return Case(panel.condition(learner), rule, exact(width), holds, panel.papers)


def _ours(experiments: Experiments, results: Results) -> Iterator[Claim]:
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
