"""The rounds of a history in their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from covbandit.core.typing import F64
from covbandit.data import Returns
from covbandit.environments.base import Environment
from covbandit.environments.history import as_history, require_options
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem


class Replay(Environment):
    """The rounds of a history as they happened: a backtest.

    A history has no true mean and covariance, so nothing is measured against the problem's: ``simulate`` takes from
    the problem only ρ and the decision set (``returns.problem(ρ)`` serves), plays the history once from its first
    round, and returns a `ReplayResult` that reports what was realised. One path gives no confidence interval.

    Parameters
    ----------
    returns : data.Returns
        The history.

    Examples
    --------
    >>> import covbandit as cb
    >>> history = cb.data.etf_returns()
    >>> learners = [cb.MCEmpirical(n_options=5, risk_aversion=0.1), cb.FixedWeights(n_options=5)]
    >>> print(cb.simulate(history.problem(0.1), learners, environment=cb.environments.Replay(history)).summary())
    Realised in 8 rounds, 2010 to 2017, one path (so no interval); percent
    learner                       mean     sd  utility  max drawdown  turnover  regret
    MCEmpirical                  9.764  7.289    4.451         2.924    0.2939   41.52
    FixedWeights                 9.822  5.824    6.430         4.062         0   25.69
    best constant, in hindsight  12.83  5.649    9.641             0         0       0
    """

    def __init__(self, returns: Returns) -> None:
        self.returns = as_history(returns)

    @property
    def length(self) -> int:
        """How many rounds there are."""
        return len(self.returns)

    def check(self, problem: Problem) -> None:
        """Raise unless the problem has the history's options, or if it is this history's in the other unit."""
        require_options(self.returns, problem)
        for scale in (0.01, 100.0):
            if _same(problem.mean, scale * self.returns.mean) and _same(
                problem.covariance, scale**2 * self.returns.covariance
            ):
                raise InvalidInput(
                    f"the problem's mean is {scale:g} times the history's, which is in {self.returns.unit}, so ρ would "
                    "have another unit than the rewards; make the problem with returns.problem(risk_aversion) from "
                    "the returns that are replayed"
                )

    def sampler(self, problem: Problem, seed: int, replication: int) -> _ReplaySampler:
        """Return the history, which is the same for every seed and replication."""
        return _ReplaySampler(self.returns)

    def to_dict(self) -> dict[str, Any]:
        """Return a description for result files, with the whole history: results are computed from it."""
        return {"environment": type(self).__name__, "replayed": self.returns.to_dict()}


def _same(one: F64, other: F64) -> bool:
    """Tell whether two arrays are equal up to rounding and not zero."""
    size = np.abs(other).max()
    return bool(size > 0 and np.abs(one - other).max() <= 1e-9 * size)


class _ReplaySampler:
    def __init__(self, returns: Returns) -> None:
        self._values = returns.values
        self._done = 0

    def draw(self, n: int) -> F64:
        if self._done + n > len(self._values):
            raise InvalidInput(f"the history has {len(self._values)} rounds, {self._done + n} were asked for")
        self._done += n
        return self._values[self._done - n : self._done].copy()
