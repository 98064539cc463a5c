"""Small made-up files in the shapes of the three vintages of the Kaggle fund file."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

YEARS = {"2018": range(2010, 2019), "2020": range(2010, 2020), "2021": range(2000, 2021)}

# Returns in percent, by fund and year; every vintage tells them in its own way.
RETURNS = {
    fund: {year: round(((7 * year + 11 * k * k) % 61) / 2 - 12, 2) for year in range(2000, 2021)}
    for k, fund in enumerate(("AAA", "BBB", "CCC", "DDD"), 1)
}


def header(vintage: str) -> list[str]:
    """Return headings in the order of the vintage, fewer than it has; years run backwards in all of them."""
    years = YEARS[vintage][::-1]
    if vintage == "2018":
        first = ["fund_name", "fund_extended_name", "category", "net_assets", "fund_return_ytd", "fund_return_3years"]
        return [*first, *(f"fund_return_{year}" for year in years), "fund_alpha_3years"]
    second = {
        "2020": ["fund_extended_name", "category", "investment_strategy"],
        "2021": ["quote_type", "fund_short_name"],
    }
    first = ["fund_symbol", *second[vintage], "fund_return_ytd", "fund_return_10years"]
    both = [f"{kind}_return_{year}" for year in years for kind in ("fund", "category")]
    return [*first, *both, "years_up"]


def rows(vintage: str, returns: Mapping[str, Mapping[int, object]] = RETURNS) -> list[list[str]]:
    """Return a row per fund. Texts hold commas, quotes and line breaks, as those of the real file do."""
    found = []
    for fund, by_year in returns.items():
        row = []
        for name in header(vintage):
            year = name.removeprefix("fund_return_")
            if name in ("fund_symbol", "fund_name"):
                row.append(fund)
            elif name.startswith("fund_return_") and year.isdigit() and len(year) == 4:
                value = by_year.get(int(year), "")
                scaled = round(value / 100, 6) if vintage == "2021" and isinstance(value, float) else value
                row.append(str(scaled))
            elif name == "investment_strategy":
                row.append('Tracks the "TOP 40", before fees.\nFüßli, Inc.')
            else:
                row.append("-3.5" if "return" in name else "x, y")
        found.append(row)
    return found


def write(path: Path, records: Sequence[Sequence[str]], newline: str = "\r\n") -> Path:
    """Write records as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator=newline).writerows(records)
    return path


def vintage_file(folder: Path, vintage: str, returns: Mapping[str, Mapping[int, object]] = RETURNS) -> Path:
    """Write a whole file."""
    return write(folder / "ETFs.csv", [header(vintage), *rows(vintage, returns)], "\n" if vintage == "2018" else "\r\n")
