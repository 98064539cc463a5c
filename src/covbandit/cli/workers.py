"""Who computes, threads or a cluster, and kernels compiled before the work begins."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import time
from collections.abc import Iterable
from concurrent.futures import Executor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console
from rich.status import Status

from covbandit.core.processes import out_of_reach_of_ctrl_c, pool_of
from covbandit.core.validation import as_count
from covbandit.errors import InvalidInput
from covbandit.kernels.jit.compilation import (
    compile_for_cache,
    compile_for_use,
    names_needed,
    names_not_cached,
    names_of_kernels,
    notice,
    shared_out,
    without_notice,
)
from covbandit.learners import Learner
from covbandit.simulation import dask_workers

_ROOMS_THAT_CALL_KERNELS = ("maximization", "learners", "environments", "simulation")
_MOST_PROCESSES = 8


def chosen_workers(workers: int | None, dask: str | None) -> AbstractContextManager[int | Executor | None]:
    """Return what ``--workers`` and ``--dask`` mean; they exclude each other."""
    if workers is not None:
        as_count(workers, "workers", 1)
        if dask is not None:
            raise InvalidInput("--workers counts threads of this machine and --dask names a cluster: leave one out")
    return nullcontext(workers) if dask is None else dask_workers(dask)


def compile_kernels(
    console: Console,
    everything: bool = False,
    most_processes: int | None = None,
    learners: Iterable[Learner] | None = None,
) -> float:
    """Compile what simulations need, or everything; show progress meanwhile; return the seconds it took.

    Given learners, only what they need to be asked and told is compiled. Numba compiles on one core only. If much is
    missing in the cache, several processes share the work; if they fail, this one does it all. If the console is no
    terminal, a line says that kernels are being compiled.
    """
    begun = time.monotonic()
    with console.status("looking for compiled kernels") as status:
        _import_rooms()
        if learners is None:
            names = names_of_kernels(everything)
        else:
            names = names_needed(kernel for learner in learners for kernel in learner._kernels())
        missing = names_not_cached(names)
        if missing and not console.is_terminal and (line := notice()) is not None:
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        processes = min(most_processes or os.cpu_count() or 1, len(missing), _MOST_PROCESSES)
        if processes > 1:
            _compile_together(missing, processes, status)
        with without_notice():
            for k, name in enumerate(names, 1):
                _show(status, k, len(names), name)
                compile_for_use(name)
    return time.monotonic() - begun


def _compile_together(missing: list[str], processes: int, status: Status) -> None:
    try:
        pool = pool_of(processes, _import_rooms)
    except BrokenProcessPool:
        return
    try:
        with out_of_reach_of_ctrl_c():
            futures = {pool.submit(_compile_for_cache, names): names for names in shared_out(missing)}
        done = 0
        for future in as_completed(futures):  # below, we repeat and report what failed
            done += len(futures[future])
            _show(status, done, len(missing), futures[future][-1])
    except BrokenProcessPool:
        pass
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _compile_for_cache(names: list[str]) -> None:
    for name in names:
        compile_for_cache(name)


def _show(status: Status, k: int, count: int, name: str) -> None:
    status.update(f"kernels, compiled once per machine: {k} of {count}, {name}")


def _import_rooms() -> None:
    for room in _ROOMS_THAT_CALL_KERNELS:
        importlib.import_module(f"covbandit.{room}")
