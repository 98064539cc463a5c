"""The statements of the paper, and some of our own, each decided by the results and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from covbandit.reproduction.claims import Case, Claim, below, grows_less, pays_more
from covbandit.reproduction.experiments import Experiments, Results
from covbandit.reproduction.panels import EQUAL, GRADIENT, LOOSE, LOOSE_GAMMA, PAIR, SHRUNK, Panel, Setting
from covbandit.reproduction.remarks import remark_claims
from covbandit.reproduction.theorems import RATE_TOLERANCE, THEOREMS, theorem_claims
from covbandit.simulation import SimulationResult
from covbandit.simulation.statistics import Interval, half_width

ORDERS_OF_MAGNITUDE = 100.0
"""What "multiple orders of magnitude" is taken to mean."""

_OURS: dict[Setting, str] = {"fi": SHRUNK, "sb": PAIR, "fb": GRADIENT}
_NARROW = 0.05


def judge(experiments: Experiments, results: Results) -> list[Claim]:
    """Return every statement that these results decide, with its verdict; the paper's first."""
    claims = [
        *_section_6(experiments, results),
        *theorem_claims(experiments, results),
        *remark_claims(experiments, results),
        *_ours(experiments, results),
    ]
    return [claim for claim in claims if claim.cases]


def _section_6(experiments: Experiments, results: Results) -> Iterator[Claim]:
    def claim(
        name: str, setting: Setting, statement: str, *comparisons: tuple[str, str, str], times: float = 1
    ) -> Claim:
        cases = tuple(
            pays_more(panel.condition(note), result, other, than, times)
            for panel, result in experiments.played(setting, results)
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
    yield Claim(
        "ogd-rate",
        "Section 6, FI",
        "OGD, too, has a regret of order √T",
        tuple(
            grows_less(panel.condition(note), result, learner, 0.5 + RATE_TOLERANCE, f"1/2 plus {RATE_TOLERANCE:g}")
            for panel, result in experiments.played("fi", results)
            for learner, note in (("OGD", newest), ("OGD (plug-in)", all_samples))
        ),
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
    relative = Interval(width, width, width)
    rule = f"half width of the 95 % interval of {learner}'s mean regret, relative to the mean: below {_NARROW:g}"
    return Case(panel.condition(learner), rule, relative, below(relative, _NARROW))


def _ours(experiments: Experiments, results: Results) -> Iterator[Claim]:
    for setting, ours in _OURS.items():
        theirs = THEOREMS[setting][1]
        found = list(experiments.played(setting, results))
        cases = tuple(pays_more(panel.condition(), result, theirs, ours) for panel, result in found)
        name = ours.removesuffix(" (ours)")
        yield Claim(f"{name}-better", "ours", f"{name} pays less than {theirs}", cases)
        cases = tuple(pays_more(panel.condition(), result, EQUAL, ours) for panel, result in found)
        yield Claim(f"{name}-equal", "ours", f"{name} pays less than equal weights", cases)
        if setting == "fb":
            cases = tuple(grows_less(panel.condition(), result, ours, 2 / 3, "2/3") for panel, result in found)
            yield Claim(f"{name}-rate", "ours", f"{name}'s regret grows more slowly than T^(2/3)", cases)
