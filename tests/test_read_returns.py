"""Returns from tables: files and frames, prices and returns, and what is refused."""

from __future__ import annotations

import datetime
import gzip
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import covbandit as cb
from covbandit.errors import InvalidInput, MissingExtra

DAYS = ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]
PRICES = {"A": [100.0, 110.0, 99.0, 99.0], "B": [50.0, 50.0, 60.0, 30.0]}
EXPECTED = [[0.1, 0.0], [-0.1, 0.2], [0.0, -0.5]]


def _csv(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _sources(folder: Path) -> dict[str, Any]:
    dated = pd.DataFrame({"date": DAYS, **PRICES})
    indexed = pd.DataFrame(PRICES, index=pd.DatetimeIndex(DAYS))
    found = {
        "csv": folder / "p.csv",
        "gzip": folder / "p.csv.gz",
        "parquet": folder / "p.parquet",
        "parquet, indexed": folder / "q.parquet",
        "parquet, polars": folder / "r.pq",
        "pandas": dated,
        "pandas, indexed": indexed,
        "polars": pl.DataFrame({"date": [datetime.date.fromisoformat(day) for day in DAYS], **PRICES}),
    }
    dated.to_csv(found["csv"], index=False)
    found["gzip"].write_bytes(gzip.compress(found["csv"].read_bytes()))
    dated.to_parquet(found["parquet"], index=False)
    indexed.to_parquet(found["parquet, indexed"])
    found["polars"].write_parquet(found["parquet, polars"])
    return found


def test_every_source_gives_the_same(tmp_path: Path) -> None:
    for kind, source in _sources(tmp_path).items():
        r = cb.data.read_returns(source, kind="prices")
        np.testing.assert_allclose(r.values, EXPECTED, rtol=0, atol=1e-15, err_msg=kind)
        assert (r.options, r.index, r.unit, r.notes) == (("A", "B"), tuple(DAYS[1:]), "fraction", ()), kind
        percent = cb.data.read_returns(source, kind="prices", unit="percent", options=["B", "A"])
        np.testing.assert_allclose(percent.values, 100 * np.array(EXPECTED)[:, ::-1], rtol=0, atol=1e-13)
        assert percent.unit == "percent"
        assert percent.options == ("B", "A")


def test_returns_are_taken_as_they_are(tmp_path: Path) -> None:
    path = _csv(tmp_path, "month,A,B\n2024-01,1.5,-2\n2024-02,0.5,1e0\n\n2024-03,-1,+3\n")
    for unit in ("percent", "fraction"):
        r = cb.data.read_returns(path, kind="returns", unit=unit, check=unit == "percent")
        assert r.values.tolist() == [[1.5, -2.0], [0.5, 1.0], [-1.0, 3.0]]
        assert r.unit == unit
        assert r.source == "table.csv"


def test_which_column_labels_the_periods(tmp_path: Path) -> None:
    def labels(text: str, **arguments: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        r = cb.data.read_returns(_csv(tmp_path, text), kind="returns", unit="percent", **arguments)
        return r.options, r.index

    assert labels("A,B\n1,2\n3,5\n") == (("A", "B"), ("1", "2"))
    assert labels("Year,A\n2019,2\n2020,5\n") == (("A",), ("2019", "2020"))
    assert labels(",A\nx,2\ny,5\n") == (("A",), ("x", "y"))
    assert labels("when,A\nmonday,2\ntuesday,5\n") == (("A",), ("monday", "tuesday"))
    assert labels("A,when\n2,7\n5,8\n", index="when") == (("A",), ("7", "8"))
    assert labels("day,A\n1,2\n3,5\n", options=["day", "A"]) == (("day", "A"), ("1", "2"))
    frame = pd.DataFrame({"A": [1.0, 2.0]}, index=pd.period_range("2024-01", periods=2, freq="M"))
    assert cb.data.read_returns(frame, kind="returns", unit="percent").index == ("2024-01", "2024-02")
    clock = pd.DataFrame({"A": [1.0, 2.0]}, index=pd.to_datetime(["2024-01-02 09:30", "2024-01-02 09:31"]))
    assert cb.data.read_returns(clock, kind="returns", unit="percent").index == (
        "2024-01-02 09:30:00",
        "2024-01-02 09:31:00",
    )


def _stored(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Return the same table in every form that keeps its index."""
    frame.to_parquet(folder / "stored.parquet")
    frame.to_csv(folder / "stored.csv")
    return {"pandas": frame, "parquet": folder / "stored.parquet", "csv": folder / "stored.csv"}


def test_an_index_of_consecutive_years_is_no_plain_count(tmp_path: Path) -> None:
    years = pd.DataFrame({"year": [2022, 2021, 2020], "A": [100.0, 110.0, 99.0]}).set_index("year")
    nameless = pd.DataFrame({"A": [100.0, 110.0, 99.0]}, index=range(2022, 2019, -1))
    for frame in (years, nameless):
        for form, source in _stored(frame, tmp_path).items():
            r = cb.data.read_returns(source, kind="prices")
            np.testing.assert_allclose(r.values, [[110 / 99 - 1], [100 / 110 - 1]], rtol=1e-12, err_msg=form)
            assert r.index == ("2021", "2022"), form
            assert r.notes == ("the table has the newest period first: it was turned round",), form
    assert cb.data.read_returns(years, kind="prices", index="year").index == ("2021", "2022")


def test_a_plain_count_is_no_label(tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [1.0, 2.0, 4.0]})
    frame.to_parquet(tmp_path / "table.parquet")
    for source in (frame, tmp_path / "table.parquet"):
        assert cb.data.read_returns(source, kind="returns", unit="percent").index == ("1", "2", "3")


def test_a_range_that_no_longer_fits_the_rows_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "filtered.parquet"
    table = pa.Table.from_pandas(pd.DataFrame({"A": [1.0, 2.0, 4.0]}, index=range(2020, 2023)))
    pq.write_table(table.slice(1), path)
    assert cb.data.read_returns(path, kind="returns", unit="percent").index == ("1", "2")


def test_row_numbers_give_way_to_a_column_of_dates(tmp_path: Path) -> None:
    years = pd.DataFrame({"year": range(2010, 2014), "A": [1.0, np.nan, 2.0, 4.0], "B": [2.0, 1.0, 5.0, 3.0]})
    dates = years.rename(columns={"year": "Date"}).astype({"Date": "str"}).assign(Date=lambda f: f["Date"] + "-12-31")
    for frame, expected in ((years, ("2010", "2012", "2013")), (dates, ("2010-12-31", "2012-12-31", "2013-12-31"))):
        forms = _stored(frame.dropna(), tmp_path)
        for form, source in {**forms, "csv, read by pandas": pd.read_csv(forms["csv"])}.items():
            r = cb.data.read_returns(source, kind="returns", unit="percent")
            assert (r.options, r.index) == (("A", "B"), expected), form
            assert r.values.tolist() == [[1.0, 2.0], [2.0, 5.0], [4.0, 3.0]]


def test_a_column_named_for_periods_is_never_an_option_unasked(tmp_path: Path) -> None:
    path = _csv(tmp_path, "A,year,B\n1,2010,3\n2,2011,5\n4,2012,1\n")
    dated = pd.DataFrame({"A": [1.0, 2.0, 4.0], "year": [2010, 2011, 2012]}, index=pd.DatetimeIndex(DAYS[:3]))
    for source in (path, pd.read_csv(path), pd.read_csv(path).iloc[1:], dated):
        with pytest.raises(
            InvalidInput, match=r"column 'year' seems to hold periods, .* index='year', .*options=\[\.\.\.\]"
        ):
            cb.data.read_returns(source, kind="returns", unit="percent")
    assert cb.data.read_returns(path, kind="returns", unit="percent", index="year").index == ("2010", "2011", "2012")
    asked = cb.data.read_returns(path, kind="returns", unit="percent", options=["A", "year"], check=False)
    assert asked.options == ("A", "year")
    assert cb.data.read_returns(path, kind="returns", unit="percent", options=["B"]).options == ("B",)


def test_text_that_is_no_number_is_told_how_to_become_labels(tmp_path: Path) -> None:
    for text in (",A,phase\n0,1,x\n1,2,y\n", "phase,A\nx,1\ny,2\n"):
        path = _csv(tmp_path, text)
        with pytest.raises(InvalidInput, match=r"column 'phase': 'x' is not a finite number; .*index='phase'"):
            cb.data.read_returns(path, kind="returns", unit="percent")
        r = cb.data.read_returns(path, kind="returns", unit="percent", index="phase")
        assert (r.options, r.index) == (("A",), ("x", "y"))
    with pytest.raises(
        InvalidInput, match=r"'y' is not a finite number; correct it, or name the .* options=\[\.\.\.\]$"
    ):
        cb.data.read_returns(_csv(tmp_path, "date,A,B\n2024-01,1,2\n2024-02,3,y\n"), kind="returns", unit="percent")


@pytest.mark.parametrize("numbers", [("1,000", "1,100"), ("1%", "2%"), ("5 percent", "6 percent"), ("$5", "$6")])
def test_numbers_badly_written_are_not_taken_as_labels(numbers: tuple[str, str], tmp_path: Path) -> None:
    path = _csv(tmp_path, "A,B\n" + "".join(f'"{number}",{k}\n' for k, number in enumerate(numbers)))
    with pytest.raises(InvalidInput, match=r"line 2, column 'A': '.*' is not a finite number"):
        cb.data.read_returns(path, kind="returns")


@pytest.mark.parametrize(
    "labels",
    [("week 1", "week 2"), ("Q1 2020", "Q2 2020"), ("31.1.2020", "28.2.2020"), ("Jan-20", "Feb-20"), tuple(DAYS)],
)
def test_what_looks_like_periods_labels_them_under_any_heading(labels: tuple[str, ...], tmp_path: Path) -> None:
    rows = "".join(f"{label},{k}\n" for k, label in enumerate(labels))
    r = cb.data.read_returns(_csv(tmp_path, f"trading session,A\n{rows}"), kind="returns", unit="percent")
    assert (r.options, r.index) == (("A",), labels)


@pytest.mark.parametrize(
    "text",
    [
        "0.01,0.02\n0.03,0.01\n0.02,0.05\n",
        "2024-01-02,0.01,0.02\n2024-01-03,0.03,0.01\n2024-01-04,0.02,0.05\n",
        "2024-01-02,100,50\n2024-01-03,101,51\n2024-01-04,103,50\n",
        "2020,1,-2\n2021,3,1\n2022,2,5\n",
    ],
)
def test_a_file_without_headings_is_refused(text: str, tmp_path: Path) -> None:
    path = _csv(tmp_path, text)
    for source in (path, pd.read_csv(path)):
        with pytest.raises(
            InvalidInput, match=r"seems to have no headings: in their place .*; put a line of headings first"
        ):
            cb.data.read_returns(source, kind="returns")


def test_numbers_may_be_names_of_options(tmp_path: Path) -> None:
    r = cb.data.read_returns(
        _csv(tmp_path, "date,1305,1306\n2024-01,1,2\n2024-02,3,1\n"), kind="returns", unit="percent"
    )
    assert r.options == ("1305", "1306")
    assert r.notes == ("the numbers in the first line, such as '1305', are taken as names of options",)
    path = _csv(tmp_path, "date,0.5,0.9\n2024-01,1,2\n2024-02,3,1\n")
    assert cb.data.read_returns(path, kind="returns", unit="percent", options=["0.5", "0.9"]).options == ("0.5", "0.9")
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 1.0]])
    assert cb.data.read_returns(frame, kind="returns", unit="percent").notes == ()


def test_a_column_without_heading_and_values_is_left_out_and_noted(tmp_path: Path) -> None:
    path = _csv(tmp_path, "date,A,,\n2024-01,1,,\n2024-02,2,,\n")  # as spreadsheets write it
    for source in (path, pd.read_csv(path)):
        r = cb.data.read_returns(source, kind="returns", unit="percent")
        assert (r.options, r.index) == (("A",), ("2024-01", "2024-02"))
        assert r.notes == ("2 column(s) with neither a heading nor a value left out",)


def test_columns_not_asked_for_need_no_heading_of_their_own(tmp_path: Path) -> None:
    path = _csv(tmp_path, "date,A,A,B,\n2024-01,1,2,3,4\n2024-02,2,3,6,5\n")
    assert cb.data.read_returns(path, kind="returns", unit="percent", options=iter(["B"])).values.tolist() == [
        [3.0],
        [6.0],
    ]  # type: ignore[arg-type]


def test_a_file_separated_by_vertical_bars_is_refused(tmp_path: Path) -> None:
    path = _csv(tmp_path, "date|A|B\n2024-01|1|2\n2024-02|2|1\n")
    with pytest.raises(InvalidInput, match=r"table.csv is separated by vertical bars: .*; save it with commas, semic"):
        cb.data.read_returns(path, kind="returns")


def test_names_of_files_may_be_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "TABLE.CSV.GZ"
    path.write_bytes(gzip.compress(b"date,A\n2024-01,1\n2024-02,2\n"))
    assert cb.data.read_returns(path, kind="returns", unit="percent").values.tolist() == [[1.0], [2.0]]


_CLOCKS = {
    "hourly": pd.date_range("2024-01-02 22:00", periods=5, freq="h"),
    "by the nanosecond": pd.date_range("2024-01-02", periods=5, freq="ns"),
    "clocks set back": pd.date_range("2024-10-27 01:00", periods=5, freq="h", tz="Europe/Berlin"),
}


@pytest.mark.parametrize("clock", _CLOCKS)
def test_times_of_day_are_put_in_order(clock: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"A": [1.0, 2.0, 4.0, 7.0, 5.0]}, index=_CLOCKS[clock])
    orders = {"as it is": frame, "newest first": frame[::-1], "shuffled": frame.iloc[[0, 2, 1, 3, 4]]}
    for order, table in orders.items():
        stamps = pl.DataFrame({"time": table.index, "A": table["A"].to_numpy()})
        polars = {} if clock == "by the nanosecond" else {"polars": stamps}  # it knows microseconds only, in Python
        for form, source in {**_stored(table, tmp_path), **polars}.items():
            if order == "shuffled":
                with pytest.raises(InvalidInput, match="periods are not in order"):
                    cb.data.read_returns(source, kind="returns", unit="percent")
                continue
            r = cb.data.read_returns(source, kind="returns", unit="percent")
            assert r.values.ravel().tolist() == [1.0, 2.0, 4.0, 7.0, 5.0], (order, form)
            assert len(r.notes) == (order == "newest first"), (order, form)


def test_a_moment_written_in_two_ways_occurs_twice(tmp_path: Path) -> None:
    for first, second in (
        ("2024-10-27 02:00+02:00", "2024-10-27 01:00+01:00"),
        ("2024-10-27", "2024-10-27 00:00"),
        ("2024", "2024.0"),
    ):
        with pytest.raises(InvalidInput, match=r"occurs twice, in table.csv, line 2 and in table.csv, line 3"):
            cb.data.read_returns(_csv(tmp_path, f"date,A\n{first},1\n{second},2\n"), kind="returns")


def test_a_missing_date_is_a_missing_label() -> None:
    days = pd.DatetimeIndex(["2024-01-02", "NaT"])
    for frame in (
        pd.DataFrame({"A": [1.0, 2.0]}, index=days),
        pd.DataFrame({"date": days, "A": [1.0, 2.0]}),
        pd.DataFrame({"A": [1.0, 2.0]}, index=["x", pd.NA]),
    ):
        with pytest.raises(InvalidInput, match=r"row 2.*: the label of the period is missing"):
            cb.data.read_returns(frame, kind="returns")


@pytest.mark.parametrize("unit", ["fraction", "percent"])
def test_returns_that_overflow_are_refused_without_a_warning(unit: str, tmp_path: Path) -> None:
    for prices in ("1e-300\n1e300\n1", "1e-3\n1e305\n1"):
        with pytest.raises(InvalidInput, match=r"option 'A' \(index 0\): the return of '2' is .* not finite or beyond"):
            cb.data.read_returns(_csv(tmp_path, f"A\n{prices}\n"), kind="prices", unit=unit)


def test_newest_first_is_turned_round_and_noted(tmp_path: Path) -> None:
    rows = [f"{day},{a},{b}" for day, a, b in zip(DAYS, *PRICES.values(), strict=True)]
    r = cb.data.read_returns(_csv(tmp_path, "\n".join(["date,A,B", *rows[::-1]])), kind="prices")
    np.testing.assert_allclose(r.values, EXPECTED, rtol=0, atol=1e-15)
    assert r.index == tuple(DAYS[1:])
    assert r.notes == ("the table has the newest period first: it was turned round",)


def test_an_order_that_cannot_be_told_is_noted(tmp_path: Path) -> None:
    path = _csv(tmp_path, "phase,A\nred,1\nblue,2\ngreen,3\n")
    r = cb.data.read_returns(path, kind="prices", index="phase")
    assert r.values.tolist() == [[1.0], [0.5]]
    assert r.index == ("blue", "green")
    assert r.notes == ("the order of periods such as 'red' cannot be told: they are taken as they stand",)
    assert str(r).splitlines()[1:] == [f"note: {r.notes[0]}"]


@pytest.mark.parametrize("mark", ["", " ", "NA", "n/a", "NaN", "null", "None"])
def test_missing_returns_drop_the_round_and_are_counted(mark: str, tmp_path: Path) -> None:
    path = _csv(tmp_path, f"date,A,B\n2024-01,1,2\n2024-02,{mark},3\n2024-03,2,4\n2024-04,5,{mark}\n2024-05,3,1\n")
    r = cb.data.read_returns(path, kind="returns", unit="percent")
    assert r.index == ("2024-01", "2024-03", "2024-05")
    assert r.values.tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 1.0]]
    assert r.notes == (
        "2 of 5 rounds dropped, because a value is missing: first, table.csv, line 3, column 'A': the return is "
        "missing; most often of 'A' (1)",
    )
    with pytest.raises(InvalidInput, match=r"table.csv, line 3, column 'A': the return is missing; leave such rounds"):
        cb.data.read_returns(path, kind="returns", unit="percent", missing="raise")


@pytest.mark.parametrize("source", ["csv", "pandas", "pandas, nullable", "polars"])
def test_a_return_needs_the_prices_at_both_ends(source: str, tmp_path: Path) -> None:
    prices: dict[str, list[Any]] = {"A": [100.0, None, 99.0, 90.0, 99.0], "B": [50.0, 50.0, 60.0, 30.0, 60.0]}
    frame = pd.DataFrame(prices)
    table: Any = {
        "pandas": frame,
        "pandas, nullable": frame.convert_dtypes(),
        "polars": pl.DataFrame(prices),
        "csv": tmp_path / "table.csv",
    }[source]
    frame.to_csv(tmp_path / "table.csv", index=False)
    r = cb.data.read_returns(table, kind="prices")
    np.testing.assert_allclose(r.values, [[90 / 99 - 1, -0.5], [0.1, 1.0]], rtol=1e-12)  # the gap is not bridged
    assert r.index == ("4", "5")
    assert r.notes[0].startswith("2 of 4 rounds dropped")
    assert "the price here or one row earlier is missing" in r.notes[0]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("date,A\n2024-01,1\n2024-01,2\n", {}, r"period '2024-01' occurs twice, in table.csv, line 2 and in .* line 3"),
        ("date,A\n2024-01,1\n2024-03,2\n2024-02,3\n", {}, r"not in order: '2024-02' \(table.csv, line 4\) follows"),
        (
            "date,A\n2024-03,1\n2024-02,2\n2024-01,3\n2024-04,2\n",
            {},
            r"'2024-04' \(table.csv, line 5\) follows '2024-01",
        ),
        ("n,A\n1,1\n10,2\n9,3\n", {"index": "n"}, r"not in order: '9' \(table.csv, line 4\) follows '10'"),
        ("date,A\n2024-01,1\n,2\n", {}, r"line 3, column 'date': the label of the period is missing"),
        ("date,A,B\n2024-01,1,x\n2024-02,2,1\n", {}, r"line 2, column 'B': 'x' is not a finite number; .*options="),
        ("date,A\n2024-01,1\n2024-02,inf\n", {}, r"line 3, column 'A': 'inf' is not a finite number"),
        ("date,A\n2024-01,1\n2024-02,1_0\n", {}, r"line 3, column 'A': '1_0' is not a finite number"),
        ("date,A,A\n2024-01,1,2\n2024-02,2,3\n", {}, "table.csv: column 'A' occurs 2 times; remove or rename"),
        ("date,A,A\n2024-01,1,2\n2024-02,2,3\n", {"options": ["A"]}, "table.csv: column 'A' occurs 2 times"),
        ("date,date,A\n2024-01,x,2\n2024-02,y,3\n", {}, "table.csv: column 'date' occurs 2 times"),
        (
            "date,A,\n2024-01,1,\n2024-02,2,3\n",
            {},
            r"table.csv, line 3: '3' stands in a column without a heading; .*options=",
        ),
        ("date\n2024-01\n2024-02\n", {}, r"table.csv has no column of returns; it has 'date'"),
        ("date,A\n2024-01,1\n", {}, r"has 1 complete round\(s\) of 'A', and two are needed"),
        ("date,A\n", {}, r"has 0 complete round\(s\)"),
        ("date,A,B\n2024-01,1,\n2024-02,,2\n2024-03,3,3\n", {}, r"1 complete round.*; 2 of 3 rounds dropped"),
        ("date,A\n2024-01,1\n2024-02\n", {}, r"line 3: 1 fields, but the header has 2"),
        ('date,A\n2024-01,"1\n', {}, r"line 2: unexpected end of data"),
        ("", {}, "table.csv is empty"),
        ("date,A,B\n2024-01,1,4\n2024-02,2,4\n", {}, r"'B' never changes, every return is 4; leave it out .*\(cash\)"),
        ("date,A\n2024-01,1\n2024-02,2\n", {"kind": "yields"}, 'kind must be "returns" or "prices", got \'yields\''),
        ("date,A\n2024-01,1\n2024-02,2\n", {"unit": "bp"}, r'unit must be "fraction" \(.05\) or "percent" \(5\), got'),
        ("date,A\n2024-01,1\n2024-02,2\n", {"missing": 0}, 'missing must be "drop" or "raise", got 0'),
        ("date,AB\n2024-01,1\n2024-02,2\n", {"options": ["AC"]}, "option 'AC' is not in table.csv; did you mean 'AB'"),
        ("date,A\n2024-01,1\n2024-02,2\n", {"options": "A"}, "must be a list of names"),
        ("date,A\n2024-01,1\n2024-02,2\n", {"options": 5}, "options must be a list of names, got 5"),
        ("date,A\n2024-01,1\n2024-02,2\n", {"index": ["date"]}, r"index must be the name of a column, got \['date'\]"),
        ("date,A\n2024-01,1\n2024-02,2\n", {"kind": np.array(["a", "b"])}, 'kind must be "returns" or "prices", got'),
        ("date,A\n2024-01,1\n2024-02,2\n", {"unit": np.array(["a", "b"])}, 'unit must be "fraction"'),
        ("date,A\n2024-01,1\n2024-02,2\n", {"missing": np.array([1, 2])}, 'missing must be "drop" or "raise"'),
        ("date,A\n2024-01,1\n2024-02,2\n", {"index": "dat"}, "column 'dat' is not in table.csv; did you mean 'date'"),
    ],
)
def test_what_is_refused(text: str, arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.data.read_returns(_csv(tmp_path, text), **{"kind": "returns", **arguments})


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ("1,2\n0,3\n2,2", r"line 3, column 'A': the price 0 is not positive; if these are returns"),
        ("1,2\n2,-3\n2,2", r"line 3, column 'B': the price -3 is not positive"),
        ("1,2\n2,2\n3,2", r"'B' never changes, every return is 0"),
        ("1,2\n2,3", r"has 1 complete round"),
    ],
)
def test_prices_that_are_refused(prices: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        cb.data.read_returns(_csv(tmp_path, f"A,B\n{prices}\n"), kind="prices")


def test_sources_that_are_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing")
    zipped = tmp_path / "broken.csv.gz"
    zipped.write_bytes(gzip.compress(b"A,B\n1,2\n3,4\n" * 50)[:-12])
    for source, message in (
        (broken, "broken.parquet is truncated or not a Parquet file"),
        (zipped, "broken.csv.gz is truncated or not gzip"),
        (tmp_path / "none.parquet", "cannot read .*none.parquet: no such file"),
        (
            tmp_path / "table.xls",
            r"cannot tell what 'table.xls' is: names must end in .csv.*save an old .xls file as .xlsx",
        ),
        (tmp_path / "none.xlsx", "cannot read .*none.xlsx: no such file"),
        (np.zeros((3, 2)), r"got ndarray; make arrays into covbandit.data.Returns\(values, options\)"),
        (pd.DataFrame({"A": [True, False]}, index=["x", "y"]), "row 1, column 'A': True is not a finite number"),
        (pd.DataFrame({"A": [1.0, 2.0]}, index=["x", "x"]), "period 'x' occurs twice, in the data frame, row 1"),
        (pd.DataFrame(), "the data frame has no column of returns"),
        (pd.DataFrame({"A": [10**400, 1]}, dtype=object), "row 1, column 'A': 10+ is not a finite number"),
        (pd.DataFrame({"A": [Decimal("sNaN"), 1]}, dtype=object), "row 1, column 'A': .* is not a finite number"),
        (pd.DataFrame({"A": [np.complex128(1j), 1]}, dtype=object), "row 1, column 'A': .* is not a finite number"),
        ("nul\0.csv", r"cannot read 'nul\\x00.csv': the name of a file cannot contain a null byte"),
        ("nul\0.parquet", r"cannot read 'nul\\x00.parquet': the name of a file cannot contain a null byte"),
    ):
        with pytest.raises(InvalidInput, match=message):
            cb.data.read_returns(source, kind="returns")  # type: ignore[arg-type]


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'covbandit\[parquet\]'"):
        cb.data.read_returns(tmp_path / "table.parquet", kind="returns")


def test_csv_needs_the_core_installation_only(tmp_path: Path) -> None:
    path = _csv(tmp_path, "date,A,B\n2024-01,1,2\n2024-02,2,4\n2024-03,3,1\n")
    code = (
        "import sys, covbandit as cb\n"
        f"r = cb.data.read_returns({str(path)!r}, kind='returns', unit='percent')\n"
        "assert len(r) == 3\n"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'skfolio'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
