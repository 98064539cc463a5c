"""Numbers as people type them: what may be meant is named, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

import covbandit as cb
from covbandit.cli.study.files import read_entries
from covbandit.core.number_hints import readings, way_out
from covbandit.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3,600", ["3600", "3.6"]),
        ("-3,600", ["-3600", "-3.6"]),
        ("(3,600)", ["-3600", "-3.6"]),
        ("+12,000", ["12000", "12"]),
        ("0,300", ["0.3"]),  # nobody sets apart thousands behind a zero
        ("3,60", ["3.6"]),
        ("3,6000", ["3.6"]),
        (",5", ["0.5"]),
        ("1,234,567", ["1234567"]),
        ("1.234.567", ["1234567"]),
        ("1,00,000", ["100000"]),
        ("1.234,5", ["1234.5"]),
        ("1,234.5", ["1234.5"]),
        ("3.600,00", ["3600"]),
        ("1'000", ["1000"]),
        ("1’000,50", ["1000.5"]),
        ("1 000", ["1000"]),
        ("1\u00a0000", ["1000"]),
        ("1\u202f000,5", ["1000.5"]),
        ("1_000", ["1000"]),
        ("−5", ["-5"]),
        ("5-", ["-5"]),
        ("50%", ["0.5", "50"]),
        ("12,5 %", ["0.125", "12.5"]),
        ("€3600", ["3600"]),
        ("3.600 €", ["3600", "3.6"]),
        ("-$1,000.50", ["-1000.5"]),
        ("CHF 20", ["20"]),
        ("3k", ["3000"]),
        ("3.5K", ["3500"]),
        ("2M", ["2000000"]),
        ("2m", ["2000000", "0.002"]),
        ("1,5 Mio.", ["1500000"]),
        ("0,0", ["0"]),
        *((text, []) for text in ("", ",", ".", "many", "12abc", "k", "€", "1,2,3", "1 00", "--5", "1" * 90 + ",5")),
    ],
)
def test_what_may_be_meant(text: str, meant: list[str]) -> None:
    assert readings(text) == meant
    assert all(repr(float(number)) for number in meant)  # each is what a program reads


def test_both_readings_are_named_and_neither_is_recommended() -> None:
    assert way_out("3,600") == ", which may mean 3600 or 3.6; write the one that is meant"
    assert way_out("50%") == ", which may mean 0.5 or 50; write the one that is meant"
    assert way_out("50%", share=True) == "; write 0.5 with a decimal point"
    assert way_out("12,000%").startswith(", which may mean 120, 12000, 0.12 or 12;")
    assert way_out("many") == ""


def test_text_told_in_python_is_refused_in_the_same_words(tmp_path: Path) -> None:
    study = cb.Study.create("ads", ["a", "b"], {"feedback": "all", "risk_aversion": 1.0}, "per_unit", tmp_path / "s.db")
    asked = study.ask()
    with pytest.raises(InvalidInput, match=r"option 'a' must be a number, got '3,600', which may mean 3600 or 3\.6;"):
        study.tell(asked.id, {"a": "3,600", "b": 1.0})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match=r"got '0,4'; write 0\.4"):
        cb.allocator(["a", "b"], risk_aversion="0,4")  # type: ignore[arg-type]
    assert study.summary().told == 0
    study.close()


def test_cells_of_a_file_are_refused_in_the_same_words(tmp_path: Path) -> None:
    file = tmp_path / "told.csv"
    file.write_text('round,outcome[a],outcome[b],played[a],played[b]\n1,"3,600",2,1,0\n', encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=r"line 2, column 'outcome\[a\]'.*3600 if ',' separates thousands, 3\.600 if"
    ):
        read_entries(file, ["a", "b"], total=False, history=False)
    file.write_text('round,outcome[a],outcome[b],played[a],played[b]\n1,"€3,600",2,0.5,0.5\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line 2, column 'outcome\[a\]'.*which may mean 3600 or 3\.6; write"):
        read_entries(file, ["a", "b"], total=False, history=False)
    file.write_text("round,outcome[a],outcome[b],played[a],played[b]\n1,3600,2,50%,50%\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"column 'played\[a\]': '50%' is not a finite number; write 0\.5 with"):
        read_entries(file, ["a", "b"], total=False, history=False)
