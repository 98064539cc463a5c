"""Theorem 3: the regret of MC-UCB, which sees the rewards of the options it chose."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import Unsupported
from covbandit.problems.problem import Problem
from covbandit.theory.bound import Condition, Quantity, UpperBound, as_problem, as_variance_bound, largest_gap


@dataclass(frozen=True)
class SemiBanditBound(UpperBound):
    r"""Theorem 3.

    .. math:: O\Big( \sqrt{L(λ) (\|Σ^*\|_+ + b d^2)\, d \ln^2 T \cdot T} + ρ b d \ln T \sqrt T \Big),
        \qquad L(λ) = (λ+1)(\ln(1+λ^{-1}) + 1)

    The prose before Theorem 4 promises a matching lower bound of √(T ln T); the theorem itself says √(cdT), and rules.

    Attributes
    ----------
    regularization : float
        λ.
    min_weight : float or None
        c; it is not in the bound.
    positive_covariance : float
        ‖Σ*‖₊, the sum of all positive entries of Σ*.
    largest_gap : float
        Δ_max, what the worst weights pay per round. The proof has d²Δ_max beside the bound, which does not grow with T.
    """

    regularization: float
    min_weight: float | None
    positive_covariance: float
    largest_gap: float

    theorem: ClassVar[int] = 3
    learner: ClassVar[str] = "MC-UCB"
    feedback: ClassVar[str] = "chosen"
    rate: ClassVar[str] = "√(L(λ)(‖Σ*‖₊ + bd²) d ln²T T) + ρbd ln T √T"

    @property
    def regularization_factor(self) -> float:
        """L(λ) = (λ+1)(ln(1+1/λ) + 1)."""
        return (self.regularization + 1) * (log(1 + 1 / self.regularization) + 1)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every number that stands in the theorem."""
        return (
            *self._shared_quantities,
            Quantity("λ", "regularisation", self.regularization),
            Quantity("L(λ)", "(λ+1)(ln(1+1/λ) + 1)", self.regularization_factor),
            Quantity("Σmax", "largest variance", self.largest_variance),
            Quantity("‖Σ*‖₊", "sum of all positive covariances", self.positive_covariance),
            Quantity("Δmax", "what the worst weights pay per round", self.largest_gap),
        )

    def _value(self, horizon: F64) -> F64:
        d, b = self.n_options, self.variance_bound
        learning_means = np.sqrt(self.regularization_factor * (self.positive_covariance + b * d**2) * d)
        return np.asarray((learning_means + self.risk_aversion * b * d) * np.log(horizon) * np.sqrt(horizon))

    def _further_conditions(self, horizon: float | None) -> tuple[Condition, ...]:
        return (
            Condition(f"0 < λ < 1, as Lemma 2 wants: {self.regularization:g}", 0 < self.regularization < 1),
            Condition(
                f"weights are 0 or at least c with 0 < c ≤ 1/2: c = {self.min_weight}",
                self.min_weight is not None and self.min_weight <= 0.5,
            ),
        )


def semi_bandit_bound(
    problem: Problem, regularization: float = 0.5, variance_bound: float | None = None
) -> SemiBanditBound:
    """Return Theorem 3 for a problem: what bounds the regret of MC-UCB, with constant 1.

    Parameters
    ----------
    problem : Problem
        The instance. The paper assumes a `min_weight` c of at most 1/2; c is not in the bound. Above 1/2, one option at
        a time is chosen and the theorem still holds (the paper's footnote); without any, nothing in the proof changes.
    regularization : float
        λ of MC-UCB.
    variance_bound : float, optional
        b of MC-UCB: no variance exceeds it. By default the largest there is, see `full_information_bound`.

    Returns
    -------
    SemiBanditBound

    Examples
    --------
    >>> import covbandit as cb
    >>> bound = cb.theory.semi_bandit_bound(cb.problems.synthetic(min_weight=0.1))
    >>> bound.positive_covariance, round(bound.regularization_factor, 6), round(bound.at(100_000))
    (5.0, 3.147918, 80932)
    """
    problem = as_problem(problem)
    if problem.max_weight is not None:
        raise Unsupported("Theorem 3 has no max_weight: MC-UCB must be able to choose any option alone; leave it out")
    return SemiBanditBound(
        n_options=problem.n_options,
        risk_aversion=problem.risk_aversion,
        variance_bound=as_variance_bound(variance_bound, problem),
        largest_variance=float(problem.covariance.diagonal().max()),
        regularization=validation.as_positive(regularization, "regularization"),
        min_weight=problem.min_weight,
        positive_covariance=float(np.maximum(problem.covariance, 0).sum()),
        largest_gap=largest_gap(problem),
    )
