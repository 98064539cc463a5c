"""Labels of periods: each once, and in which order they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Literal

from covbandit.errors import InvalidInput

Order = Literal["ascending", "descending", "unknown"]


def as_label(value: object) -> str:
    """Return the label of a period: dates as 2020-01-31, with the time of day only where there is one."""
    if isinstance(value, datetime):
        bare = value.tzinfo is None and value.time() == datetime.min.time()
        return value.date().isoformat() if bare else value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, date) else str(value).strip()


def require_distinct(labels: Sequence[str], place: Callable[[int], str]) -> None:
    """Raise, naming the places, if a label occurs twice."""
    first: dict[str, int] = {}
    for k, label in enumerate(labels):
        if label in first:
            raise InvalidInput(
                f"period {label!r} occurs twice, in {place(first[label])} and in {place(k)}; keep one of them"
            )
        first[label] = k


def order_of(labels: Sequence[str], place: Callable[[int], str]) -> Order:
    """Return how labels are sorted; refuse those that can be sorted and are not.

    Numbers are compared as numbers, and labels of one form that begin with a year (2020-01-31, 2020Q1, 2020-W05) as
    text. The order of others, such as 31/01/2020, is unknown.
    """
    keys = _comparable(labels)
    if keys is None:
        return "unknown"
    rising = [a < b for a, b in pairwise(keys)]  # type: ignore[operator]
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


def _comparable(labels: Sequence[str]) -> list[float] | list[str] | None:
    try:
        return [float(label) for label in labels]
    except ValueError:
        form = re.sub(r"\d", "0", labels[0])
        alike = form.startswith("0000") and all(re.sub(r"\d", "0", label) == form for label in labels)
        return list(labels) if alike else None
