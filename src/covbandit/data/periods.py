"""Labels of periods: the common ways to write dates, columns that can be read in two of them, and their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, Literal

from covbandit.data.selection import is_among
from covbandit.data.sheet import MISSING_MARKS
from covbandit.errors import InvalidInput

Dates = Literal["day-first", "month-first", "year-first"]
DATES = ("day-first", "month-first", "year-first")

Order = Literal["ascending", "descending", "unknown"]

_LONGEST = 100  # letters of a date; the forms below would take long to find out that more are none

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jän jänner",
            "feb february februar",
            "mar march mär märz mrz",
            "apr april",
            "may mai",
            "jun june juni",
            "jul july juli",
            "aug august",
            "sep sept september",
            "oct october okt oktober",
            "nov november",
            "dec december dez dezember",
        ),
        1,
    )
    for name in names.split()
}
_ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_CLOCK = re.compile(
    r"(?:[T ]|, ?)\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d+))?)?"
    rf"(?:\s*(?P<half>[ap])\.?m\.?)?(?:\s*{_ZONE})?",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|(?:mo|di|mi|do|fr|sa|so)),?\.?\s+", re.IGNORECASE)
_THREE = re.compile(r"(\d{1,2})(?:([-/])|(\.) ?|( ))(\d{1,2})(?:\2|\3 ?|\4)(\d{4}|\d{2})")
_YEAR_FIRST = re.compile(r"(\d{4})([-/. ])(\d{1,2})\2(\d{1,2})")
_MONTH_YEAR = re.compile(r"(\d{1,2})[-/.](\d{4})")
_YEAR_MONTH = re.compile(r"(\d{4})[-/.](\d{1,2})")
_NAMED = (
    re.compile(r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[-/ .]*(?P<m>[^\W\d_]{3,})\.?[-/ .,']*(?P<y>\d{4}|\d{2})"),
    re.compile(r"(?P<m>[^\W\d_]{3,})\.?[-/ .]*(?P<d>\d{1,2})(?:st|nd|rd|th)?[-/ .,]+(?P<y>\d{4}|\d{2})"),
    re.compile(r"(?P<m>[^\W\d_]{3,})\.?[-/ .,']*(?P<y>\d{4}|\d{2})"),
    re.compile(r"(?P<y>\d{4})[-/ .]*(?P<m>[^\W\d_]{3,})\.?(?:[-/ .]*(?P<d>\d{1,2}))?"),
)
_QUARTER = (
    re.compile(r"(?P<y>\d{4})[-/ ]?Q(?P<q>[1-4])", re.IGNORECASE),
    re.compile(r"Q(?P<q>[1-4])[-/ ]?'?(?P<y>\d{4}|\d{2})", re.IGNORECASE),
    re.compile(r"(?P<q>[1-4])Q[-/ ]?'?(?P<y>\d{4}|\d{2})", re.IGNORECASE),
)
_WEEK = (
    re.compile(r"(?P<y>\d{4})[-/ ]?K?W ?(?P<w>\d{1,2})(?:-(?P<d>[1-7]))?", re.IGNORECASE),
    re.compile(r"(?:K?W|week) ?(?P<w>\d{1,2})[-/ ,]+(?P<y>\d{4})", re.IGNORECASE),
)


class Periods:
    """A column of labels, and what they are compared by.

    Parameters
    ----------
    labels : sequence of str
        As they stand in the table.
    dates : {"day-first", "month-first", "year-first"} or None
        How dates such as 01/02/2024 are meant; None finds it out, or refuses.
    place : callable
        Says where a label stands.
    way_out : str
        How the user says what `dates` says.

    Attributes
    ----------
    keys : list or None
        What labels are compared by; None if that cannot be told.
    notes : list of str
        What had to be decided.

    Raises
    ------
    InvalidInput
        If dates can be read in two ways, with both of them.
    """

    def __init__(
        self,
        labels: Sequence[str],
        dates: object = None,
        place: Callable[[int], str] = lambda k: f"row {k + 1}",
        way_out: str = 'dates="{}"',
    ) -> None:
        if dates is not None and not is_among(dates, DATES):
            raise InvalidInput(f"dates must be one of {', '.join(map(repr, DATES))}, got {dates!r}")
        self.labels, self.notes = labels, list[str]()
        self._dates, self._place, self._way_out = dates, place, way_out
        self.keys: list[Any] | None = None if not labels else self._found()

    def per_year(self) -> float | None:
        """Return how many periods a year has, None if the labels do not tell."""
        keys = self.keys
        if not keys or len(keys) < 2:
            return None
        if all(isinstance(key, Decimal) for key in keys):
            years = all(1800 <= key <= 2200 and key == int(key) for key in keys)
            gaps = sorted(abs(float(b - a)) for a, b in pairwise(keys)) if years else []
            return 1 / max(gaps[len(gaps) // 2], 1.0) if years else None
        times = [key[0] if isinstance(key, tuple) else key for key in keys]
        if not all(isinstance(time, datetime) for time in times):
            return None
        spans = sorted(abs(b - a) for a, b in pairwise(times))
        middle = spans[len(spans) // 2]
        return timedelta(days=365.25) / middle if middle else None

    def _found(self) -> list[Any] | None:
        if any(len(label) > _LONGEST for label in self.labels):
            return None
        read: Callable[[str], Any]
        for read in (_year_and_month, _compact):
            if (keys := _all(read, self.labels)) is not None:
                return keys
        compact = {name: _compact_reading(name) for name in DATES[:2]}
        if any(_all(read, self.labels) is not None for read in compact.values()):
            return self._in_one_reading(compact)
        for read in (_number, _instant, _year_first, *_NAMED_READERS):
            if (keys := _all(read, self.labels)) is not None:
                return keys
        if all(_three(label) for label in self.labels):
            return self._in_one_reading({name: _reading(name) for name in DATES})
        if (keys := _all(_month_and_year, self.labels)) is not None:
            return keys
        return _counted(self.labels) or _as_text(self.labels)

    def _in_one_reading(self, readings: dict[str, Callable[[str], datetime | None]]) -> list[Any]:
        """Return points in time of dates that may be read in several ways, in the one that is meant."""
        if self._dates is not None and self._dates in readings:
            return self._as_said(readings[str(self._dates)])
        found = {name: keys for name, read in readings.items() if (keys := _all(read, self.labels)) is not None}
        if not found:
            self._refuse_mixture(readings)
        names = list(found)
        if len(names) == 1 or all(found[name] == found[names[0]] for name in names):
            return found[names[0]]
        ordered = [name for name in names if _is_monotone(found[name])]
        if len(ordered) == 1:
            self.notes.append(
                f"dates such as {self.labels[0]!r} are read {_words(ordered[0])}: only so are they in order"
            )
            return found[ordered[0]]
        if "day-first" in found and all("." in label for label in self.labels):
            self.notes.append(f"dates such as {self.labels[0]!r} are read day first, as dates with dots are written")
            return found["day-first"]
        differs = next(k for k in range(len(self.labels)) if found[names[0]][k] != found[names[1]][k])
        ways = " or ".join(
            f"{found[name][differs]:%Y-%m-%d} ({_words(name)}: {self._way_out.format(name)})" for name in names
        )
        raise InvalidInput(
            f"{self._place(differs)}: the date {self.labels[differs]!r} may be {ways}, and no other date settles it; "
            "say which"
        )

    def _as_said(self, read: Callable[[str], datetime | None]) -> list[Any]:
        keys = [read(label) for label in self.labels]
        for k, key in enumerate(keys):
            if key is None:
                raise InvalidInput(
                    f"{self._place(k)}: {self.labels[k]!r} is no date {_words(str(self._dates))}, as "
                    f"{self._way_out.format(self._dates)} says; correct one of them"
                )
        return keys

    def _refuse_mixture(self, readings: dict[str, Callable[[str], datetime | None]]) -> None:
        day, month = readings["day-first"], readings["month-first"]
        only_day = next((k for k, label in enumerate(self.labels) if day(label) and not month(label)), None)
        only_month = next((k for k, label in enumerate(self.labels) if month(label) and not day(label)), None)
        if only_day is not None and only_month is not None:
            raise InvalidInput(
                f"{self.labels[only_day]!r} ({self._place(only_day)}) is a date with the day first, "
                f"{self.labels[only_month]!r} ({self._place(only_month)}) one with the month first; write all alike"
            )
        wrong = next(k for k, label in enumerate(self.labels) if not any(read(label) for read in readings.values()))
        raise InvalidInput(f"{self._place(wrong)}: {self.labels[wrong]!r} is no date of the calendar; correct it")


# Labels: each there, each once, and in which order they stand ---------------------------------------------------------


def period_label(value: object) -> str:
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


# How dates are written ------------------------------------------------------------------------------------------------


def _words(reading: str) -> str:
    return reading.replace("-", " ")


def _is_monotone(keys: Sequence[Any]) -> bool:
    try:
        rising = [a < b for a, b in pairwise(keys)]
        return all(rising) or (not any(rising) and len(set(keys)) == len(keys))
    except TypeError:  # with and without a zone
        return False


def _all(read: Callable[[str], Any], labels: Sequence[str]) -> list[Any] | None:
    keys = []
    for label in labels:
        key = read(label)
        if key is None:
            return None
        keys.append(key)
    times = [key[0] if isinstance(key, tuple) else key for key in keys]
    zones = {time.tzinfo is None for time in times if isinstance(time, datetime)}
    return keys if len(zones) < 2 else None  # with and without a zone, they cannot be compared


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


def _as_text(labels: Sequence[str]) -> list[Any] | None:
    """Return labels of one form that begin with a year, which are compared as text."""
    form = re.sub(r"\d", "0", labels[0])
    alike = form.startswith("0000") and all(re.sub(r"\d", "0", label) == form for label in labels)
    return list(labels) if alike else None


def comparable(labels: Sequence[str]) -> list[Any] | None:
    """Return what labels are compared by as long as nothing has to be guessed, None if that cannot be told."""
    return _all(_number, labels) or _all(_instant, labels) or (_as_text(labels) if labels else None)


def _counted(labels: Sequence[str]) -> list[int] | None:
    """Return the numbers of labels that differ by a number alone, as week 1, week 2, ... do."""
    form = re.sub(r"\d+", "0", labels[0])
    if form.count("0") != 1 or any(re.sub(r"\d+", "0", label) != form for label in labels):
        return None
    return [int(re.search(r"\d+", label)[0][:20]) for label in labels]  # type: ignore[index]


def _day_and_clock(label: str) -> tuple[str, re.Match[str] | None]:
    label = _WEEKDAY.sub("", label.strip(), count=1) if _WEEKDAY.match(label.strip()) else label.strip()
    clock = _CLOCK.search(label)
    return (label[: clock.start()], clock) if clock and clock.end() == len(label) else (label, None)


def _moment(year: str, month: str | int, day: str | int, clock: re.Match[str] | None) -> datetime | None:
    y = int(year)
    if len(year) == 2:
        y += 1900 if y >= 69 else 2000  # as POSIX has it
    hour = int(clock["hour"]) if clock else 0
    if clock and clock["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if clock["half"].lower() == "p" else 0)
    with suppress(ValueError, OverflowError):
        moment = datetime(y, int(month), int(day), hour)
        if clock:
            part = (clock["part"] or "")[:6].ljust(6, "0")
            moment = moment.replace(
                minute=int(clock["minute"]), second=int(clock["second"] or 0), microsecond=int(part)
            )
            if clock["zone"]:
                moment = moment.replace(tzinfo=UTC) - _offset(clock["zone"])
        return moment
    return None


def _offset(zone: str) -> timedelta:
    if zone[0] not in "+-":
        return timedelta()
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timedelta(minutes=minutes if zone[0] == "+" else -minutes)


def _three(label: str) -> re.Match[str] | None:
    return _THREE.fullmatch(_day_and_clock(label)[0])


def _reading(name: str) -> Callable[[str], datetime | None]:
    def read(label: str) -> datetime | None:
        day, clock = _day_and_clock(label)
        parts = _THREE.fullmatch(day)
        if parts is None:
            return None
        a, b, c = parts[1], parts[5], parts[6]
        if name == "day-first":
            return _moment(c, b, a, clock)
        if name == "month-first":
            return _moment(c, a, b, clock)
        dotted = parts[3] is not None  # nobody writes 24.01.31
        return _moment(a, b, c, clock) if len(c) == 2 and len(a) == 2 and not dotted else None

    return read


def _compact(label: str) -> datetime | None:
    """Return the day that eight digits, or the month that six digits, name with the year first."""
    parts = re.fullmatch(r"((?:18|19|20|21)\d{2})(\d{2})(\d{2})?", label)
    return _moment(parts[1], parts[2], parts[3] or 1, None) if parts else None


def _compact_reading(name: str) -> Callable[[str], datetime | None]:
    def read(label: str) -> datetime | None:
        if not re.fullmatch(r"\d{4}(?:18|19|20|21)\d{2}", label):
            return None
        a, b, year = label[:2], label[2:4], label[4:]
        return _moment(year, b, a, None) if name == "day-first" else _moment(year, a, b, None)

    return read


def _year_first(label: str) -> datetime | None:
    day, clock = _day_and_clock(label)
    parts = _YEAR_FIRST.fullmatch(day)
    return _moment(parts[1], parts[3], parts[4], clock) if parts else None


def _year_and_month(label: str) -> datetime | None:
    parts = _YEAR_MONTH.fullmatch(label)
    return _moment(parts[1], parts[2], 1, None) if parts else None


def _month_and_year(label: str) -> datetime | None:
    parts = _MONTH_YEAR.fullmatch(label)
    return _moment(parts[2], parts[1], 1, None) if parts else None


def _named(form: re.Pattern[str]) -> Callable[[str], datetime | None]:
    def read(label: str) -> datetime | None:
        day, clock = _day_and_clock(label)
        parts = form.fullmatch(day)
        month = _MONTHS.get(parts["m"].lower()) if parts else None
        if parts is None or month is None:
            return None
        return _moment(parts["y"], month, parts.groupdict().get("d") or 1, clock)

    return read


def _quarter(form: re.Pattern[str]) -> Callable[[str], datetime | None]:
    def read(label: str) -> datetime | None:
        parts = form.fullmatch(label)
        return _moment(parts["y"], 3 * int(parts["q"]) - 2, 1, None) if parts else None

    return read


def _week(form: re.Pattern[str]) -> Callable[[str], datetime | None]:
    def read(label: str) -> datetime | None:
        parts = form.fullmatch(label)
        with suppress(ValueError):
            if parts:
                return datetime.fromisocalendar(int(parts["y"]), int(parts["w"]), int(parts.groupdict().get("d") or 1))
        return None

    return read


_NAMED_READERS: tuple[Callable[[str], datetime | None], ...] = (
    *(_named(form) for form in _NAMED),
    *(_quarter(form) for form in _QUARTER),
    *(_week(form) for form in _WEEK),
)
