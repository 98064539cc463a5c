"""``covbandit study tell | amend | outside --file``: many rounds at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import covbandit as cb

Run = Callable[..., tuple[int, str, str]]

RETURNS = """date,TLT,SPY,other
2024-01,0.02,0.01,x
2024-02,-0.02,0.03,x
2024-03,0.01,-0.01,x
"""


def test_a_history_says_how_its_dates_and_numbers_are_meant(
    study: Run, make: Callable[..., cb.Study], tmp_path: Path
) -> None:
    made = make()
    path = tmp_path / "prices.csv"
    path.write_text(
        "date;SPY;TLT\n01/02/2024;1,234;1,500\n02/02/2024;1,250;1,490\n03/02/2024;1,240;1,510\n", encoding="utf-8"
    )
    outside = ("outside", "s", "--file", str(path), "--weights", "equal", "--kind", "prices")
    status, _, notes = study(*outside)
    assert status != 0
    assert "--decimal" in " ".join(notes.split())
    status, _, notes = study(*outside, "--decimal", ".")
    assert status != 0
    assert '--dates "day-first"' in " ".join(notes.split())
    status, _, notes = study(*outside, "--decimal", ".", "--dates", "day-first")
    assert status == 0, notes
    assert made.rounds()[0].outcome == pytest.approx({"SPY": 1250 / 1234 - 1, "TLT": 1490 / 1500 - 1})
    assert made.rounds()[0].key == "prices.csv, 02/02/2024"  # as it is written, so that repeating counts nothing twice


def test_a_history_that_cannot_be_meant_is_refused_unless_it_is_said_to_be_right(
    study: Run, make: Callable[..., cb.Study], tmp_path: Path
) -> None:
    made = make()
    path = tmp_path / "percent.csv"
    path.write_text("month,SPY,TLT\n2024-01,1.2,-1.5\n2024-02,-2.1,0.4\n2024-03,0.3,0.9\n", encoding="utf-8")
    outside = ("outside", "s", "--file", str(path), "--weights", "equal")
    status, _, notes = study(*outside)
    said = " ".join(notes.split())
    assert status != 0
    assert '--unit "percent"' in said
    assert "--no-check" in said
    assert made.summary().told == 0
    assert study(*outside, "--no-check")[0] == 0
    assert made.summary().told == 3


@pytest.fixture
def study(command_line: Run) -> Run:
    """Run ``covbandit study``."""
    return lambda *arguments: command_line("study", *arguments)


@pytest.fixture
def make(study: Run) -> Callable[..., cb.Study]:
    """Create a study of two funds with some open rounds."""

    def create(rounds: int = 0, feedback: str = "all", outcome: str = "per_unit", name: str = "s") -> cb.Study:
        learner = {"feedback": feedback, "risk_aversion": 1.0}
        made = cb.Study.create(name, ["SPY", "TLT"], learner, outcome)
        for _ in range(rounds):
            made.ask()
        return made

    return create


def read(answer: tuple[int, str, str]) -> Any:
    """Return the rounds of an answer in JSON."""
    status, shown, told = answer
    assert (status, told) == (0, "")
    return json.loads(shown)["rounds"]


def test_outcomes_in_a_csv_file_are_told_together(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(rounds=3)
    Path("o.csv").write_text("round,SPY,TLT\n2,0.1,0.2\n1,-0.1,1e-3\n3,,\n", encoding="utf-8")
    status, shown, told = study("tell", "s", "--file", "o.csv")
    assert status == 0
    assert "2 rounds of o.csv told" in shown
    assert told == "note: 1 rows of o.csv have no outcome yet and were left out\n"
    assert [each.status for each in (made.round(1), made.round(2), made.round(3))] == ["told", "told", "open"]
    assert made.round(1).outcome == {"SPY": -0.1, "TLT": 0.001}
    again = study("tell", "s", "--file", "o.csv", "--json")
    assert json.loads(again[1])["rounds"] == [made.round(2).to_dict(), made.round(1).to_dict()]
    assert made.summary().told == 2


def test_one_refused_row_refuses_the_file(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(rounds=2)
    Path("o.csv").write_text("round,SPY,TLT\n1,0.1,0.2\n2,0.1,\n", encoding="utf-8")
    status, _, told = study("tell", "s", "--file", "o.csv")
    assert status == 2
    assert "outcome is missing for option 'TLT'" in told
    assert made.summary().told == 0


def test_an_export_is_filled_in_and_told_back(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(rounds=2)
    made.tell(1, {"SPY": 0.1, "TLT": 0.2}, {"SPY": 0.5, "TLT": 0.5})
    study("export", "s", "--out", "e.csv")
    lines = Path("e.csv").read_text(encoding="utf-8").splitlines()
    cells = lines[2].split(",")
    for name, value in {"outcome[SPY]": "0.3", "outcome[TLT]": "-0.3", "played[SPY]": "1", "played[TLT]": "0"}.items():
        cells[lines[0].split(",").index(name)] = value
    Path("e.csv").write_text("\n".join([*lines[:2], ",".join(cells)]), encoding="utf-8")
    assert len(read(study("tell", "s", "--file", "e.csv", "--json"))) == 2
    assert made.round(2).played == {"SPY": 1.0, "TLT": 0.0}
    assert made.summary().told == 2
    # What was played is history for another study; rows are kept under their keys.
    other = make(name="other")
    assert len(read(study("outside", "other", "--file", "e.csv", "--json"))) == 2
    assert len(read(study("outside", "other", "--file", "e.csv", "--json"))) == 2
    assert other.summary().told == 2
    assert "2 of them were known already" in study("outside", "other", "--file", "e.csv")[2]
    # A row added above shifts the lines: only it is new. The same row twice is two rounds.
    lines = Path("e.csv").read_text(encoding="utf-8").splitlines()
    Path("e.csv").write_text("\n".join([lines[0], lines[2], *lines[1:]]), encoding="utf-8")
    assert len(read(study("outside", "other", "--file", "e.csv", "--json"))) == 3
    assert other.summary().told == 3
    other = make(name="third")
    Path("e.csv").write_text("\n".join(lines), encoding="utf-8")
    study("outside", "third", "--file", "e.csv")
    assert [each.played for each in other.rounds()] == [each.played for each in made.rounds()]
    assert other.explain().to_dict() == made.explain().to_dict()


def test_outcomes_in_json_files(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(rounds=2)
    entries = [
        {"id": 2, "outcome": {"SPY": 1, "TLT": 2}},
        {"id": 1, "outcome": {"SPY": 1, "TLT": 3}, "weights": {"SPY": 1}},
    ]
    Path("o.json").write_text(json.dumps(entries), encoding="utf-8")
    Path("p.json").write_text(json.dumps({"rounds": entries}), encoding="utf-8")
    assert read(study("tell", "s", "--file", "o.json", "--json")) == [made.round(2).to_dict(), made.round(1).to_dict()]
    assert read(study("tell", "s", "--file", "p.json", "--json")) == read(
        study("tell", "s", "--file", "o.json", "--json")
    )
    entries[0]["outcome"] = {"SPY": 1, "TLT": 5}
    Path("q.json").write_text(json.dumps(entries), encoding="utf-8")
    assert study("tell", "s", "--file", "q.json")[0] == 4
    assert [each["amendments"] for each in read(study("amend", "s", "--file", "q.json", "--json"))] == [1, 0]


def test_corrections_in_a_file_say_where_they_stop(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(rounds=2, feedback="total")
    Path("o.csv").write_text("id,outcome\n1,0.5\n2,0.25\n", encoding="utf-8")
    assert [each["reward"] for each in read(study("tell", "s", "--file", "o.csv", "--json"))] == [0.5, 0.25]
    Path("o.csv").write_text("id,outcome\n1,0.75\n7,0.25\n", encoding="utf-8")
    status, _, told = study("amend", "s", "--file", "o.csv")
    assert status == 3
    assert told.startswith("error: o.csv, line 3: study 's' has no round 7")
    assert "The 1 before it are in." in told
    assert made.round(1).outcome == 0.75
    Path("o.csv").write_text("id,outcome\n1,0.75\n2,0.5\n", encoding="utf-8")
    assert "2 rounds of o.csv amended" in study("amend", "s", "--file", "o.csv")[1]


@pytest.mark.parametrize(
    ("feedback", "weights", "outcome"),
    [
        ("all", "equal", {"SPY": 0.03, "TLT": -0.02}),
        ("chosen", "SPY=1", {"SPY": 0.03}),
        ("total", "equal", 0.005),
    ],
)
def test_a_table_of_returns_is_history(
    study: Run, make: Callable[..., cb.Study], feedback: str, weights: str, outcome: Any
) -> None:
    made = make(feedback=feedback)
    Path("r.csv").write_text(RETURNS, encoding="utf-8")
    found = read(study("outside", "s", "--file", "r.csv", "--weights", weights, "--json"))
    assert [each["key"] for each in found] == ["r.csv, 2024-01", "r.csv, 2024-02", "r.csv, 2024-03"]
    assert found[1]["outcome"] == pytest.approx(outcome)
    assert found == [each.to_dict() for each in made.rounds()]
    Path("r.csv").write_text(RETURNS + "2024-04,0.01,0.02,x\n", encoding="utf-8")
    found = read(study("outside", "s", "--file", "r.csv", "--weights", weights, "--json"))
    assert (len(found), made.summary().told) == (4, 4)
    assert len(read(study("outside", "s", "--file", "r.csv", "--weights", weights, "--key", "again", "--json"))) == 4
    assert made.summary().told == 8


def test_prices_and_percent(study: Run, make: Callable[..., cb.Study]) -> None:
    make()
    Path("p.csv").write_text("date,SPY,TLT\n2024-01,100,50\n2024-02,110,50\n2024-03,99,60\n", encoding="utf-8")
    arguments = ("outside", "s", "--file", "p.csv", "--weights", "SPY=0.6,TLT=0.4", "--kind", "prices")
    found = read(study(*arguments, "--unit", "percent", "--json"))
    assert [each["outcome"] for each in found] == [
        pytest.approx({"SPY": 10, "TLT": 0}),
        pytest.approx({"SPY": -10, "TLT": 20}),
    ]
    assert found[0]["played"] == {"SPY": 0.6, "TLT": 0.4}
    status, _, told = study(*arguments)  # the same keys, other numbers
    assert status == 4
    assert told.startswith("error: p.csv, 2024-02: round 1 of 's' was told otherwise")


def test_a_log_with_keys_and_a_history_in_json(study: Run, make: Callable[..., cb.Study]) -> None:
    made = make(outcome="amount", feedback="chosen")
    Path("l.csv").write_text(
        "key,weight[SPY],weight[TLT],outcome[SPY],outcome[TLT]\nw1,0.5,0.5,1,2\nw2,1,0,3,\n", encoding="utf-8"
    )
    found = read(study("outside", "s", "--file", "l.csv", "--json"))
    assert [each["key"] for each in found] == ["w1", "w2"]
    assert found[0]["rewards"] == {"SPY": 2.0, "TLT": 4.0}
    Path("l.json").write_text(
        json.dumps([{"weights": {"SPY": 1}, "outcome": {"SPY": 2}, "key": "w3"}]), encoding="utf-8"
    )
    assert read(study("outside", "s", "--file", "l.json", "--json"))[0] == made.round(3).to_dict()
    Path("r.csv").write_text(RETURNS, encoding="utf-8")
    status, _, told = study("outside", "s", "--file", "r.csv", "--weights", "equal")
    assert status == 2
    assert "this study is told amounts" in told


@pytest.mark.parametrize(
    ("command", "file", "content", "message"),
    [
        ("tell", "o.csv", "SPY,TLT\n1,2\n", "o.csv has no column 'round'; columns are round, outcome[OPTION]"),
        ("tell", "o.csv", "round,SPY,QQQ\n1,2,3\n", "column 'QQQ': not understood"),
        ("tell", "o.csv", "round,outcome[QQQ]\n1,2\n", "unknown option 'QQQ'; known are 'SPY', 'TLT'"),
        ("tell", "o.csv", "round,SPY,SPY\n1,2,3\n", "two columns 'SPY'"),
        ("tell", "o.csv", "round,SPY,TLT\n1,2,x\n", "line 2, column 'TLT': 'x' is not a finite number"),
        ("tell", "o.csv", "round,SPY,TLT\none,2,3\n", "line 2, column 'round': must be a round's number, got 'one'"),
        ("tell", "o.csv", "round,status\n1,open\n", "has no column of outcomes"),
        ("tell", "o.csv", "", "o.csv is empty"),
        ("tell", "o.txt", "", "cannot tell what 'o.txt' is"),
        ("tell", "o.json", "{", "o.json is not JSON"),
        ("tell", "o.json", "3", "o.json must be a list of objects with id, outcome, weights"),
        ("tell", "o.json", "[3]", "o.json, entry 1 must be an object"),
        ("tell", "o.json", '[{"outcome": {"SPY": 1, "TLT": 2}}]', "o.json, entry 1 lacks 'id'"),
        ("tell", "o.json", '[{"id": 1, "outcome": NaN}]', "NaN is no number in JSON"),
        ("tell", "o.json", '[{"id": 1, "id": 2, "outcome": 1}]', "'id' is named twice"),
        ("tell", "o.json", '[{"id": "1", "outcome": {"SPY": 1, "TLT": 2}}]', "got '1'"),
        ("outside", "o.csv", "SPY,TLT\n1,2\n", "say what was played: --weights equal"),
        ("outside", "o.json", '[{"outcome": {"SPY": 1, "TLT": 2}}]', "entry 1 lacks 'weights'"),
        ("outside", "o.csv", "weight[SPY],SPY,TLT\n0.5,1,2\n", "column 'SPY': not understood"),
        ("outside", "o.csv", "weight[SPY],outcome[SPY],outcome[TLT]\n0.5,1,2\n", "o.csv, line 2: weights sum to 0.5"),
    ],
)
def test_files_that_are_refused(
    command: str, file: str, content: str, message: str, study: Run, make: Callable[..., cb.Study]
) -> None:
    made = make(rounds=1)
    Path(file).write_text(content, encoding="utf-8")
    status, shown, told = study(command, "s", "--file", file)
    assert (status, shown) == (2, "")
    assert message in told
    assert made.summary().told == 0


def test_a_file_of_totals_needs_a_column_of_totals(study: Run, make: Callable[..., cb.Study]) -> None:
    make(rounds=1, feedback="total")
    Path("o.csv").write_text("round,SPY\n1,2\n", encoding="utf-8")
    assert "has no column 'outcome'; this study sees totals only" in study("tell", "s", "--file", "o.csv")[2]
    assert "cannot read nowhere.csv: no such file" in study("tell", "s", "--file", "nowhere.csv")[2]
    Path("o.csv").write_text("round,outcome\n1,\n", encoding="utf-8")
    assert "o.csv has no outcomes: nothing was told" in study("tell", "s", "--file", "o.csv")[1]
