"""What the replay of a history gave: realised rewards, their risk, and regret to the best constant weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.data import Returns
from covbandit.data.returns import mean_and_covariance
from covbandit.errors import Unsupported
from covbandit.maximization import Optimum
from covbandit.problems.problem import Problem
from covbandit.simulation.result import SimulationResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


HINDSIGHT = "best constant, in hindsight"


@dataclass(frozen=True, eq=False, repr=False)
class ReplayResult(SimulationResult):
    """Realised rewards of every learner on one history; every round is a checkpoint.

    The history has no true mean and covariance. So regret is relative to the constant weights of the decision set
    that would have been best, known only in hindsight: those whose realised rewards have the largest mean less ρ
    times variance (dividing by n). There is one path, so there are no confidence intervals, and what needs them is
    refused. Replications differ only in the seeds of randomised learners; their spread says nothing about other
    histories.

    Attributes
    ----------
    regret : ndarray [learner, replication, round]
        How much more the best constant weights of the whole history earned in the rounds so far: their number times the
        difference of realised utilities. It may be negative: weights that change may be better than any that do not.
    weights : ndarray [learner, replication, round, option]
        What was played.
    replications, specification, versions
        As in `SimulationResult`; the specification holds the history.
    """

    def __post_init__(self) -> None:
        # Of the weights alone: the engine's regret is relative to the problem's mean and covariance.
        best = _utilities(self._best_rewards, self._risk_aversion)
        object.__setattr__(self, "regret", best - _utilities(self.rewards, self._risk_aversion))

    def __repr__(self) -> str:
        return f"ReplayResult({', '.join(self.learners)}; {self._title()})"

    def _title(self) -> str:
        rounds = self.returns.index[: self.horizon]
        return f"{self.horizon:,} rounds, {rounds[0]} to {rounds[-1]}"

    @property
    def _risk_aversion(self) -> float:
        return float(self.specification["problem"]["risk_aversion"])

    @cached_property
    def returns(self) -> Returns:
        """The history, all of it."""
        return Returns(**self.specification["environment"]["replayed"])

    @property
    def _played(self) -> F64:
        return self.returns.values[: self.horizon]

    @cached_property
    def rewards(self) -> F64:
        """What was earned, w_t'x_t [learner, replication, round]."""
        return np.asarray(np.einsum("lrtd,td->lrt", self.weights, self._played))

    @cached_property
    def best_constant(self) -> Optimum:
        """The constant weights that would have been best, with their certificate."""
        mean, covariance = mean_and_covariance(self._played)
        truth = {**self.specification["problem"], "mean": mean, "covariance": covariance}
        return Problem(**truth).optimum()

    @property
    def _best_rewards(self) -> F64:
        return self._played @ self.best_constant.weights

    def summary(self, checkpoint: int | None = None) -> Table:
        """Return what each learner realised, up to a round (by default all of them).

        Over the rounds up to then: the mean and the standard deviation (dividing by n) of the reward; the utility,
        which is the mean less ρ times the variance; the largest fall of the sum of rewards from an earlier peak, or
        from the start (every round has the same stake: gains are not reinvested); turnover, the mean share of weight
        that moved from one round to the next, ½ Σ_i |w_t,i - w_(t-1),i| (not counting drift within a round); and
        `regret`. With several replications, means over the seeds of randomised learners.
        """
        at = self._position(checkpoint) + 1
        constant = np.broadcast_to(self.best_constant.weights, (1, at, len(self.best_constant.weights)))
        rows: list[list[object]] = [
            self._row(name, self.rewards[k, :, :at], self.weights[k, :, :at], float(self.regret[k, :, at - 1].mean()))
            for k, name in enumerate(self.learners)
        ]
        rows.append(self._row(HINDSIGHT, self._best_rewards[None, :at], constant, 0.0))
        seeds = len(self.replications)
        paths = "one path (so no interval)" if seeds == 1 else f"one path (so no interval), means over {seeds} seeds"
        rounds = self.returns.index[:at]
        return Table(
            ["learner", "mean", "sd", "utility", "max drawdown", "turnover", "regret"],
            rows,
            f"Realised in {at:,} rounds, {rounds[0]} to {rounds[-1]}, {paths}; {self.returns.unit}",
        )

    def _row(self, name: str, rewards: F64, weights: F64, regret: float) -> list[object]:
        utility = _utilities(rewards, self._risk_aversion)[:, -1] / rewards.shape[1]
        measures = (rewards.mean(axis=1), rewards.std(axis=1), utility, max_drawdown(rewards), turnover(weights))
        return [name, *(float(values.mean()) for values in measures), regret]

    def _columns(self) -> dict[str, Any]:
        n_learners, n_replications, n_rounds = self.regret.shape
        periods = np.tile(self.returns.index[:n_rounds], n_learners * n_replications)
        return super()._columns() | {"period": periods, "reward": self.rewards.ravel()}

    def plot(self, ax: Axes | None = None, bounds: bool = False) -> Axes:
        """Draw the sum of realised rewards; return the axes. The paper's bounds are not about it, so none are drawn."""
        if bounds:
            raise Unsupported("the paper's bounds are on regret to a known truth, which a replay has not; bounds=False")
        from covbandit.simulation.plotting import plot_rewards

        return plot_rewards(self, ax)

    def _no_interval(self, *_: object, **__: object) -> NoReturn:
        raise Unsupported(
            "a replay is one path, so there is no confidence interval; see summary(), or bootstrap the history with "
            "environments.Bootstrap"
        )

    slope = slopes = ratio = ratios = _no_interval


def _utilities(rewards: F64, risk_aversion: float) -> F64:
    """Return, for every number of rounds so far, that number times mean less ρ times variance of the rewards."""
    n = np.arange(1, rewards.shape[-1] + 1)
    level = rewards[..., :1]  # variances do not depend on it, and less is lost to rounding near the rewards
    away = rewards - level
    total = away.cumsum(axis=-1)
    scatter = (away**2).cumsum(axis=-1) - total**2 / n
    return np.asarray(total + n * level - risk_aversion * np.maximum(scatter, 0.0))


def max_drawdown(rewards: F64) -> F64:
    """Return the largest fall of the sum of rewards from its start or a later peak, along the last axis."""
    wealth = rewards.cumsum(axis=-1)
    peak = np.maximum(np.maximum.accumulate(wealth, axis=-1), 0.0)
    return np.asarray((peak - wealth).max(axis=-1))


def turnover(weights: F64) -> F64:
    """Return the mean of ½ Σ_i |w_t,i - w_(t-1),i| over rounds [..., round, option]; 0 for a single round."""
    moved = np.abs(np.diff(weights, axis=-2)).sum(axis=-1) / 2
    return np.asarray(moved.mean(axis=-1)) if moved.shape[-1] else np.zeros(moved.shape[:-1])
