"""Histories as people have them: dates, decimal commas and spreadsheets, and numbers that cannot be meant."""

from __future__ import annotations

import builtins
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import covbandit as cb
from covbandit.data.datasets import _packaged_path
from covbandit.data.periods import Periods
from covbandit.errors import InvalidInput, MissingExtra

MONTHS = [day.date() for day in pd.date_range("2020-01-31", periods=30, freq="ME")]
RNG = np.random.default_rng(7)
RETURNS = RNG.normal(0.01, 0.05, (30, 2))
PRICES = 100 * np.cumprod(1 + RETURNS, axis=0)

FORMS = {
    "iso": "%Y-%m-%d",
    "US": "%m/%d/%Y",
    "US, short": "%m/%d/%y",
    "German": "%d.%m.%Y",
    "German, short": "%d.%m.%y",
    "British": "%d/%m/%Y",
    "Dutch": "%d-%m-%Y",
    "year first": "%Y/%m/%d",
    "year first, dots": "%Y.%m.%d",
    "named": "%d %b %Y",
    "named, dashes": "%d-%b-%y",
    "named, US": "%b %d, %Y",
    "named, long": "%A, %d %B %Y",
    "compact": "%Y%m%d",
    "compact, day first": "%d%m%Y",
    "with a time": "%d.%m.%Y 17:30",
    "with a half day": "%m/%d/%Y 5:30:15 PM",
    "with a zone": "%d/%m/%Y 17:30:00 +01:00",
    "month and year": "%b-%y",
    "month, number": "%m/%Y",
}


def _file(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _dated(folder: Path, form: str, order: list[int]) -> Path:
    rows = [f'"{MONTHS[k]:{form}}",{PRICES[k, 0]},{PRICES[k, 1]}' for k in order]
    return _file(folder, "\n".join(["date,A,B", *rows]))


@pytest.mark.parametrize("form", FORMS)
def test_newest_first_is_turned_round_whatever_the_dates_look_like(form: str, tmp_path: Path) -> None:
    usual = cb.data.read_returns(_dated(tmp_path, FORMS[form], list(range(30))), kind="prices")
    turned = cb.data.read_returns(_dated(tmp_path, FORMS[form], list(range(29, -1, -1))), kind="prices")
    np.testing.assert_allclose(usual.values, RETURNS[1:], atol=1e-12)
    np.testing.assert_array_equal(turned.values, usual.values)
    assert turned.index == usual.index
    assert usual.index[0] == f"{MONTHS[1]:{FORMS[form]}}"  # labels stay as they are written
    assert usual.notes == ()
    assert turned.notes == ("the table has the newest period first: it was turned round",)
    assert "note: the table has the newest period first" in str(turned)


@pytest.mark.parametrize("form", FORMS)
def test_shuffled_dates_are_refused_whatever_they_look_like(form: str, tmp_path: Path) -> None:
    path = _dated(tmp_path, FORMS[form], [0, 1, 2, 7, *range(3, 7), *range(8, 30)])
    with pytest.raises(InvalidInput, match=r"periods are not in order: .* \(table.csv, line \d+\) follows"):
        cb.data.read_returns(path, kind="prices")


def test_a_date_written_in_two_ways_occurs_twice(tmp_path: Path) -> None:
    path = _file(tmp_path, "date,A\n31.1.2024,0.1\n29.2.2024,0.2\n29.02.2024,-0.1\n")
    with pytest.raises(InvalidInput, match=r"period '29.02.2024' occurs twice, in table.csv, line 3 and in"):
        cb.data.read_returns(path, kind="returns")


_AMBIGUOUS = "date,A,B\n01/02/2024,0.01,0.02\n02/02/2024,-0.02,0.01\n03/02/2024,0.03,-0.01\n"


def test_dates_that_can_be_read_in_two_ways_are_refused_with_both(tmp_path: Path) -> None:
    path = _file(tmp_path, _AMBIGUOUS)
    with pytest.raises(InvalidInput) as refused:
        cb.data.read_returns(path, kind="returns")
    for part in ("line 2", "2024-02-01", 'dates="day-first"', "2024-01-02", 'dates="month-first"'):
        assert part in str(refused.value)
    for dates in ("day-first", "month-first"):
        assert len(cb.data.read_returns(path, kind="returns", dates=dates)) == 3
    with pytest.raises(InvalidInput, match=r"dates must be one of 'day-first', .* got 'american'"):
        cb.data.read_returns(path, kind="returns", dates="american")  # type: ignore[arg-type]


def test_the_only_reading_in_order_is_taken_and_noted(tmp_path: Path) -> None:
    months = ["01/11/2023", "01/12/2023", "02/01/2024", "01/02/2024", "01/03/2024"]  # 2 January, then 1 February
    rows = "".join(f"{label},{k * (-1) ** k}\n" for k, label in enumerate(months))
    r = cb.data.read_returns(_file(tmp_path, f"date,A\n{rows}"), kind="returns", unit="percent")
    assert r.notes == ("dates such as '01/11/2023' are read day first: only so are they in order",)
    assert r.index == tuple(months)


def test_dots_mean_the_day_first(tmp_path: Path) -> None:
    r = cb.data.read_returns(_file(tmp_path, _AMBIGUOUS.replace("/", ".")), kind="returns")
    assert r.notes == ("dates such as '01.02.2024' are read day first, as dates with dots are written",)


@pytest.mark.parametrize(
    ("labels", "dates", "message"),
    [
        (["31/01/2024", "02/28/2024"], None, r"'31/01/2024' \(row 1\) is a date with the day first, '02/28/2024'"),
        (["30/02/2024", "31/03/2024"], None, "row 1: '30/02/2024' is no date of the calendar"),
        (["31/01/2024", "28/02/2024"], "month-first", "row 1: '31/01/2024' is no date month first, as dates="),
        (["24/01/05", "24/01/06"], None, r"2005-01-24 \(day first.* or 2024-01-05 \(year first"),
    ],
)
def test_dates_that_are_refused(labels: list[str], dates: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Periods(labels, dates)


def test_dates_of_several_forms_are_refused_unless_they_are_said_to_be_right(tmp_path: Path) -> None:
    path = _file(tmp_path, "date,A\n31.1.2024,0.1\n2024-02-29,0.2\n2024-03-31,-0.1\n")
    with pytest.raises(InvalidInput, match=r"order of periods such as '31.1.2024' beside '2024-02-29' cannot be told"):
        cb.data.read_returns(path, kind="returns")
    assert "taken as they stand" in cb.data.read_returns(path, kind="returns", check=False).notes[0]


@pytest.mark.parametrize("heading", ["date", "", "as of"])
@pytest.mark.parametrize(
    "labels",
    [
        ("03/24", "02/24", "01/24"),
        ("12/31", "11/30", "10/31"),
        ("31.12.", "30.11.", "31.10."),
        ("50/2024", "49/2024", "48/2024"),
        ("H1 2024", "H2 2023", "H1 2023"),
        ("2024M2", "2024M1", "2023M12"),
        ("2024年2月", "2024年1月", "2023年12月"),
    ],
)
def test_dates_that_lack_something_are_refused_unless_they_are_said_to_be_right(
    labels: tuple[str, ...], heading: str, tmp_path: Path
) -> None:
    """Newest first they were taken as they stand, with a note."""
    path = _file(tmp_path, f"{heading},A\n" + "".join(f"{label},{0.1 * k}\n" for k, label in enumerate(labels)))
    how: Any = {"kind": "returns", "index": heading or None}
    with pytest.raises(InvalidInput, match=rf"order of periods such as '{labels[0]}'.* cannot be told"):
        cb.data.read_returns(path, **how)
    assert "taken as they stand" in cb.data.read_returns(path, **how, check=False).notes[0]


def test_numbers_under_a_heading_of_periods_are_refused_if_their_order_cannot_be_told(tmp_path: Path) -> None:
    path = _file(tmp_path, "period,A\nspring 2,0.1\nsummer 2,0.2\nspring 1,-0.1\n")
    with pytest.raises(InvalidInput, match=r"order of periods such as 'spring 2' beside 'summer 2' cannot be told"):
        cb.data.read_returns(path, kind="returns")
    other = _file(tmp_path, "patient,A\nanna 2,0.1\nbert 2,0.2\nanna 1,-0.1\n")
    assert "taken as they stand" in cb.data.read_returns(other, kind="returns", index="patient").notes[0]


@settings(max_examples=200)
@given(
    st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), min_size=2, max_size=8, unique=True),
    st.sampled_from(["%d/%m/%Y", "%m/%d/%Y"]),
)
def test_a_reading_is_never_wrong(days: list[datetime.date], form: str) -> None:
    days = sorted(days)
    labels = [f"{day:{form}}" for day in days]
    try:
        keys = Periods(labels).keys
    except InvalidInput:
        with pytest.raises(InvalidInput, match="may be"):
            Periods(labels)
        return
    assert keys is not None
    # In order in the true reading, so never out of order here, nor turned round.
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("labels", "per_year"),
    [
        (["2020", "2021", "2022"], 1),
        (["2020Q1", "2020Q2", "2020Q3"], 4),
        (["Q1 2020", "Q2 2020"], 4),
        (["2024-01", "2024-02", "2024-03"], 12),
        (["KW 5/2024", "KW 6/2024"], 52),
        (["2024-01-02", "2024-01-03", "2024-01-04"], 365),
        (["week 1", "week 2", "week 10"], None),
    ],
)
def test_how_long_a_round_is(labels: list[str], per_year: float | None) -> None:
    found = Periods(labels)
    assert found.keys is not None
    assert found.per_year() == (None if per_year is None else pytest.approx(per_year, rel=0.05))


# Semicolons, tabs and decimal commas ---------------------------------------------------------------------------------

GERMAN = "Datum;Aktien;Anleihen, lang\n31.01.2024;1.234,56;99,5\n29.02.2024;1.300,00;100\n31.03.2024;1.250,5;101,25\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("first", ["", "sep=;\n"])
def test_semicolons_with_decimal_commas_are_read(encoding: str, first: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes((GERMAN if encoding == "utf-16" else first + GERMAN).encode(encoding))
    r = cb.data.read_returns(path, kind="prices")
    assert r.options == ("Aktien", "Anleihen, lang")
    np.testing.assert_allclose(r.values[:, 0], [1300 / 1234.56 - 1, 1250.5 / 1300 - 1], rtol=1e-12)
    np.testing.assert_allclose(r.values[:, 1], [100 / 99.5 - 1, 0.0125], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("table.csv", "date;A;B\n2024-01;0.5;-1\n2024-02;1.25;2\n"),
        ("table.tsv", "date\tA\tB\n2024-01\t0,5\t-1\n2024-02\t1,25\t2\n"),
        ("table.csv", 'date,A,B\n2024-01,"0,5",-1\n2024-02,"1,25",2\n'),
        ("table.csv", 'date,"A, or so",B\n2024-01,0.5,-1\n2024-02,1.25,2\n'),
    ],
)
def test_other_separators_and_marks(name: str, text: str, tmp_path: Path) -> None:
    r = cb.data.read_returns(_file(tmp_path, text, name), kind="returns", unit="percent")
    assert r.values.tolist() == [[0.5, -1.0], [1.25, 2.0]]


@pytest.mark.parametrize("mark", [",", "."])
def test_a_mark_of_thousands_or_of_decimals_is_refused_with_both_readings(mark: str, tmp_path: Path) -> None:
    path = _file(tmp_path, f"date;A\n2024-01;1{mark}234\n2024-02;1{mark}300\n2024-03;1{mark}250\n")
    with pytest.raises(InvalidInput, match=r"line 2, column 'A': '1.234' is not .*: 1234 if .* 1.234 if .* decimal="):
        cb.data.read_returns(path, kind="prices")
    small = cb.data.read_returns(path, kind="prices", decimal=mark)  # type: ignore[arg-type]
    large = cb.data.read_returns(path, kind="prices", decimal="," if mark == "." else ".")
    np.testing.assert_allclose(small.values, large.values, rtol=1e-12)  # the ratio is the same


def test_decimal_commas_and_points_in_one_table_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"'0,5' has a decimal comma, but '1.25' \(line 3, column 'A'\) a decimal po"
    ):
        cb.data.read_returns(_file(tmp_path, "date;A\n2024-01;0,5\n2024-02;1.25\n"), kind="returns")
    with pytest.raises(InvalidInput, match=r"may be separated by commas \(3 columns\) or by semicolons \(2 columns\)"):
        cb.data.read_returns(_file(tmp_path, "a,b;c,d\n1,2;3,4\n2,1;4,3\n"), kind="returns")
    with pytest.raises(InvalidInput, match=r'decimal must be "\." or ","'):
        cb.data.read_returns(_file(tmp_path, "date;A\n2024-01;0,5\n"), kind="returns", decimal=";")  # type: ignore[arg-type]


@given(
    st.lists(st.floats(0.01, 99_999.0).map(lambda x: round(x, 2)), min_size=3, max_size=8, unique=True),
    st.booleans(),
)
def test_german_numbers_are_never_read_wrongly(
    tmp_path_factory: pytest.TempPathFactory, prices: list[float], grouped: bool
) -> None:
    def german(x: float) -> str:
        return (f"{x:,.2f}" if grouped else f"{x:.2f}").translate(str.maketrans(",.", ".,"))

    rows = "".join(f"{2000 + k};{german(price)}\n" for k, price in enumerate(prices))
    path = _file(tmp_path_factory.mktemp("german"), f"Jahr;A\n{rows}")
    read = cb.data.read_returns(path, kind="prices", check=False)
    np.testing.assert_allclose(read.values[:, 0], np.array(prices[1:]) / prices[:-1] - 1, rtol=1e-12, atol=1e-12)


# Excel ---------------------------------------------------------------------------------------------------------------


def _workbook(folder: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    path = folder / "table.xlsx"
    book.save(path)
    return path


_ROWS = [["Datum", "A", "B"], *([day, *row] for day, row in zip(MONTHS, PRICES.tolist(), strict=True))]


def test_excel_files_are_read(tmp_path: Path) -> None:
    expected = RETURNS[1:]
    r = cb.data.read_returns(_workbook(tmp_path, {"prices": _ROWS, "empty": []}), kind="prices")
    np.testing.assert_allclose(r.values, expected, atol=1e-12)
    assert (r.options, r.index[0], r.source) == (("A", "B"), str(MONTHS[1]), "table.xlsx")
    two = _workbook(tmp_path, {"notes": [["read me"]], "prices": _ROWS})
    with pytest.raises(
        InvalidInput, match="several sheets with cells, 'notes', 'prices'; say which: worksheet='notes'"
    ):
        cb.data.read_returns(two, kind="prices")
    np.testing.assert_allclose(
        cb.data.read_returns(two, kind="prices", worksheet="prices").values, expected, atol=1e-12
    )
    with pytest.raises(InvalidInput, match="has no sheet 'price'; there are 'notes', 'prices'"):
        cb.data.read_returns(two, kind="prices", worksheet="price")
    newest = _workbook(tmp_path, {"prices": [_ROWS[0], *_ROWS[:0:-1]]})
    np.testing.assert_allclose(cb.data.read_returns(newest, kind="prices").values, expected, atol=1e-12)
    with pytest.raises(InvalidInput, match=r"table.xlsx, line 3, column 'A': 'x' is not a finite number"):
        cb.data.read_returns(_workbook(tmp_path, {"p": [["date", "A"], [2020, 1], [2021, "x"]]}), kind="prices")


def test_excel_without_openpyxl_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("openpyxl"):
            raise ImportError(name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'covbandit\[excel\]'"):
        cb.data.read_returns(tmp_path / "table.xlsx", kind="prices")


# Numbers that cannot be meant ----------------------------------------------------------------------------------------


def _frame(values: Any, dated: bool = True) -> pd.DataFrame:
    index = pd.DatetimeIndex(MONTHS)[: len(values)] if dated else None
    return pd.DataFrame(values, columns=["A", "B"], index=index)


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        (PRICES, {"kind": "returns"}, r'never loses; if these are prices, say kind="prices"'),
        (PRICES, {"kind": "returns", "unit": "percent"}, r'if these are prices, say kind="prices"'),
        (PRICES[:3], {"kind": "returns", "unit": "percent"}, r'if these are prices, say kind="prices"'),
        (100 * RETURNS, {"kind": "returns"}, r'if it is in percent, say unit="percent"'),
        (100 * np.abs(RETURNS), {"kind": "returns"}, r'if they are in percent, unit="percent"'),
        (RETURNS, {"kind": "prices"}, r'is not positive; if these are returns, say kind="returns"'),
        (np.exp(100 * RETURNS), {"kind": "prices"}, r'wilder than anything .*if these are returns, say kind="returns"'),
        (np.where(RETURNS < -0.08, -1.0, RETURNS), {"kind": "returns"}, r"is -100 %, and nobody can lose more than ev"),
        (RETURNS / 3, {"kind": "returns", "unit": "percent"}, r'if these are fractions, say unit="fraction"'),
    ],
)
def test_what_cannot_be_meant_is_refused(values: Any, arguments: Any, message: str, dated: bool) -> None:
    frame = _frame(values, dated)
    with pytest.raises(InvalidInput, match=message) as refused:
        cb.data.read_returns(frame, **arguments)
    if "not positive" not in message:
        assert "check=False" in str(refused.value)
        assert len(cb.data.read_returns(frame, **arguments, check=False)) >= 2


def _histories() -> list[Any]:
    found = []
    for name in ("skfolio/sp500", "skfolio/factors", "skfolio/sp500-index"):
        path = _packaged_path(name)
        if path is None or not path.is_file():
            continue
        daily = pd.read_csv(path, index_col=0, parse_dates=True)
        for frequency in ("D", "W", "ME", "QE", "YE"):
            prices = daily if frequency == "D" else daily.resample(frequency).last()
            found.append(pytest.param(prices, id=f"{name}, {frequency}"))
    return found


@pytest.mark.parametrize("prices", _histories())
def test_real_histories_are_never_refused_and_their_mistakes_are(prices: pd.DataFrame) -> None:
    returns = prices.pct_change().dropna()
    for dated in (True, False):

        def form(frame: pd.DataFrame, dated: bool = dated) -> pd.DataFrame:
            return frame if dated else frame.reset_index(drop=True)

        for part in (slice(None), slice(-24, None), slice(0, 12)):
            assert cb.data.read_returns(form(prices), kind="prices").notes == ()
            # A share whose price stood still for weeks is refused for that.
            moving = returns[part].loc[:, returns[part].nunique() > 1]
            cb.data.read_returns(form(moving), kind="returns")
            cb.data.read_returns(form(100 * moving), kind="returns", unit="percent")
    for frame, arguments in (
        (prices, {"kind": "returns"}),
        (prices, {"kind": "returns", "unit": "percent"}),
        (100 * returns, {"kind": "returns"}),
        (returns, {"kind": "prices"}),
        (returns, {"kind": "returns", "unit": "percent"}),
    ):
        with pytest.raises(InvalidInput):
            cb.data.read_returns(frame, **arguments)  # type: ignore[arg-type]


def test_funds_of_every_kind_are_taken_in_percent(tmp_path: Path) -> None:
    calm = {"PVI": [1.15, 1.11, 0.6, 0.17, -0.16, -0.12, -0.01, 0.17, 0.53, 0.37]}  # the calmest of the paper's file
    frame = pd.DataFrame(calm, index=range(2019, 2009, -1))
    assert len(cb.data.read_returns(frame, kind="returns", unit="percent")) == 10
    annual = cb.data.etf_returns()
    assert len(cb.data.read_returns(annual.to_frame(), kind="returns", unit="percent")) == 8
