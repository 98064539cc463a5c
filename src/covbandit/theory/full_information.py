"""Theorem 1: the regret of MC-Empirical, which sees every option's reward."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from covbandit.core.tables import as_number
from covbandit.core.typing import F64
from covbandit.problems.problem import Problem
from covbandit.theory.bound import Condition, Quantity, UpperBound, as_problem, as_variance_bound, variance_of


@dataclass(frozen=True)
class FullInformationBound(UpperBound):
    r"""Theorem 1.

    .. math:: O\Big( \Big( \min\Big\{ \sqrt{w^{*\prime} Σ^* w^*} + \sqrt{\tfrac{θ_\max - θ_\min}{ρ}},
        \sqrt{Σ_\max} \Big\} + ρb \Big) \ln T \sqrt{dT} \Big),
        \qquad T ≥ 1 + \frac{Σ_\max}{w^{*\prime} Σ^* w^*}

    At ρ = 0 the first of the two in the minimum is infinite and the bound is that of the linear case, √(dΣ_max T) ln T.

    Attributes
    ----------
    optimal_variance : float
        w*'Σ*w*.
    mean_spread : float
        θ_max - θ_min.
    """

    optimal_variance: float
    mean_spread: float

    theorem: ClassVar[int] = 1
    learner: ClassVar[str] = "MC-Empirical"
    feedback: ClassVar[str] = "all"
    rate: ClassVar[str] = "(min{√(w*'Σ*w*) + √((θmax − θmin)/ρ), √Σmax} + ρb) ln T √(dT)"

    @property
    def of_the_optimum(self) -> float:
        """√(w*'Σ*w*) + √((θmax − θmin)/ρ), the first in the minimum; infinite if ρ = 0."""
        if self.risk_aversion == 0:
            return inf
        return sqrt(self.optimal_variance) + sqrt(self.mean_spread / self.risk_aversion)

    @property
    def factor(self) -> float:
        """min{…} + ρb."""
        return min(self.of_the_optimum, sqrt(self.largest_variance)) + self.risk_aversion * self.variance_bound

    @property
    def least_horizon(self) -> float:
        """1 + Σmax / w*'Σ*w*; infinite if the optimum has no risk."""
        if self.optimal_variance == 0:
            return inf
        return 1 + self.largest_variance / self.optimal_variance

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every number that stands in the theorem."""
        return (
            *self._shared_quantities,
            Quantity("w*'Σ*w*", "variance of the optimum", self.optimal_variance),
            Quantity("θmax − θmin", "spread of the means", self.mean_spread),
            Quantity("Σmax", "largest variance", self.largest_variance),
            Quantity("√(w*'Σ*w*) + √((θmax − θmin)/ρ)", "first in the minimum", self.of_the_optimum),
            Quantity("√Σmax", "second in the minimum", sqrt(self.largest_variance)),
            Quantity("min{…} + ρb", "factor", self.factor),
            Quantity("1 + Σmax/w*'Σ*w*", "least T", self.least_horizon),
        )

    def _value(self, horizon: F64) -> F64:
        return np.asarray(self.factor * np.log(horizon) * np.sqrt(self.n_options * horizon))

    def _further_conditions(self, horizon: float | None) -> tuple[Condition, ...]:
        if horizon is None:
            return ()
        return (Condition(f"T ≥ 1 + Σmax/w*'Σ*w* = {as_number(self.least_horizon, 6)}", horizon >= self.least_horizon),)


def full_information_bound(problem: Problem, variance_bound: float | None = None) -> FullInformationBound:
    """Return Theorem 1 for a problem: what bounds the regret of MC-Empirical, with constant 1.

    The theorem is stated for the whole simplex. Its proof uses only that the weights played maximise over the set in
    which w* is best, so with `min_weight` or `max_weight` the problem's own optimum takes the place of w*.

    Parameters
    ----------
    problem : Problem
        The instance.
    variance_bound : float, optional
        b: no variance exceeds it. By default the largest variance there is, so that the bound does not depend on the
        unit of the rewards and is the smallest that the theorem gives. The paper's unit is 1.

    Returns
    -------
    FullInformationBound

    Examples
    --------
    >>> import covbandit as cb
    >>> bound = cb.theory.full_information_bound(cb.problems.synthetic(risk_aversion=10))
    >>> round(bound.optimal_variance, 6), round(bound.factor, 3)
    (0.160019, 10.5)
    >>> bound.conditions(horizon=5)[1]
    Condition(text="T ≥ 1 + Σmax/w*'Σ*w* = 7.24926", holds=False)
    """
    problem = as_problem(problem)
    return FullInformationBound(
        n_options=problem.n_options,
        risk_aversion=problem.risk_aversion,
        variance_bound=as_variance_bound(variance_bound, problem),
        largest_variance=float(problem.covariance.diagonal().max()),
        optimal_variance=variance_of(problem.optimum().weights, problem.covariance),
        mean_spread=float(np.ptp(problem.mean)),
    )
