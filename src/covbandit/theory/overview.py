"""All of the paper's upper bounds that apply to a problem, in one table."""

from __future__ import annotations

from covbandit.core.tables import Table
from covbandit.problems.problem import Problem
from covbandit.theory.bound import UpperBound, as_horizon
from covbandit.theory.full_bandit import full_bandit_bound
from covbandit.theory.full_information import full_information_bound
from covbandit.theory.semi_bandit import semi_bandit_bound


def upper_bounds(
    problem: Problem, regularization: float = 0.5, variance_bound: float | None = None
) -> dict[str, UpperBound]:
    """Return the upper bounds that apply to a problem, by kind of feedback.

    Theorem 1 ("all") applies always, Theorem 3 ("chosen") unless there is a `max_weight`, Theorem 5 ("total") on the
    whole simplex only.
    """
    bounds: dict[str, UpperBound] = {"all": full_information_bound(problem, variance_bound)}
    if problem.max_weight is None:
        bounds["chosen"] = semi_bandit_bound(problem, regularization, variance_bound)
        if problem.min_weight is None:
            bounds["total"] = full_bandit_bound(problem, variance_bound)
    return bounds


def bounds_table(
    problem: Problem, horizon: float, regularization: float = 0.5, variance_bound: float | None = None
) -> Table:
    """Return a table of every upper bound that applies: its named quantities, its conditions and its value at T.

    Parameters
    ----------
    problem : Problem
        The instance.
    horizon : float
        T.
    regularization : float
        λ of MC-UCB.
    variance_bound : float, optional
        b: no variance exceeds it. By default the largest there is, see `full_information_bound`.

    Examples
    --------
    >>> import covbandit as cb
    >>> table = cb.theory.bounds_table(cb.problems.synthetic(), horizon=10_000)
    >>> [row for row in table.rows if row[1] == "bound"][0][2:]
    ['after 10,000 rounds, with constant 1', 2265.444...]
    """
    rounds = as_horizon(horizon)
    rows: list[list[object]] = []
    for bound in upper_bounds(problem, regularization, variance_bound).values():
        rows += [[bound.theorem, *row] for row in bound.table(rounds).rows]
    title = f"Upper bounds of the paper after {rounds:,.0f} rounds. All are O(·): shown with constant 1"
    return Table(["theorem", "quantity", "meaning", "value"], rows, title)
