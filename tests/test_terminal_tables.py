"""Tables on narrow terminals: every word and number of the wide table is there whole, and lines fit."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

import covbandit as cb
from covbandit.cli.console import print_table
from covbandit.cli.reproduce import _print_claims
from covbandit.core.tables import Table, as_number, with_error
from covbandit.studies import Store
from covbandit.studies.tokens import create_token

Run = Callable[..., tuple[int, str, str]]

WIDE = 1_000
SHORTER = re.compile(r"\d+|more|weights|strongest|correlations|of|the|with|option")  # words of tables that show a part
STOCKS = [f"stock-{k:02d}" for k in range(20)]
CHANNELS = ["search_engine_marketing", "social_media_advertising", "television", "events", "affiliate_programmes"]
SPECIFICATION = """
title = "names"
horizon = 60
replications = 2
[problem]
preset = "synthetic"
risk_aversion = [0.1, 1.0]
[[learners]]
class = "MCEmpirical"
half_life = [60.0, 120.0]
[[learners]]
class = "ShrunkEmpirical"
[[learners]]
class = "ShrunkEmpirical"
name = "a learner whose name has many words, and commas too"
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a store with studies of twenty options, of long names, and of amounts of money."""
    rng = np.random.default_rng(3)
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/covbandit.db"
    with Store(url, create=True) as store:
        learner = {"class": "MCEmpirical", "risk_aversion": 1e-4}
        stocks = cb.Study.create("twenty stocks", STOCKS, learner, "per_unit", store)
        for number in range(8):
            earned = dict(zip(STOCKS, rng.normal(12_274, 3_000, 20).tolist(), strict=True))
            stocks.tell_outside(dict.fromkeys(STOCKS, 0.05), earned, key=f"2026-W{number:02d}")
        stocks.tell(stocks.ask(client="a desk with a long name").id, dict.fromkeys(STOCKS, 12_000.0))
        stocks.ask(key="2026-W47")
        pairs = {"class": "PairUCB", "risk_aversion": 2e-4, "min_weight": 0.1}
        campaign = cb.Study.create("channels of the autumn campaign", CHANNELS, pairs, "amount", store)
        for _ in range(4):
            asked = campaign.ask()
            spent = {name: 10_000 * w * (1 + rng.normal(0.2, 0.1)) for name, w in asked.weights.items() if w > 0}
            campaign.tell(asked.id, spent)
        create_token(store, "the dashboard in the hall of the second floor", "read")
        create_token(store, "nightly-import", "tell")
    return url


def _words(text: str) -> set[str]:
    return {word.rstrip(",") for word in text.split()}


def _check(wide: str, narrow: str, columns: int, shortened: bool = False) -> None:
    """Fail if a narrow table has a broken word, or a line that is too long although it has several words."""
    broken = _words(narrow) - _words(wide)
    assert not {word for word in broken if not (shortened and SHORTER.fullmatch(word))}, narrow
    if not shortened:
        assert _words(wide) == _words(narrow)
    for line in narrow.splitlines():
        assert cell_len(line) <= columns or len(line.split()) <= 2, line


@pytest.mark.parametrize("columns", [80, 60, 40])
@pytest.mark.parametrize(
    "arguments",
    [
        ("study", "list"),
        ("study", "show", "twenty stocks"),
        ("study", "show", "twenty stocks", "9"),
        ("study", "rounds", "twenty stocks"),
        ("study", "history", "twenty stocks"),
        ("study", "estimates", "twenty stocks"),
        ("study", "explain", "twenty stocks"),
        ("study", "frontier", "twenty stocks"),
        ("study", "changes", "twenty stocks"),
        ("study", "show", "channels of the autumn campaign"),
        ("study", "rounds", "channels of the autumn campaign"),
        ("study", "history", "channels of the autumn campaign"),
        ("study", "estimates", "channels of the autumn campaign"),
        ("study", "explain", "channels of the autumn campaign"),
        ("study", "frontier", "channels of the autumn campaign"),
        ("token", "list"),
        ("bounds", "synthetic"),
    ],
    ids=" ".join,
)
def test_no_word_or_number_is_broken(
    arguments: tuple[str, ...], columns: int, filled: str, command_line: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COVBANDIT_STORE", filled)
    found = {}
    for width in (WIDE, columns):
        monkeypatch.setenv("COLUMNS", str(width))
        status, found[width], told = command_line(*arguments)
        assert status == 0, told
    # With little room, a study's many weights and correlations are shown in part.
    shortened = arguments[1] in ("frontier", "estimates")
    _check(found[WIDE], found[columns], columns, shortened)


@pytest.mark.parametrize("columns", [80, 60])
def test_long_names_of_learners_are_whole(
    columns: int, tmp_path: Path, command_line: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my.toml").write_text(SPECIFICATION, encoding="utf-8")
    for arguments in (["--check"], []):
        found = {}
        for width in (WIDE, columns):
            monkeypatch.setenv("COLUMNS", str(width))
            status, found[width], told = command_line("simulate", "my.toml", *arguments)
            assert status == 0, told
        _check(found[WIDE], found[columns], columns)
    assert "ShrunkEmpirical" in found[columns]
    assert re.search(r"half_life=60\b", found[columns])


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_claims_of_the_paper_are_whole_and_coloured(columns: int) -> None:
    statements = {
        "Section 6, full information": ("MC-Empirical has multiple orders of magnitude less regret", "holds"),
        "Remark 3": ("the more positively correlated, the higher is the regret of MC-UCB", "in some cases only"),
    }
    claims: list[Any] = [
        SimpleNamespace(source=source, statement=statement, parts={"elsewhere": SimpleNamespace(short_verdict=verdict)})
        for source, (statement, verdict) in statements.items()
    ]
    found = {}
    for width in (WIDE, columns):
        console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system="standard")
        _print_claims(console, "statement of the paper", claims)
        shown = console.file.getvalue()  # type: ignore[attr-defined]
        assert "\x1b[" in shown
        found[width] = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    _check(found[WIDE], found[columns], columns)


def _printed(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    print_table(console, table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_what_does_not_fit_goes_over_lines_then_below_then_into_blocks() -> None:
    table = Table(["learner", "mean regret"], [["MCEmpirical, half_life=60", 12_274.6], ["OGD", 1.5]], "Regret")
    assert _printed(table, 40) == [
        "Regret",
        "learner                    mean regret",
        "MCEmpirical, half_life=60       12,275",
        "OGD                                1.5",
        "",
    ]
    assert _printed(table, 24) == [
        "Regret",
        "learner         mean",
        "              regret",
        "MCEmpirical,  12,275",
        "half_life=60",
        "OGD              1.5",
        "",
    ]
    assert _printed(table, 26) == _printed(table, 24)
    assert _printed(table, 12) == [
        "Regret",
        "learner",
        "  MCEmpirical,",
        "  half_life=60",
        "mean regret",
        "  12,275",
        "",
        "learner",
        "  OGD",
        "mean regret",
        "  1.5",
        "",
    ]
    longer = Table([*table.columns, "± 95 %"], [[*row, 312.4] for row in table.rows], "Regret")
    assert _printed(longer, 25) == [
        "Regret",
        "learner      MCEmpirical,",
        "             half_life=60",
        "mean regret  12,275",
        "± 95 %       312.4",
        "",
        "learner      OGD",
        "mean regret  1.5",
        "± 95 %       312.4",
        "",
    ]
    weights = ", ".join(f"{name} 0.0500" for name in STOCKS[:6])
    below = Table(["round", "reward", "played"], [[1, 0.5, weights], [2, 0.25, "none"]])
    assert _printed(below, 30) == [
        "round  reward",
        "    1     0.5",
        "    played  stock-00 0.0500,",
        "            stock-01 0.0500,",
        "            stock-02 0.0500,",
        "            stock-03 0.0500,",
        "            stock-04 0.0500,",
        "            stock-05 0.0500",
        "    2    0.25",
        "    played  none",
        "",
    ]


def test_names_of_users_are_printed_letter_by_letter() -> None:
    table = Table(["option", "value"], [["[bold]stock[/bold]", 1], ["株式投資信託", 2], ["", None]])
    for width in (80, 20, 5):
        assert "[bold]stock[/bold]" in "\n".join(_printed(table, width))
    lines = _printed(table, 80)
    assert len({cell_len(line) for line in lines[:4]}) == 1, "wide letters are counted as such"
    assert _printed(Table(["option", "value"], []), 80) == ["option  value", ""]


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [
        (12_270.0, 4, "12,270"),
        (12_274.6, 4, "12,275"),
        (1_227.46, 4, "1,227"),
        (9_999.6, 4, "10,000"),
        (999_999_999.5, 4, "1,000,000,000"),
        (-45_678.9, 4, "-45,679"),
        (1e-4, 4, "0.0001"),
        (0.000123456, 4, "0.0001235"),
        (5.69, 4, "5.69"),
        (5.6901, 4, "5.690"),
        (0.99996, 4, "1.000"),
        (0.1 + 0.2, 4, "0.3"),
        (-0.0, 4, "0"),
        (3.0, 4, "3"),
        (9e-5, 4, "9e-05"),
        (1.5e18, 4, "1.5e+18"),
        (1e300, 4, "1e+300"),
        (float("nan"), 4, "nan"),
        (float("-inf"), 4, "-inf"),
    ],
)
def test_numbers_of_ordinary_size_have_no_exponent(value: float, digits: int, written: str) -> None:
    assert as_number(value, digits) == written


def test_money_keeps_its_cents_and_errors_have_as_many_decimals() -> None:
    assert as_number(1_234_567.891, 6, decimals=2) == "1,234,567.89"
    assert as_number(0.00123, 6, decimals=2) == "0.00123"
    assert with_error(34.9, 5.309) == "34.9 ± 5.3"
    assert with_error(58.66, 9.96) == "59 ± 10"  # 9.96 is 10, with one digit less
    assert with_error(57_123.4, 1_234.6) == "57,123 ± 1,235"
    assert with_error(0.0123, 0.00056) == "0.01230 ± 0.00056"
    assert with_error(12.5, 0.0) == "12.5 ± 0"


def test_amounts_of_money_are_printed_plainly_everywhere(
    filled: str, command_line: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COVBANDIT_STORE", filled)
    for name in ("twenty stocks", "channels of the autumn campaign"):
        for verb in ("show", "history", "estimates", "frontier", "explain", "rounds"):
            status, shown, told = command_line("study", verb, name)
            assert status == 0, told
            # Variances of such amounts are large; no number here is above 1e15.
            assert not re.search(r"\de\+\d", shown), shown
    path = cb.risk_path(cb.Problem(mean=[12_274.6, 9_100.0], covariance=np.diag([4e7, 1e7]), risk_aversion=1.0))
    assert "e+" not in str(path)
    assert "12,275" in str(path)
