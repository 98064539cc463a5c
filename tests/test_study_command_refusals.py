"""What ``covbandit study`` refuses: exit codes, and messages with value, cause and way out."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

import covbandit as cb
from covbandit.cli import console
from covbandit.cli.errors import report_of, wants_json
from covbandit.cli.study import study as group
from covbandit.core.error_table import ERROR_TABLE
from covbandit.errors import AssumptionWarning, CovbanditError, StoreSchemaError, StoreUnavailable
from covbandit.studies import Store
from covbandit.studies.migrations import migrate
from covbandit.studies.schema import SCHEMA

Run = Callable[..., tuple[int, str, str]]

CREATE = ("create", "x", "--options", "SPY,TLT", "--outcome", "per_unit")
RECOMMENDED = ("--feedback", "all", "--risk-aversion", "2")


@pytest.fixture
def study(command_line: Run) -> Run:
    """Run ``covbandit study``."""
    return lambda *arguments: command_line("study", *arguments)


@pytest.fixture
def funds(study: Run) -> cb.Study:
    """Return a study with a told round and an open one."""
    made = cb.Study.create("funds", ["SPY", "TLT"], {"feedback": "all", "risk_aversion": 2.0}, "per_unit")
    made.tell(made.ask().id, {"SPY": 0.3, "TLT": -0.1})
    made.ask()
    return made


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("show", "nofunds"), 3, "there is no study 'nofunds' in sqlite:///covbandit.db; there are: 'funds'"),
        (("show", "funds", "9"), 3, "hint: what rounds there are: covbandit study rounds funds"),
        (("show", "funds", "one"), 2, "ROUND must be the number of a round, as ask gave it, got 'one'"),
        (("list", "--store", "nowhere.db"), 3, "there is no store nowhere.db"),
        (("list", "--store", "mysql://me@here/x"), 2, "'mysql' is not supported"),
        (("tell", "funds", "9", "SPY=1", "TLT=1"), 3, "study 'funds' has no round 9"),
        (("tell", "funds", "1", "SPY=1", "TLT=1"), 4, "correct it with amend; nothing was changed"),
        (("tell", "funds", "1", "SPY=1", "TLT=1"), 4, "hint: what was told: covbandit study show funds 1"),
        (("amend", "funds", "2", "SPY=1", "TLT=1"), 4, "round 2 of 'funds' has not been told yet"),
        ((*CREATE[:1], "funds", *CREATE[2:], *RECOMMENDED), 4, "there is a study 'funds' already"),
        (("tell", "funds"), 2, "which round?"),
        (("tell", "funds", "2"), 2, "no outcome: give it as SPY=0.1"),
        (("tell", "funds", "SPY=1", "TLT=1"), 2, "ROUND must be the number of a round"),
        (("tell", "funds", "2", "SPY=1"), 2, "outcome is missing for option 'TLT'"),
        (("tell", "funds", "2", "SPY=1", "TLT="), 2, "outcome of option 'TLT' has no value; what is not known is not"),
        (("tell", "funds", "2", "SPY=1", "TLT=0,3"), 2, "got '0,3'; write 0.3 with a decimal point"),
        (("tell", "funds", "2", "SPY=1", "TLT=1_0"), 2, "outcome of option 'TLT' must be a number, got '1_0'"),
        (("tell", "funds", "2", "SPY=1", "TLT=3,600"), 2, "got '3,600', which may mean 3600 or 3.6; write the one"),
        (("amend", "funds", "1", "SPY=1", "TLT=-3,600"), 2, "which may mean -3600 or -3.6; write the one that is"),
        (("tell", "funds", "2", "3,600"), 2, "got '3,600', which may mean 3600 or 3.6; write the one that is meant"),
        (("tell", "funds", "2", "--outcome-json", '{"SPY": 1, "TLT": "3,600"}'), 2, "may mean 3600 or 3.6"),
        (("tell", "funds", "2", "SPY=1", "TLT=1.234,5"), 2, "got '1.234,5'; write 1234.5 with a decimal point"),
        (("tell", "funds", "2", "SPY=1", "TLT=1'000"), 2, "; write 1000"),
        (("tell", "funds", "2", "SPY=1", "TLT=1 000"), 2, "got '1 000'; write 1000"),
        (("tell", "funds", "2", "SPY=1", "TLT=50%"), 2, "got '50%', which may mean 0.5 or 50; write the one"),
        (("tell", "funds", "2", "SPY=1", "TLT=€3.600"), 2, "which may mean 3600 or 3.6; write the one that is meant"),
        (("tell", "funds", "2", "SPY=1", "TLT=3.5k"), 2, "got '3.5k'; write 3500"),
        (("tell", "funds", "2", "SPY=1", "TLT=1", "--played", "SPY=50%"), 2, "weight of option 'SPY'"),
        (("tell", "funds", "2", "SPY=1", "TLT=1", "--played", "SPY=50%"), 2, "got '50%'; write 0.5 with a decimal"),
        (("outside", "funds", "SPY=1", "TLT=1", "--weights", "SPY=0,6,TLT=0,4"), 2, "'6' has no option"),
        (("outside", "funds", "SPY=1,000", "TLT=1", "--weights", "equal"), 2, "which may mean 1000 or 1; write"),
        (("ask", "funds", "--allocate", "10,000"), 2, "got '10,000', which may mean 10000 or 10; write the one"),
        (("ask", "funds", "--allocate", "10'000"), 2, "; write 10000"),
        (("ask", "funds", "--allocate", "10000", "--step", "0,01"), 2, "--step must be a number, got '0,01'; write"),
        ((*CREATE, "--feedback", "all", "--risk-aversion", "0,4"), 2, "got '0,4'; write 0.4 with a decimal point"),
        ((*CREATE, *RECOMMENDED, "--min-weight", "1,000"), 2, "got '1,000', which may mean 1000 or 1; write the"),
        ((*CREATE, *RECOMMENDED, "--max-weight", "50%"), 2, "got '50%'; write 0.5 with a decimal point"),
        (("tell", "funds", "2", "SPY=1", "TLT=nan"), 2, "outcome of option 'TLT'"),
        (("tell", "funds", "2", "SPY=1", "QQQ=1"), 2, "unknown option 'QQQ'; known are 'SPY', 'TLT'"),
        (("tell", "funds", "2", "SPY=1", "SPY=1"), 2, "option 'SPY' is named twice"),
        (("tell", "funds", "2", "SPY=1", "=1"), 2, "must be given as OPTION=NUMBER, such as SPY=0.1, got '=1'"),
        (("tell", "funds", "2", "SPY=1", "--playd", "SPY=1"), 2, "there is no option --playd"),
        (("tell", "funds", "2", "--playd"), 2, "there is no option --playd"),
        (("tell", "funds", "2", "good"), 2, "must be a number, got 'good'"),
        (("tell", "funds", "2", "0.5"), 2, "outcome must be given by option name"),
        (("tell", "funds", "2", "SPY=1", "TLT=1", "--played", "SPY=0.5"), 2, "weights sum to 0.5, not to one"),
        (("tell", "funds", "2", "SPY=1", "--outcome-json", "{}"), 2, "given twice, by --outcome-json and as SPY=1"),
        (("tell", "funds", "2", "--outcome-json", "{SPY"), 2, "--outcome-json is not JSON"),
        (("tell", "funds", "2", "--outcome-json", "[" * 9999), 2, "--outcome-json is"),
        (("tell", "funds", "2", "--file", "o.csv"), 2, "--file has rounds and outcomes"),
        (("outside", "funds", "SPY=1", "TLT=1"), 2, "what was played? Give the weights: --weights SPY=0.6,TLT=0.4"),
        (("outside", "funds", "SPY=1", "--file", "o.csv"), 2, "--file has the outcomes"),
        (("ask", "funds", "--lease", "soon"), 2, "lease must be a time such as 30d, 12h, 30m, 90s"),
        (("ask", "funds", "--lease", "-1d"), 2, "lease must be a time"),
        (("ask", "funds", "--allocate", "much"), 2, "--allocate must be a number, got 'much'"),
        (CREATE, 2, "say what is seen of a round, --feedback all, chosen or total"),
        ((*CREATE, "--feedback", "all"), 2, "no risk aversion: --risk-aversion RHO is"),
        ((*CREATE, "--feedback", "al", "--risk-aversion", "1"), 2, "got 'al'"),
        ((*CREATE, "--learner", "MCE"), 2, "unknown learner class 'MCE'; known are"),
        ((*CREATE, *RECOMMENDED, "--learner", "OGD"), 2, "; not both"),
        ((*CREATE, *RECOMMENDED, "--set", "seed"), 2, "--set takes KEY=VALUE, such as half_life=50, got 'seed'"),
        ((*CREATE, *RECOMMENDED, "--set", "risk_aversion=1"), 2, "risk_aversion has an option of its own"),
        ((*CREATE, *RECOMMENDED, "--set", "half_lif=1"), 2, "half_lif"),
        ((*CREATE, *RECOMMENDED, "--max-weight", "a lot"), 2, "--max-weight must be a number, got 'a lot'"),
        ((*CREATE[:-2], *RECOMMENDED), 2, "say what will be told: --outcome per_unit"),
        ((*CREATE[:-1], "profit", *RECOMMENDED), 2, "got 'profit'"),
        (("create", "x", "--outcome", "amount", *RECOMMENDED), 2, "no options: name them by --options SPY,TLT"),
        (("create", "x/y", *CREATE[2:], *RECOMMENDED), 2, "study name must not contain /"),
        (("set", "funds", "--risk-aversion", "-1"), 2, "risk_aversion must not be negative, got -1"),
        (("retire", "funds", "QQQ"), 3, "no option 'QQQ'; in use are 'SPY', 'TLT'"),
        (("restore", "funds", "SPY"), 2, "option 'SPY' is in use"),
        (("add", "funds", "SPY"), 2, "there is an option 'SPY' already"),
        (("rounds", "funds", "--status", "lost"), 2, 'status must be "open", "told" or "expired"'),
        (("rounds", "funds", "--limit", "0"), 2, "limit must be at least 1, got 0"),
        (("fork", "funds", "--learner", "OGD"), 2, "risk_aversion"),
        (("export", "funds", "--out", "x.xls"), 2, "got 'xls'"),
        (("export", "funds", "--out", "none/x.csv"), 2, "cannot write none/x.csv: No such file or directory"),
        (("verify",), 2, "name the study to verify, or --all"),
        (("verify", "funds", "--all"), 2, "; not both"),
        (("frontier", "funds", "--points", "1"), 2, "points"),
    ],
)
def test_refused(arguments: tuple[str, ...], status: int, message: str, study: Run, funds: cb.Study) -> None:
    """In a line for people, in an object for programs, and nothing has changed."""
    before = funds.revision
    ended, shown, told = study(*arguments)
    assert (ended, shown) == (status, "")
    assert message in told
    assert told.startswith("error: ")
    ended, shown, told = study(*arguments, "--json")
    assert (ended, shown) == (status, "")
    answer = json.loads(told)
    assert set(answer) == {"error", "message", "hint"}
    assert answer["error"] == {2: "invalid", 3: "not_found", 4: "conflict"}[status]
    assert message.removeprefix("hint: ") in answer["message"] + answer["hint"]
    assert answer["hint"]
    assert funds.revision == before


def test_misuse_is_an_object_for_programs(study: Run) -> None:
    for arguments in (("ask",), ("ask", "funds", "--oops"), ("set", "funds", "--risk-aversion", "x"), ("nonsense",)):
        status, shown, told = study(*arguments, "--json")
        assert (status, shown) == (2, "")
        assert json.loads(told)["error"] == "invalid"
        assert study(*arguments)[0] == 2
    status, _, told = study("export", "funds", "--format", "csv", "--json")
    assert (status, "leave one out" in json.loads(told)["message"]) == (2, True)


def test_a_store_that_cannot_be_used(study: Run, tmp_path: Path) -> None:
    """Whether trying again may help is told."""
    (tmp_path / "junk.db").write_text("no database at all, but long enough to look like one" * 99, encoding="utf-8")
    status, _, told = study("list", "--store", "junk.db")
    assert status == 5
    assert "is no SQLite database" in told
    assert "hint: This does not pass by itself" in told
    status, _, told = study("list", "--store", "postgresql://me:secret@127.0.0.1:1/x", "--json")
    assert status == 5
    answer = json.loads(told)
    assert answer["error"] == "unavailable"
    assert "postgresql://me:***@127.0.0.1:1/x does not answer" in answer["message"]
    assert answer["hint"].startswith("This may pass by itself: try again.")
    assert "secret" not in told


def test_an_older_store_is_upgraded_by_the_command_that_the_refusal_names(study: Run, store_url: str) -> None:
    if store_url.startswith("sqlite"):
        sqlite3.connect(store_url.removeprefix("sqlite:///")).close()
        Path(store_url.removeprefix("sqlite:///")).touch()
    with Store.of_any_schema(store_url) as store, store.write() as connection:
        migrate(connection, "0001")
    at = ("--store", store_url)
    status, _, told = study("list", *at)
    assert status == 6
    assert "covbandit study upgrade --store" in told
    status, shown, told = study("upgrade", "--check", "--json", *at)
    assert (status, told) == (6, "")
    found = json.loads(shown)
    assert (found["before"], found["after"], found["newest"]) == ("0001", "0001", SCHEMA)
    assert (
        f"has schema 0001, the newest is {SCHEMA}; make a copy, then: covbandit" in study("upgrade", "--check", *at)[1]
    )
    assert f"was upgraded from schema 0001 to {SCHEMA}" in study("upgrade", *at)[1]
    assert study("upgrade", "--check", *at)[0] == 0
    assert "nothing to do" in study("upgrade", *at)[1]
    assert study("list", *at)[0] == 0


def test_a_newer_store_is_refused(study: Run, funds: cb.Study) -> None:
    funds.close()
    database = sqlite3.connect("covbandit.db")
    with database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    for arguments in (("list",), ("upgrade",), ("upgrade", "--check")):
        status, _, told = study(*arguments)
        assert status == 6
        assert "newer covbandit (schema 9999, this one knows up to" in told
    status, _, told = study("ask", "funds", "--json")
    assert (status, json.loads(told)["error"]) == (6, "unavailable")


def test_ctrl_c_is_told(study: Run, funds: cb.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cb.Study, "verify", press)
    status, shown, told = study("verify", "funds")
    assert (status, shown) == (130, "")
    assert "interrupted: what was finished is kept, nothing is half done" in told
    status, _, told = study("verify", "funds", "--json")
    assert (status, json.loads(told)["error"]) == (130, "interrupted")


def test_what_a_learner_doubts_is_noted(study: Run, funds: cb.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    explain = cb.Study.explain

    def doubting(self: cb.Study) -> cb.Explanation:
        warnings.warn("rewards vary more than variance_bound says", AssumptionWarning, stacklevel=2)
        return explain(self)

    monkeypatch.setattr(cb.Study, "explain", doubting)
    status, shown, told = study("explain", "funds", "--json")
    assert (status, told) == (0, "note: rewards vary more than variance_bound says\n")
    assert json.loads(shown)["rounds"] == 1


def test_every_error_of_ours_has_an_exit_code() -> None:
    assert {reports.command_line.status for reports in ERROR_TABLE.values()} == {2, 3, 4, 5, 6}
    assert report_of(StoreUnavailable("gone")).status == 5
    assert report_of(StoreSchemaError("old")).status == 6
    assert report_of(CovbanditError("else")).status == 2
    assert wants_json(["study", "list", "--json"])
    assert not wants_json(["study", "tell", "--", "--json"])


def test_progress_is_shown_on_terminals_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert console.WAITING_SHOWN_AFTER == 2.0
    monkeypatch.setattr(console, "WAITING_SHOWN_AFTER", 0.0)
    monkeypatch.setattr(console, "Console", lambda stderr: Console(stderr=stderr, force_terminal=True, width=100))
    with console.Waiting("verifying [funds]", 2_000) as waiting:
        waiting(1_000)
        while not waiting._shown:
            time.sleep(0.01)
    assert "verifying [funds]" in capsys.readouterr().err
    monkeypatch.setattr(console, "Console", lambda stderr: Console(stderr=stderr, force_terminal=False))
    with console.Waiting("verifying", 2_000) as waiting:
        waiting(1_000)
    assert capsys.readouterr() == ("", "")


def test_every_help_teaches_by_example(command_line: Run) -> None:
    shown = command_line("study", "--help")[1]
    assert "Exit codes: 0 done, 1 study verify found a difference, 2 bad input" in shown
    for line in ("create funds", "ask funds", "tell funds 1", "explain funds", "export funds"):
        assert f"covbandit study {line}" in shown
    names = [str(command.name) for command in group.registered_commands]
    assert len(names) == 21
    for name in names:
        assert f"\n covbandit study {name}" in command_line("study", name, "--help")[1]
    top = command_line("--help")[1]
    for words in ("Exit codes: 0 done", "130 interrupted", "serve", "token", "study"):
        assert words in top


def test_tokens(command_line: Run) -> None:
    status, token, told = command_line("token", "create", "desk", "--scope", "tell")
    assert status == 0
    assert token.startswith("cbt_")
    assert "only time" in told
    listed = json.loads(command_line("token", "list", "--json")[1])["tokens"]
    assert [(each["label"], each["scope"]) for each in listed] == [("desk", "tell")]
    assert "revoked: " in command_line("token", "revoke", listed[0]["id"])[1]
    status, _, told = command_line("token", "revoke", "nothing", "--json")
    assert (status, json.loads(told)["error"]) == (3, "not_found")
    assert "127.0.0.1:8765" in command_line("serve", "--help")[1]
    assert "create one first: covbandit token create" in command_line("serve", "--host", "0.0.0.0")[2]


def test_help_and_version_load_no_numerics() -> None:
    code = "import sys, covbandit.cli.app; print(sorted({'numpy', 'numba', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "[]\n"
