"""Processes that help: Ctrl-C neither reaches them nor interrupts their start."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from covbandit.core.processes import out_of_reach_of_ctrl_c


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked here")
def test_ctrl_c_waits_for_the_start_of_processes_although_another_thread_takes_it() -> None:
    """A process whose parent is interrupted in the midst of starting it prints a traceback of its own."""
    handler, finished, end = signal.getsignal(signal.SIGINT), False, threading.Event()
    other = threading.Thread(target=end.wait)  # does not block the signal, so it is sent here
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            with out_of_reach_of_ctrl_c():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
                finished = True
            time.sleep(60)
    finally:
        end.set()
        other.join()
    assert finished
    assert signal.getsignal(signal.SIGINT) is handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_without_ctrl_c_nothing_comes_of_it() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with out_of_reach_of_ctrl_c():
        pass
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked here")
def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with out_of_reach_of_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
