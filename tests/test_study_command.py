"""``covbandit study``, as people and programs use it."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import covbandit as cb
from commands import covbandit
from covbandit.cli.study.options import DEFAULT_STORE
from covbandit.studies import Store, list_studies
from covbandit.studies import store as places

Run = Callable[..., tuple[int, str, str]]
Read = Callable[..., Any]

FUNDS = ("--options", "SPY,TLT", "--feedback", "all", "--risk-aversion", "2", "--outcome", "per_unit")


@pytest.fixture
def study(command_line: Run) -> Run:
    """Run ``covbandit study``."""
    return lambda *arguments: command_line("study", *arguments)


@pytest.fixture
def read(study: Run) -> Read:
    """Run ``covbandit study ... --json`` and return its one document."""

    def run(*arguments: str) -> Any:
        status, shown, told = study(*arguments, "--json")
        assert (status, told) == (0, "")
        return json.loads(shown, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    return run


@pytest.fixture
def funds(study: Run) -> cb.Study:
    """Return a study of two funds in the default store, with one round told."""
    assert study("create", "funds", *FUNDS)[0] == 0
    made = cb.Study.open("funds")
    made.tell(made.ask().id, {"SPY": 0.3, "TLT": -0.1})
    return made


def test_the_default_store_is_that_of_studies() -> None:
    assert places.DEFAULT_STORE == DEFAULT_STORE


def test_the_life_of_a_study(study: Run, read: Read, store_url: str) -> None:
    """On SQLite and PostgreSQL: everything printed as JSON is what the library says."""
    at = ("--store", store_url)
    created = read("create", "funds", *FUNDS, *at)
    same = cb.Study.open("funds", store_url)
    assert created == same.summary().to_dict()
    asked = read("ask", "funds", "--key", "2026-W46", *at)
    assert asked == same.round(1).to_dict() == read("ask", "funds", "--key", "2026-W46", *at)
    told = read("tell", "funds", "1", "SPY=0.3", "TLT=-0.1", *at)
    assert told == same.round(1).to_dict()
    assert told["outcome"] == {"SPY": 0.3, "TLT": -0.1}
    assert read("amend", "funds", "1", "SPY=0.25", "TLT=-0.1", *at)["amendments"] == 1
    outside = read("outside", "funds", "SPY=0.1", "TLT=0.2", "--weights", "SPY=0.6,TLT=0.4", "--key", "old", *at)
    assert outside == same.round(2).to_dict()
    assert read("ask", "funds", "--client", "desk", "--lease", "12h", *at)["client"] == "desk"
    assert read("list", *at) == {"studies": [each.to_dict() for each in list_studies(store_url)]}
    assert read("show", "funds", *at) == same.summary().to_dict()
    assert read("show", "funds", "2", *at) == same.round(2).to_dict()
    assert read("explain", "funds", *at) == same.explain().to_dict()
    assert read("estimates", "funds", *at) == same.estimates().to_dict()
    assert read("frontier", "funds", *at) == json.loads(json.dumps(same.frontier().to_dict()))
    assert read("history", "funds", *at) == same.history().to_dict()
    change = read("set", "funds", "--risk-aversion", "0.5", *at)
    assert change == same.changes()[-1].to_dict()
    assert read("changes", "funds", *at) == {"changes": [each.to_dict() for each in same.changes()]}
    forked = read("fork", "funds", "--learner", "MCEmpirical", "--risk-aversion", "1", "--as", "other", *at)
    assert forked == same.fork({"class": "MCEmpirical", "risk_aversion": 1.0}).to_dict() | {"study": "other"}
    assert read("export", "funds", *at) == json.loads(same.export(format="json"))
    assert read("verify", "funds", *at) == same.verify().to_dict()
    everything = read("verify", "--all", *at)
    assert everything["ok"]
    assert [each["study"] for each in everything["studies"]] == ["funds", "other"]
    assert read("upgrade", *at)["before"] == read("upgrade", "--check", *at)["newest"]
    assert study("verify", "--all", *at)[0] == 0
    same.close()


def test_options_come_go_and_return(read: Read, study: Run, funds: cb.Study) -> None:
    assert read("add", "funds", "GLD")["detail"] == {"option": "GLD"}
    assert read("retire", "funds", "TLT")["kind"] == "retired"
    assert (funds.options, funds.retired) == (("SPY", "GLD"), ("TLT",))
    assert "retired    TLT" in study("show", "funds")[1]
    assert "TLT (retired)" in study("estimates", "funds")[1]
    assert re.search(r"study +options +retired", study("list")[1])
    status, shown, _ = study("restore", "funds", "TLT")
    assert status == 0
    assert "funds: restored TLT; since " in shown
    assert funds.retired == ()
    assert re.search(r"retired TLT\n.*restored TLT", study("changes", "funds")[1])


def test_create_describes_every_kind_of_learner(study: Run, read: Read) -> None:
    made = read("create", "a", "--option", "x,y", "--option", "z", "--feedback", "chosen", "--risk-aversion", "0.4",
                "--min-weight", "0.1", "--outcome", "amount", "--lease", "none")  # fmt: skip
    assert (made["options"], made["learner_class"], made["min_weight"]) == (["x,y", "z"], "PairUCB", 0.1)
    assert (made["outcome"], made["lease_seconds"]) == ("amount", None)
    made = read("create", "b", "--options", "x, y", "--feedback", "total", "--risk-aversion", "1", "--seed", "7",
                "--outcome", "per_unit", "--lease", "90s")  # fmt: skip
    assert (made["options"], made["lease_seconds"]) == (["x", "y"], 90.0)
    assert "seed=7" in made["learner"]
    made = read("create", "c", "--options", "x,y", "--learner", "MCEmpirical", "--risk-aversion", "1", "--max-weight",
                "x=0.7", "--set", "half_life=50", "--outcome", "per_unit")  # fmt: skip
    assert "half_life=50" in made["learner"]
    assert cb.Study.open("c").learner.max_weight.tolist() == [0.7, 1.0]  # type: ignore[union-attr]
    made = read("create", "d", "--options", "x,y", "--feedback", "all", "--risk-aversion", "1", "--max-weight", "0.6",
                "--set", "hold=[[0.5, 0.5], 3]", "--outcome", "per_unit")  # fmt: skip
    assert made["learner_class"] == "MCEmpirical"
    assert read("ask", "d")["weights"] == {"x": 0.5, "y": 0.5}
    made = read("create", "e", "--options", "x,y", "--learner", "OGD", "--risk-aversion", "1", "--set",
                "gradient=sample", "--outcome", "per_unit")  # fmt: skip
    assert "gradient='sample'" in made["learner"]
    assert study("create", "e", *FUNDS)[0] == 4


def test_outcomes_by_argument_by_json_and_on_standard_input(
    read: Read, study: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read("create", "s", "--option", "a=b", "--option", "c,d", "--feedback", "all", "--risk-aversion", "1", "--outcome",
         "per_unit")  # fmt: skip
    for _ in range(4):
        read("ask", "s")
    played = {"a=b": 0.25, "c,d": 0.75}
    told = read("tell", "s", "1", "a=b=-0.5", "c,d=1e-3", "--played", "a=b=0.25", "--played", "c,d=0.75")
    assert (told["outcome"], told["played"]) == ({"a=b": -0.5, "c,d": 0.001}, played)
    outcome = json.dumps(told["outcome"])
    told = read("tell", "s", "2", "--outcome-json", outcome, "--played", json.dumps(played))
    assert (json.dumps(told["outcome"]), told["played"]) == (outcome, played)
    monkeypatch.setattr("sys.stdin", io.StringIO(outcome))
    assert json.dumps(read("tell", "s", "3", "-")["outcome"]) == outcome
    assert read("tell", "s", "4", "--outcome-json", "[1, 2]")["outcome"] == {"a=b": 1.0, "c,d": 2.0}
    amended = read("amend", "s", "1", "a=b=0", "c,d=0")
    assert amended["played"] == played
    assert "amended once" in study("show", "s", "1")[1]


def test_totals_may_be_negative_and_letters_are_shown_as_they_are(study: Run, read: Read) -> None:
    name = "[red]mix[bold]"
    read("create", name, "--options", "[b]A,B", "--feedback", "total", "--risk-aversion", "1", "--outcome", "per_unit")
    shown = study("ask", name)[1]
    assert f"round 1 of {name}: open until" in shown
    assert f"covbandit study tell '{name}' 1 NUMBER" in shown
    assert re.search(r"^\[b\]A +0\.\d{4}$", shown, flags=re.MULTILINE)
    assert read("tell", name, "1", "-0.25")["reward"] == -0.25
    assert "reward of the weights played: -0.25 per unit" in study("show", name, "1")[1]
    assert name in study("list")[1]
    assert name in study("verify", name)[1]
    assert name in study("changes", name)[1] + study("rounds", name)[1]
    assert "no frontier" in study("frontier", name)[1]


def test_amounts_sum_exactly(study: Run, read: Read) -> None:
    read("create", "s", "--options", "a,b,c", "--feedback", "all", "--risk-aversion", "1", "--outcome", "per_unit")
    whole = read("ask", "s", "--client", "me", "--allocate", "100")
    assert whole["amounts"] == {"a": 34, "b": 33, "c": 33}
    cents = read("ask", "s", "--client", "me", "--allocate", "100", "--step", "0.01")
    assert cents["amounts"] == {"a": "33.34", "b": "33.33", "c": "33.33"}
    assert cents["id"] == whole["id"]
    assert re.search(r"^a +0\.3333 +3,333\.4$", study("ask", "s", "--allocate", "10000", "--step", "0.1")[1], re.M)
    before = read("show", "s")["rounds"]
    status, _, told = study("ask", "s", "--allocate", "100.5")
    assert status == 2
    assert "no multiple of step 1" in told
    assert read("show", "s")["rounds"] == before


def test_what_people_see(study: Run, funds: cb.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = study("show", "funds")[1]
    assert "learner    ShrunkEmpirical(n_options=2, risk_aversion=2.0)" in shown
    assert "rounds     1 (1 told, 0 open, 0 expired)" in shown
    shown = study("ask", "funds", "--client", "desk-1")[1]
    assert "client desk-1" in shown
    assert "covbandit study tell funds 2 SPY=NUMBER TLT=NUMBER" in shown
    assert "rounds that wait for their outcome" in study("show", "funds")[1]
    shown = study("tell", "funds", "2", "SPY=0.2", "TLT=0.1", "--played", "SPY=0.5,TLT=0.5")[1]
    assert re.search(r"option +weight +played +outcome", shown)
    assert "reward of the weights played: 0.15 per unit" in shown
    shown = study("rounds", "funds")[1]
    assert "all 2 rounds of funds, by their last change" in shown
    assert re.search(r"SPY 0\.5000, TLT 0\.5000", shown)
    assert re.search(r"option +weight +mean contribution", study("explain", "funds")[1])
    shown = study("frontier", "funds", "--points", "5")[1]
    assert re.search(r"best at ρ = 2 +0\.250 ± 0\.0\d+ +0\.0\d+ ± 0\.0\d+ +1\.0000 +0$", shown, re.M)
    shown = study("history", "funds")[1]
    assert re.search(r"round +reward +all so far +risk so far +equal weights", shown)
    study("outside", "funds", "SPY=0.1", "TLT=0.2", "--weights", "equal")
    assert "3 rounds told to funds, 2 of them shown" in study("history", "funds", "--points", "2")[1]
    shown = study("fork", "funds", "--learner", "MCEmpirical", "--risk-aversion", "1")[1]
    assert shown.startswith("What this learner would advise now, after the same history. Not how it would have")
    assert re.search(r"option +funds proposes +the fork proposes", shown)
    assert "nothing was stored" in shown
    shown = study("fork", "funds", "--feedback", "all", "--risk-aversion", "1", "--as", "new")[1]
    assert "it is now the study new; next: covbandit study ask new" in shown
    shown = study("set", "funds", "--risk-aversion", "0.5")[1]
    assert "risk aversion 0.5, before 2; since " in shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (2, r"correlation +fund-0000 +fund-0001\n"),
        (9, r"correlation +1 +2 +3 .*\n1 fund-0000 +1\.000"),
        (20, r"the 20 strongest of 190 correlations\noption +with +correlation"),
    ],
)
def test_correlations_fit_on_the_screen(count: int, shown: str, study: Run) -> None:
    names = [f"fund-{k:04}" for k in range(count)]
    made = cb.Study.create("wide", names, {"feedback": "all", "risk_aversion": 1.0}, "per_unit")
    for k in range(3):
        made.tell_outside([1 / count] * count, [((i + 1) * (k + 2)) % 7 for i in range(count)])
    answer = study("estimates", "wide")[1]
    assert re.search(shown, answer)
    assert max(map(len, answer.splitlines())) <= 120
    assert "fund-0000 0." in study("rounds", "wide")[1]


def test_times_are_local_for_people_and_utc_for_programs(
    study: Run, read: Read, funds: cb.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", "XYZ-05:30")
    time.tzset()
    try:
        assert re.search(r"told \d{4}-\d\d-\d\d \d\d:\d\d:\d\d XYZ", study("show", "funds", "1")[1])
        assert read("show", "funds", "1")["told_at"].endswith("Z")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_rounds_are_followed_by_revision(read: Read, study: Run, funds: cb.Study) -> None:
    for _ in range(30):
        funds.ask()
    first = read("rounds", "funds", "--limit", "10")
    assert [each["id"] for each in first["rounds"]] == list(range(1, 11))
    assert (first["more"], first["study_revision"]) == (True, funds.revision)
    rest = read("rounds", "funds", "--after", str(first["revision"]))
    assert [each["id"] for each in rest["rounds"]] == list(range(11, 32))
    assert (rest["more"], rest["revision"]) == (False, funds.revision)
    assert rest["rounds"] == [each.to_dict() for each in funds.rounds(after=first["revision"])]
    none = read("rounds", "funds", "--after", str(rest["revision"]))
    assert (none["rounds"], none["revision"]) == ([], rest["revision"])
    shown = study("rounds", "funds")[1]
    assert "the last 20 rounds of funds" in shown
    assert re.findall(r"^ +(\d+) ", shown, flags=re.MULTILINE) == [str(k) for k in range(12, 32)]
    assert "all 1 told rounds" in study("rounds", "funds", "--status", "told")[1]
    assert "no expired rounds" in study("rounds", "funds", "--status", "expired")[1]
    assert "go on with --after 3; there are more" in study("rounds", "funds", "--after", "0", "--limit", "1")[1]


def test_export_to_files_and_pipes(study: Run, read: Read, funds: cb.Study, tmp_path: Path) -> None:
    assert study("export", "funds")[1].encode() == funds.export()
    assert study("export", "funds", "--format", "json")[1].encode().strip() == funds.export(format="json")
    status, shown, _ = study("export", "funds", "--out", "rounds.parquet")
    assert (status, (tmp_path / "rounds.parquet").read_bytes()[:4]) == (0, b"PAR1")
    assert "1 rounds of funds written to rounds.parquet" in shown
    receipt = read("export", "funds", "--out", "rounds.csv")
    assert receipt == {"file": "rounds.csv", "rounds": 1, "bytes": (tmp_path / "rounds.csv").stat().st_size}
    assert (tmp_path / "rounds.csv").read_bytes() == funds.export()


def test_verify_ends_with_one_where_log_and_state_differ(study: Run, read: Read, funds: cb.Study) -> None:
    funds.close()
    assert "ok: funds: 1 round told again" in study("verify", "funds")[1]
    database = sqlite3.connect("covbandit.db")
    with database:
        database.execute("UPDATE studies SET n_told = 5")
    database.close()
    status, shown, told = study("verify", "--all")
    assert status == 1
    assert shown.startswith("DIFFERS: funds: counters do not fit the log: n_told is 5, counted 1")
    assert "hint:" in told
    status, shown, told = study("verify", "funds", "--json")
    assert (status, told) == (1, "")
    found = json.loads(shown, parse_constant=lambda name: pytest.fail(name))
    assert (found["ok"], found["difference"]) == (False, None)


def test_a_store_without_studies_or_tables(study: Run, read: Read, tmp_path: Path) -> None:
    (tmp_path / "covbandit.db").touch()
    assert study("upgrade", "--check")[0] == 6
    assert "had no tables; it was set up with schema" in study("upgrade")[1]
    assert read("list") == {"studies": []}
    assert "no studies in sqlite:///covbandit.db yet" in study("list")[1]
    assert read("verify", "--all") == {"ok": True, "studies": []}


def test_the_store_comes_from_the_environment(read: Read, study: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COVBANDIT_STORE", "sqlite:///elsewhere.db")
    assert "next: covbandit study ask funds\n" in study("create", "funds", *FUNDS)[1]
    assert Path("elsewhere.db").exists()
    monkeypatch.delenv("COVBANDIT_STORE")
    shown = study("ask", "funds", "--store", "sqlite:///elsewhere.db")[1]
    assert "TLT=NUMBER --store sqlite:///elsewhere.db\n" in shown


def test_in_processes_of_their_own(tmp_path: Path) -> None:
    """Two commands as a shell runs them, one document on standard output and nothing else."""
    store = f"sqlite:///{tmp_path / 'a b.db'}"
    made = covbandit("study", "create", "funds", *FUNDS, "--store", store, "--json")
    assert (made.returncode, made.stderr) == (0, "")
    assert json.loads(made.stdout)["name"] == "funds"
    taken = covbandit("study", "create", "funds", *FUNDS, "--store", store, "--json")
    assert (taken.returncode, taken.stdout) == (4, "")
    assert json.loads(taken.stderr)["error"] == "conflict"
    with Store(store) as place:
        assert [each.name for each in list_studies(place)] == ["funds"]
