"""Theorem 5: the regret of MC-ETE, which sees one total per round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core.typing import F64
from covbandit.errors import Unsupported
from covbandit.problems.designs import as_design, default_design, n_moments, products
from covbandit.problems.problem import Problem
from covbandit.theory.bound import Condition, Quantity, UpperBound, as_problem, as_variance_bound, largest_gap


@dataclass(frozen=True)
class FullBanditBound(UpperBound):
    r"""Theorem 5.

    .. math:: O\Big( Z(ρ,π) \sqrt{d(\ln T + d^2)}\, T^{2/3} + d\, Δ_\max T^{2/3} \Big), \qquad
        Z(ρ,π) = \max_{w ∈ Δ_d} \sqrt{w' B_π^+ Σ^*_π (B_π^+)' w} + ρ b \|C_π^+\|

    The root is convex in w, so its maximum over the simplex is at a vertex and exact here. The proof has a factor 1+λ
    (λ = 1/2) under the root that the theorem's Z drops; Z is the theorem's.

    Attributes
    ----------
    n_actions : int
        How many actions the design π has; d(d+1)/2 in the paper.
    mean_error : float
        The root in Z, at its largest.
    inverse_norm : float
        ‖C⁺‖, the largest absolute row sum; 3 for the paper's design from two options on.
    largest_gap : float
        Δ_max, what the worst weights pay per round.
    exploration_regret : float
        What one exploration round, every action of π once, pays.
    """

    n_actions: int
    mean_error: float
    inverse_norm: float
    largest_gap: float
    exploration_regret: float

    theorem: ClassVar[int] = 5
    learner: ClassVar[str] = "MC-ETE"
    feedback: ClassVar[str] = "total"
    rate: ClassVar[str] = "Z(ρ,π) √(d(ln T + d²)) T^(2/3) + d Δmax T^(2/3)"

    @property
    def estimation_factor(self) -> float:
        """Z(ρ,π)."""
        return self.mean_error + self.risk_aversion * self.variance_bound * self.inverse_norm

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every number that stands in the theorem."""
        options, *others = self._shared_quantities
        return (
            options,
            Quantity("d(d+1)/2", "actions of the design π", self.n_actions),
            *others,
            Quantity("Σmax", "largest variance", self.largest_variance),
            Quantity("max √(w'B⁺Σ*πB⁺'w)", "error of means per round of π", self.mean_error),
            Quantity("‖C⁺‖", "largest absolute row sum of C⁺", self.inverse_norm),
            Quantity("Z(ρ,π)", "max √(w'B⁺Σ*πB⁺'w) + ρb‖C⁺‖", self.estimation_factor),
            Quantity("Δmax", "what the worst weights pay per round", self.largest_gap),
            Quantity("Σ_k f(w*) − f(v_k)", "regret of one exploration round", self.exploration_regret),
        )

    def _value(self, horizon: F64) -> F64:
        d = self.n_options
        exploiting = self.estimation_factor * np.sqrt(d * (np.log(horizon) + d**2))
        return np.asarray((exploiting + d * self.largest_gap) * horizon ** (2 / 3))

    def _further_conditions(self, horizon: float | None) -> tuple[Condition, ...]:
        needed = n_moments(self.n_options)
        return (Condition(f"π has d(d+1)/2 = {needed} actions", self.n_actions == needed),)


def full_bandit_bound(
    problem: Problem, variance_bound: float | None = None, design: ArrayLike | None = None
) -> FullBanditBound:
    """Return Theorem 5 for a problem: what bounds the regret of MC-ETE, with constant 1.

    Parameters
    ----------
    problem : Problem
        The instance, on the whole simplex.
    variance_bound : float, optional
        b: no variance exceeds it. By default the largest there is, see `full_information_bound`.
    design : array, actions × d, optional
        π; the paper's by default.

    Returns
    -------
    FullBanditBound

    Examples
    --------
    >>> import covbandit as cb
    >>> bound = cb.theory.full_bandit_bound(cb.problems.synthetic(risk_aversion=10))
    >>> round(bound.estimation_factor, 5), round(bound.largest_gap, 6), round(bound.exploration_regret, 5)
    (30.63057, 8.42019, 73.50286)
    """
    problem = as_problem(problem)
    if problem.min_weight is not None or problem.max_weight is not None:
        raise Unsupported(
            "Theorem 5 is about the whole simplex, as MC-ETE is; build the problem without min_weight and max_weight"
        )
    d = problem.n_options
    actions, mean_error, inverse_norm = design_errors(problem, design)
    return FullBanditBound(
        n_options=d,
        risk_aversion=problem.risk_aversion,
        variance_bound=as_variance_bound(variance_bound, problem),
        largest_variance=float(problem.covariance.diagonal().max()),
        n_actions=len(actions),
        mean_error=float(np.sqrt(mean_error.diagonal().max())),
        inverse_norm=inverse_norm,
        largest_gap=largest_gap(problem),
        exploration_regret=sum(problem.gap(action) for action in actions),
    )


def design_errors(problem: Problem, design: ArrayLike | None) -> tuple[F64, F64, float]:
    """Return the actions of a design (None for the paper's), B⁺Σ*_π(B⁺)' and ‖C⁺‖."""
    d = problem.n_options
    if design is None:
        actions = default_design(d)
        norm = 3.0 if d > 1 else 1.0  # Σ_ij = 2z_ij - (z_i + z_j)/2; a pseudo-inverse would take d⁶ operations
    else:
        actions = as_design(design, d, problem.options)
        norm = float(np.abs(np.linalg.pinv(products(actions))).sum(axis=1).max())
    inverse = np.linalg.pinv(actions)
    return actions, (inverse * total_variances(actions, problem.covariance)) @ inverse.T, norm


def total_variances(actions: F64, covariance: F64) -> F64:
    """Return the variance v'Σv of the total of each action: the diagonal of Σ*_π."""
    return np.asarray(np.maximum(((actions @ covariance) * actions).sum(axis=1), 0))
