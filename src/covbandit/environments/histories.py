"""Rewards of a history: drawn again, round by round or in blocks (`Bootstrap`), or in their order (`Replay`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.data import Returns
from covbandit.environments.base import Environment, generator
from covbandit.errors import InvalidInput
from covbandit.problems.problem import Problem

_TOLERANCE = 1e-9


def as_history(returns: object) -> Returns:
    """Return what a user handed in, if it is `Returns`."""
    if not isinstance(returns, Returns):
        raise InvalidInput(
            f"a history must be covbandit.data.Returns, got {type(returns).__name__}; read one with "
            "covbandit.data.read_returns, or build Returns(values, options)"
        )
    return returns


def require_options(returns: Returns, problem: Problem) -> None:
    """Raise unless a problem has the options of a history."""
    if problem.n_options != returns.n_options:
        raise InvalidInput(
            f"the problem has {problem.n_options} options, the history {returns.n_options}; make the problem with "
            "returns.problem(risk_aversion)"
        )
    if problem.options is not None and not validation.same_names(problem.options, returns.options):
        raise InvalidInput(
            f"the problem's options {list(problem.options)} are not the history's {list(returns.options)}; make the "
            "problem with returns.problem(risk_aversion)"
        )


class Bootstrap(Environment):
    """The rounds of a history, drawn at random with replacement.

    The history's own mean and covariance (dividing by n) are those of the rewards, so a simulation needs the problem
    ``returns.problem(...)``, and its regret is exact. Tails and dependence between options are the history's.

    Parameters
    ----------
    returns : data.Returns
        The history.
    block : float, optional
        Mean length of the blocks of the stationary bootstrap (Politis and Romano, 1994): each round follows the one
        before it in the history with probability 1 - 1/block (the first follows the last), and is drawn anew
        otherwise. This keeps short-term dependence over time; the mean and covariance of a round do not change. By
        default rounds are independent.

    Examples
    --------
    >>> import covbandit as cb
    >>> history = cb.data.etf_returns()
    >>> problem = history.problem(risk_aversion=0.1)
    >>> learner = cb.MCEmpirical(n_options=5, risk_aversion=0.1)
    >>> r = cb.simulate(problem, learner, 100, 4, environment=cb.environments.Bootstrap(history))
    >>> r.regret.shape[:2]
    (1, 4)
    """

    def __init__(self, returns: Returns, block: float | None = None) -> None:
        self.returns = as_history(returns)
        self.block = None if block is None else validation.as_float(block, "block")
        if self.block is not None and self.block < 1:
            raise InvalidInput(f"block is the mean number of rounds in a block, at least 1, got {block}")

    def check(self, problem: Problem) -> None:
        """Raise unless the problem's mean and covariance are the history's."""
        require_options(self.returns, problem)
        spread = np.sqrt(self.returns.covariance.diagonal())
        mean_error = np.abs(problem.mean - self.returns.mean) / (spread + np.abs(self.returns.mean) + 1e-300)
        covariance_error = np.abs(problem.covariance - self.returns.covariance) / (
            self.returns.covariance.diagonal().max() + 1e-300
        )
        for what, error in (("mean", mean_error), ("covariance", covariance_error)):
            if error.max() > _TOLERANCE:
                i = int(np.argmax(error)) // (1 if what == "mean" else problem.n_options)
                raise InvalidInput(
                    f"{validation.label(i, self.returns.options)}: the problem's {what} is not the history's, so "
                    "regret would be measured against something else; make the problem with "
                    "returns.problem(risk_aversion), from returns in the same unit"
                )

    def sampler(self, problem: Problem, seed: int, replication: int) -> _BootstrapSampler:
        """Return the stream of rewards for one replication."""
        return _BootstrapSampler(self.returns.values, self.block, generator(seed, replication))

    def to_dict(self) -> dict[str, Any]:
        """Return a description for result files; a digest stands for the history."""
        return {
            "environment": type(self).__name__,
            "block": self.block,
            "returns": {
                "sha256": self.returns.sha256,
                "shape": list(self.returns.values.shape),
                "unit": self.returns.unit,
                "source": self.returns.source,
            },
        }


class _BootstrapSampler:
    def __init__(self, values: F64, block: float | None, rng: np.random.Generator) -> None:
        self._values = values
        self._restart = 1.0 if block is None else 1 / block
        self._rng = rng
        self._next: int | None = None

    def draw(self, n: int) -> F64:
        return self._values[self.rows(n)]

    def rows(self, n: int) -> NDArray[np.int64]:
        """Return which rounds of the history come next."""
        size = len(self._values)
        # Two numbers per round whatever happens, so that draws do not depend on how they are split.
        uniform = self._rng.random((n, 2))
        anew = uniform[:, 0] < self._restart
        position = (uniform[:, 1] * size).astype(np.int64)
        if self._next is None:
            anew[:1] = True
        elif n and not anew[0]:
            anew[0], position[0] = True, self._next  # goes on where the last call ended
        begun = np.maximum.accumulate(np.where(anew, np.arange(n), 0))
        rows = (position[begun] + np.arange(n) - begun) % size
        if n:
            self._next = int(rows[-1] + 1) % size
        return rows


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
            if _equal_up_to_rounding(problem.mean, scale * self.returns.mean) and _equal_up_to_rounding(
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


def _equal_up_to_rounding(one: F64, other: F64) -> bool:
    """Return True if two arrays are equal up to rounding and not zero."""
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
