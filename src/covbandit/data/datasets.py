"""Data sets that are known here: five funds, the paper's Kaggle file, and prices inside installed packages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

import numpy as np

from covbandit.core import validation
from covbandit.core.tables import Table
from covbandit.data.reading import read_returns
from covbandit.data.returns import Returns, Unit
from covbandit.data.selection import Missing, as_known, is_among, keep_complete, listed
from covbandit.data.sheet import Sheet, cell_number, read_csv
from covbandit.errors import InvalidInput, MissingExtra

# Five funds that the package carries ----------------------------------------------------------------------------------

ETF_FUNDS = ("SPY", "EFA", "TLT", "VNQ", "XLE")
ETF_YEARS = range(2010, 2018)

# Annual total returns in percent, a row per fund.
_ETF_RETURNS = (
    (14.93, 2.06, 15.84, 32.21, 13.53, 1.34, 11.80, 21.69),
    (7.52, -12.18, 17.22, 22.62, -5.04, -0.90, 0.96, 24.94),
    (9.25, 33.60, 3.25, -13.91, 27.35, -1.65, 1.36, 8.92),
    (28.44, 8.62, 17.67, 2.42, 30.29, 2.37, 8.53, 4.95),
    (21.70, 2.98, 5.17, 26.16, -8.61, -21.47, 27.95, -1.01),
)


def etf_returns() -> Returns:
    """Return the annual total returns of SPY, EFA, TLT, VNQ and XLE from 2010 to 2017, in percent.

    The paper takes five funds from a Kaggle file (see `read_etf_file`) and does not say which. These are our choice.

    Examples
    --------
    >>> import covbandit as cb
    >>> print(cb.data.etf_returns().summary())
    8 returns in percent, 2010 to 2017, annual total returns of five ETFs of our choice
    largest variance (variance_bound): 269.844
    option   mean     sd     min    max
    SPY     14.18  9.372    1.34  32.21
    EFA     6.893  12.66  -12.18  24.94
    TLT     8.521  14.45  -13.91   33.6
    VNQ     12.91  10.54    2.37  30.29
    XLE     6.609  16.43  -21.47  27.95
    """
    return Returns(
        np.array(_ETF_RETURNS).T,
        options=ETF_FUNDS,
        index=[str(year) for year in ETF_YEARS],
        unit="percent",
        source="annual total returns of five ETFs of our choice",
    )


# The Kaggle file "US Funds dataset from Yahoo Finance", in its three vintages -----------------------------------------


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
    vintage = _vintage_of(sheet)
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


def _vintage_of(sheet: Sheet) -> _Vintage:
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
    number = cell_number(text) if text else float("nan")
    if number is None or (text and np.isnan(number)):  # here only a blank means missing
        raise InvalidInput(f"{sheet.source}, {sheet.place(row, column)}: {text!r} is not a number")
    return number


# Market prices inside an installed package, read from its files without importing it ----------------------------------

_PACKAGE_FOLDER = ("datasets", "data")
_PACKAGED = {
    "skfolio/sp500": ("sp500_dataset.csv.gz", "20 stocks of the S&P 500, daily prices 1990-2022"),
    "skfolio/factors": ("factors_dataset.csv.gz", "5 factor ETFs, daily prices 2014-2022"),
    "skfolio/sp500-index": ("sp500_index.csv.gz", "the S&P 500 index, daily 1990-2022"),
}
"""Those in skfolio's wheel; others it downloads."""


def packaged() -> Table:
    """Return which market data can be read from installed packages.

    Examples
    --------
    >>> import covbandit as cb
    >>> print(cb.data.packaged())
    name                 what                                              installed
    skfolio/sp500        20 stocks of the S&P 500, daily prices 1990-2022  yes
    skfolio/factors      5 factor ETFs, daily prices 2014-2022             yes
    skfolio/sp500-index  the S&P 500 index, daily 1990-2022                yes
    """
    return Table(
        ["name", "what", "installed"],
        [[name, what, "yes" if _is_packaged(name) else "no"] for name, (_, what) in _PACKAGED.items()],
    )


def read_packaged(name: str, options: Sequence[str] | None = None, unit: str = "fraction") -> Returns:
    """Return daily returns from prices that lie inside an installed package (extra ``market``).

    Parameters
    ----------
    name : str
        One of `packaged`.
    options : sequence of str, optional
        Which columns; by default all.
    unit : {"fraction", "percent"}
        What to give.

    Examples
    --------
    >>> import covbandit as cb
    >>> cb.data.read_packaged("skfolio/factors", unit="percent")
    Returns(2,263 rounds of MTUM, QUAL, SIZE, USMV, VLUE; percent; 2014-01-03 to 2022-12-28; skfolio/factors)
    """
    if not is_among(name, _PACKAGED):
        raise InvalidInput(f"no packaged data {name!r}; there are {listed(list(_PACKAGED))}")
    path = _packaged_path(name)
    if path is None:
        raise MissingExtra(f"{name} lies inside the package skfolio: pip install 'covbandit[market]'")
    if not path.is_file():
        raise InvalidInput(
            f"the installed skfolio does not hold {path.name}; the version of it that constraints.txt names does"
        )
    prices = read_returns(path, kind="prices", options=options, unit=unit)
    return Returns(prices.values, prices.options, prices.index, prices.unit, name, prices.notes)


def _packaged_path(name: str) -> Path | None:
    """Return where a file would lie, None if its package is not installed."""
    # The spec of a package at top level is found without running any of its code.
    spec = find_spec(name.split("/")[0])
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0], *_PACKAGE_FOLDER, _PACKAGED[name][0])


def _is_packaged(name: str) -> bool:
    path = _packaged_path(name)
    return path is not None and path.is_file()
