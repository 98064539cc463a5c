"""The panels of the paper's figure: which problem and which learners, and who of them is the paper's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from covbandit import problems
from covbandit.data import Returns
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
from covbandit.problems.problem import Problem
from covbandit.reproduction.known_covariance import KnownCovariance

Setting = Literal["fi", "sb", "fb"]

SETTINGS: dict[Setting, str] = {"fi": "Full information", "sb": "Semi-bandit", "fb": "Full bandit"}
PAPERS_RHO: dict[Setting, float] = {"fi": 0.1, "sb": 0.1, "fb": 10.0}
MIN_WEIGHT = 0.1  # the paper gives no c

EQUAL = "equal weights"
KNOWN = "Σ* known"
SHRUNK, PAIR, GRADIENT = "ShrunkEmpirical (ours)", "PairUCB (ours)", "GradientTS (ours)"
LOOSE = 5.0  # a universal covariance bound that is five times the tightest one
LOOSE_GAMMA = f"MC-UCB-Γ (Γ × {LOOSE:g})"


@dataclass(frozen=True)
class Instance:
    """Where a panel's θ* and Σ* come from.

    Attributes
    ----------
    name : str
        In the names of panels.
    title : str
        In figures, short.
    explanation : str
        In reports.
    problem : callable
        Returns the problem at a risk aversion and a minimum weight.
    """

    name: str
    title: str
    explanation: str
    problem: Callable[[float, float | None], Problem]


SYNTHETIC = Instance(
    "synthetic",
    "synthetic",
    "The paper's synthetic instance: means (.2, .3, .2, .2, .2), unit variances, every covariance −.05.",
    problems.synthetic,
)
ETF = Instance(
    "etf",
    "five ETFs",
    "A Gaussian fitted to eight annual returns, 2010 to 2017, in percent, of five funds of our choice: the paper does "
    "not name the five it chose.",
    problems.etf,
)


def instance_of(returns: Returns) -> Instance:
    """Return the instance that takes the place of the ETF one, from the user's own returns."""
    explanation = f"A Gaussian fitted to {len(returns)} returns of {', '.join(returns.options)} ({returns.source})."
    return Instance("etf", "your funds", explanation, partial(_fitted, returns))


def _fitted(returns: Returns, risk_aversion: float, min_weight: float | None) -> Problem:
    return returns.problem(risk_aversion, min_weight=min_weight)


@dataclass(frozen=True)
class Panel:
    """One panel of the paper's figure, or the same at the other risk aversion that the paper mentions."""

    setting: Setting
    instance: Instance
    risk_aversion: float

    @property
    def papers(self) -> bool:
        """Whether it stands in the paper's figure."""
        return self.risk_aversion == PAPERS_RHO[self.setting]

    @property
    def name(self) -> str:
        """As on the command line."""
        name = f"{self.setting}-{self.instance.name}"
        return name if self.papers else f"{name}-rho{self.risk_aversion:g}"

    @property
    def title(self) -> str:
        """As above the figure."""
        return f"{SETTINGS[self.setting]}, {self.instance.title}, $ρ={self.risk_aversion:g}$"

    def condition(self, note: str = "") -> str:
        """Return under which conditions its measurements stand, for verdicts."""
        instance = {"synthetic": "synthetic", "etf": "funds"}[self.instance.name]
        text = f"{instance}, ρ = {self.risk_aversion:g}"
        return f"{text}, {note}" if note else text

    def problem(self) -> Problem:
        """Return the problem."""
        return self.instance.problem(self.risk_aversion, MIN_WEIGHT if self.setting == "sb" else None)

    def learners(self) -> dict[str, Learner]:
        """Return the learners, the paper's first, then ours, who knows Σ*, and the baseline."""
        problem = self.problem()
        learners = LEARNERS[self.setting](problem)
        equal = learners.pop(EQUAL)
        known = KnownCovariance(
            covariance=problem.covariance, risk_aversion=problem.risk_aversion, min_weight=problem.min_weight
        )
        return learners | {KNOWN: known, EQUAL: equal}


def all_panels(instances: tuple[Instance, Instance] = (SYNTHETIC, ETF)) -> list[Panel]:
    """Return the paper's six panels in its order, then the same at the other risk aversion."""
    papers = [Panel(setting, instance, PAPERS_RHO[setting]) for instance in instances for setting in SETTINGS]
    others = [Panel(panel.setting, panel.instance, 1 / panel.risk_aversion) for panel in papers]
    return papers + others


def role(learner: str) -> Literal["paper", "ours", "known", "baseline"]:
    """Return whose a learner is, by its name in the panels."""
    if learner in (EQUAL, KNOWN):
        return "baseline" if learner == EQUAL else "known"
    return "ours" if learner.endswith("(ours)") else "paper"


def _full_information(problem: Problem) -> dict[str, Learner]:
    d, rho, bound = problem.n_options, problem.risk_aversion, problem.variance_bound
    return {
        "MC-Empirical": MCEmpirical(n_options=d, risk_aversion=rho),
        "OGD": OGD(n_options=d, risk_aversion=rho, variance_bound=bound),
        "OGD (plug-in)": OGD(n_options=d, risk_aversion=rho, variance_bound=bound, gradient="plugin"),
        "LinearFI": LinearFI(n_options=d),
        SHRUNK: ShrunkEmpirical(n_options=d, risk_aversion=rho),
        EQUAL: FixedWeights(n_options=d),
    }


def _semi_bandit(problem: Problem) -> dict[str, Learner]:
    d, rho, c = problem.n_options, problem.risk_aversion, problem.min_weight
    bound = problem.variance_bound
    shared: dict[str, Any] = {"n_options": d, "min_weight": c}
    bounded: dict[str, Any] = {**shared, "variance_bound": bound}
    return {
        "MC-UCB": MCUCB(risk_aversion=rho, **bounded),
        "MC-UCB-Γ": MCUCBGamma(risk_aversion=rho, **bounded),
        LOOSE_GAMMA: MCUCBGamma(risk_aversion=rho, gamma=LOOSE * bound, **bounded),
        "OLS-UCB-C": OLSUCBC(**bounded),
        PAIR: PairUCB(risk_aversion=rho, **shared),
        EQUAL: FixedWeights(n_options=d),
    }


def _full_bandit(problem: Problem) -> dict[str, Learner]:
    d, rho = problem.n_options, problem.risk_aversion
    return {
        "MC-ETE": MCETE(n_options=d, risk_aversion=rho),
        "OGD-ETE": OGDETE(n_options=d, risk_aversion=rho, variance_bound=problem.variance_bound),
        "LinearFB": LinearFB(n_options=d),
        GRADIENT: GradientTS(n_options=d, risk_aversion=rho),
        EQUAL: FixedWeights(n_options=d),
    }


LEARNERS: dict[Setting, Callable[[Problem], dict[str, Learner]]] = {
    "fi": _full_information,
    "sb": _semi_bandit,
    "fb": _full_bandit,
}
