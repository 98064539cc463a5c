"""What should be known of a learner's arguments, said once to whoever chose them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from covbandit.errors import SetupWarning

_SAID_BEFORE: ContextVar[bool] = ContextVar("said_before", default=False)


@contextmanager
def said_before() -> Iterator[None]:
    """Suppress the warnings of `say` in this context: for copies of learners, or where the caller shows the remarks.

    A context variable does this, since a filter of warnings would hold for all threads.
    """
    before = _SAID_BEFORE.set(True)
    try:
        yield
    finally:
        _SAID_BEFORE.reset(before)


def say(remark: str) -> None:
    """Warn, as if from the line of the user's own that led here."""
    if _SAID_BEFORE.get():
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "covbandit":
        level, frame = level + 1, frame.f_back
    warnings.warn(remark, SetupWarning, stacklevel=level)


def one_at_a_time(n_options: int, min_weight: float | None) -> str | None:
    """Return a warning if no two of several options fit, since `min_weight` is above one half; else None."""
    if min_weight is None or n_options < 2 or min_weight <= 0.5:
        return None
    return (
        f"min_weight={min_weight:g} is above one half, so only one of the {n_options} options has weight at a time: no "
        "two are ever seen together, how they move together is not learned, and risk is that of single options; "
        "with min_weight=0.5 or less, mixtures of two or more are tried"
    )
