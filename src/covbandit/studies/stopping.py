"""Long work that can be broken off: whoever runs it in a thread may ask for that, and nothing is left half done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from covbandit.errors import StoreUnavailable

T = TypeVar("T")

_here = threading.local()


def stop_this_thread_when(asked: Callable[[], bool]) -> None:
    """Let whatever this thread reads round by round end with `StoreUnavailable` as soon as `asked()` is true.

    The transaction is undone then, as after any other error.
    """
    _here.asked = asked


def until_stopped(rows: Iterable[T]) -> Iterator[T]:
    """Return the same rows, and look before each whether to go on.

    Raises
    ------
    StoreUnavailable
        If this thread was asked to stop; the same call may be repeated.
    """
    asked: Callable[[], bool] | None = getattr(_here, "asked", None)
    if asked is None:
        yield from rows
        return
    for row in rows:
        if asked():
            raise StoreUnavailable("this was broken off, since the process is stopping; nothing was changed, repeat it")
        yield row
