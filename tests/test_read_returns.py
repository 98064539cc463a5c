"""Returns from tables: files and frames, prices and returns, and what is refused."""

from __future__ import annotations

import datetime
import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
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
        r = cb.data.read_returns(path, kind="returns", unit=unit)
        assert r.values.tolist() == [[1.5, -2.0], [0.5, 1.0], [-1.0, 3.0]]
        assert r.unit == unit
        assert r.source == "table.csv"


def test_which_column_labels_the_periods(tmp_path: Path) -> None:
    def labels(text: str, **arguments: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        r = cb.data.read_returns(_csv(tmp_path, text), kind="returns", **arguments)
        return r.options, r.index

    assert labels("A,B\n1,2\n3,5\n") == (("A", "B"), ("1", "2"))
    assert labels("Year,A\n2019,2\n2020,5\n") == (("A",), ("2019", "2020"))
    assert labels(",A\nx,2\ny,5\n") == (("A",), ("x", "y"))
    assert labels("when,A\nmonday,2\ntuesday,5\n") == (("A",), ("monday", "tuesday"))
    assert labels("A,when\n2,7\n5,8\n", index="when") == (("A",), ("7", "8"))
    assert labels("day,A\n1,2\n3,5\n", options=["day", "A"]) == (("day", "A"), ("1", "2"))
    frame = pd.DataFrame({"A": [1.0, 2.0]}, index=pd.period_range("2024-01", periods=2, freq="M"))
    assert cb.data.read_returns(frame, kind="returns").index == ("2024-01", "2024-02")
    clock = pd.DataFrame({"A": [1.0, 2.0]}, index=pd.to_datetime(["2024-01-02 09:30", "2024-01-02 09:31"]))
    assert cb.data.read_returns(clock, kind="returns").index == ("2024-01-02 09:30:00", "2024-01-02 09:31:00")


def test_newest_first_is_turned_round_and_noted(tmp_path: Path) -> None:
    rows = [f"{day},{a},{b}" for day, a, b in zip(DAYS, *PRICES.values(), strict=True)]
    r = cb.data.read_returns(_csv(tmp_path, "\n".join(["date,A,B", *rows[::-1]])), kind="prices")
    np.testing.assert_allclose(r.values, EXPECTED, rtol=0, atol=1e-15)
    assert r.index == tuple(DAYS[1:])
    assert r.notes == ("the table has the newest period first: it was turned round",)


def test_an_order_that_cannot_be_told_is_noted(tmp_path: Path) -> None:
    path = _csv(tmp_path, "date,A\n31/01/2024,1\n01/02/2024,2\n15/02/2024,3\n")
    r = cb.data.read_returns(path, kind="prices")
    assert r.values.tolist() == [[1.0], [0.5]]
    assert r.index == ("01/02/2024", "15/02/2024")
    assert r.notes == ("the order of periods such as '31/01/2024' cannot be told: they are taken as they stand",)


@pytest.mark.parametrize("mark", ["", " ", "NA", "n/a", "NaN", "null", "None"])
def test_missing_returns_drop_the_round_and_are_counted(mark: str, tmp_path: Path) -> None:
    path = _csv(tmp_path, f"date,A,B\n2024-01,1,2\n2024-02,{mark},3\n2024-03,2,4\n2024-04,5,{mark}\n2024-05,3,1\n")
    r = cb.data.read_returns(path, kind="returns")
    assert r.index == ("2024-01", "2024-03", "2024-05")
    assert r.values.tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 1.0]]
    assert r.notes == (
        "2 of 5 rounds dropped, because a value is missing: first, table.csv, line 3, column 'A': the return is "
        "missing; most often of 'A' (1)",
    )
    with pytest.raises(InvalidInput, match=r"table.csv, line 3, column 'A': the return is missing; leave such rounds"):
        cb.data.read_returns(path, kind="returns", missing="raise")


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
        ("date,A,A\n2024-01,1,2\n2024-02,2,3\n", {}, "option 'A' is named twice"),
        ("date,A,\n2024-01,1,2\n2024-02,2,3\n", {}, "option names must be non-empty strings, got ''"),
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
        (tmp_path / "table.xlsx", r"cannot tell what 'table.xlsx' is: names must end in .csv"),
        (np.zeros((3, 2)), r"got ndarray; make arrays into covbandit.data.Returns\(values, options\)"),
        (pd.DataFrame({"A": [True, False]}, index=["x", "y"]), "row 1, column 'A': True is not a finite number"),
        (pd.DataFrame({"A": [1.0, 2.0]}, index=["x", "x"]), "period 'x' occurs twice, in the data frame, row 1"),
        (pd.DataFrame(), "the data frame has no column of returns"),
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
        f"r = cb.data.read_returns({str(path)!r}, kind='returns')\n"
        "assert len(r) == 3\n"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'skfolio'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
