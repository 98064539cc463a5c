"""The front door of simulation: replications over threads or any executor, with progress, Ctrl-C and resume."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covbandit import validation
from covbandit.environments import Environment
from covbandit.errors import AssumptionWarning, Interrupted
from covbandit.kernels.compilation import ready
from covbandit.learners import Learner
from covbandit.problem import Problem
from covbandit.simulation.driver import play
from covbandit.simulation.engine import Replication, run_replication
from covbandit.simulation.plan import Plan, as_plan, versions
from covbandit.simulation.result import SimulationResult

I64 = NDArray[np.int64]

_PROGRESS_AFTER = 1.0  # seconds; shorter runs show no bar


def simulate(
    problem: Problem,
    learners: Learner | Mapping[str, Learner] | Sequence[Learner],
    horizon: int,
    replications: int = 50,
    seed: int = 0,
    workers: int | Executor | None = None,
    environment: Environment | None = None,
    checkpoints: ArrayLike | None = None,
    *,
    progress: bool | None = None,
    resume: SimulationResult | None = None,
) -> SimulationResult:
    """Let learners play a problem and measure their regret.

    In each replication all learners see the same rewards. The numbers depend on the arguments up to `checkpoints`
    only: any number of threads, processes or machines gives the same (bit for bit on one machine with the same
    versions).

    Parameters
    ----------
    problem : Problem
        The truth.
    learners : mapping of str to Learner, or sequence of Learner, or Learner
        Who plays. They are cloned and reset; those you pass are not changed. One whose d, ρ or decision set differs
        from the problem's is refused.
    horizon : int
        Rounds T.
    replications : int
        Independent repetitions.
    seed : int
        Replication r draws from ``SeedSequence(seed, spawn_key=(r,))``.
    workers : int or concurrent.futures.Executor, optional
        Threads, by default one per core; or any executor, for example a ProcessPoolExecutor.
    environment : Environment, optional
        Where rewards come from; Gaussian by default.
    checkpoints : array of int, optional
        Rounds at which regret and weights are recorded; log-spaced by default. The horizon is always one.
    progress : bool, optional
        Whether to show a progress bar on standard error; by default on a terminal, after a second.
    resume : SimulationResult, optional
        Replications already done, for example ``Interrupted.partial``; only the others are run.

    Returns
    -------
    SimulationResult

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
    wanted = range(validation.as_count(replications, "replications", 1))
    done: dict[int, Replication] = {}
    if resume is not None:
        resume.require_same(plan.specification())
        done = {r.index: r for r in resume.split() if r.index in wanted}
    missing = [r for r in wanted if r not in done]
    steps = np.zeros(len(wanted), dtype=np.int64)
    steps[list(done)] = plan.horizon * len(plan.learners)
    try:
        if missing:
            _run(plan, missing, workers, steps, progress, done)
    except KeyboardInterrupt:
        partial = _collect(plan, done) if done else None
        raise Interrupted(
            f"interrupted with {len(done)} of {len(wanted)} replications finished; to continue, catch "
            "covbandit.errors.Interrupted as e and call simulate with the same arguments and resume=e.partial",
            partial,
        ) from None
    _warn(plan, done)
    return _collect(plan, done)


def _warn(plan: Plan, done: dict[int, Replication]) -> None:
    """Warn, once per learner, if what it assumes was contradicted in some replication."""
    for k, name in enumerate(plan.learners):
        doubts = [(r, done[r].doubts[k]) for r in sorted(done) if done[r].doubts and done[r].doubts[k]]
        if doubts:
            where = f"in {len(doubts)} of {len(done)} replications, first in {doubts[0][0]}"
            warnings.warn(f"learner {name!r}, {where}: {doubts[0][1]}", AssumptionWarning, stacklevel=3)


def _collect(plan: Plan, done: dict[int, Replication]) -> SimulationResult:
    order = sorted(done)
    return SimulationResult(
        regret=np.stack([done[r].regret for r in order], axis=1),
        weights=np.stack([done[r].weights for r in order], axis=1),
        replications=np.array(order, dtype=np.int64),
        specification=plan.specification(),
        versions=versions(),
    )


def _run(
    plan: Plan,
    missing: list[int],
    workers: int | Executor | None,
    steps: I64,
    progress: bool | None,
    done: dict[int, Replication],
) -> None:
    """Run the missing replications and enter each into `done` as it finishes."""
    _compile(plan)
    stop = np.zeros(1, dtype=np.int64)
    whole = plan.horizon * len(plan.learners)
    with _bar(whole * len(steps), progress) as update:
        if isinstance(workers, Executor):
            slots = getattr(workers, "_max_workers", None) or os.cpu_count() or 1
            batch = max(1, min(8, len(missing) // (4 * slots)))
            batches = [missing[k : k + batch] for k in range(0, len(missing), batch)]
            futures = [workers.submit(_run_batch, plan, indices) for indices in batches]
            _gather(futures, stop, steps, whole, done, update)
            return
        count = (os.cpu_count() or 1) if workers is None else validation.as_count(workers, "workers", 1)
        with ThreadPoolExecutor(min(count, len(missing)), thread_name_prefix="covbandit") as pool:
            futures = [pool.submit(_run_one, plan, r, stop, steps) for r in missing]
            _gather(futures, stop, steps, whole, done, update)


def _compile(plan: Plan) -> None:
    """Compile before threads start: they would only wait for each other."""
    for learner in plan.learners.values():
        if learner.compiled:
            ready(play)
            ready(learner._kernel("_decide_kernel"))
            ready(learner._kernel("_absorb_kernel"))


def _run_one(plan: Plan, index: int, stop: I64, steps: I64) -> list[Replication]:
    return [run_replication(plan, index, stop, steps)]


def _run_batch(plan: Plan, indices: list[int]) -> list[Replication]:
    return [run_replication(plan, index) for index in indices]


def _gather(
    futures: list[Future[list[Replication]]],
    stop: I64,
    steps: I64,
    whole: int,
    done: dict[int, Replication],
    update: Callable[[int], None],
) -> None:
    """Enter replications as they finish; on Ctrl-C or an error stop the others, at once where the flag reaches them."""
    # A queue, not concurrent.futures.wait: that locks all futures in turn, and Ctrl-C in between leaves them locked.
    finished: SimpleQueue[Future[list[Replication]]] = SimpleQueue()
    missing = len(futures)
    try:
        for future in futures:
            future.add_done_callback(finished.put)
        while missing:
            with suppress(Empty):
                for replication in finished.get(timeout=0.1).result():
                    done[replication.index] = replication
                    steps[replication.index] = whole
                missing -= 1
            update(int(steps.sum()))
    except BaseException:
        stop[0] = 1
        for future in futures:
            future.cancel()
        for future in futures:  # keep what finished meanwhile
            if future.done() and not future.cancelled() and future.exception() is None:
                done |= {replication.index: replication for replication in future.result()}
        raise


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
