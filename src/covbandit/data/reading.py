"""Returns from tables of prices or returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.size_limits import as_n_options
from covbandit.core.typing import F64
from covbandit.data.headings import may_be_period, names_periods, option_names, set_labels_apart, without_blank_columns
from covbandit.data.numbers import Decimal, numbers_in
from covbandit.data.periods import Dates, Periods, order_of, period_label, require_distinct, require_filled
from covbandit.data.plausible import require_plausible
from covbandit.data.returns import Returns, as_unit
from covbandit.data.selection import Missing, is_among, keep_complete, listed
from covbandit.data.sheet import Sheet
from covbandit.data.tabular import as_sheet
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

TableKind = Literal["returns", "prices"]

_LONGEST = 60  # letters of a label in messages


def read_returns(
    source: str | PathLike[str] | pd.DataFrame | pl.DataFrame,
    *,
    kind: TableKind,
    missing: Missing = "drop",
    unit: str = "fraction",
    options: Sequence[str] | None = None,
    index: str | None = None,
    dates: Dates | None = None,
    decimal: Decimal | None = None,
    worksheet: str | None = None,
    check: bool = True,
) -> Returns:
    """Read returns, or prices and turn them into returns, of any frequency.

    The table has one row per period and one column per option, and may have a column of dates.

    Parameters
    ----------
    source : path or DataFrame
        A CSV file (.csv or .tsv, separated by commas, semicolons or tabs, UTF-8, gzipped if it ends in .gz), an Excel
        file (.xlsx, extra ``excel``), a Parquet file (extra ``parquet``), or a pandas or polars DataFrame.
    kind : {"returns", "prices"}
        What the numbers are. From prices, simple returns p_t / p_(t-1) - 1 are made, since those of a mixture are the
        weighted sum of its options'.
    missing : {"drop", "raise"}
        Rounds in which any option is missing are dropped, and ``notes`` of the result says how many; or refused. A
        return needs the prices at both of its ends, in adjacent rows: gaps are not bridged. Missing is what is blank,
        NA, N/A, NaN, null or None; it is never taken as zero.
    unit : {"fraction", "percent"}
        What the returns in the table are given in; for prices, what to give.
    options : sequence of str, optional
        Which columns, in which order; by default all but the column of dates.
    index : str, optional
        The column that labels the periods. By default a data frame's index, unless it only counts rows, or the first
        column if its heading is empty or one of date, datetime, day, week, month, quarter, year, period, time,
        timestamp (or German ones), or if its cells look like dates. Elsewhere a column of such a heading must be named
        here or in `options`.
    dates : {"day-first", "month-first", "year-first"}, optional
        How dates such as 01/02/2024 are meant. Without it one date that settles it (31/01/2024) decides for all; else
        the reading in which the periods are in order, if there is only one; else they are refused.
    decimal : {".", ","}, optional
        The decimal mark of numbers that are text. Without it one number that settles it (0,5 or 1.234,56) decides for
        all; numbers such as 1,234, which may be either, are refused.
    worksheet : str, optional
        Which sheet of an Excel file, if several have cells.
    check : bool
        Whether numbers that cannot be meant are refused: a return of -100 % or less, and what looks like prices read as
        returns, returns read as prices, percent read as fractions or the reverse (`covbandit.data.plausible` has the
        rules). False takes them as they are, and periods whose order cannot be told as they stand.

    Notes
    -----
    Periods must be in order, each once; times with a zone are compared as points in time. Newest first is turned
    round, and noted; anything else out of order is refused. Dates may be written as 2020-01-31, 2020/1/31, 31.1.2020,
    31/01/2020, 1/31/2020, 31 Jan 2020 or Jan 31, 2020, with or without a time of day, months as 2020-01, 01/2020 or
    Jan-20, quarters as 2020Q1 or Q1 2020, weeks as 2020-W05. Labels that are no dates (treatment A) are taken in the
    order of the table, which is noted.

    Examples
    --------
    >>> import pandas as pd, covbandit as cb
    >>> prices = pd.DataFrame({"date": ["2024-01", "2024-02", "2024-03"], "A": [100, 110, 99], "B": [50, 50, 60.0]})
    >>> r = cb.data.read_returns(prices, kind="prices", unit="percent")
    >>> r.index, r.values.round(9).tolist()
    (('2024-02', '2024-03'), [[10.0, 0.0], [-10.0, 20.0]])
    """
    if not is_among(kind, ("returns", "prices")):
        raise InvalidInput(f'kind must be "returns" or "prices", got {kind!r}')
    unit = as_unit(unit)
    check = validation.as_flag(check, "check")
    asked = validation.as_options(options, None)
    notes: list[str] = []
    table = as_sheet(source, worksheet)
    sheet = without_blank_columns(set_labels_apart(table, index, asked or ()), notes)
    if not sheet.names:
        raise InvalidInput(f"{sheet.source} has no column of {kind}; it has {listed(table.names) or 'none at all'}")
    names = option_names(sheet, asked, notes)
    as_n_options(len(names), 1)
    number = numbers_in(sheet, names, decimal)
    values = np.array([_column(sheet, name, number) for name in names]).T.reshape(len(sheet), len(names))
    labels = _labels(sheet)
    periods = Periods(labels, dates, lambda row: f"{sheet.source}, {sheet.place(row)}")
    rows = _in_order(sheet, periods, check, notes)
    if kind == "prices":
        _require_positive(sheet, names, values)
        values, rows = _simple_returns(values[rows]), rows[1:]
    else:
        values = values[rows]
    kept, dropped = keep_complete(
        values,
        missing,
        lambda row, column: f"{sheet.source}, {_gap(sheet, rows, row, names[column], kind)}",
        labels=names,
        what="rounds",
        way_out='leave such rounds out with missing="drop", or such options with options=[...]',
    )
    values, rows = values[kept], rows[kept]
    if len(values) < 2:
        raise InvalidInput(
            f"{sheet.source} has {len(values)} complete round(s) of {listed(names)}, and two are needed at least"
            + ("; " + "; ".join(dropped) if dropped else "")
        )
    _require_movement(sheet, names, values)
    index_labels = [labels[row] for row in rows] if labels else [str(row + 1) for row in rows]
    if check:
        fractions = values / 100 if kind == "returns" and unit == "percent" else values
        require_plausible(fractions, names, index_labels, kind, unit, periods.per_year(), sheet.source)
    returns = Returns(
        values,
        options=names,
        index=index_labels,
        unit="fraction" if kind == "prices" else unit,
        source=sheet.source if sheet.source != "the data frame" else "",
        notes=(*notes, *dropped),
    )
    return returns.to_percent() if unit == "percent" else returns


def _labels(sheet: Sheet) -> list[str]:
    """Return the labels of the rows, none if they have none."""
    labels = [period_label(cell) for cell in sheet.labels or ()]
    require_filled(labels, lambda row: f"{sheet.source}, {sheet.place(row, sheet.labels_name)}")
    return labels


def _in_order(sheet: Sheet, periods: Periods, check: bool, notes: list[str]) -> NDArray[np.int64]:
    """Return the rows from the oldest to the newest, and note what had to be done or assumed."""
    rows = np.arange(len(sheet))
    labels = periods.labels
    if len(labels) < 2:
        return rows
    notes.extend(periods.notes)
    require_distinct(labels, lambda row: f"{sheet.source}, {sheet.place(row)}", periods.keys)
    order = order_of(labels, periods.keys, lambda row: f"{sheet.source}, {sheet.place(row)}")
    if order == "descending":
        notes.append("the table has the newest period first: it was turned round")
        return rows[::-1]
    if order == "unknown":
        named = names_periods(sheet.labels_name or "")
        dated = next((label for label in labels if re.search(r"\d", label) and (named or may_be_period(label))), None)
        if check and dated is not None:
            other = next((label for label in labels if _form(label) != _form(dated)), None)
            also = "" if other is None else f" beside {_shown(other)}"
            raise InvalidInput(
                f"{sheet.source}: the order of periods such as {_shown(dated)}{also} cannot be told; write all of them "
                "alike, as 2024-01-31, or say check=False, and they are taken as they stand"
            )
        notes.append(f"the order of periods such as {_shown(labels[0])} cannot be told: they are taken as they stand")
    return rows


def _shown(label: str) -> str:
    return repr(label if len(label) <= _LONGEST else f"{label[: _LONGEST - 3]}...")


def _form(label: str) -> str:
    return re.sub(r"\d+", "0", label)


def _column(sheet: Sheet, name: str, read: Callable[[object], float | None]) -> list[float]:
    """Return the numbers of a column, NaN where one is missing."""
    cells = sheet.columns[sheet.position(name)]
    numbers: list[float] = []
    for row, cell in enumerate(cells):
        number = read(cell)
        if number is None:
            labels = all(read(other) is None for other in cells)
            raise InvalidInput(
                f"{sheet.source}, {sheet.place(row, name)}: {cell!r} is not a finite number; correct it, or name the "
                f"columns to read with options=[...]{f', or labels of periods with index={name!r}' if labels else ''}"
            )
        numbers.append(number)
    return numbers


def _simple_returns(prices: F64) -> F64:
    with np.errstate(over="ignore"):  # what overflows is refused, by its name, when it becomes Returns
        return np.asarray(prices[1:] / prices[:-1] - 1)


def _gap(sheet: Sheet, rows: NDArray[np.int64], row: int, name: str, kind: TableKind) -> str:
    cause = "the return is missing" if kind == "returns" else "the price here or one row earlier is missing"
    return f"{sheet.place(int(rows[row]), name)}: {cause}"


def _require_positive(sheet: Sheet, names: Sequence[str], prices: F64) -> None:
    bad = prices <= 0
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        raise InvalidInput(
            f"{sheet.source}, {sheet.place(row, names[column])}: the price {prices[row, column]:g} is not positive; if "
            'these are returns, say kind="returns"'
        )


def _require_movement(sheet: Sheet, names: Sequence[str], values: F64) -> None:
    still = (values == values[0]).all(axis=0)
    if still.any():
        column = int(np.argmax(still))
        raise InvalidInput(
            f"{sheet.source}: {names[column]!r} never changes, every return is {values[0, column]:g}; leave it out "
            "with options=[...], or, if it is meant (cash), build covbandit.data.Returns(values, options)"
        )
