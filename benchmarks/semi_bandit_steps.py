"""Whole simulation steps of the learners whose weights are zero or at least c, the maximisation included."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from cpu_time import no_collection
from harvest import Run
from timing import Check, Section, say

import covbandit as cb
from covbandit.tables import Table

MIN_WEIGHT = 0.1


def problem_of(d: int) -> cb.Problem:
    """Return the paper's instance for d = 5, else a random one with three factors."""
    if d == 5:
        return cb.problems.synthetic(min_weight=MIN_WEIGHT)
    return cb.problems.random(d, "factor", seed=1, risk_aversion=1.0, min_weight=MIN_WEIGHT)


def learners_of(problem: cb.Problem) -> dict[str, cb.Learner]:
    """Return all learners that take a least weight."""
    d, rho, c = problem.n_options, problem.risk_aversion, problem.min_weight
    bound = float(problem.covariance.diagonal().max())
    return {
        "MCUCB": cb.MCUCB(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound),
        "MCUCBGamma": cb.MCUCBGamma(n_options=d, risk_aversion=rho, min_weight=c, variance_bound=bound),
        "OLSUCBC": cb.OLSUCBC(n_options=d, min_weight=c, variance_bound=bound),
        "PairUCB": cb.PairUCB(n_options=d, risk_aversion=rho, min_weight=c),
        "MCEmpirical": cb.MCEmpirical(n_options=d, risk_aversion=rho, min_weight=c),
    }


def _seconds(run: Run, rounds: int) -> float:
    """Return the CPU seconds that the next rounds take."""
    begun = time.process_time()
    run.advance(rounds)
    return time.process_time() - begun


def measure_steps(dimensions: Sequence[int], passes: int, budget: float) -> Section:
    """Measure steps per CPU second.

    Parameters
    ----------
    dimensions : sequence of int
        Numbers of options.
    passes : int
        Timed turns of each learner, each going on where the last ended.
    budget : float
        CPU seconds of a turn.
    """
    section = Section("steps")
    section.notes = [
        "A step is draw, decide (with the maximisation), regret, absorb, by the engine's loop on one thread. Start-up",
        "(d² rounds for the first three, a covering design for PairUCB) is not timed. Learners play in turns, as many",
        f"rounds as fill {budget:g} s of CPU time each; median over {passes} turns. c = {MIN_WEIGHT:g}.",
    ]
    rows: list[list[object]] = []
    for d in dimensions:
        problem = problem_of(d)
        runs = {name: Run(problem, learner) for name, learner in learners_of(problem).items()}
        rounds: dict[str, int] = {}
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        begun: dict[str, int] = {}
        for name, run in runs.items():
            say(f"steps, d = {d}: {name} starts up")
            run.advance(d * d + 100)
            amount, took = 32, _seconds(run, 32)
            while took < 0.2 * budget:
                amount *= 2
                took = _seconds(run, amount)
            rounds[name] = max(1, int(amount * budget / took))
            begun[name] = run.learner.rounds_told
        for turn in range(passes):
            say(f"steps, d = {d}: turn {turn + 1} of {passes}")
            with no_collection():
                for name in runs if turn % 2 == 0 else reversed(runs):
                    seconds[name].append(_seconds(runs[name], rounds[name]) / rounds[name])
        base = statistics.median(seconds["MCEmpirical"])
        for name, values in seconds.items():
            median = statistics.median(values)
            last = runs[name].learner.rounds_told
            rows.append([d, name, median / base, 1 / median, 1e6 * median, begun[name], last])
            section.data.append(
                {"d": d, "contestant": name, "cpu_seconds": values, "from_round": begun[name], "to_round": last}
            )
        if d == 5:
            speed = 1 / statistics.median(seconds["MCUCB"])
            section.checks.append(Check("d = 5: steps of MC-UCB per second", speed, ">=", 25_000.0, "indicative"))
    heads = ["d", "learner", "times MCEmpirical", "steps per second", "µs per step", "from round", "to round"]
    section.tables.append(Table(heads, rows, "Simulation steps per second and thread"))
    return section
