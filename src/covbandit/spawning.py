"""Processes that help this one."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def out_of_reach_of_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, from their first moment on: whoever started them ends them.

    A terminal sends Ctrl-C to the whole group, and each process would print a traceback of its own. The signal is
    blocked here, since what is blocked is inherited, and comes through afterwards. Windows knows no such thing.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
