"""Labels of periods: each there, each once, and in which order they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any, Literal

from covbandit.data.dates import comparable
from covbandit.data.sheet import MISSING_MARKS
from covbandit.errors import InvalidInput

Order = Literal["ascending", "descending", "unknown"]


def as_label(value: object) -> str:
    """Return the label of a period: dates as 2020-01-31, with the time of day only where there is one."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, date) else str(value).strip()


def require_filled(labels: Sequence[str], place: Callable[[int], str]) -> None:
    """Raise, naming the place, if a label is missing."""
    for k, label in enumerate(labels):
        if label.lower() in MISSING_MARKS:
            raise InvalidInput(f"{place(k)}: the label of the period is missing; give it one, or leave the row out")


def require_distinct(labels: Sequence[str], place: Callable[[int], str], keys: Sequence[Any] | None = None) -> None:
    """Raise, naming the places, if a period occurs twice, be it in two ways of writing."""
    first: dict[object, int] = {}
    for k, key in enumerate(keys or comparable(labels) or labels):
        if key in first:
            raise InvalidInput(
                f"period {labels[k]!r} occurs twice, in {place(first[key])} and in {place(k)}; keep one of them"
            )
        first[key] = k


def order_of(labels: Sequence[str], keys: Sequence[Any] | None, place: Callable[[int], str]) -> Order:
    """Return how labels are sorted by what they are compared by; refuse those that can be sorted and are not."""
    if keys is None:
        return "unknown"
    rising = [a < b for a, b in pairwise(keys)]
    if all(rising):
        return "ascending"
    if not any(rising):
        return "descending"
    # Whichever direction holds more often is meant; the first that goes against it is named.
    wrong = rising.index(sum(rising) < len(rising) / 2) + 1
    raise InvalidInput(
        f"periods are not in order: {labels[wrong]!r} ({place(wrong)}) follows {labels[wrong - 1]!r}; sort the rows by "
        "their dates"
    )
