"""CSV files: what a spreadsheet would run as a formula is marked, and our own readers give the text back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import covbandit as cb
from commands import covbandit
from covbandit.core.csv_cells import marked, unmarked
from covbandit.core.tables import Table
from covbandit.data.sheet import read_csv

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A1",
    "@SUM(1)",
    "+1+cmd",
    "-2+3",
    "\t=1",
    "\r=1",
    "  =1",
    "＝1",
    "'=1",
    "''=1",
    "\n=1",
]


def _cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("formula", FORMULAS)
def test_formulas_are_marked_in_cells_and_headings(formula: str) -> None:
    heading, row = _cells(Table([formula, "n"], [[formula, 1]]).to_csv())
    assert heading[0] == row[0] == f"'{formula}"


@pytest.mark.parametrize("text", ["a;=1+1", "a; =1", "a;b;@SUM(1)", "a;'=1"])
def test_formulas_behind_semicolons_are_marked(text: str) -> None:
    """A spreadsheet that separates by semicolons splits cells there, although quotation marks stand around them."""
    written = Table(["n", "x"], [[1, text]]).to_csv()
    cells = [cell for line in written.splitlines() for cell in line.split(";")[1:]]
    assert cells
    assert not any(cell.lstrip(" '\"").startswith(("=", "@")) and "'" not in cell for cell in cells), cells
    assert unmarked(_cells(written)[1][1]) == text


@pytest.mark.parametrize("value", [-0.5, -3, 1e-300, -1e22, True, "-0.5", "+3", "-1e-5", "SPY", "'quoted'", "a=b", ""])
def test_numbers_and_plain_text_stay_as_they_are(value: object) -> None:
    assert _cells(Table(["x", "y"], [[value, 1]]).to_csv())[1][0] == str(value)


_TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)
_HARD = st.text("'=+-@ \t\r\n＝5.e,;\"", max_size=6)


@given(st.one_of(_TEXT, _HARD))
def test_marks_are_undone(text: str) -> None:
    assert unmarked(marked(text)) == text
    assert not marked(text).startswith(("=", "@", "\t", "\r", " =", "＝"))


@given(st.lists(st.one_of(_TEXT, _HARD), min_size=1, max_size=5))
def test_a_written_table_is_read_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("table") / "table.csv"
    table = Table(["text", "number"], [[text, -0.25] for text in texts])
    path.write_bytes(table.to_csv().encode())
    sheet = read_csv(path)
    assert list(sheet.columns[0]) == texts
    assert list(sheet.columns[1]) == ["-0.25"] * len(texts)


def test_exported_keys_and_options_come_back(tmp_path: Path) -> None:
    options = ["@SUM(1)", "'quoted", "-plain"]
    store = f"sqlite:///{tmp_path}/studies.db"
    study = cb.Study.create("funds", options, cb.allocator(options, risk_aversion=1.0), outcome="per_unit", store=store)
    keys = ["=1+1", "'=1+1", "+49 30", "-5", "it's"]
    for k, key in enumerate(keys):
        asked = study.ask(key=key, client="=cmd")
        study.tell(asked.id, dict(zip(options, [0.1 * k, -0.1, 0.05], strict=True)))
    path = tmp_path / "rounds.csv"
    study.export(path)
    rows = _cells(path.read_text(encoding="utf-8"))
    for row in rows[1:]:
        for cell in row:
            assert not cell.startswith(("=", "@", "+")), cell
    copy = cb.Study.create("copy", options, cb.allocator(options, risk_aversion=1.0), outcome="per_unit", store=store)
    told = covbandit("study", "outside", "copy", "--file", str(path), "--store", store)
    assert told.returncode == 0, told.stderr
    assert [one.key for one in copy.rounds()] == [one.key for one in study.rounds()]
    assert [one.outcome for one in copy.rounds()] == [one.outcome for one in study.rounds()]


def test_headings_of_returns_are_unmarked(tmp_path: Path) -> None:
    path = tmp_path / "returns.csv"
    path.write_text("date,'=A,'B'\n2024-01,0.1,0.2\n2024-02,0.2,-0.1\n", encoding="utf-8")
    assert cb.data.read_returns(path, kind="returns").options == ("=A", "'B'")
