"""Damaged, foreign and moved stores, and stores of older and newer versions."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import CovbanditError, NotFound, StateFileError, StoreSchemaError, StoreUnavailable
from covbandit.studies import Store, Study, list_studies, transactions
from covbandit.studies.migrations import migrate
from covbandit.studies.schema import SCHEMA
from covbandit.studies.tokens import list_tokens
from stores import sqlite_url

OPTIONS = ["north", "east", "south"]
FIXTURES = sorted((Path(__file__).parent / "store_fixtures").glob("schema-*.sql"))


def played_study(url: str | Path, rounds: int = 40) -> Study:
    study = cb.Study.create("damaged", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=1.0), "per_unit", store=url)
    for k in range(rounds):
        asked = study.ask(f"client {k % 3}", key=f"key {k}")
        if k % 5:
            study.tell(asked.id, [k % 3, 1.0, k % 7 * 0.1])
    study.amend(2, [9.0, 9.0, 9.0])
    return study


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a store that is in order."""
    file = tmp_path_factory.mktemp("whole") / "store.db"
    played_study(file).close()
    return file.read_bytes()


def use(file: Path) -> dict[str, str]:
    """Use a store in every way; return what came of it. Errors other than ours are not caught."""
    try:
        study = Study.open("damaged", file)
    except CovbanditError as error:
        return {"open": type(error).__name__}
    calls: dict[str, Callable[[], Any]] = {
        "summary": study.summary,
        "rounds": study.rounds,
        "verify": study.verify,
        "ask": lambda: study.ask("late"),
        "tell": lambda: study.tell(1, [1.0, 1.0, 1.0]),
        "amend": lambda: study.amend(3, [1.0, 1.0, 2.0]),
        "outside": lambda: study.tell_outside([1.0, 0.0, 0.0], [1.0, 1.0, 2.0]),
        "explain": study.explain,
        "history": study.history,
        "changes": study.changes,
        "export": lambda: study.export(format="json"),
    }
    came = {}
    for name, call in calls.items():
        try:
            answer = call()
            came[name] = str(answer.ok) if name == "verify" else "done"
        except CovbanditError as error:
            came[name] = type(error).__name__
    study.close()
    return came


def test_truncated_stores_are_refused(whole: bytes, tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    for size in (50, 99, 100, 512, 4_096, 8_192, len(whole) // 2, len(whole) - 4_096):
        file.write_bytes(whole[:size])
        with pytest.raises(StoreUnavailable, match=r"is damaged; restore it|is no SQLite database") as caught:
            Study.open("damaged", file)
        assert not caught.value.retryable
        assert file.read_bytes() == whole[:size]  # nobody made it worse
    for size in (0, 1):  # which is how new databases begin
        file.write_bytes(whole[:size])
        with pytest.raises(NotFound, match="holds no studies yet"):
            Study.open("damaged", file)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_text("option,return\nSPY,0.1\n" * 100, encoding="utf-8")
    before = file.read_bytes()
    for call in (lambda: Study.open("damaged", file), lambda: played_study(file), lambda: list_studies(file)):
        with pytest.raises(StoreUnavailable, match="is no SQLite database; name another file") as caught:
            call()
        assert not caught.value.retryable
    assert file.read_bytes() == before
    with pytest.raises(NotFound, match="there is no store"):
        Study.open("damaged", tmp_path)  # a folder


def test_a_database_of_something_else_holds_no_studies(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE accounts (name TEXT)")
    other.close()
    with pytest.raises(NotFound, match="holds no studies yet"):
        Study.open("damaged", file)


def test_bytes_that_changed_on_the_disk_never_end_in_an_error_of_others(whole: bytes, tmp_path: Path) -> None:
    source = random.Random(20)
    file = tmp_path / "store.db"
    came: list[dict[str, str]] = []
    for k in range(60):
        for left in tmp_path.iterdir():
            left.unlink()
        damaged = bytearray(whole)
        at, size = source.randrange(len(whole)), source.choice([1, 1, 16, 4_096])
        damaged[at : at + size] = source.randbytes(len(damaged[at : at + size])) if k % 2 else bytes(size)
        file.write_bytes(damaged[: len(whole)])
        came.append(use(file))
    refusals = {verdict for each in came for verdict in each.values()}
    assert "StoreUnavailable" in refusals  # they did meet damage
    assert refusals <= {"done", "True", "False", "StoreUnavailable", "NotFound", "StateFileError", "Conflict"}


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "other learner"])
def test_damaged_statistics_are_found_and_healed_from_the_log(damage: str, store_url: str) -> None:
    study = played_study(store_url, rounds=12)
    told = study.summary().told
    expected = study.learner.ask().tolist()
    with study.store.write() as connection:
        state = bytes(connection.execute(text("SELECT state FROM states")).scalar_one())
        changed = {
            "empty": b"",
            "cut": state[:-9],
            "flipped": state[:40] + bytes([state[40] ^ 1]) + state[41:],
            "foreign": b"PK\x03\x04" + state,
            "other learner": transactions.pack(cb.LinearFI(n_options=4)),
        }[damage]
        connection.execute(text("UPDATE states SET state = :state"), {"state": changed})
    again = Study.open("damaged", study.store)
    found = again.verify()
    assert not found.ok
    assert not found.exact
    assert again.learner.ask().tolist() == expected
    assert not again.verify().ok  # looking changes nothing
    asked = again.ask("healer")
    again.tell(asked.id, [0.5, 0.25, 1.0])
    verified = again.verify()
    assert verified.exact, verified.message
    assert again.learner.rounds_told == told + 1
    study.close()


def test_a_damaged_configuration_or_log_is_a_clear_error(store_url: str) -> None:
    study = played_study(store_url, rounds=8)

    def write(statement: str, **values: object) -> None:
        with study.store.write() as connection:
            connection.execute(text(statement), values)

    with study.store.read() as connection:
        configuration = connection.execute(text("SELECT configuration FROM studies")).scalar_one()
    for wrong in ('{"learner": "MCEmpir', "[]", "{}"):
        write("UPDATE studies SET configuration = :wrong", wrong=wrong)
        for call in (lambda: Study.open("damaged", study.store), study.ask, study.summary, study.verify):
            with pytest.raises(StateFileError, match="configuration is damaged; restore the store from a copy"):
                call()
    write("UPDATE studies SET configuration = :right", right=configuration)
    assert study.verify().exact

    write("UPDATE tells SET outcome = '[1.0, ' WHERE number = 3")
    for call in (study.verify, study.rounds, lambda: study.amend(2, [0.0, 0.0, 0.0])):
        with pytest.raises(StoreUnavailable, match="is damaged, or not as covbandit left it") as caught:
            call()
        assert not caught.value.retryable
    write("DELETE FROM tells WHERE number = 3")
    assert "n_tells" in study.verify().message
    lost = next(each for each in study.rounds() if each.status == "told" and each.outcome is None)
    with pytest.raises(StoreUnavailable, match=f"round {lost.id} of 'damaged' was told, but its outcome is missing"):
        study.tell(lost.id, [0.0, 0.0, 0.0])
    write("UPDATE tells SET outcome = '[5.0, 5.0, 5.0]' WHERE number = 2")
    write("DELETE FROM states")
    with pytest.raises(StoreUnavailable, match="is damaged, or not as covbandit left it"):
        Study.open("damaged", study.store).ask("late")
    study.close()


def test_a_changed_outcome_in_the_log_is_found(store_url: str) -> None:
    study = played_study(store_url, rounds=8)
    with study.store.write() as connection:
        connection.execute(text("UPDATE tells SET outcome = '[5.0, 5.0, 5.0]' WHERE number = 2"))
    found = study.verify()
    assert not found.ok
    assert "differs from the log" in found.message
    study.close()


def test_nothing_is_written_into_a_store_that_was_moved_or_replaced(tmp_path: Path) -> None:
    file, away = tmp_path / "store.db", tmp_path / "away.db"
    study = played_study(file)
    asked = study.ask("me")
    outcome = [1.0, 2.0, 3.0]
    study.close()
    shutil.copy(file, tmp_path / "copy.db")

    study.summary()  # a connection is open again
    file.rename(away)
    with pytest.raises(StoreUnavailable, match="was deleted or moved while it was in use") as caught:
        study.tell(asked.id, outcome)
    assert not caught.value.retryable
    with pytest.raises(StoreUnavailable, match="cannot be opened; check that it is there"):
        study.tell(asked.id, outcome)
    assert not file.exists()  # no empty store in its place

    away.rename(file)
    assert study.round(asked.id).status == "open"
    shutil.move(tmp_path / "copy.db", file)
    with pytest.raises(StoreUnavailable, match="was replaced by another file while it was in use"):
        study.tell(asked.id, outcome)
    assert study.tell(asked.id, outcome).status == "told"
    assert study.verify().exact
    study.close()


def test_a_failed_correction_does_not_forget_which_versions_computed_the_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = played_study(tmp_path / "store.db")
    with study.store.write() as connection:
        connection.execute(text("UPDATE states SET versions = :old"), {"old": json.dumps([{"covbandit": "0.0.1"}])})
    again = Study.open("damaged", study.store)
    again.explain()
    with monkeypatch.context() as patched:
        patched.setattr(transactions, "pack", lambda _: 1 / 0)
        for call in (lambda: again.amend(2, [0.0, 0.0, 0.0]), lambda: again.set_risk_aversion(2.0)):
            with pytest.raises(ZeroDivisionError):
                call()
    again.tell(again.ask("me").id, [1.0, 1.0, 1.0])
    with study.store.read() as connection:
        kept = json.loads(connection.execute(text("SELECT versions FROM states")).scalar_one())
    assert [each["covbandit"] for each in kept] == ["0.0.1", cb.__version__]
    assert study.verify().exact
    study.close()


# Other versions -------------------------------------------------------------------------------------------------------


def restored(fixture: Path, file: Path) -> Path:
    with sqlite3.connect(file) as connection:
        connection.executescript(fixture.read_text(encoding="utf-8"))
    connection.close()
    return file


def test_there_is_a_store_of_every_schema() -> None:
    written = [fixture.stem.removeprefix("schema-") for fixture in FIXTURES]
    assert written == [f"{k:04}" for k in range(1, int(SCHEMA) + 1)], "see store_fixtures/make_fixture.py"


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.stem)
def test_a_store_of_an_older_version_is_upgraded_with_everything_in_it(fixture: Path, tmp_path: Path) -> None:
    file = restored(fixture, tmp_path / "store.db")
    version = fixture.stem.removeprefix("schema-")
    url = sqlite_url(tmp_path)
    if version != SCHEMA:
        before = contents(file)
        for call in (lambda: Study.open("campaign", url), lambda: list_studies(url), lambda: played_study(url)):
            with pytest.raises(StoreSchemaError) as caught:
                call()
            assert f"covbandit study upgrade --store {shlex.quote(url)}" in str(caught.value)
            assert f"schema {version}, this one uses {SCHEMA}" in str(caught.value)
        assert contents(file) == before
    with Store.of_any_schema(url) as store:
        assert store.schema() == version
        assert store.upgrade() == (version, SCHEMA)
        assert store.upgrade() == (SCHEMA, SCHEMA)

    with Store(url) as store:
        assert [token.label for token in list_tokens(store)] == (["reader"] if version >= "0002" else [])
        names = ["campaign", "drawn", "full information", "treatment", "unused"]
        assert [each.name for each in list_studies(store)] == names
        for name in names:
            go_on(Study.open(name, store))
        full = Study.open("full information", store)
        assert full.options == ("Süd", 'Ost\'s "best"', "new")
        assert full.retired == ("Nord",)
        assert full.risk_aversion == 1.3
        assert full.round(3).amendments == 1
        assert full.round(3).outcome == {"Süd": 9.0, "Nord": -1.0, 'Ost\'s "best"': 0.125}
        assert full.ask(key="2026-W46").client == "patient"
        assert [each.kind for each in full.changes()] == ["created", "risk_aversion", "added", "retired"]


def test_the_command_in_the_refusal_upgrades_the_store(
    tmp_path: Path, command_line: Callable[..., tuple[int, str, str]]
) -> None:
    file = restored(FIXTURES[0], tmp_path / "it's mine.db")
    code, _, refusal = command_line("study", "list", "--store", str(file))
    assert code != 0
    command = shlex.split(" ".join(refusal.split()).partition("upgrade it: ")[2])
    assert command[:3] == ["covbandit", "study", "upgrade"]
    assert command_line(*command[1:])[0] == 0
    assert command_line("study", "verify", "campaign", "--store", str(file))[0] == 0


def go_on(study: Study) -> None:
    """Go on with a study of long ago: tell what waits, ask and tell anew, correct."""
    verified = study.verify()
    assert verified.ok, verified.message
    for _ in range(3):
        waiting = study.ask("waiting", lease=None)
        assert study.ask("waiting").id == waiting.id
        held = {name: 0.5 for name, w in waiting.weights.items() if w > 0}
        outcome: Any = dict.fromkeys(study.options, 0.5)
        if study.feedback != "all":
            outcome = 0.5 if study.feedback == "total" else held
        told = study.tell(waiting.id, {**held, **outcome} if isinstance(outcome, dict) else outcome)
        assert told.status == "told"
    if study.feedback == "total":
        study.amend(told.id, 0.25)
    else:
        study.amend(told.id, dict.fromkeys(told.rewards, 0.25))  # type: ignore[union-attr]
    verified = study.verify()
    assert verified.ok, verified.message
    assert study.learner.rounds_told == study.summary().told
    study.explain()
    study.history()
    study.export(format="json")


def contents(file: Path) -> list[str]:
    with sqlite3.connect(file) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


def test_a_newer_store_is_refused_untouched(store_url: str) -> None:
    with Store(store_url, create=True) as store, store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for call in (
        lambda: Study.open("damaged", store_url),
        lambda: played_study(store_url),
        lambda: list_studies(store_url),
        lambda: Store.of_any_schema(store_url).upgrade(),
    ):
        with pytest.raises(StoreSchemaError, match=r"newer covbandit .*schema 9999.* the store was not touched"):
            call()
    with Store.of_any_schema(store_url) as store:
        assert store.schema() == "9999"


def test_an_upgrade_that_fails_leaves_the_store_as_it_was(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if store_url.startswith("sqlite"):
        Path(store_url.removeprefix("sqlite:///")).touch()
    with Store.of_any_schema(store_url) as store:
        with store.write() as connection:
            migrate(connection, to="0001")
        with monkeypatch.context() as patched:
            patched.setattr("alembic.migration.MigrationContext.stamp", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.upgrade()
        assert store.schema() == "0001"
        with store.read() as connection:
            assert not store._engine.dialect.has_table(connection, "tokens")
        assert store.upgrade() == ("0001", SCHEMA)
    study = played_study(store_url, rounds=6)
    assert study.verify().exact
    study.close()


@pytest.mark.parametrize("counter", ["n_rounds", "n_tells", "n_told", "n_open", "n_amended"])
def test_a_counter_that_does_not_fit_the_rows_is_found(store_url: str, counter: str) -> None:
    study = played_study(store_url, rounds=10)
    assert study.verify().ok
    with study.store.write() as connection:
        right = connection.execute(text(f"SELECT {counter} FROM studies")).scalar_one()
        assert right > 0
        connection.execute(text(f"UPDATE studies SET {counter} = {right + 1}"))
    found = study.verify()
    assert (found.ok, found.exact) == (False, False)
    assert f"{counter} is {right + 1}, counted {right}" in found.message
    study.close()


def test_a_told_round_whose_outcome_is_lost_is_found(store_url: str) -> None:
    """Also if the counter of outcomes fits what is left."""
    study = played_study(store_url, rounds=10)
    with study.store.write() as connection:
        lost = connection.execute(text("SELECT last_tell FROM rounds WHERE number = 4")).scalar_one()
        connection.execute(text("DELETE FROM tells WHERE number = :lost"), {"lost": lost})
        connection.execute(text("UPDATE studies SET n_tells = n_tells - 1"))
    found = study.verify()
    assert (found.ok, found.exact) == (False, False)
    assert "1 told rounds lack their outcome" in found.message
    study.close()


@pytest.mark.parametrize(
    ("apart", "same_versions", "ok", "said"),
    [
        (1e-11, False, True, "within 1.0e-11; other versions computed it"),
        (1e-8, False, False, "differs from the log by 1.0e-08, allowed is 1e-09"),
        (1e-11, True, False, "differs from the log by 1.0e-11, allowed is 0, since the same versions computed both"),
        (0.0, False, True, "bit for bit"),
    ],
)
def test_how_far_the_stored_statistics_may_be_from_the_log(
    tmp_path: Path, apart: float, same_versions: bool, ok: bool, said: str
) -> None:
    """By nothing if the same versions computed both, else by 1e-9 of the largest entry of an array."""
    study = played_study(tmp_path / "s.db", rounds=12)
    learner = study.learner
    scatter = learner._view.scatter
    scatter[0, 1] += apart * np.abs(scatter).max()
    versions = [transactions.versions() | ({} if same_versions else {"numpy": "0.1"})]
    with study.store.write() as connection:
        connection.execute(
            text("UPDATE states SET state = :state, versions = :versions"),
            {"state": transactions.pack(learner), "versions": json.dumps(versions)},
        )
    found = study.verify()
    assert (found.ok, found.exact) == (ok, apart == 0)
    assert said in found.message
    assert found.difference == pytest.approx(apart, rel=0.01, abs=1e-15)
    study.close()
