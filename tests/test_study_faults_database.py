"""Databases that are locked, gone, back again, or refuse; and answers that get lost on the way."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

import covbandit as cb
from covbandit.errors import Conflict, StoreUnavailable
from covbandit.studies import Round, Store, Study, transactions
from covbandit.studies import store as stores
from covbandit.studies.database_errors import unavailable
from covbandit.studies.store import _write_ahead
from postgres_server import PostgresServer
from stores import sqlite_url

OPTIONS = ["north", "east", "south"]
OUTCOME = {"north": 1.0, "east": 0.5, "south": -0.25}
OTHER = {"north": 0.0, "east": 0.25, "south": 2.0}

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
print("free", flush=True)
"""


def new_study(url: str, rounds: int = 5) -> Study:
    study = cb.Study.create(
        "faults", OPTIONS, cb.MCEmpirical(n_options=3, risk_aversion=1.0), outcome="per_unit", store=url
    )
    for k in range(rounds):
        study.tell(study.ask("before").id, {name: value + k % 3 for name, value in OUTCOME.items()})
    return study


def assert_clean(study: Study, told: int, opened: int = 0) -> None:
    """Assert that so many rounds were told, each counted once, and so many are open."""
    summary = study.summary()
    assert (summary.told, summary.open, summary.rounds) == (told, opened, told + opened)
    assert study.learner.rounds_told == told
    verified = study.verify()
    assert verified.exact, verified.message
    again = Study.open(study.name, study.store)
    assert again.learner.ask().tolist() == study.learner.ask().tolist()


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[Callable[[], None]]:
    """Hold SQLite's lock for writing; yield what lets go of it."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        let_go = False

        def release() -> None:
            nonlocal let_go
            if not let_go:
                let_go = True
                holder.stdin.write("\n")  # type: ignore[union-attr]
                holder.stdin.flush()  # type: ignore[union-attr]
                assert holder.stdout.readline() == "free\n"  # type: ignore[union-attr]

        try:
            yield release
        finally:
            release()


# Locked ---------------------------------------------------------------------------------------------------------------


def test_a_lock_held_for_too_long_is_an_error_worth_trying_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.05)
    study = new_study(sqlite_url(tmp_path))
    asked = study.ask("me")
    revision = study.revision
    with locked_by_another_process(tmp_path / "store.db") as release:
        for call in (
            lambda: study.tell(asked.id, OUTCOME),
            lambda: study.ask("you"),
            lambda: study.amend(1, OTHER),
            lambda: study.set_risk_aversion(2.0),
            lambda: study.tell_outside([1.0, 0.0, 0.0], OUTCOME),
            lambda: study.fork(cb.MCEmpirical(n_options=3, risk_aversion=2.0), name="fork"),
            lambda: cb.Study.create("new", OPTIONS, cb.LinearFI(n_options=3), "per_unit", store=study.store),
        ):
            with pytest.raises(StoreUnavailable, match="locked by another process") as caught:
                call()
            assert caught.value.retryable
        assert study.revision == revision  # reading goes on
        assert study.verify().exact
        assert Study.open("faults", sqlite_url(tmp_path)).round(asked.id).status == "open"
        release()
        assert study.tell(asked.id, OUTCOME).status == "told"
    assert_clean(study, told=6)
    study.close()


def test_whoever_waits_for_a_lock_gets_it_when_it_is_free(tmp_path: Path) -> None:
    study = new_study(sqlite_url(tmp_path))
    asked = study.ask("me")
    told: list[Round] = []
    waiting = threading.Thread(target=lambda: told.append(study.tell(asked.id, OUTCOME)))
    with locked_by_another_process(tmp_path / "store.db") as release:
        waiting.start()
        waiting.join(timeout=0.2)
        assert not told
        release()
        waiting.join()
    assert told[0].status == "told"
    assert_clean(study, told=6)
    study.close()


def test_a_thread_that_writes_for_too_long_is_an_error_worth_trying_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(sqlite_url(tmp_path))
    monkeypatch.setattr(stores, "BUSY_SECONDS", 0.05)
    refused: list[BaseException] = []

    def ask_too() -> None:
        try:
            Study.open("faults", sqlite_url(tmp_path)).ask("you")
        except StoreUnavailable as error:
            refused.append(error)

    with study.store.write():
        other = threading.Thread(target=ask_too)
        other.start()
        other.join()
    assert "another thread of this process is writing" in str(refused[0])
    assert refused[0].retryable  # type: ignore[attr-defined]
    assert study.ask("you").status == "open"
    assert_clean(study, told=5, opened=1)
    study.close()


# Answers that get lost ------------------------------------------------------------------------------------------------


@contextmanager
def the_answer_to_a_commit_gets_lost(
    study: Study, carried_out: bool, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Let the database take a transaction in, or not, and the process never hear of it."""
    dialect = study.store._engine.dialect
    commit = dialect.do_commit

    def lose(connection: Any) -> None:
        if carried_out:
            commit(connection)
        else:
            dialect.do_rollback(connection)
        raise dialect.loaded_dbapi.OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        patched.setattr(dialect, "do_commit", lose)
        patched.setattr(dialect, "is_disconnect", lambda *_: True)
        yield


@pytest.mark.parametrize("carried_out", [True, False])
def test_what_is_repeated_after_a_lost_answer_counts_once(
    store_url: str, carried_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = new_study(store_url)
    calls: list[Callable[[], Any]] = [
        lambda: study.ask("me"),
        lambda: study.ask("me", key="week 1"),
        lambda: study.tell(6, OUTCOME),
        lambda: study.tell(7, OUTCOME),
        lambda: study.amend(6, OTHER),
        lambda: study.tell_outside([0.5, 0.5, 0.0], OUTCOME, key="history"),
        lambda: study.tell_many([(6, OUTCOME), (7, OUTCOME)]),
        lambda: study.set_risk_aversion(3.0),
    ]
    for call in calls:
        with the_answer_to_a_commit_gets_lost(study, carried_out, monkeypatch):
            if study.store.is_sqlite:
                with pytest.raises(Exception, match="connection was lost"):
                    call()
            else:
                with pytest.raises(StoreUnavailable, match="repeating a tell is safe") as caught:
                    call()
                assert caught.value.retryable
        call()
    assert_clean(study, told=8)
    assert study.round(6).outcome == OTHER
    assert study.round(6).amendments == 1
    study.close()


@contextmanager
def statements_of(study: Study) -> Iterator[list[str]]:
    """Note what is sent to the database."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(" ".join(statement.split()))

    event.listen(study.store._engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(study.store._engine, "before_cursor_execute", note)


@pytest.mark.parametrize("call", ["ask", "tell"])
def test_statistics_are_read_anew_after_the_store_was_unavailable(store_url: str, call: str) -> None:
    """What comes back may be another state of the store: nothing in memory is trusted until it was read again."""
    study = new_study(store_url)
    asked = study.ask("me")
    calls: dict[str, Callable[[], Any]] = {
        "ask": lambda: study.ask("other"),
        "tell": lambda: study.tell(asked.id, OUTCOME),
    }

    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM studies" in statement:
            raise study.store._engine.dialect.loaded_dbapi.OperationalError("the connection was lost")

    with statements_of(study) as sent:
        study.ask()
    assert not [each for each in sent if "FROM states" in each]  # in memory
    event.listen(study.store._engine, "before_cursor_execute", fail)
    with pytest.raises(StoreUnavailable):
        calls[call]()
    event.remove(study.store._engine, "before_cursor_execute", fail)
    with statements_of(study) as sent:
        calls[call]()
        study.ask()
    assert len([each for each in sent if "FROM states" in each]) == 1
    assert study.verify().exact
    study.close()


# PostgreSQL gone and back ---------------------------------------------------------------------------------------------


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Return what lets something happen once in the midst of the next tell, between two of its writes."""

    def disturb(happening: Callable[[], None]) -> None:
        pack = transactions.pack

        def packed(learner: cb.Learner) -> bytes:
            monkeypatch.setattr(transactions, "pack", pack)
            happening()
            return pack(learner)

        monkeypatch.setattr(transactions, "pack", packed)

    return disturb


def persistently(call: Callable[[], Any]) -> Any:
    """Repeat a call as long as its errors say that this may help."""
    for _ in range(600):
        try:
            return call()
        except StoreUnavailable as error:
            if not error.retryable:
                raise
            time.sleep(0.05)
    raise AssertionError("it never worked again")


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_postgresql_goes_away_and_comes_back(
    mode: str, own_postgres_server: PostgresServer, disturbed: Callable[[Callable[[], None]], None]
) -> None:
    server = own_postgres_server
    with server.new_database() as url:
        study = new_study(url)
        asked = study.ask("me")

        server.stop(mode)
        for call in (
            lambda: study.tell(asked.id, OUTCOME),
            lambda: study.ask("you"),
            lambda: study.summary(),
            lambda: Study.open("faults", url),
        ):
            with pytest.raises(StoreUnavailable, match="does not answer") as caught:
                call()
            assert caught.value.retryable
            assert server.url().split(":")[2].split("@")[0] not in str(caught.value)  # the password
        server.start()
        assert study.tell(asked.id, OUTCOME).status == "told"
        assert_clean(study, told=6)

        # In the midst of a transaction.
        asked = study.ask("me")
        disturbed(lambda: server.stop(mode))
        with pytest.raises(StoreUnavailable) as caught:
            study.tell(asked.id, OTHER)
        assert caught.value.retryable
        server.start()
        assert study.round(asked.id).status == "open"
        assert_clean(study, told=6, opened=1)
        assert study.tell(asked.id, OTHER).status == "told"
        assert_clean(study, told=7)
        study.close()


def test_a_killed_connection_changes_nothing(
    own_postgres_server: PostgresServer, disturbed: Callable[[Callable[[], None]], None]
) -> None:
    server = own_postgres_server
    with server.new_database() as url:
        study = new_study(url)

        def processes() -> list[int]:
            import psycopg

            libpq = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
            with psycopg.connect(libpq, autocommit=True) as other:
                found = other.execute(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                ).fetchall()
            return [pid for (pid,) in found]

        def signal_all(how: signal.Signals) -> None:
            for pid in processes():
                os.kill(pid, how)

        for told, how in ((6, signal.SIGTERM), (7, signal.SIGKILL)):  # the latter makes all of PostgreSQL start anew
            asked = persistently(lambda: study.ask("me"))
            disturbed(lambda how=how: signal_all(how))  # type: ignore[misc]
            with pytest.raises(StoreUnavailable, match="repeating a tell is safe") as caught:
                study.tell(asked.id, OUTCOME)
            assert caught.value.retryable
            assert persistently(lambda: study.round(asked.id)).status == "open"  # noqa: B023
            assert_clean(study, told=told - 1, opened=1)
            study.tell(asked.id, OUTCOME)
            assert_clean(study, told=told)
        study.close()


# Refused at the door --------------------------------------------------------------------------------------------------


def test_postgresql_that_is_not_there_refuses_or_lacks_the_database(own_postgres_server: PostgresServer) -> None:
    server = own_postgres_server
    address = make_url(server.url())

    def opened(url: Any) -> StoreUnavailable:
        with pytest.raises(StoreUnavailable) as caught:
            Study.open("faults", url.render_as_string(hide_password=False))
        with pytest.raises(StoreUnavailable):
            new_study(url.render_as_string(hide_password=False))
        assert str(url.password) not in str(caught.value)
        return caught.value

    missing = opened(address.set(database="missing"))
    assert "does not exist on that server; create the database first" in str(missing)
    assert not missing.retryable
    wrong = opened(address.set(password="wrong secret"))
    assert "refuses the user or the password" in str(wrong)
    assert not wrong.retryable
    stranger = opened(address.set(username="stranger"))
    assert "refuses the user or the password" in str(stranger)
    assert not stranger.retryable
    server.stop()
    gone = opened(address)
    assert "does not answer" in str(gone)
    assert gone.retryable


def test_postgresql_that_only_reads_refuses_and_changes_nothing(postgres_url: str) -> None:
    study = new_study(postgres_url)
    asked = study.ask("me")
    options = make_url(postgres_url).update_query_dict({"options": "-c default_transaction_read_only=on"})
    reader = Study.open("faults", options.render_as_string(hide_password=False))
    with pytest.raises(StoreUnavailable, match="is read-only") as caught:
        reader.tell(asked.id, OUTCOME)
    assert not caught.value.retryable
    assert reader.verify().exact
    reader.close()
    study.tell(asked.id, OUTCOME)
    assert_clean(study, told=6)
    study.close()


def test_a_transaction_that_waits_for_a_study_in_use_gets_its_turn(postgres_url: str) -> None:
    study = new_study(postgres_url)
    asked = study.ask("me")
    told: list[Round] = []
    other = Study.open("faults", Store(postgres_url))
    waiting = threading.Thread(target=lambda: told.append(other.tell(asked.id, OUTCOME)))
    with study._ledger._writing():
        waiting.start()
        waiting.join(timeout=0.2)
        assert not told
    waiting.join()
    assert told[0].status == "told"
    with pytest.raises(Conflict):
        study.tell(asked.id, OTHER)
    assert_clean(study, told=6)
    study.close()
    other.close()


@pytest.mark.parametrize(
    ("said", "told", "again"),
    [
        ('FATAL: password authentication failed for user "me"', "refuses the user or the password", False),
        ("fe_sendauth: no password supplied", "refuses the user or the password", False),
        ('FATAL: database "x" does not exist', "create the database first", False),
        ("connection refused", "does not answer", True),
    ],
)
def test_what_postgresql_says_without_a_code_is_told_in_our_words(said: str, told: str, again: bool) -> None:
    class OperationalError(Exception):
        """As psycopg raises it where there is no connection yet."""

    found = unavailable(DBAPIError("SELECT 1", {}, OperationalError(said)), "postgresql://me@host/x")
    assert told in str(found)
    assert found.retryable is again


def test_a_pool_without_a_free_connection_is_worth_another_try() -> None:
    found = unavailable(PoolTimeout("QueuePool limit reached"), "postgresql://me@host/x")
    assert found.retryable
    assert "all connections of this process are in use" in str(found)


def test_a_new_file_that_another_process_holds_gets_its_write_ahead_log_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.db"
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        closing(sqlite3.connect(file, timeout=0)) as ours,
    ):
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN IMMEDIATE")
        waited = []

        def wait(_: float) -> None:
            waited.append("once")
            other.execute("COMMIT")

        with monkeypatch.context() as patched:
            patched.setattr("time.sleep", wait)
            _write_ahead(ours)
        assert len(waited) == 1
        assert ours.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_new_file_that_stays_held_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "new.db"
    monkeypatch.setattr(stores, "BUSY_SECONDS", -1.0)
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as other,
        closing(sqlite3.connect(file, timeout=0)) as ours,
    ):
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            _write_ahead(ours)


def test_a_database_that_cannot_have_a_write_ahead_log_does_without() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        _write_ahead(connection)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("memory",)
