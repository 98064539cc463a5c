"""The panels of the paper's figure: which problem, which learners, which statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from covbandit import problems
from covbandit.learners import (
    MCUCB,
    OGD,
    OLSUCBC,
    FixedWeights,
    Learner,
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
        As on the command line.
    title : str
        As in the figure.
    problem : callable
        Returns the problem.
    learners : callable
        Returns the learners for that problem, in the order of the legend.
    claims : tuple
        The statements that this panel decides.
    horizon, replications : int
        Defaults of a normal run.
    """

    name: str
    title: str
    problem: Callable[[], Problem]
    learners: Callable[[Problem], dict[str, Learner]]
    claims: tuple[Claim, ...]
    horizon: int = 100_000
    replications: int = 50


def _full_information(problem: Problem) -> dict[str, Learner]:
    d, rho = problem.n_options, problem.risk_aversion
    return {
        "MC-Empirical": MCEmpirical(n_options=d, risk_aversion=rho),
        "OGD": OGD(n_options=d, risk_aversion=rho),
        "OGD (plug-in)": OGD(n_options=d, risk_aversion=rho, gradient="plugin"),
        "LinearFI": LinearFI(n_options=d),
        "ShrunkEmpirical (ours)": ShrunkEmpirical(n_options=d, risk_aversion=rho),
        "equal weights": FixedWeights(n_options=d),
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
        "equal weights": FixedWeights(n_options=d),
    }


_BETTER = "MC-Empirical's performance is superior to OGD's"
_ORDERS = "MC-Empirical has multiple orders of magnitude less regret than the benchmarks"
_RATE = "Theorem 1: MC-Empirical's regret grows like √T, up to logarithms, or slower"
_LOWEST = "MC-UCB has less regret than MC-UCB-Γ"
_HIGHEST = "OLS-UCB-C has the highest regret"
_SB_RATE = "Theorem 3: MC-UCB's regret grows like √T, up to logarithms, or slower"

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
    )
}
