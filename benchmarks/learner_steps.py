"""Whole simulation steps per second of several learners, in turns, on one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cpu_time import no_collection
from harvest import Run
from timing import Check, Section, say

import covbandit as cb
from covbandit.core.tables import Table


@dataclass(frozen=True)
class Contest:
    """What is measured.

    Attributes
    ----------
    problem_of : callable
        Returns the problem with d options.
    learners_of : callable
        Returns the learners of a problem, by name.
    base : str
        The learner of which the others' times are multiples.
    start_up : callable
        Returns, for d options, the rounds to play before time is taken.
    notes : list of str
        What a reader must know besides.
    targets : dict
        Steps per second to be reached, by number of options and learner; indicative.
    """

    problem_of: Callable[[int], cb.Problem]
    learners_of: Callable[[cb.Problem], dict[str, cb.Learner]]
    base: str
    start_up: Callable[[int], int]
    notes: list[str]
    targets: dict[tuple[int, str], float] = field(default_factory=dict)


def _seconds(run: Run, rounds: int) -> float:
    """Return the CPU seconds that the next rounds take."""
    begun = time.process_time()
    run.advance(rounds)
    return time.process_time() - begun


def measure_contest(contest: Contest, dimensions: Sequence[int], passes: int, budget: float) -> Section:
    """Measure steps per CPU second.

    Parameters
    ----------
    contest : Contest
        Who plays what.
    dimensions : sequence of int
        Numbers of options.
    passes : int
        Timed turns of each learner, each going on where the last ended.
    budget : float
        CPU seconds of a turn.
    """
    section = Section("steps")
    section.notes = [
        *contest.notes,
        "A step is draw, decide, regret, absorb, by the engine's loop on one thread; start-up is not timed. Learners",
        f"play in turns, as many rounds as fill {budget:g} s of CPU time each; median over {passes} turns.",
    ]
    rows: list[list[object]] = []
    for d in dimensions:
        problem = contest.problem_of(d)
        runs = {name: Run(problem, learner) for name, learner in contest.learners_of(problem).items()}
        rounds: dict[str, int] = {}
        seconds: dict[str, list[float]] = {name: [] for name in runs}
        begun: dict[str, int] = {}
        for name, run in runs.items():
            say(f"steps, d = {d}: {name} starts up")
            run.advance(contest.start_up(d))
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
        base = statistics.median(seconds[contest.base])
        for name, values in seconds.items():
            median = statistics.median(values)
            last = runs[name].learner.rounds_told
            rows.append([d, name, median / base, 1 / median, 1e6 * median, begun[name], last])
            section.data.append(
                {"d": d, "contestant": name, "cpu_seconds": values, "from_round": begun[name], "to_round": last}
            )
            if (d, name) in contest.targets:
                target = contest.targets[d, name]
                section.checks.append(
                    Check(f"d = {d}: steps of {name} per second", 1 / median, ">=", target, "indicative")
                )
    heads = ["d", "learner", f"times {contest.base}", "steps per second", "µs per step", "from round", "to round"]
    section.tables.append(Table(heads, rows, "Simulation steps per second and thread"))
    return section
