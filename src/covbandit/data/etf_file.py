"""The Kaggle file "US Funds dataset from Yahoo Finance", in its three vintages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from covbandit.core import validation
from covbandit.data.etf_figures import ETF_FUNDS, ETF_YEARS
from covbandit.data.missing import Missing, keep_complete
from covbandit.data.names import as_known, listed
from covbandit.data.returns import Returns, Unit
from covbandit.data.sheet import Sheet, as_number, read_csv
from covbandit.errors import InvalidInput


@dataclass(frozen=True)
class _Vintage:
    """What tells a vintage apart: the column of symbols, its years, and whether there is a column `quote_type`."""

    name: str
    symbols: str
    quote_type: bool
    years: range
    unit: Unit


_VINTAGES = (
    _Vintage("2018", "fund_name", False, range(2010, 2019), "percent"),
    _Vintage("2020", "fund_symbol", False, range(2010, 2020), "percent"),  # the paper's
    _Vintage("2021", "fund_symbol", True, range(2000, 2021), "fraction"),
)


def read_etf_file(
    path: str | PathLike[str],
    funds: Sequence[str] = ETF_FUNDS,
    years: Iterable[int] = ETF_YEARS,
    missing: Missing = "raise",
) -> Returns:
    """Read annual total returns, in percent, from your copy of the Kaggle file the paper used (ETFs.csv).

    The file comes in three vintages, told apart by their headings: 2018 (percent, 2010-2018), 2020 (percent,
    2010-2019, the paper's) and 2021 (fractions, 2000-2020, turned into percent here). Any other heading is refused,
    since units could only be guessed.

    Parameters
    ----------
    path : path
        The file, as downloaded.
    funds : sequence of str
        Symbols. By default those of `etf_returns`.
    years : iterable of int
        Which years. By default 2010 to 2017, which every vintage has.
    missing : {"raise", "drop"}
        Whether a year in which a fund has no return is refused, or left out for all funds and noted. It is never
        taken as zero.

    Returns
    -------
    data.Returns
        ``.problem(risk_aversion)`` makes a problem of it.
    """
    sheet = read_csv(validation.as_path(path, "path"))
    vintage = _vintage(sheet)
    wanted = _years(years, vintage, sheet)
    rows = _rows(sheet, vintage.symbols, funds)
    values = np.array([[_cell(sheet, row, f"fund_return_{year}") for row in rows.values()] for year in wanted])
    labels = [str(year) for year in wanted]
    kept, notes = keep_complete(
        values,
        missing,
        lambda year, fund: (
            f"fund {list(rows)[fund]!r} has no return for {labels[year]} ("
            f"{sheet.place(list(rows.values())[fund], f'fund_return_{labels[year]}')})"
        ),
        labels=list(rows),
        what="years",
        way_out='choose other funds or years, or leave such years out with missing="drop"',
    )
    if kept.sum() < 2:
        raise InvalidInput(
            f"{sheet.source}: only {int(kept.sum())} of the years {labels[0]} to {labels[-1]} has returns of all of "
            f"{listed(tuple(rows))}; at least two are needed: choose other funds or more years"
        )
    return Returns(
        values[kept],
        options=tuple(rows),
        index=[label for label, keep in zip(labels, kept, strict=True) if keep],
        unit=vintage.unit,
        source=f"annual total returns, {sheet.source} ({vintage.name} vintage)",
        notes=notes,
    ).to_percent()


def _vintage(sheet: Sheet) -> _Vintage:
    twice = [name for name, count in Counter(sheet.names).items() if count > 1]
    years = sorted(int(found[1]) for name in sheet.names if (found := re.fullmatch(r"fund_return_(\d{4})", name)))
    quote_type = "quote_type" in sheet.names
    for vintage in _VINTAGES:
        if vintage.symbols in sheet.names and vintage.quote_type == quote_type and years == list(vintage.years):
            if twice:
                raise InvalidInput(f"{sheet.source}: column {twice[0]!r} occurs twice in the header")
            return vintage
    symbols = [name for name in ("fund_symbol", "fund_name") if name in sheet.names]
    found_text = ", ".join(
        [
            f"{len(sheet.names)} columns beginning with {listed(sheet.names[:4])}",
            f"symbols in {symbols[0]!r}" if symbols else "no column 'fund_symbol' or 'fund_name'",
            f"fund_return_YYYY for {len(years)} years, {years[0]} to {years[-1]}" if years else "no fund_return_YYYY",
            "a column 'quote_type'" if quote_type else "no column 'quote_type'",
        ]
    )
    known = "; ".join(
        f"{v.name} ({v.symbols}, {v.years[0]}-{v.years[-1]}, {'with' if v.quote_type else 'without'} quote_type)"
        for v in _VINTAGES
    )
    raise InvalidInput(
        f"{sheet.source} is none of the three vintages of the Kaggle fund file. Found: {found_text}. Known: {known}. "
        "Read other files with data.read_returns"
    )


def _years(years: Iterable[int], vintage: _Vintage, sheet: Sheet) -> list[int]:
    try:
        wanted = sorted(validation.as_count(year, "year") for year in years)
    except TypeError:
        raise InvalidInput(f"years must be a list of years or a range, got {years!r}") from None
    for year in wanted:
        if year not in vintage.years:
            raise InvalidInput(
                f"year {year} is not in {sheet.source}: the {vintage.name} vintage has {vintage.years[0]} to "
                f"{vintage.years[-1]}"
            )
    if len(set(wanted)) < len(wanted):
        raise InvalidInput(f"a year is named twice in {wanted}")
    if len(wanted) < 2:
        raise InvalidInput(f"at least two years are needed for a covariance, got {wanted}")
    return wanted


def _rows(sheet: Sheet, column: str, funds: Sequence[str]) -> dict[str, int]:
    """Return the row of each fund."""
    symbols = [str(cell).strip() for cell in sheet.columns[sheet.names.index(column)]]
    if not symbols:
        raise InvalidInput(f"{sheet.source} has a header but no funds: it is truncated")
    names = as_known(funds, symbols, "fund", sheet.source)
    rows: dict[str, int] = {}
    wanted = set(names)
    for row, symbol in enumerate(symbols):
        if symbol in wanted:
            if symbol in rows:
                raise InvalidInput(
                    f"{sheet.source}: fund {symbol!r} occurs twice, in {sheet.place(rows[symbol])} and in "
                    f"{sheet.place(row)}; remove the wrong one"
                )
            rows[symbol] = row
    return {name: rows[name] for name in names}


def _cell(sheet: Sheet, row: int, column: str) -> float:
    text = str(sheet.columns[sheet.names.index(column)][row]).strip()
    number = as_number(text) if text else float("nan")
    if number is None or (text and np.isnan(number)):  # here only a blank means missing
        raise InvalidInput(f"{sheet.source}, {sheet.place(row, column)}: {text!r} is not a number")
    return number
