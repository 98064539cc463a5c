"""The panels of the paper's figure: which problem, which learners, which statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from covbandit import problems
from covbandit.errors import InvalidInput
from covbandit.learners import (
    MCETE,
    MCUCB,
    OGD,
    OGDETE,
    OLSUCBC,
    FixedWeights,
    GradientTS,
    Learner,
    LinearFB,
    LinearFI,
    MCEmpirical,
    MCUCBGamma,
    PairUCB,
    ShrunkEmpirical,
)
from covbandit.problem import Problem
from covbandit.reproduction.claims import Claim, grows_at_most, pays_more


@dataclass(frozen=True)
class Panel:
    """One panel of the paper's figure.

    Attributes
    ----------
    name : str
        As on the command line, where its beginning up to a hyphen also stands for it (`panels_named`).
    title : str
        As in the figure.
    problem : callable
        Returns the problem.
    learners : callable
        Returns the learners for that problem, in the order of the legend.
    claims : tuple
        The paper's statements that this panel decides.
    horizon, replications : int
        Defaults of a normal run.
    our_claims : tuple
        Statements of our own that it decides as well, by the same rules.
    """

    name: str
    title: str
    problem: Callable[[], Problem]
    learners: Callable[[Problem], dict[str, Learner]]
    claims: tuple[Claim, ...]
    horizon: int = 100_000
    replications: int = 50
    our_claims: tuple[Claim, ...] = ()


_EQUAL = "equal weights"


def _full_information(problem: Problem) -> dict[str, Learner]:
    d, rho = problem.n_options, problem.risk_aversion
    return {
        "MC-Empirical": MCEmpirical(n_options=d, risk_aversion=rho),
        "OGD": OGD(n_options=d, risk_aversion=rho),
        "OGD (plug-in)": OGD(n_options=d, risk_aversion=rho, gradient="plugin"),
        "LinearFI": LinearFI(n_options=d),
        "ShrunkEmpirical (ours)": ShrunkEmpirical(n_options=d, risk_aversion=rho),
        _EQUAL: FixedWeights(n_options=d),
    }


_LOOSE = 5.0  # a universal covariance bound that is five times the tightest one


def _semi_bandit(problem: Problem) -> dict[str, Learner]:
    d, rho, c = problem.n_options, problem.risk_aversion, problem.min_weight
    bound = float(problem.covariance.diagonal().max())
    shared: dict[str, Any] = {"n_options": d, "min_weight": c}
    bounded: dict[str, Any] = {**shared, "variance_bound": bound}
    return {
        "MC-UCB": MCUCB(risk_aversion=rho, **bounded),
        "MC-UCB-Γ": MCUCBGamma(risk_aversion=rho, **bounded),
        f"MC-UCB-Γ (Γ × {_LOOSE:g})": MCUCBGamma(risk_aversion=rho, gamma=_LOOSE * bound, **bounded),
        "OLS-UCB-C": OLSUCBC(**bounded),
        "PairUCB (ours)": PairUCB(risk_aversion=rho, **shared),
        _EQUAL: FixedWeights(n_options=d),
    }


_GRADIENT_TS = "GradientTS (ours)"


def _full_bandit(problem: Problem) -> dict[str, Learner]:
    d, rho = problem.n_options, problem.risk_aversion
    return {
        "MC-ETE": MCETE(n_options=d, risk_aversion=rho),
        "OGD-ETE": OGDETE(n_options=d, risk_aversion=rho),
        "LinearFB": LinearFB(n_options=d),
        _GRADIENT_TS: GradientTS(n_options=d, risk_aversion=rho),
        _EQUAL: FixedWeights(n_options=d),
    }


_BETTER = "MC-Empirical's performance is superior to OGD's"
_ORDERS = "MC-Empirical has multiple orders of magnitude less regret than the benchmarks"
_RATE = "Theorem 1: MC-Empirical's regret grows like √T, up to logarithms, or slower"
_LOWEST = "MC-UCB has less regret than MC-UCB-Γ"
_HIGHEST = "OLS-UCB-C has the highest regret"
_SB_RATE = "Theorem 3: MC-UCB's regret grows like √T, up to logarithms, or slower"
_BEST = "MC-ETE achieves the best regret performance"
_FB_RATE = "Theorem 5: MC-ETE's regret grows like T^(2/3), up to logarithms, or slower"
_OUR_RATE = "GradientTS's regret grows more slowly than T^(2/3)"


def _full_bandit_panel(rho: float) -> Panel:
    return Panel(
        name=f"fb-synthetic-rho{rho:g}",
        title=f"Full bandit, synthetic, $d=5$, $ρ={rho:g}$",
        problem=partial(problems.synthetic, risk_aversion=rho),
        learners=_full_bandit,
        claims=(
            pays_more(f"{_BEST}: OGD-ETE has a higher regret", "OGD-ETE", "MC-ETE"),
            pays_more(f"{_BEST}: better than LinearFB", "LinearFB", "MC-ETE"),
            pays_more("LinearFB shows the worst performance: worse than OGD-ETE too", "LinearFB", "OGD-ETE"),
            grows_at_most(_FB_RATE, "MC-ETE", 2 / 3),
        ),
        our_claims=(
            pays_more("GradientTS pays less than MC-ETE", "MC-ETE", _GRADIENT_TS),
            pays_more("GradientTS pays less than equal weights", _EQUAL, _GRADIENT_TS),
            grows_at_most(_OUR_RATE, _GRADIENT_TS, 2 / 3),
        ),
    )


PANELS = {
    panel.name: panel
    for panel in (
        Panel(
            name="fi-synthetic",
            title="Full information, synthetic, $d=5$, $ρ=0.1$",
            problem=problems.synthetic,
            learners=_full_information,
            claims=(
                pays_more(f"{_BETTER} (gradient of the newest sample)", "OGD", "MC-Empirical"),
                pays_more(f"{_BETTER} (gradient of all samples)", "OGD (plug-in)", "MC-Empirical"),
                pays_more(f"{_ORDERS}: OGD", "OGD", "MC-Empirical", 100),
                pays_more(f"{_ORDERS}: LinearFI", "LinearFI", "MC-Empirical", 100),
                grows_at_most(_RATE, "MC-Empirical", 0.5),
            ),
        ),
        Panel(
            name="sb-synthetic",
            title="Semi-bandit, synthetic, $d=5$, $ρ=0.1$, $c=0.1$",
            problem=partial(problems.synthetic, min_weight=0.1),
            learners=_semi_bandit,
            claims=(
                pays_more(f"{_LOWEST} (Γ = the largest variance, the tightest)", "MC-UCB-Γ", "MC-UCB"),
                pays_more(f"{_LOWEST} (Γ = {_LOOSE:g} times that)", f"MC-UCB-Γ (Γ × {_LOOSE:g})", "MC-UCB"),
                pays_more(f"{_HIGHEST}: higher than MC-UCB", "OLS-UCB-C", "MC-UCB"),
                pays_more(f"{_HIGHEST}: higher than MC-UCB-Γ", "OLS-UCB-C", "MC-UCB-Γ"),
                grows_at_most(_SB_RATE, "MC-UCB", 0.5),
            ),
            horizon=10_000,
        ),
        _full_bandit_panel(10.0),
        _full_bandit_panel(0.1),
    )
}


def panels_named(names: Sequence[str]) -> list[Panel]:
    """Return the panels of these names, each once; all if there are none.

    The beginning of a name up to a hyphen stands for every panel that begins so: fb-synthetic for both values of ρ.
    """
    chosen: dict[str, Panel] = {}
    for name in names:
        found = {key: panel for key, panel in PANELS.items() if f"{key}-".startswith(f"{name}-")}
        if not found:
            raise InvalidInput(
                f"no panel {name!r}; there is {', '.join(PANELS)}, or the beginning of several, such as fb-synthetic"
            )
        chosen |= found
    return list((chosen or PANELS).values())
