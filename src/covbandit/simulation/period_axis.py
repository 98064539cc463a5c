"""An axis of rounds that is labelled by their periods: as many labels as there is room for, at sensible dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import Formatter, Locator

from covbandit.simulation.plotting import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TICKS = 9
_APART = 1.0  # letters (of the font's size) between labels, at least
_OVERHANG = 4.0  # letters by which labels stand out at the ends, at most: another picture may be there
_LONGEST = (24, 14, 8)  # letters of labels that are not dates, tried in this order
_NARROWEST = 0.45  # of the font's size; narrower labels do not exist, so what has more of them need not be measured
_MONTHS_OF_A_QUARTER = 3


class _Ticks(NamedTuple):
    """Rounds, counted from 0, and what stands below them."""

    rounds: Sequence[int]
    labels: Sequence[str]


def label_rounds(ax: Axes, labels: Sequence[str]) -> None:
    """Label an axis of the rounds 1, 2, ... by their periods."""
    locator = _PeriodLocator(labels)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(_PeriodFormatter(locator))


class _PeriodLocator(Locator):
    """Chooses the finest set of labels that do not run into each other, each time the axis is drawn."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._periods = list(labels)
        dates = dates_of(labels)
        numbers = [int(label) for label in labels if re.fullmatch(r"\d{1,9}", label)]
        if numbers and numbers == list(range(numbers[0], numbers[0] + len(labels))):
            self._choices = list(_counted(numbers))
        else:
            self._choices = list(_plain(labels) if dates is None else _calendar(labels, *dates))
        self.labels: dict[int, str] = {}

    def __call__(self) -> list[float]:
        """Return where ticks stand."""
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        return self.tick_values(float(low), float(high))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return where ticks stand between two rounds."""
        box = self.axis.axes.bbox  # type: ignore[union-attr]
        points = box.width * 72 / self.axis.axes.figure.dpi  # type: ignore[union-attr]
        written = self.axis.get_tick_params().get("labelsize", rcParams["xtick.labelsize"])  # type: ignore[union-attr]
        size = FontProperties(size=written).get_size_in_points()
        chosen = _Ticks([], [])
        for choice in self._choices:
            kept = [k for k, round_ in enumerate(choice.rounds) if vmin <= round_ + 1 <= vmax]
            shown = _Ticks([choice.rounds[k] for k in kept], [choice.labels[k] for k in kept])
            if len(shown.rounds) < 2 <= len(chosen.rounds):
                continue
            chosen = shown
            if shown.rounds and _fit(shown, vmin, vmax, points, size):
                break
        else:
            chosen = _Ticks(chosen.rounds[:1], chosen.labels[:1])
        self.labels = dict(zip(chosen.rounds, chosen.labels, strict=True))
        return [float(round_ + 1) for round_ in chosen.rounds]

    def period(self, x: float) -> str:
        """Return the period of the round next to a position."""
        return self._periods[min(max(round(x) - 1, 0), len(self._periods) - 1)]


class _PeriodFormatter(Formatter):
    """Writes what the locator chose."""

    def __init__(self, locator: _PeriodLocator) -> None:
        self._locator = locator

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of a tick; without a position, for the cursor, the period itself."""
        if pos is None:
            return self._locator.period(x)
        return literal(self._locator.labels.get(round(x) - 1, ""))


def _fit(ticks: _Ticks, low: float, high: float, room: float, size: float) -> bool:
    """Return whether labels of so many points stand apart from each other, and not far out at the ends of the room."""
    if len(ticks.rounds) > _MOST_TICKS or len(ticks.rounds) * _NARROWEST * size > room:
        return False
    half = np.array([_width(label, size) for label in ticks.labels]) / 2
    at = (np.array(ticks.rounds) + 1 - low) / max(high - low, 1e-9) * room
    apart = np.all(np.diff(at) >= half[1:] + half[:-1] + _APART * size)
    return bool(apart) and half[0] - at[0] <= _OVERHANG * size and at[-1] + half[-1] - room <= _OVERHANG * size


@lru_cache(maxsize=4096)
def _width(label: str, size: float) -> float:
    """Return how wide a label is, in points."""
    lines = [literal(line) for line in label.split("\n") if line.strip()]
    return max(
        (TextPath((0, 0), line, prop=FontProperties(size=size)).get_extents().width for line in lines), default=0
    )


def _counted(numbers: Sequence[int]) -> Iterator[_Ticks]:
    """Yield round numbers: all, every second, fifth, tenth, ..."""
    for step in (factor * 10**k for k in range(10) for factor in (1, 2, 5)):
        rounds = [k for k, number in enumerate(numbers) if number % step == 0]
        if rounds:
            yield _Ticks(rounds, [str(numbers[k]) for k in rounds])


def _plain(labels: Sequence[str]) -> Iterator[_Ticks]:
    """Yield fewer and fewer labels, equally far apart, always the first and the last."""
    n = len(labels)
    for longest in _LONGEST:
        for count in range(min(n, _MOST_TICKS), 1, -1):
            rounds = np.unique(np.linspace(0, n - 1, count).round().astype(int)).tolist()
            yield _Ticks(rounds, [_shortened(labels[k], longest) for k in rounds])
    yield _Ticks([0], [_shortened(labels[0], _LONGEST[-1])])


def _shortened(label: str, letters: int) -> str:
    """Return a label with its middle left out: names of many things often differ at the end."""
    if len(label) <= letters or "\n" in label:
        return label
    return f"{label[: letters // 2]}…{label[1 - letters + letters // 2 :]}"


# Dates ----------------------------------------------------------------------------------------------------------------


def dates_of(labels: Sequence[str]) -> tuple[list[datetime], bool] | None:
    """Return the points in time that labels name, and whether by quarters; None if one of them names none.

    Known are years, months, quarters (2020Q1), days and times of day in ISO order, and days as 31.01.2020.
    """
    read: list[Callable[[str], datetime]] = [_read_part_of_a_year, _read_quarter, datetime.fromisoformat, _read_dotted]
    for reader in read:
        try:
            found = [reader(label.replace("/", "-")) for label in labels]
        except ValueError:
            continue
        return [moment.replace(tzinfo=None) for moment in found], reader is _read_quarter
    return None


def _read_part_of_a_year(label: str) -> datetime:
    found = re.fullmatch(r"([12]\d{3})(?:-(\d\d))?", label)
    if found is None:
        raise ValueError(label)
    return datetime(int(found[1]), int(found[2] or 1), 1)


def _read_quarter(label: str) -> datetime:
    found = re.fullmatch(r"([12]\d{3})[- ]?[qQ]([1-4])", label)
    if found is None:
        raise ValueError(label)
    return datetime(int(found[1]), _MONTHS_OF_A_QUARTER * int(found[2]) - 2, 1)


def _read_dotted(label: str) -> datetime:
    return datetime.strptime(label, "%d.%m.%Y")


class _Unit(NamedTuple):
    """A part of the calendar: its number since long ago, the multiples that people count in, and how it is written."""

    number: Callable[[datetime], int]
    steps: Sequence[int]
    form: str


def _second(at: datetime) -> int:
    return at.toordinal() * 86_400 + at.hour * 3_600 + at.minute * 60 + at.second


_UNITS = (
    _Unit(_second, (1, 5, 15, 30), "%H:%M:%S\n%Y-%m-%d"),
    _Unit(lambda at: _second(at) // 60, (1, 5, 15, 30, 60, 120, 180, 360, 720), "%H:%M\n%Y-%m-%d"),
    _Unit(datetime.toordinal, (1, 2), "%Y-%m-%d"),
    _Unit(lambda at: (at.toordinal() - 1) // 7, (1, 2), "%Y-%m-%d"),  # from Monday
    _Unit(lambda at: 12 * at.year + at.month - 1, (1, 2, 3, 6), "%Y-%m"),
    _Unit(lambda at: at.year, (1, 2, 5, 10, 20, 50, 100, 200, 500), "%Y"),
)


def _calendar(labels: Sequence[str], dates: list[datetime], quarters: bool) -> Iterator[_Ticks]:
    """Yield every label, then fewer and fewer: at the first round of every day, month, second month, ... century."""
    yield _Ticks(range(len(labels)), labels)
    # Whether the first round begins a period is seen from when the round before it would have been.
    spacing = (dates[-1] - dates[0]) / max(len(dates) - 1, 1)
    earlier = dates[0] - spacing if dates[0].year > 1 and spacing.days >= 0 else dates[0]
    by_day = all(moment.time() == dates[0].time() for moment in dates)
    for unit in _UNITS[2 if by_day else 0 :]:
        numbers = np.array([unit.number(moment) for moment in dates])
        for step in unit.steps:
            parts = numbers // step
            rounds = np.flatnonzero(np.diff(parts, prepend=unit.number(earlier) // step)).tolist()
            if rounds:
                yield _Ticks(rounds, _without_repeated_days([_written(dates[k], unit.form, quarters) for k in rounds]))
    form = "%Y-%m-%d" if by_day else "%H:%M\n%Y-%m-%d"
    yield from _plain([_written(moment, form, False) for moment in dates])  # shorter than the calendar's parts


def _written(moment: datetime, form: str, quarters: bool) -> str:
    if quarters and form == "%Y-%m":
        return f"{moment.year}Q{(moment.month - 1) // _MONTHS_OF_A_QUARTER + 1}"
    return moment.strftime(form.replace("%Y", f"{moment.year:04d}"))


def _without_repeated_days(labels: list[str]) -> list[str]:
    """Leave the day below a time out where the label before has the same."""
    days = [label.partition("\n")[2] for label in labels]
    return [
        label.partition("\n")[0] + "\n" if k and days[k] and days[k] == days[k - 1] else label
        for k, label in enumerate(labels)
    ]
