"""What the paper's upper bounds share: named quantities, conditions, values with constant 1, and a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.tables import Table, as_number
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem


@dataclass(frozen=True)
class Quantity:
    """A number that stands in a theorem: how the paper writes it, what it is, its value."""

    symbol: str
    meaning: str
    value: float


@dataclass(frozen=True)
class Condition:
    """What a theorem assumes, and whether it is so here."""

    text: str
    holds: bool


@dataclass(frozen=True)
class UpperBound(ABC):
    """An upper bound on expected regret, up to a constant that the paper leaves open and that is 1 here.

    The paper measures rewards in units in which no variance exceeds 1. Here rewards have any unit and no variance
    exceeds b: dividing rewards by √b (θ/√b, Σ/b, ρ√b), taking the paper's bound and multiplying it by √b gives what is
    computed here, in the unit of the rewards. Multiplying rewards by s, ρ by 1/s and b by s² multiplies it by s.

    Attributes
    ----------
    n_options : int
        d.
    risk_aversion : float
        ρ.
    variance_bound : float
        b.
    largest_variance : float
        Σ_max, the largest variance there is.
    """

    n_options: int
    risk_aversion: float
    variance_bound: float
    largest_variance: float

    theorem: ClassVar[int]
    learner: ClassVar[str]
    feedback: ClassVar[str]
    rate: ClassVar[str]

    @property
    def label(self) -> str:
        """What to write beside its curve."""
        return f"Theorem {self.theorem}'s bound, constant 1"

    @property
    def _shared_quantities(self) -> tuple[Quantity, Quantity, Quantity]:
        """d, ρ and b, which stand in every theorem."""
        return (
            Quantity("d", "options", self.n_options),
            Quantity("ρ", "risk aversion", self.risk_aversion),
            Quantity("b", "bound on the variances, 1 in the paper", self.variance_bound),
        )

    @property
    @abstractmethod
    def quantities(self) -> tuple[Quantity, ...]:
        """Every number that stands in the theorem."""

    @abstractmethod
    def _value(self, horizon: F64) -> F64:
        """Return the bound at horizons of at least 1."""

    def _further_conditions(self, horizon: float | None) -> tuple[Condition, ...]:
        """Return what this theorem assumes beyond the bound on the variances."""
        return ()

    @overload
    def at(self, horizon: float) -> float: ...

    @overload
    def at(self, horizon: Sequence[float] | NDArray[Any]) -> F64: ...

    def at(self, horizon: float | Sequence[float] | NDArray[Any]) -> float | F64:
        """Return the bound, with constant 1, after that many rounds: a number, or one for each of several horizons."""
        given = np.asarray(horizon, dtype=object)  # each as the user wrote it, for messages
        if not given.size:
            raise InvalidInput("horizon is empty: give a number of rounds, or several")
        rounds = np.array([as_horizon(each) for each in given.flat]).reshape(given.shape)
        return self._value(rounds) if given.ndim else float(self._value(rounds))

    def conditions(self, horizon: float | None = None) -> tuple[Condition, ...]:
        """Return what the theorem assumes and whether it holds; those on T only if a horizon is given."""
        within = self.largest_variance <= self.variance_bound * (1 + 1e-12)
        return (
            Condition(f"no variance exceeds b = {as_number(self.variance_bound, 6)}", within),
            *self._further_conditions(None if horizon is None else as_horizon(horizon)),
        )

    def table(self, horizon: float | None = None) -> Table:
        """Return quantities, conditions and, if a horizon is given, the bound there."""
        rows: list[list[object]] = [[q.symbol, q.meaning, q.value] for q in self.quantities]
        rows += [["condition", condition.text, condition.holds] for condition in self.conditions(horizon)]
        if horizon is not None:
            rounds = as_horizon(horizon)
            rows.append(["bound", f"after {rounds:,.0f} rounds, with constant 1", self.at(rounds)])
        title = f"Theorem {self.theorem} ({self.learner}): O({self.rate}), shown with constant 1"
        return Table(["quantity", "meaning", "value"], rows, title)


def as_horizon(value: object) -> float:
    """Return a number of rounds, at least 1."""
    horizon = validation.as_float(value, "horizon")
    if horizon < 1:
        raise InvalidInput(f"horizon must be at least 1 round, got {horizon:g}")
    return horizon


def as_problem(value: object) -> Problem:
    """Return what a user handed in, if it is a `Problem`."""
    if not isinstance(value, Problem):
        raise InvalidInput(
            f"problem must be a Problem, got {type(value).__name__}; of returns make one with "
            "returns.problem(risk_aversion), of a distribution draw one with distribution.draw(seed, index)"
        )
    return value


def as_variance_bound(value: float | None, problem: Problem) -> float:
    """Return b: as given, or the largest variance there is, which makes the bound free of units."""
    if value is None:
        return float(problem.covariance.diagonal().max())
    return validation.as_not_negative(value, "variance_bound")


def variance_of(weights: F64, covariance: F64) -> float:
    """Return w'Σw, zero if it is rounding."""
    variance = float(weights @ covariance @ weights)
    noise = 4 * np.finfo(float).eps * float(covariance.diagonal().max())
    return variance if variance > noise else 0.0


def largest_gap(problem: Problem) -> float:
    """Return Δ_max: what the worst weights pay per round.

    The utility is concave, so on the simplex it is smallest at a vertex, one option alone; those are also in Δ^c.
    """
    alone = problem.mean - problem.risk_aversion * problem.covariance.diagonal()
    return problem.gap(np.eye(problem.n_options)[int(np.argmin(alone))])
