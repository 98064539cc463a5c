"""``covbandit warmup``."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import time
from collections.abc import Iterable
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

from rich.console import Console
from rich.status import Status

from covbandit.core.processes import out_of_reach_of_ctrl_c, pool_of
from covbandit.kernels.jit.compilation import (
    cache_directory,
    compile_for_cache,
    compile_for_use,
    names_needed,
    names_not_cached,
    names_of_kernels,
    notice,
    without_notice,
)
from covbandit.learners import Learner

_ROOMS_THAT_CALL_KERNELS = ("maximization", "learners", "environments", "simulation")
_MOST_PROCESSES = 8


def compile_kernels(
    console: Console,
    everything: bool = False,
    most_processes: int | None = None,
    learners: Iterable[Learner] | None = None,
) -> float:
    """Compile what simulations need, or everything; show progress while it takes time; return the seconds it took.

    Given learners, only what these need to be asked and told. Numba compiles on one core only. Where much is missing in
    the cache, processes share the work; should they fail, this one does it all. Where the console is no terminal, a
    line says that kernels are being compiled.
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
            futures = {pool.submit(compile_for_cache, name): name for name in missing}
        for k, future in enumerate(as_completed(futures), 1):  # whatever failed is done again, and reported, by us
            _show(status, k, len(missing), futures[future])
    except BrokenProcessPool:
        pass
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _show(status: Status, k: int, count: int, name: str) -> None:
    status.update(f"kernels, compiled once per machine: {k} of {count}, {name}")


def _import_rooms() -> None:
    for room in _ROOMS_THAT_CALL_KERNELS:
        importlib.import_module(f"covbandit.{room}")


def run() -> None:
    """Compile everything and say where it is kept."""
    importlib.import_module("covbandit.reproduction")  # has a learner of its own; others do without its imports
    console = Console(stderr=True)
    seconds = compile_kernels(console, everything=True)
    console.print(
        f"{len(names_of_kernels(everything=True))} kernels ready after {seconds:.1f} s, kept in {cache_directory()}",
        soft_wrap=True,
    )
