"""The quadratic program alone: warm, on the moments of a real run, and cold, with every option in the support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np
from peers import Peer, available_peers
from steps import SEED, burn_in, problem_of, update_all
from timing import Check, Contestant, Section, Timing, interleave

import covbandit as cb
from covbandit.core.tables import Table
from covbandit.core.typing import F64
from covbandit.environments import Gaussian
from covbandit.learners.protocol.state import LearnerState, State

Solve = Callable[[int], F64]

LEARNER = "covbandit learner: decide + absorb"
SOLVE = "  less the update of the moments"
DECIDE = "  less all of absorb"
PUBLIC_WARM = "covbandit maximize_utility(start=previous)"
PUBLIC_COLD = "covbandit maximize_utility, cold"

# Consecutive rounds that are solved; at d = 500 the covariances of 40 fill 80 MB.
ROUNDS = {5: 2_000, 20: 2_000, 100: 400, 500: 40}
QUICK_ROUNDS = {5: 1_000, 20: 1_000, 100: 200}

_decide = cb.MCEmpirical._decide_kernel
_absorb = cb.MCEmpirical._absorb_kernel


# These loops call the learner's kernels as the simulation does, one call each per round. They are compiled anew in each
# process: a cache on disk would not notice that a kernel in another file has changed.
@numba.njit(nogil=True, error_model="numpy")
def _decide_and_absorb(state: State, rewards: F64, played: F64) -> None:
    s = LearnerState(state)
    for k in range(len(rewards)):
        _decide(state, s.told + 1, played[k])
        _absorb(state, played[k], rewards[k])
        for i in range(rewards.shape[1]):
            s.last_weights[i] = played[k, i]
        s.told += 1


@numba.njit(nogil=True, error_model="numpy")
def _absorb_only(state: State, rewards: F64, played: F64) -> None:
    s = LearnerState(state)
    for k in range(len(rewards)):
        _absorb(state, played[k], rewards[k])
        for i in range(rewards.shape[1]):
            s.last_weights[i] = played[k, i]
        s.told += 1


@dataclass
class Harvest:
    """Consecutive rounds of MC-Empirical: the learner before them, and per round what it believed, played and saw."""

    risk_aversion: float
    learner: cb.MCEmpirical
    means: list[F64]
    covariances: list[F64]
    weights: F64
    rewards: F64

    def accuracy(self, answers: dict[int, F64]) -> tuple[float, float]:
        """Return the worst relative Frank-Wolfe gap and the worst violation of a constraint.

        The gap is measured after the weights have been clipped and normalised, as a caller would do, and relative to
        max(max|θ|, ρ max Σ_ii).
        """
        worst_gap = worst_violation = 0.0
        for k, raw in answers.items():
            mean, covariance = self.means[k], self.covariances[k]
            worst_violation = max(worst_violation, float(-raw.min()), abs(float(raw.sum()) - 1))
            w = np.maximum(raw, 0)
            w /= w.sum()
            gradient = mean - mean[0] - 2 * self.risk_aversion * (covariance @ w)
            size = max(float(np.abs(mean).max()), self.risk_aversion * float(covariance.diagonal().max()))
            worst_gap = max(worst_gap, float((gradient - gradient @ w).max()) / size)
        return worst_gap, worst_violation


def harvest(problem: cb.Problem, rounds: int) -> Harvest:
    """Run MC-Empirical until its covariance is regular, then record so many rounds."""
    d, rho = problem.n_options, problem.risk_aversion
    learner = cb.MCEmpirical(n_options=d, risk_aversion=rho)
    sampler = Gaussian().sampler(problem, SEED, 0)
    for y in sampler.draw(burn_in(d)):
        learner.tell(learner.ask(), y)
    kept = Harvest(rho, learner.clone(), [], [], np.empty((rounds, d)), sampler.draw(rounds))
    for k, y in enumerate(kept.rewards):
        kept.means.append(learner._view.mean.copy())
        kept.covariances.append(learner._view.scatter / learner._view.count[0])
        kept.weights[k] = learner.ask()
        learner.tell(kept.weights[k], y)
    return kept


class _Learner:
    """The learner's own rounds, in three cuts whose differences are the shares of a decision."""

    def __init__(self, kept: Harvest) -> None:
        self._kept = kept
        self._played = kept.weights.copy()
        self._state: State
        self._moments: tuple[F64, F64, float]

    def prepare(self) -> None:
        """Go back to the first round."""
        learner = self._kept.learner.clone()
        self._state = learner._state
        s = learner._view
        self._moments = s.mean.copy(), s.scatter.copy(), float(s.count[0])

    def both(self, rounds: int) -> None:
        """Decide and absorb."""
        _decide_and_absorb(self._state, self._kept.rewards[:rounds], self._played[:rounds])

    def absorb(self, rounds: int) -> None:
        """Absorb the weights played before."""
        _absorb_only(self._state, self._kept.rewards[:rounds], self._played[:rounds])

    def moments(self, rounds: int) -> None:
        """Update mean and scatter only."""
        mean, scatter, n = self._moments
        update_all(mean, scatter, n, np.empty(mean.size), self._kept.rewards[:rounds])


class _Solver:
    """A solver that takes the harvested rounds in order and keeps its answers."""

    def __init__(self, solve: Solve) -> None:
        self._solve = solve
        self.answers: dict[int, F64] = {}

    def prepare(self) -> None:
        """Solve the first round, so that warm starts begin with the second."""
        self.answers[0] = self._solve(0)

    def run(self, units: int) -> None:
        """Solve the next rounds."""
        for k in range(1, units + 1):
            self.answers[k] = self._solve(k)


def _public_warm(kept: Harvest) -> Solve:
    previous: F64 | None = None

    def solve(k: int) -> F64:
        nonlocal previous
        start = previous if k > 0 else None
        weights = cb.maximize_utility(kept.means[k], kept.covariances[k], kept.risk_aversion, start=start).weights
        previous = weights
        return weights

    return solve


def _public_cold(kept: Harvest) -> Solve:
    return lambda k: cb.maximize_utility(kept.means[k], kept.covariances[k], kept.risk_aversion).weights


def _peer(kept: Harvest, peer: Peer) -> Solve:
    return lambda k: peer.solve(kept.means[k], kept.covariances[k], kept.risk_aversion)


def measure_solves(rounds: dict[int, int], passes: int, budget: float) -> Section:
    """Measure solves on the moments of consecutive rounds, by our learner, our public function and all peers.

    Parameters
    ----------
    rounds : dict
        Consecutive rounds, by dimension. Each solver takes as many of them, from the first, as fit into the budget.
    passes : int
        Timed passes.
    budget : float
        Seconds per pass for each solver.
    """
    section = Section("solve")
    section.notes = [
        "Moments of consecutive rounds of MC-Empirical, so warm starts are honest. Peers get finished moments. The",
        "learner's decide relies on an inverse that absorb keeps up to date, so the ratios refer to decide + absorb,",
        "timed together and with the update of the moments, which no peer is charged for. The two rows below it are",
        "differences of timings. maximize_utility includes the validation of its arguments.",
        "Gap: worst relative Frank-Wolfe gap after clipping and normalising; violation: worst negative weight or",
        "|sum - 1| before. At small d the time of cvxpy and skfolio is modelling overhead for the most part, not the",
        "solver's: compare clarabel.",
    ]
    rows: list[list[object]] = []
    for d, count in rounds.items():
        kept = harvest(problem_of(d), count)
        support = round(float((kept.weights > 0).sum(axis=1).mean()))
        learner = _Learner(kept)
        solvers = {PUBLIC_WARM: _Solver(_public_warm(kept)), PUBLIC_COLD: _Solver(_public_cold(kept))}
        peers = available_peers(d)
        solvers |= {peer.name: _Solver(_peer(kept, peer)) for peer in peers}
        contestants = [
            Contestant("both", learner.both, units=count, prepare=learner.prepare),
            Contestant("absorb", learner.absorb, units=count, prepare=learner.prepare),
            Contestant("moments", learner.moments, units=count, prepare=learner.prepare),
        ]
        contestants += [
            Contestant(name, solver.run, most=count - 1, prepare=solver.prepare) for name, solver in solvers.items()
        ]
        race = interleave(contestants, passes, budget, f"solve, d = {d}")
        section.notes += [f"d = {d}: {name} failed: {reason}" for name, reason in race.failures.items()]
        timings = {
            LEARNER: race["both"],
            SOLVE: race["both"] - race["moments"],
            DECIDE: race["both"] - race["absorb"],
        }
        timings |= {name: race[name] for name in solvers if name in race.timings}
        ours = timings[LEARNER].median
        for name, timing in timings.items():
            solver = solvers.get(name)
            gap, violation = kept.accuracy(solver.answers if solver else dict(enumerate(kept.weights)))
            ratio = timing.median / ours
            rows.append(
                [d, support, name, 1e6 * timing.median, 1e6 * timing.minimum, ratio, f"{gap:.0e}", f"{violation:.0e}"]
            )
            section.data.append(_entry(d, support, name, ratio, gap, violation, timing))
        rivals = {peer.name: race[peer.name] for peer in peers if peer.name in race.timings}
        if d == 500 and rivals:
            best = min(rivals, key=lambda name: rivals[name].median)
            ratio = rivals[best].median / ours
            section.checks.append(Check(f"solve at d = 500, best peer ({best}) / covbandit learner", ratio, ">=", 20.0))
    columns = ["d", "support", "solver", "µs per solve", "fastest pass", "times covbandit", "gap", "violation"]
    section.tables.append(Table(columns, rows, "The maximiser alone, warm where a solver can be"))
    return section


def _entry(
    d: int, support: int, name: str, ratio: float, gap: float, violation: float, timing: Timing
) -> dict[str, object]:
    """Return one row of the JSON file."""
    row = {"d": d, "support": support, "contestant": name, "times_covbandit": ratio, "gap": gap, "violation": violation}
    return row | timing.to_dict()


def full_support(d: int, seed: int) -> cb.Problem:
    """Return a problem whose optimum uses every option: nearly equal means, Σ = I plus a small factor part."""
    rng = np.random.default_rng(seed)
    loadings = 0.05 * rng.standard_normal((d, 3))
    # A spread of 0.1 / d keeps the differences of the means far below 2ρΣ_ii/d, so that no weight reaches zero.
    mean = 0.2 + 0.1 / d * rng.standard_normal(d)
    return cb.Problem(mean=mean, covariance=np.eye(d) + loadings @ loadings.T, risk_aversion=1.0)


def measure_cold(d: int, instances: int, passes: int, budget: float) -> Section:
    """Measure cold solves of problems in which every option belongs in."""
    section = Section("cold")
    problems = [full_support(d, seed) for seed in range(instances)]
    support = min(int((problem.optimum().weights > 0).sum()) for problem in problems)
    kept = Harvest(
        problems[0].risk_aversion,
        cb.MCEmpirical(n_options=d, risk_aversion=problems[0].risk_aversion),
        [problem.mean.copy() for problem in problems],
        [problem.covariance.copy() for problem in problems],
        np.empty((0, d)),
        np.empty((0, d)),
    )
    solvers: dict[str, _Solver] = {PUBLIC_COLD: _Solver(_public_cold(kept))}
    solvers |= {
        peer.name: _Solver(_peer(kept, peer))
        for peer in available_peers(d)
        if peer.name in ("quadprog", "daqp", "piqp")
    }
    race = interleave(
        [Contestant(name, solver.run, most=instances - 1, prepare=solver.prepare) for name, solver in solvers.items()],
        passes,
        budget,
        f"cold, d = {d}",
    )
    section.notes = [f"d = {d}, {instances - 1} problems, smallest support {support}."]
    section.notes += [f"{name} failed: {reason}" for name, reason in race.failures.items()]
    rows: list[list[object]] = []
    ours: Timing = race[PUBLIC_COLD]
    for name, timing in race.timings.items():
        gap, violation = kept.accuracy(solvers[name].answers)
        ratio = timing.median / ours.median
        rows.append([name, 1e3 * timing.median, 1e3 * timing.minimum, ratio, f"{gap:.0e}", f"{violation:.0e}"])
        section.data.append(_entry(d, support, name, ratio, gap, violation, timing))
    columns = ["solver", "ms per solve", "fastest pass", "times covbandit", "gap", "violation"]
    section.tables.append(Table(columns, rows, "Cold, every option in the support"))
    rivals = [timing.median for name, timing in race.timings.items() if name != PUBLIC_COLD]
    if rivals:
        kind: Literal["must", "indicative"] = "must" if d == 500 else "indicative"
        ratio = ours.median / min(rivals)
        section.checks.append(Check(f"cold at d = {d}, covbandit / fastest peer", ratio, "<=", 1.0, kind))
    return section
