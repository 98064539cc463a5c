"""Labels of periods: each there, each once, and in which order they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, Literal

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


def require_distinct(labels: Sequence[str], place: Callable[[int], str]) -> None:
    """Raise, naming the places, if a period occurs twice, be it in two ways of writing."""
    first: dict[object, int] = {}
    for k, key in enumerate(_comparable(labels) or labels):
        if key in first:
            raise InvalidInput(
                f"period {labels[k]!r} occurs twice, in {place(first[key])} and in {place(k)}; keep one of them"
            )
        first[key] = k


def order_of(labels: Sequence[str], place: Callable[[int], str]) -> Order:
    """Return how labels are sorted; refuse those that can be sorted and are not.

    Numbers are compared as numbers, dates and times in ISO format as points in time, and other labels of one form that
    begin with a year (2020-01, 2020Q1) as text. The order of others, such as 31/01/2020, is unknown.
    """
    keys = _comparable(labels)
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


def _comparable(labels: Sequence[str]) -> list[Any] | None:
    """Return what labels are compared by, None if that cannot be told."""
    numbers = [_number(label) for label in labels]
    if None not in numbers:
        return numbers
    instants = [instant for label in labels if (instant := _instant(label))]
    zones = {instant.tzinfo for instant, _ in instants}
    if len(instants) == len(labels) and len(zones) == 1:  # with and without a zone, they cannot be compared
        return instants
    form = re.sub(r"\d", "0", labels[0])
    alike = form.startswith("0000") and all(re.sub(r"\d", "0", label) == form for label in labels)
    return list(labels) if alike else None


def _number(label: str) -> Decimal | None:
    try:
        number = Decimal(label)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _instant(label: str) -> tuple[datetime, str] | None:
    """Return a point in time, in UTC if its zone is known, and the digits of its second beyond microseconds."""
    try:
        instant = datetime.fromisoformat(label)
        beyond = re.search(r"[.,]\d{6}(\d+)", label)
        # In local time, the hour that is repeated when clocks go back would seem out of order.
        return instant.astimezone(UTC) if instant.tzinfo else instant, beyond[1].rstrip("0") if beyond else ""
    except (ValueError, OverflowError):
        return None
