"""Who runs replications: threads of this process, or any executor, in batches of about a second each."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, TypeVar, cast

import numpy as np

from covbandit.core import validation
from covbandit.errors import InvalidInput, MissingExtra, Unreachable
from covbandit.kernels.jit.compilation import compiled
from covbandit.simulation.driver import play
from covbandit.simulation.engine import Replication, Stopped, run_replication
from covbandit.simulation.plan import Plan, difference, versions
from covbandit.simulation.regret import regret_of_weights

T = TypeVar("T")
Batch = tuple[list[Replication], float, dict[str, str]]
"""What a worker sends: replications, the seconds they took, and the versions of its software."""

# A task sent to another process or machine costs milliseconds, so it should last a second: more would only make
# progress coarse, and leave workers idle at the end.
_BATCH_SECONDS = 1.0
_LEAST_SECONDS = 0.2  # even at the end
_TICK = 0.1  # seconds between two looks at progress
_LOOK_SECONDS = 2.0  # between two looks at a cluster that is silent
_PATIENCE_SECONDS = 60.0


def run_replications(
    plan: Plan,
    missing: list[int],
    workers: int | Executor | None,
    finished: Callable[[Replication], None],
    progress: Callable[[int], None],
) -> None:
    """Run replications; hand over each as it finishes, and every tenth of a second the number of learner-rounds played.

    Whatever ends this early (Ctrl-C, an error in a learner), what had finished by then has been handed over.
    """
    if isinstance(workers, Executor):
        _run_on_executor(plan, missing, workers, finished, progress)
    else:
        count = (os.cpu_count() or 1) if workers is None else validation.as_count(workers, "workers", 1)
        _run_on_threads(plan, missing, count, finished, progress)


def _run_on_threads(
    plan: Plan,
    missing: list[int],
    count: int,
    finished: Callable[[Replication], None],
    progress: Callable[[int], None],
) -> None:
    # Threads of our own and queues, which no signal can leave locked: Ctrl-C in the middle of a pool's submit can.
    _compile(plan)
    stop = np.zeros(1, dtype=np.int64)
    steps = np.zeros(max(missing) + 1, dtype=np.int64)
    waiting: SimpleQueue[int] = SimpleQueue()
    outcomes: SimpleQueue[Replication | BaseException] = SimpleQueue()
    for index in missing:
        waiting.put(index)

    def work() -> None:
        while not stop[0]:
            try:
                index = waiting.get_nowait()
            except Empty:
                return
            try:
                outcomes.put(run_replication(plan, index, stop, steps))
            except Stopped:
                return
            except BaseException as error:
                outcomes.put(error)
                return

    threads = [Thread(target=work, name=f"covbandit-{k}") for k in range(min(count, len(missing)))]
    left = len(missing)
    try:
        for thread in threads:
            thread.start()
        while left:
            for outcome in _next_of(outcomes):
                if isinstance(outcome, BaseException):
                    raise outcome
                finished(outcome)
                left -= 1
            progress(int(steps.sum()))
    finally:
        stop[0] = 1
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        while not outcomes.empty():  # finished meanwhile
            outcome = outcomes.get()
            if isinstance(outcome, Replication):
                finished(outcome)


def _next_of(queue: SimpleQueue[T]) -> list[T]:
    """Return what comes next, or nothing if that takes too long."""
    try:
        return [queue.get(timeout=_TICK)]
    except Empty:
        return []


def _run_on_executor(
    plan: Plan,
    missing: list[int],
    pool: Executor,
    finished: Callable[[Replication], None],
    progress: Callable[[int], None],
) -> None:
    slots = _slots(pool)
    waiting, done, size = deque(missing), 0, 1
    # A queue, not concurrent.futures.wait: that locks all futures in turn, and Ctrl-C in between leaves them locked.
    ended: SimpleQueue[Future[Batch]] = SimpleQueue()
    outstanding: set[Future[Batch]] = set()

    lost = _Patience(pool)

    def take(future: Future[Batch]) -> tuple[int, float]:
        replications, seconds, there = future.result()
        outstanding.discard(future)
        differs = difference(there, versions())
        if differs:
            raise InvalidInput(f"a worker runs other software, whose last bits may differ: {differs}; install the same")
        for replication in replications:
            finished(replication)
        return len(replications), seconds

    try:
        while waiting or outstanding:
            while waiting and len(outstanding) < 2 * slots:  # one at work and one in reserve
                batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                future = pool.submit(_run_batch, plan, batch)
                outstanding.add(future)
                future.add_done_callback(ended.put)
            for future in _next_of(ended):
                count, seconds = take(future)
                done += count
                fair = -(-len(waiting) // (2 * slots))  # so that all end at about the same time
                pace = count / max(seconds, 1e-9)
                size = max(1, int(pace * _LEAST_SECONDS), min(fair, int(pace * _BATCH_SECONDS)))
            lost.look()
            progress(done * plan.horizon * len(plan.learners))
    except BaseException as error:
        for future in outstanding:
            future.cancel()
        for future in list(outstanding):
            if future.done() and not future.cancelled() and future.exception() is None:
                take(future)
        if isinstance(error, CancelledError | BrokenExecutor) or type(error).__name__ == "KilledWorker":
            raise Unreachable(
                f"the workers were lost ({type(error).__name__}): start them again, and the same call again"
            ) from None
        raise


class _Patience:
    """Gives up on a cluster that has had no workers for a minute: Dask itself would wait for ever."""

    def __init__(self, pool: Executor) -> None:
        self._client: Any = getattr(pool, "_client", None)
        self._seen = self._looked = time.monotonic()

    def look(self) -> None:
        now = time.monotonic()
        if not hasattr(self._client, "ncores") or now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        if self._client.ncores():
            self._seen = now
        elif now - self._seen > _PATIENCE_SECONDS:
            raise Unreachable(
                f"the Dask cluster has had no workers for {now - self._seen:.0f} s: start some, and the same call again"
            )


def _run_batch(plan: Plan, indices: list[int]) -> Batch:
    _compile(plan)
    begun = time.monotonic()
    replications = [run_replication(plan, index) for index in indices]
    return replications, time.monotonic() - begun, versions()


def _compile(plan: Plan) -> None:
    """Compile before threads start, which would only wait for each other, and before the clock does."""
    for learner in plan.learners.values():
        if learner.compiled:
            compiled(play)
            compiled(learner._kernel("_decide_kernel"))
            compiled(learner._kernel("_absorb_kernel"))
        else:
            compiled(regret_of_weights)


def _slots(pool: Executor) -> int:
    """Return how many tasks an executor runs at once."""
    client: Any = getattr(pool, "_client", None)  # Dask's executor does not say, but its client does
    cores = sum(client.ncores().values()) if hasattr(client, "ncores") else getattr(pool, "_max_workers", None)
    return int(cores or os.cpu_count() or 1)


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """Connect to a running Dask cluster; use what this gives as the `workers` of a simulation.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://127.0.0.1:8786``. Its workers need the same versions of covbandit, NumPy and
        Numba as this machine.

    Raises
    ------
    MissingExtra
        If Dask is not installed.
    Unreachable
        If no scheduler answers within five seconds, or it has no workers.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise MissingExtra("clusters need Dask: pip install 'covbandit[dask]'") from None
    try:
        # Checked first: a client that cannot be built complains once more, and waits, when it is thrown away.
        if not address.startswith("inproc://"):
            get_address_host_port(address, strict=True)
        client = cast(Any, Client)(address, timeout=5, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise Unreachable(
            f"no Dask scheduler answers at {address!r} ({error}): start one with `dask scheduler`, and workers with "
            "`dask worker ADDRESS`"
        ) from None
    with client:
        if not client.ncores():
            raise Unreachable(
                f"the Dask scheduler at {address!r} has no workers: start some with `dask worker {address}`"
            )
        with client.get_executor(pure=False) as pool:
            yield pool
