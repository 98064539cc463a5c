"""Processes that help this one, and end with it however it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection, resource_tracker
from typing import Any, cast

_ASIDE = "ignore:resource_tracker:UserWarning"


@contextmanager
def out_of_reach_of_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, from their first moment on: whoever started them ends them.

    A terminal sends Ctrl-C to the whole group, and each process would print a traceback of its own. The signal is
    blocked here, since what is blocked is inherited, and comes through afterwards. Another thread may take it all the
    same, and Python would then interrupt this one in the midst of starting a process: so it is held back as well.
    Windows knows no such thing.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    holds = threading.current_thread() is threading.main_thread() and callable(handler)  # else ignored, or not Python's
    if holds:
        signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if holds:
            signal.signal(signal.SIGINT, handler)
            if held:
                signal.raise_signal(signal.SIGINT)


def pool_of(processes: int, first: Callable[[], None] | None = None) -> ProcessPoolExecutor:
    """Return a pool of processes, started at the first task, that end when this process ends, even if it is killed.

    Parameters
    ----------
    processes : int
        How many.
    first : callable, optional
        What each does before its first task.

    Raises
    ------
    BrokenProcessPool
        If the system gives no room for what processes share, such as when /dev/shm is full.
    """
    _track_without_complaint()
    context = multiprocessing.get_context("spawn")
    try:
        return ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(first,))
    except OSError as error:
        raise BrokenProcessPool(f"processes cannot share work here: {error}") from error


def _begin(first: Callable[[], None] | None) -> None:
    """Begin a process of a pool: from now on it ends with the one that started it.

    By itself it would wait for tasks for ever, since it, too, holds the end of the pipe from which they would come.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), name="covbandit-parent", daemon=True).start()
    if first is not None:
        first()


def _end_with(sentinel: Any) -> None:
    connection.wait([sentinel])
    os._exit(1)  # whatever the other threads are doing


def _track_without_complaint() -> None:
    """Start the process that tidies up after killed ones so that it does not print what it found to tidy.

    Python starts it once, together with the first pool, and passes on which warnings are wanted. It removes the
    semaphores of a pool whose owner was killed, and would complain of each.
    """
    tracker = cast(Any, resource_tracker)
    if sys.platform == "win32" or not hasattr(tracker, "ensure_running"):
        return
    sys.warnoptions.append(_ASIDE)
    try:
        tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_ASIDE)
