"""Runs of semi-bandit learners, and the optimistic problems that they meet on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import covbandit as cb
from covbandit.core.typing import F64
from covbandit.environments import Gaussian
from covbandit.kernels.jit.compilation import callback, compiled
from covbandit.learners.protocol.state import State
from covbandit.simulation.driver import FEEDBACK_CODES, Record, play
from covbandit.simulation.engine import fresh_player
from covbandit.simulation.regret import Truth

SEED = 0
KINDS: tuple[cb.problems.Correlation, ...] = ("negative", "zero", "positive", "factor")


class Run:
    """One learner on one problem, played by the engine's own loop and in its chunks, and resumed at will.

    Parameters
    ----------
    problem : Problem
        The truth; rewards are Gaussian.
    learner : Learner
        Who plays, from nothing.
    """

    def __init__(self, problem: cb.Problem, learner: cb.Learner) -> None:
        d = problem.n_options
        self.learner = fresh_player(learner, SEED, 0, 0)
        self._sampler = Gaussian().sampler(problem, SEED, 0)
        self._chunk = max(1, min(16_384, 81_920 // d))
        self._truth = Truth.of(problem)
        self._record = Record(np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, d)), np.zeros(1))
        self._work, self._stop = np.empty((4, d)), np.zeros(1, dtype=np.int64)

    def advance(self, rounds: int) -> None:
        """Play the next rounds."""
        kind, feedback = type(self.learner), FEEDBACK_CODES[self.learner.feedback]
        assert kind._decide_kernel is not None
        assert kind._absorb_kernel is not None
        decide, absorb = callback(kind._decide_kernel), callback(kind._absorb_kernel)
        while rounds > 0:
            rewards = np.ascontiguousarray(self._sampler.draw(min(rounds, self._chunk)))
            compiled(play)(
                decide,
                absorb,
                self.learner._state,
                feedback,
                rewards,
                self._truth,
                self._record,
                self._work,
                self._stop,
            )
            rounds -= len(rewards)


@dataclass(frozen=True)
class Instance:
    """What a learner had to maximise in round t, the weights told before, and its whole state."""

    origin: str
    mean: F64
    bonus: F64
    penalty: F64
    min_weight: float
    start: F64
    t: int
    learner: type[cb.Learner]
    state: State

    @property
    def unit(self) -> float:
        """The largest of the terms that the utility consists of; a common offset of the means is no part of it."""
        largest = max(float(np.ptp(self.mean)), math.sqrt(np.abs(self.bonus).max()), float(np.abs(self.penalty).max()))
        return largest or 1.0

    def value(self, weights: F64) -> float:
        """Return the optimistic utility less the first mean, reckoned here and not by the maximiser."""
        w = weights
        root = math.sqrt(max(float(w @ self.bonus @ w), 0.0))
        return float(w @ (self.mean - self.mean[0])) + root - float(w @ self.penalty @ w)


def learners_of(problem: cb.Problem) -> list[cb.Learner]:
    """Return MC-UCB and MC-UCB-Γ with the tightest bound on the variances that is true."""
    bound = float(problem.covariance.diagonal().max())
    return [
        kind(
            n_options=problem.n_options,
            risk_aversion=problem.risk_aversion,
            min_weight=problem.min_weight,
            variance_bound=bound,
        )
        for kind in (cb.MCUCB, cb.MCUCBGamma)
    ]


def rounds_of(d: int, last: int, many: int) -> list[int]:
    """Return rounds from the first after start-up to the last, evenly spaced by the logarithm of what lies between."""
    begin = d * d
    return sorted({begin + round(x) for x in np.geomspace(1, last - begin, many)})


def problems_of(d: int, risk_aversions: Sequence[float], min_weights: Sequence[float], seeds: int) -> list[cb.Problem]:
    """Return random problems: every kind of correlation with every ρ, and the values of c in turns.

    For five options, the paper's instance comes first, with its two values of ρ.
    """
    problems = [cb.problems.synthetic(rho, min_weight=0.1) for rho in (0.1, 10.0)] if d == 5 else []
    number = 0
    for seed in range(seeds):
        for kind in KINDS:
            for rho in risk_aversions:
                c = min_weights[number % len(min_weights)]
                problems.append(cb.problems.random(d, kind, 100 * seed + number, risk_aversion=rho, min_weight=c))
                number += 1
    return problems


def harvest(problem: cb.Problem, rounds: Sequence[int]) -> Iterator[Instance]:
    """Yield what both learners maximise in these rounds, ascending and after start-up."""
    for learner in learners_of(problem):
        run = Run(problem, learner)
        assert problem.min_weight is not None
        for t in rounds:
            run.advance(t - 1 - run.learner.rounds_told)
            run.learner.ask()
            state = State(*(array.copy() for array in run.learner._state))
            s = run.learner._state_class(state)
            yield Instance(
                origin=f"{type(learner).__name__}, {problem.name}, rho {problem.risk_aversion:g}",
                mean=s.mean.copy(),
                bonus=s.bonus.copy(),
                penalty=s.penalty.copy(),
                min_weight=problem.min_weight,
                start=s.last_weights.copy(),
                t=t,
                learner=type(learner),
                state=state,
            )
