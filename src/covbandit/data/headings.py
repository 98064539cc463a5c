"""Which column of a table labels the periods, and which are options."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from covbandit.data.periods import period_label
from covbandit.data.selection import as_known, listed
from covbandit.data.sheet import Sheet, cell_number
from covbandit.errors import InvalidInput

_PERIODS = frozenset(
    {"date", "datetime", "day", "week", "month", "quarter", "year", "period", "time", "timestamp"}
    | {"datum", "tag", "woche", "monat", "quartal", "jahr", "zeit"}  # as spreadsheets in German write them
)
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}(?!\d).*|\d{1,2}([-/.])\d{1,2}\1\d{2,4}(?!\d).*")
# Without a year or a day (12/19, 31.12., 50/2024), halves, months and thirds by number (H2 2022, 2019M11).
_SHORT = re.compile(
    r"\d{1,2}/(?:\d{2}|\d{4})|\d{1,2}\.\d{1,2}\.|[HMST]\d{1,2}[-/ ]?\d{4}|\d{4}[-/ ]?[HMST年]\d{1,2}月?"
)
_CALENDAR = re.compile(
    r"(?<![a-z])(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez|mon|tue|wed"
    r"|thu|fri|sat|sun|day|week|quarter|year|[qw](?![a-z]))",
    re.IGNORECASE,
)

_PICK = "name the columns to read with options=[...]"


def set_labels_apart(sheet: Sheet, index: str | None, asked: Collection[str]) -> Sheet:
    """Return the sheet with its labels of periods, if it has any, kept apart from the columns of options.

    Parameters
    ----------
    sheet : Sheet
        As it came.
    index : str or None
        The heading of the labels, if the user named it.
    asked : collection of str
        Headings that the user wants as options, which are then no labels.
    """
    if index is not None and not isinstance(index, str):
        raise InvalidInput(f"index must be the name of a column, got {index!r}")
    # A first column without a heading is how an index is written to a CSV file.
    if sheet.labels is None and sheet.names and _is_nameless(sheet.names[0]) and sheet.names[0] not in (index, *asked):
        sheet = _set_apart(sheet, 0)
    if index is not None and index != sheet.labels_name:
        (name,) = as_known([index], sheet.names, "column", sheet.source)
        return _set_apart(sheet, sheet.position(name))
    if not sheet.names or sheet.names[0] in asked:
        return sheet
    if names_periods(sheet.names[0]):
        return _set_apart(sheet, 0) if _only_counts_rows(sheet) else sheet
    return _set_apart(sheet, 0) if sheet.labels is None and _are_periods(sheet.columns[0]) else sheet


def without_blank_columns(sheet: Sheet, notes: list[str]) -> Sheet:
    """Return the sheet without columns that have neither a heading nor a value, and note how many there were.

    Spreadsheets write them, as commas at the end of each line.
    """
    kept = [
        k
        for k, (name, cells) in enumerate(zip(sheet.names, sheet.columns, strict=True))
        if not (_is_nameless(name) and all(_is_missing(cell) for cell in cells))
    ]
    blank = len(sheet.names) - len(kept)
    if blank:
        notes.append(f"{blank} column(s) with neither a heading nor a value left out")
    return _only(sheet, kept)


def option_names(sheet: Sheet, asked: Sequence[str] | None, notes: list[str]) -> tuple[str, ...]:
    """Return the headings of the options: those asked for, else all, if each is fit to be one."""
    if asked is None:
        _require_names(sheet)
        _require_header(sheet, notes)
    names = sheet.names if asked is None else asked
    _require_once(sheet, names)
    return as_known(names, sheet.names, "option", sheet.source)


def _set_apart(sheet: Sheet, k: int) -> Sheet:
    name = sheet.names[k]
    nameless = _is_nameless(name)
    if not nameless:
        _require_once(sheet, [name])
    rest = _only(sheet, [other for other in range(len(sheet.names)) if other != k])
    return replace(rest, labels=sheet.columns[k], labels_name=None if nameless else name)


def _only(sheet: Sheet, kept: Sequence[int]) -> Sheet:
    return replace(sheet, names=[sheet.names[k] for k in kept], columns=[sheet.columns[k] for k in kept])


def _only_counts_rows(sheet: Sheet) -> bool:
    """Return True if the labels say less than a column of dates: there are none, or row numbers that a filter left."""
    return sheet.labels is None or (
        sheet.labels_name is None and all(period_label(cell).isdecimal() for cell in sheet.labels)
    )


def _is_nameless(name: str) -> bool:
    return not name or re.fullmatch(r"Unnamed: \d+", name) is not None  # as pandas.read_csv calls them


def names_periods(name: str) -> bool:
    """Return True if a heading says that its column labels periods."""
    return name.lower() in _PERIODS


def _are_periods(cells: Sequence[object]) -> bool:
    return bool(cells) and all(cell_number(cell) is None and is_period(period_label(cell)) for cell in cells)


def is_period(label: str) -> bool:
    """Return True if a label looks like a date or another period of time."""
    return _DATE.fullmatch(label) is not None or _CALENDAR.search(label) is not None


def may_be_period(label: str) -> bool:
    """Return True if a label may say when something was, although nobody can tell exactly when."""
    return is_period(label) or _SHORT.fullmatch(label) is not None


def _is_missing(cell: object) -> bool:
    number = cell_number(cell)
    return number is not None and bool(np.isnan(number))


def _require_names(sheet: Sheet) -> None:
    """Raise if a heading is none, or says that its column holds periods."""
    for name, cells in zip(sheet.names, sheet.columns, strict=True):
        if _is_nameless(name):
            row = next(row for row, cell in enumerate(cells) if not _is_missing(cell))
            raise InvalidInput(
                f"{sheet.source}, {sheet.place(row)}: {cells[row]!r} stands in a column without a heading; give it "
                f"one, or {_PICK}"
            )
        if names_periods(name):
            raise InvalidInput(
                f"{sheet.source}: column {name!r} seems to hold periods, not an option; if it labels them, say "
                f"index={name!r}, otherwise {_PICK}"
            )


def _require_header(sheet: Sheet, notes: list[str]) -> None:
    """Raise if the first line of a file seems to hold data, not headings; note it where that cannot be told."""
    if any((number := cell_number(name)) is None or np.isnan(number) for name in sheet.names):
        return
    dated = _DATE.fullmatch(sheet.labels_name or "") is not None
    # Symbols of funds may be whole numbers, such as 1305.
    if dated or not all(name.isdecimal() for name in sheet.names):
        raise InvalidInput(
            f"{sheet.source} seems to have no headings: in their place it has {listed(sheet.names)}; put a line of "
            f"headings first, or, if these are names, {_PICK}"
        )
    if sheet.lines is not None:
        notes.append(f"the numbers in the first line, such as {sheet.names[0]!r}, are taken as names of options")


def _require_once(sheet: Sheet, names: Sequence[str]) -> None:
    counts = Counter(sheet.names)
    for name in names:
        if counts[name] > 1:
            raise InvalidInput(
                f"{sheet.source}: column {name!r} occurs {counts[name]} times; remove or rename what is too many"
            )
