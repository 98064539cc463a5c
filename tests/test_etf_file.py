"""The user's own copy of the Kaggle fund file: three vintages read, everything else refused with a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput
from fund_files import RETURNS, YEARS, header, rows, vintage_file, write

FUNDS = ["CCC", "AAA"]
VINTAGES = list(YEARS)


@pytest.mark.parametrize("vintage", VINTAGES)
def test_every_vintage_gives_the_same_returns_in_percent(vintage: str, tmp_path: Path) -> None:
    r = cb.data.read_etf_file(vintage_file(tmp_path, vintage), FUNDS)
    assert r.options == ("CCC", "AAA")
    assert r.unit == "percent"
    assert r.index == tuple(str(year) for year in range(2010, 2018))
    expected = [[RETURNS[fund][year] for fund in FUNDS] for year in range(2010, 2018)]
    np.testing.assert_allclose(r.values, expected, rtol=1e-12)
    assert r.source == f"annual total returns, ETFs.csv ({vintage} vintage)"
    assert r.notes == ()
    problem = r.problem(risk_aversion=0.1, min_weight=0.2)
    assert problem.options == r.options
    assert problem.min_weight == 0.2
    np.testing.assert_array_equal(problem.mean, r.mean)


@pytest.mark.parametrize("vintage", VINTAGES)
def test_all_years_of_a_vintage(vintage: str, tmp_path: Path) -> None:
    path = vintage_file(tmp_path, vintage)
    years = YEARS[vintage]
    assert len(cb.data.read_etf_file(path, FUNDS, years)) == len(years)
    chosen = cb.data.read_etf_file(str(path), FUNDS, [2015, 2011, 2017])
    assert chosen.index == ("2011", "2015", "2017")
    for year in (years[0] - 1, years[-1] + 1):
        with pytest.raises(
            InvalidInput, match=rf"year {year} is not in ETFs.csv: the {vintage} .* {years[0]} to {years[-1]}"
        ):
            cb.data.read_etf_file(path, FUNDS, [2012, year])


def test_the_default_is_the_preset(tmp_path: Path) -> None:
    figures = cb.data.etf_returns()
    by_fund = {
        fund: {int(year): float(x) for year, x in zip(figures.index, column, strict=True)}
        for fund, column in zip(figures.options, figures.values.T, strict=True)
    }
    r = cb.data.read_etf_file(vintage_file(tmp_path, "2020", by_fund))
    np.testing.assert_array_equal(r.values, figures.values)
    assert r.options == figures.options
    mine, preset = r.problem(0.1), cb.problems.etf()
    assert {**mine.to_dict(), "name": preset.name} == preset.to_dict()


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = vintage_file(tmp_path, "2020")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(cb.data.read_etf_file(path, FUNDS)) == 8


def _without(vintage: str, *names: str) -> list[list[str]]:
    kept = [k for k, name in enumerate(header(vintage)) if name not in names]
    return [[row[k] for k in kept] for row in [header(vintage), *rows(vintage)]]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (_without("2021", "quote_type"), r"symbols in 'fund_symbol', .* for 21 years, 2000 to 2020, no column 'quote_"),
        (_without("2018", "fund_return_2018"), r"symbols in 'fund_name', fund_return_YYYY for 8 years, 2010 to 2017"),
        (_without("2020", "fund_return_2014"), r"for 9 years, 2010 to 2019"),
        (
            _without("2020", "fund_symbol"),
            r"beginning with 'fund_extended_name', .*no column 'fund_symbol' or 'fund_na",
        ),
        ([["Date", "SPY"], ["2020-01-02", "1.5"]], r"2 columns beginning with 'Date', 'SPY', .*no fund_return_YYYY"),
    ],
)
def test_other_headers_are_refused_with_what_was_found(records: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "ETFs.csv", records)
    with pytest.raises(InvalidInput, match=rf"none of the three vintages.* Found: .*{message}.*Known: 2018"):
        cb.data.read_etf_file(path, FUNDS)


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    records = [[*row, row[-1]] for row in [header("2020"), *rows("2020")]]
    with pytest.raises(InvalidInput, match="column 'years_up' occurs twice"):
        cb.data.read_etf_file(write(tmp_path / "ETFs.csv", records), FUNDS)


@pytest.mark.parametrize("text", ["n.a.", "12,5", "12.5%", "nan", "inf", "1_0", "--"])
def test_text_in_numbers_is_refused_by_line_and_column(text: str, tmp_path: Path) -> None:
    returns = {**RETURNS, "CCC": {**RETURNS["CCC"], 2013: text}}
    path = vintage_file(tmp_path, "2018", returns)
    message = re.escape(f"ETFs.csv, line 4, column 'fund_return_2013': {text!r} is not a number")
    with pytest.raises(InvalidInput, match=message):
        cb.data.read_etf_file(path, FUNDS)
    assert len(cb.data.read_etf_file(path, ["AAA", "BBB"])) == 8  # others are not concerned


def test_lines_are_counted_through_texts_with_line_breaks(tmp_path: Path) -> None:
    returns = {**RETURNS, "CCC": {**RETURNS["CCC"], 2013: "x"}}
    with pytest.raises(InvalidInput, match=r"line 6, column 'fund_return_2013'"):  # two lines per fund
        cb.data.read_etf_file(vintage_file(tmp_path, "2020", returns), FUNDS)


def test_a_symbol_twice_is_refused_if_it_is_wanted(tmp_path: Path) -> None:
    records = [header("2018"), *rows("2018"), rows("2018")[0]]
    path = write(tmp_path / "ETFs.csv", records)
    with pytest.raises(InvalidInput, match="fund 'AAA' occurs twice, in line 2 and in line 6"):
        cb.data.read_etf_file(path, FUNDS)
    assert len(cb.data.read_etf_file(path, ["BBB", "CCC"])) == 8


@pytest.mark.parametrize("vintage", VINTAGES)
def test_a_missing_year_is_never_a_zero(vintage: str, tmp_path: Path) -> None:
    returns = {**RETURNS, "CCC": {**RETURNS["CCC"], 2010: "", 2011: " "}}
    path = vintage_file(tmp_path, vintage, returns)
    with pytest.raises(InvalidInput, match=r"'CCC' has no return for 2010 \(line .*'fund_return_2010'\); choose other"):
        cb.data.read_etf_file(path, FUNDS)
    r = cb.data.read_etf_file(path, FUNDS, missing="drop")
    assert r.index == tuple(str(year) for year in range(2012, 2018))
    assert len(r.notes) == 1
    assert r.notes[0].startswith("2 of 8 years dropped")
    whole = cb.data.read_etf_file(vintage_file(tmp_path, vintage), FUNDS)
    np.testing.assert_array_equal(r.values, whole.values[2:])


def test_too_few_years(tmp_path: Path) -> None:
    path = vintage_file(tmp_path, "2020", {**RETURNS, "CCC": {2017: 3.0}})
    with pytest.raises(InvalidInput, match="only 1 of the years 2010 to 2017 has returns of all of 'CCC', 'AAA'"):
        cb.data.read_etf_file(path, FUNDS, missing="drop")
    with pytest.raises(InvalidInput, match=r"at least two years are needed for a covariance, got \[2017\]"):
        cb.data.read_etf_file(path, FUNDS, [2017])


@pytest.mark.parametrize(
    ("funds", "message"),
    [
        (["AAA", "BBC"], "fund 'BBC' is not in ETFs.csv; did you mean 'BBB'"),
        (["aaa"], "fund 'aaa' is not in ETFs.csv; did you mean 'AAA'"),
        (["zq"], "fund 'zq' is not in ETFs.csv; there are 'AAA', 'BBB', 'CCC', 'DDD'"),
        (["AAA", "AAA"], "option 'AAA' is named twice"),
        ("AAA", "must be a list of names, got the single string 'AAA'"),
        ([], "no fund is named"),
    ],
)
def test_funds_that_are_not_there(funds: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.data.read_etf_file(vintage_file(tmp_path, "2020"), funds)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"years": 2012}, "years must be a list of years or a range, got 2012"),
        ({"years": ["2012", "2013"]}, "year must be a whole number, got '2012'"),
        ({"years": [2012, 2012]}, "a year is named twice"),
        ({"missing": "zero"}, 'missing must be "drop" or "raise", got \'zero\''),
    ],
)
def test_arguments_that_make_no_sense(arguments: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.data.read_etf_file(vintage_file(tmp_path, "2020"), FUNDS, **arguments)


def test_damaged_files(tmp_path: Path) -> None:
    path = vintage_file(tmp_path, "2020")
    whole = path.read_bytes()
    damaged = {
        b"": "ETFs.csv is empty",
        b"\r\n\r\n": "ETFs.csv is empty",
        whole[: whole.index(b"\r\n") + 2]: "has a header but no funds",
        whole[:-40]: r"line 8: \d+ fields, but the header has 27; the file is truncated",
        whole[: whole.rindex(b"before fees")]: "line 8: unexpected end of data; the file is truncated",
        whole.replace("Füßli".encode(), "Füßli".encode("latin-1"), 1): "line 3: byte 0xfc is not UTF-8",
        b"PK\x03\x04\xff\xfe": "line 1: byte 0xff is not UTF-8",
        whole.replace(b",", b"|"): r"ETFs.csv is separated by vertical bars: its header is 'fund_symbol",
    }
    for content, message in damaged.items():
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=message):
            cb.data.read_etf_file(path, FUNDS)
    with pytest.raises(InvalidInput, match=r"cannot read .*nowhere.csv: no such file"):
        cb.data.read_etf_file(tmp_path / "nowhere.csv", FUNDS)
    with pytest.raises(InvalidInput, match="cannot read"):
        cb.data.read_etf_file(tmp_path, FUNDS)
    with pytest.raises(InvalidInput, match=r"cannot read 'nul\\x00.csv': "):
        cb.data.read_etf_file("nul\0.csv", FUNDS)
    with pytest.raises(InvalidInput, match=r"path must be the name of a file or folder, got None"):
        cb.data.read_etf_file(None, FUNDS)  # type: ignore[arg-type]


def test_returns_that_overflow_are_refused_without_a_warning(tmp_path: Path) -> None:
    returns = {**RETURNS, "CCC": {**RETURNS["CCC"], 2013: "1e307"}}
    with pytest.raises(InvalidInput, match=r"option 'CCC' .*: the return of '2013' is 1e\+307"):
        cb.data.read_etf_file(vintage_file(tmp_path, "2021", returns), FUNDS)
