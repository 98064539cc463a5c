"""Whole simulation steps of MC-Empirical: against the floor, against NumPy loops, and as T and d grow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from peers import Peer, available_peers
from timing import Check, Contestant, Race, Section, Timing, interleave

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.environments import Environment, Gaussian, Sampler
from covbandit.kernels.moments import update_moments
from covbandit.simulation.engine import run_replication
from covbandit.simulation.plan import as_plan

SEED = 0
RISK_AVERSION = 3.0  # of the random problems: a quarter of 100 options belongs in, as in an ordinary portfolio

OURS = "covbandit"
FLOOR = "floor"
LOOPS = {"daqp-warm": "NumPy + DAQP, warm", "cvxpy": "NumPy + cvxpy, DPP", "quadprog": "NumPy + quadprog"}

# Rounds per pass, so that one takes some tenths of a second.
ROUNDS = {5: 500_000, 20: 200_000, 100: 20_000, 500: 4_000}
QUICK_ROUNDS = {5: 200_000, 20: 100_000, 100: 10_000}


def problem_of(d: int) -> cb.Problem:
    """Return the paper's instance for d = 5, else a random one with three factors."""
    if d == 5:
        return cb.problems.synthetic()
    return cb.problems.random(d, "factor", seed=1, risk_aversion=RISK_AVERSION)


def burn_in(d: int) -> int:
    """Return rounds after which the empirical covariance is well away from singular."""
    return max(1_000, 4 * d)


def replication(problem: cb.Problem, horizon: int, environment: Environment | None = None) -> Callable[[int], None]:
    """Return a function that plays whole replications of MC-Empirical, as `simulate` does on one worker."""
    learner = cb.MCEmpirical(n_options=problem.n_options, risk_aversion=problem.risk_aversion)
    plan = as_plan(problem, learner, horizon, SEED, environment)

    def run(rounds: int) -> None:
        assert rounds == horizon
        run_replication(plan, 0)

    return run


class _Recorder(Environment):
    """Gaussian rewards; notes how many rounds the engine draws at a time, so that the floor can do the same."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._inner: Sampler

    def sampler(self, problem: cb.Problem, seed: int, replication: int) -> Sampler:
        """Return the stream of one replication."""
        self._inner = Gaussian().sampler(problem, seed, replication)
        return self

    def draw(self, n: int) -> F64:
        """Return the rewards of the next n rounds."""
        self.sizes.append(n)
        return self._inner.draw(n)


@numba.njit(nogil=True, error_model="numpy")
def update_all(mean: F64, scatter: F64, n: float, delta: F64, rewards: F64) -> float:
    """Update the moments with every row of rewards, by the kernel that the learner uses."""
    for k in range(len(rewards)):
        n = update_moments(mean, scatter, n, 1.0, rewards[k], delta)
    return n


def floor(problem: cb.Problem, horizon: int) -> Callable[[int], None]:
    """Return a function that draws the same rewards in the same chunks and updates the moments, nothing else."""
    recorder = _Recorder()
    replication(problem, horizon, recorder)(horizon)
    d = problem.n_options

    def run(rounds: int) -> None:
        sampler = Gaussian().sampler(problem, SEED, 0)
        mean, delta, scatter = np.zeros(d), np.zeros(d), np.zeros((d, d))
        n = 0.0
        for size in recorder.sizes:
            n = update_all(mean, scatter, n, delta, sampler.draw(size))

    return run


class NumpyLoop:
    """The loop that one writes first: draw, update, solve, pay, all in Python.

    It starts from the moments of some rounds instead of from nothing, which spares the solver the singular covariances
    of the first rounds; our own runs include them.

    Parameters
    ----------
    problem : Problem
        The truth.
    peer : Peer
        Who solves.
    """

    def __init__(self, problem: cb.Problem, peer: Peer) -> None:
        self._problem = problem
        self._peer = peer
        self._rng = np.random.default_rng(SEED)
        self._factor = np.linalg.cholesky(problem.covariance)
        self._best = problem.optimum().weights
        d = problem.n_options
        self._n = burn_in(d)
        rewards = problem.mean + self._rng.standard_normal((self._n, d)) @ self._factor.T
        self._mean = rewards.mean(axis=0)
        self._scatter = (rewards - self._mean).T @ (rewards - self._mean)
        self.regret = 0.0

    def run(self, rounds: int) -> None:
        """Play the next rounds."""
        problem, peer, rng, factor = self._problem, self._peer, self._rng, self._factor
        truth, sigma, rho, slope = problem.mean, problem.covariance, problem.risk_aversion, problem.reduced_gradient
        n, mean, scatter, best, regret = self._n, self._mean, self._scatter, self._best, self.regret
        d = len(mean)
        for _ in range(rounds):
            w = peer.solve(mean, scatter / n, rho)
            away = w - best
            regret += float(rho * (away @ sigma @ away) - slope @ away)
            y = truth + factor @ rng.standard_normal(d)
            n += 1
            delta = y - mean
            mean += delta / n
            scatter += np.outer(delta, delta) * ((n - 1) / n)
        self._n, self.regret = n, regret


def measure_steps(rounds: dict[int, int], passes: int, budget: float) -> Section:
    """Measure whole steps in several dimensions.

    Parameters
    ----------
    rounds : dict
        Rounds of our runs and of the floor, by dimension.
    passes : int
        Timed passes.
    budget : float
        Seconds per pass for the NumPy loops.
    """
    section = Section("step")
    section.notes = [
        "A step is draw, decide, regret, absorb. The floor draws the same rewards in the same chunks and updates the",
        "same moments by the same kernel, nothing else. covbandit and the floor start from nothing and run",
        f"{', '.join(f'{t:,} rounds at d = {d}' for d, t in rounds.items())};",
        "NumPy loops start from the moments of max(1000, 4 d) rounds.",
    ]
    rows: list[list[object]] = []
    for d, horizon in rounds.items():
        problem = problem_of(d)
        support = int((problem.optimum().weights > 0).sum())
        contestants = [
            Contestant(OURS, replication(problem, horizon), units=horizon),
            Contestant(FLOOR, floor(problem, horizon), units=horizon),
        ]
        contestants += [
            Contestant(LOOPS[peer.name], NumpyLoop(problem, peer).run)
            for peer in available_peers(d)
            if peer.name in LOOPS
        ]
        race = interleave(contestants, passes, budget, f"step, d = {d}")
        for name, timing in race.timings.items():
            ours, least = timing.median / race[OURS].median, timing.median / race[FLOOR].median
            rows.append([d, support, name, *nanoseconds(timing), ours, least])
            section.data.append(
                {"d": d, "support": support, "contestant": name, "times_covbandit": ours, "times_floor": least}
                | timing.to_dict()
            )
        section.notes += [f"d = {d}: {name} failed: {reason}" for name, reason in race.failures.items()]
        section.checks += _step_checks(d, race)
    section.tables.append(
        Table(
            ["d", "support", "contestant", "ns per step", "fastest pass", "times covbandit", "times floor"],
            rows,
            "A whole simulation step",
        )
    )
    return section


def _step_checks(d: int, race: Race) -> list[Check]:
    if d != 5:
        return []
    ours = race[OURS].median
    checks = [Check("step at d = 5, covbandit / floor", ours / race[FLOOR].median, "<=", 3.0)]
    for peer, least in (("daqp-warm", 80.0), ("cvxpy", 5_000.0)):
        name = LOOPS[peer]
        if name in race.timings:
            checks.append(Check(f"step at d = 5, ({name}) / covbandit", race[name].median / ours, ">=", least))
    return checks


def nanoseconds(timing: Timing) -> list[float]:
    """Return median and minimum for a table."""
    return [1e9 * timing.median, 1e9 * timing.minimum]


def measure_growth(horizons: list[int], dimensions: list[int], rounds: int, passes: int, budget: float) -> Section:
    """Measure how the time per step grows with the horizon (d = 5) and with the dimension (given rounds)."""
    section = Section("growth")
    problem = problem_of(5)
    race = interleave(
        [Contestant(f"{t}", replication(problem, t), units=t) for t in horizons],
        passes,
        budget,
        "growth with T",
    )
    section.data += [{"d": 5, "rounds": t, **race[f"{t}"].to_dict()} for t in horizons]
    section.tables.append(
        Table(
            ["rounds T", "ns per step", "fastest pass"],
            [[t, *nanoseconds(race[f"{t}"])] for t in horizons],
            "Growth with the horizon, d = 5",
        )
    )
    late = [race[f"{t}"].median for t in horizons if t >= 100_000]
    section.checks.append(Check("ns per step for T >= 1e5, slowest / fastest", max(late) / min(late), "<=", 1.25))

    contestants = []
    for d in dimensions:
        contestants += [
            Contestant(f"{OURS} {d}", replication(problem_of(d), rounds), units=rounds),
            Contestant(f"{FLOOR} {d}", floor(problem_of(d), rounds), units=rounds),
        ]
    race = interleave(contestants, passes, budget, "growth with d")
    rows: list[list[object]] = []
    before: tuple[int, float] | None = None
    for d in dimensions:
        ours, least = race[f"{OURS} {d}"], race[f"{FLOOR} {d}"]
        order = f"{math.log(ours.median / before[1]) / math.log(d / before[0]):.2f}" if before else ""
        support = int((problem_of(d).optimum().weights > 0).sum())
        ratio = ours.median / least.median
        rows.append([d, support, *nanoseconds(ours), 1e9 * least.median, ratio, order])
        entry: dict[str, Any] = {
            "d": d,
            "rounds": rounds,
            "support": support,
            **ours.to_dict(),
            "floor": least.to_dict(),
        }
        section.data.append(entry)
        before = d, ours.median
    section.tables.append(
        Table(
            ["d", "support", "ns per step", "fastest pass", "floor", "times floor", "order in d"],
            rows,
            f"Growth with the dimension, T = {rounds:,} (order: local exponent of d)",
        )
    )
    return section
