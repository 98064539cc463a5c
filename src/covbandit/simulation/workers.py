"""Who runs replications: threads of this process, or any executor, in batches of about a second each."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from covbandit import validation
from covbandit.errors import MissingExtra, Unreachable
from covbandit.kernels.compilation import ready
from covbandit.simulation.driver import play
from covbandit.simulation.engine import Replication, run_replication
from covbandit.simulation.plan import Plan

I64 = NDArray[np.int64]
Batch = tuple[list[Replication], float]

# A task sent to another process or machine costs milliseconds, so it should last a second: more would only make
# progress coarse, and leave workers idle at the end.
_BATCH_SECONDS = 1.0


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
    _compile(plan)
    stop = np.zeros(1, dtype=np.int64)
    steps = np.zeros(max(missing) + 1, dtype=np.int64)

    def run(index: int) -> Batch:
        return [run_replication(plan, index, stop, steps)], 0.0

    with ThreadPoolExecutor(min(count, len(missing)), thread_name_prefix="covbandit") as pool:
        collector = _Collector(finished, lambda: progress(int(steps.sum())))
        try:
            for index in missing:
                collector.expect(pool.submit(run, index))
            while collector.outstanding:
                collector.collect()
        except BaseException:
            stop[0] = 1
            collector.abandon()
            raise


def _run_on_executor(
    plan: Plan,
    missing: list[int],
    pool: Executor,
    finished: Callable[[Replication], None],
    progress: Callable[[int], None],
) -> None:
    slots = _slots(pool)
    waiting, done, size = deque(missing), 0, 1
    collector = _Collector(finished, lambda: progress(done * plan.horizon * len(plan.learners)))
    try:
        while waiting or collector.outstanding:
            while waiting and collector.outstanding < 2 * slots:  # one at work and one in reserve
                batch = [waiting.popleft() for _ in range(min(size, len(waiting)))]
                collector.expect(pool.submit(_run_batch, plan, batch))
            for count, seconds in collector.collect():
                done += count
                fair = -(-len(waiting) // (2 * slots))  # so that all end at about the same time
                size = max(1, min(fair, int(count * _BATCH_SECONDS / max(seconds, 1e-9))))
    except BaseException:
        collector.abandon()
        raise


def _run_batch(plan: Plan, indices: list[int]) -> Batch:
    _compile(plan)
    begun = time.monotonic()
    replications = [run_replication(plan, index) for index in indices]
    return replications, time.monotonic() - begun


def _compile(plan: Plan) -> None:
    """Compile before threads start, which would only wait for each other, and before the clock does."""
    for learner in plan.learners.values():
        if learner.compiled:
            ready(play)
            ready(learner._kernel("_decide_kernel"))
            ready(learner._kernel("_absorb_kernel"))


class _Collector:
    """Takes what futures give, as they finish."""

    # A queue, not concurrent.futures.wait: that locks all futures in turn, and Ctrl-C in between leaves them locked.

    def __init__(self, finished: Callable[[Replication], None], tick: Callable[[], None]) -> None:
        self._finished = finished
        self._tick = tick
        self._queue: SimpleQueue[Future[Batch]] = SimpleQueue()
        self._futures: set[Future[Batch]] = set()

    @property
    def outstanding(self) -> int:
        return len(self._futures)

    def expect(self, future: Future[Batch]) -> None:
        self._futures.add(future)
        future.add_done_callback(self._queue.put)

    def collect(self) -> Iterator[tuple[int, float]]:
        """Hand over what finishes within a tenth of a second; return how many replications took how many seconds."""
        taken = []
        with suppress(Empty):
            future = self._queue.get(timeout=0.1)
            taken.append(self._take(future))
        self._tick()
        return iter(taken)

    def abandon(self) -> None:
        """Cancel what has not begun; keep what has finished meanwhile."""
        for future in self._futures:
            future.cancel()
        for future in list(self._futures):
            if future.done() and not future.cancelled() and future.exception() is None:
                self._take(future)

    def _take(self, future: Future[Batch]) -> tuple[int, float]:
        replications, seconds = future.result()
        self._futures.discard(future)
        for replication in replications:
            self._finished(replication)
        return len(replications), seconds


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
    except ImportError:
        raise MissingExtra("clusters need Dask: pip install 'covbandit[dask]'") from None
    try:
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
