"""CPU seconds of calls that take microseconds or minutes."""

from __future__ import annotations

import contextlib
import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator

_LONG = 0.2  # seconds above which one call says enough


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Switch garbage collection off, as timeit does: it would be charged to whoever happens to run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def cpu_seconds(run: Callable[[int], object], budget: float = 0.002, blocks: int = 3) -> float:
    """Return the CPU seconds of one call, which all threads of this process spent.

    Parameters
    ----------
    run : callable
        Does the call as often as it is told. It is called once beforehand, which also counts if it takes long.
    budget : float
        Seconds for each block of calls.
    blocks : int
        The median over so many blocks is returned.
    """
    with no_collection():
        first = _block(run, 1)
        if first > _LONG:
            return first
        times = max(1, int(budget / max(_block(run, 1), 1e-7)))
        return statistics.median(_block(run, times) for _ in range(blocks))


def _block(run: Callable[[int], object], times: int) -> float:
    begun = time.process_time()
    run(times)
    return (time.process_time() - begun) / times


def repeated(call: Callable[[], object]) -> Callable[[int], None]:
    """Return a function that makes the call so many times."""

    def run(times: int) -> None:
        for _ in range(times):
            call()

    return run


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Send what compiled code prints on standard error nowhere: SCIP's linear solver remarks on its tolerances."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
