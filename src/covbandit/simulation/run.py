"""The front door of simulation: replications over threads or any executor, with progress, Ctrl-C and resume."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from covbandit.environments import Environment
from covbandit.errors import AssumptionWarning, Interrupted
from covbandit.learners import Learner
from covbandit.problems.distribution import ProblemDistribution
from covbandit.problems.problem import Problem
from covbandit.simulation.engine import Replication
from covbandit.simulation.journal import Journal
from covbandit.simulation.plan import Plan, as_plan, as_replications, versions
from covbandit.simulation.result import SimulationResult, result_class
from covbandit.simulation.workers import run_replications

_PROGRESS_AFTER = 1.0  # seconds; shorter runs show no bar


def simulate(
    problem: Problem | ProblemDistribution,
    learners: Learner | Mapping[str, Learner] | Sequence[Learner],
    horizon: int | None = None,
    replications: int | None = None,
    seed: int = 0,
    workers: int | Executor | None = None,
    environment: Environment | None = None,
    checkpoints: ArrayLike | None = None,
    *,
    progress: bool | None = None,
    resume: SimulationResult | None = None,
    journal: str | Path | None = None,
) -> SimulationResult:
    """Let learners play a problem and measure their regret.

    In each replication all learners see the same rewards. The numbers depend on the arguments up to `checkpoints`
    only: any number of threads, processes or machines gives the same (bit for bit on one machine with the same
    versions).

    Parameters
    ----------
    problem : Problem or ProblemDistribution
        The truth. From a distribution, replication r plays its own, ``problem.draw(seed, r)``.
    learners : mapping of str to Learner, or sequence of Learner, or Learner
        Who plays. They are cloned and reset; those you pass are not changed. One whose d, ρ or decision set differs
        from the problem's is refused.
    horizon : int
        Rounds T. Not needed for a `Replay`, which has so many rounds as its history.
    replications : int
        Independent repetitions, 50 by default. A `Replay` is played once by default: more are the same history again,
        with other seeds for randomised learners.
    seed : int
        Replication r draws from ``SeedSequence(seed, spawn_key=(r,))``.
    workers : int or concurrent.futures.Executor, optional
        Threads, by default one per core; or any executor, for example a ProcessPoolExecutor, or that of a Dask cluster
        (`dask_workers`).
    environment : Environment, optional
        Where rewards come from; Gaussian by default.
    checkpoints : array of int, optional
        Rounds at which regret and weights are recorded; log-spaced by default. The horizon is always one. A `Replay`
        records every round.
    progress : bool, optional
        Whether to show a progress bar on standard error; by default on a terminal, after a second.
    resume : SimulationResult, optional
        Replications already done, for example ``Interrupted.partial``; only the others are run.
    journal : str or Path, optional
        A file that keeps every replication as it finishes. The same call continues from it: after Ctrl-C, after a
        crash, after kill -9; or with more replications.

    Returns
    -------
    SimulationResult
        For a `Replay`, a `ReplayResult`.

    Raises
    ------
    Interrupted
        On Ctrl-C; its attribute ``partial`` holds the finished replications.

    Examples
    --------
    >>> import covbandit as cb
    >>> p = cb.problems.synthetic()
    >>> r = cb.simulate(p, cb.MCEmpirical(n_options=5, risk_aversion=0.1), horizon=1000, replications=4)
    >>> r.regret.shape[:2], int(r.checkpoints[-1])
    ((1, 4), 1000)
    """
    plan = as_plan(problem, learners, horizon, seed, environment, checkpoints)
    count = as_replications(replications, plan.environment)
    with _bar(plan.horizon * len(plan.learners) * count, progress) as update:
        return run_plan(plan, count, workers, update, resume, journal)


def run_plan(
    plan: Plan,
    replications: int,
    workers: int | Executor | None = None,
    update: Callable[[int], None] = lambda steps: None,
    resume: SimulationResult | None = None,
    journal: str | Path | None = None,
) -> SimulationResult:
    """Run the replications of a plan that are not in `resume` or the journal yet; see `simulate`.

    `update` is told how many of all learner-rounds have been played, those of earlier runs included.
    """
    wanted = range(replications)
    done: dict[int, Replication] = {}
    if resume is not None:
        resume.require_same(plan.specification(), versions())
        done = {r.index: r for r in resume.split() if r.index in wanted}
    kept = None if journal is None else Journal(journal, plan)
    with kept or nullcontext():
        if kept is not None:
            done |= {index: r for index, r in kept.done.items() if index in wanted}
        before = len(done) * plan.horizon * len(plan.learners)

        def finished(replication: Replication) -> None:
            if kept is not None:
                kept.add(replication)
            done[replication.index] = replication

        update(before)
        missing = [r for r in wanted if r not in done]
        try:
            if missing:
                run_replications(plan, missing, workers, finished, lambda steps: update(before + steps))
        except KeyboardInterrupt:
            partial = _collect(plan, done) if done else None
            raise Interrupted(_how_to_continue(len(done), replications, journal), partial) from None
    _warn(plan, done)
    return _collect(plan, done)


def _how_to_continue(done: int, replications: int, journal: str | Path | None) -> str:
    if journal is not None:
        return f"interrupted: {done} of {replications} replications are kept in {journal}; the same call continues"
    return (
        f"interrupted with {done} of {replications} replications finished; to continue, catch "
        "covbandit.errors.Interrupted as e and call simulate with the same arguments and resume=e.partial"
    )


def _warn(plan: Plan, done: dict[int, Replication]) -> None:
    """Warn, once per learner, if what it assumes was contradicted in some replication."""
    for k, name in enumerate(plan.learners):
        known = {r: done[r].doubts[k] for r in sorted(done) if done[r].doubts}  # results of earlier runs tell none
        doubts = [(r, doubt) for r, doubt in known.items() if doubt]
        if doubts:
            where = f"in {len(doubts)} of {len(known)} replications, first in {doubts[0][0]}"
            warnings.warn(f"learner {name!r}, {where}: {doubts[0][1]}", AssumptionWarning, stacklevel=4)


def _collect(plan: Plan, done: dict[int, Replication]) -> SimulationResult:
    order = sorted(done)
    specification = plan.specification()
    return result_class(specification)(
        regret=np.stack([done[r].regret for r in order], axis=1),
        weights=np.stack([done[r].weights for r in order], axis=1),
        replications=np.array(order, dtype=np.int64),
        specification=specification,
        versions=versions(),
    )


@contextmanager
def _bar(total: int, progress: bool | None) -> Iterator[Callable[[int], None]]:
    shown = sys.stderr.isatty() if progress is None else progress
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("simulating", total=total)
    begun = time.monotonic()

    def update(done: int) -> None:
        if not bar.live.is_started and (progress or time.monotonic() - begun > _PROGRESS_AFTER):
            bar.start()
        bar.update(task, completed=done)

    try:
        yield update
    finally:
        if bar.live.is_started:
            bar.stop()
