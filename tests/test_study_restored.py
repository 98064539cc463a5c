"""A store that is restored from a copy in place, while processes that hold its studies in memory go on.

Operators are told to stop all writers first. If one was not stopped, it must work on what the store holds now.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import covbandit as cb
from covbandit.errors import NotFound, StoreSchemaError, StoreUnavailable
from covbandit.studies import Store, Study, list_studies
from covbandit.studies.schema import SCHEMA, metadata
from service_calls import calling

OPTIONS = ["a", "b", "c"]


class Copy:
    """A copy of a store, as it was when it was made.

    A SQLite file is copied, and written back into the very same file, by SQLite's own backup; a database of PostgreSQL
    by its rows, as ``pg_dump --data-only`` and ``psql --single-transaction`` do.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        if store._file is not None:
            self._copy = sqlite3.connect(":memory:")
            with closing(sqlite3.connect(store._file)) as live:
                live.backup(self._copy)
        else:
            with store.read() as connection:
                self._rows = {table: connection.execute(table.select()).all() for table in metadata.sorted_tables}

    def close(self) -> None:
        """Forget the copy."""
        if self._store._file is not None:
            self._copy.close()

    def restore(self, *tables: str) -> None:
        """Write the copy back, or only some of its tables."""
        if self._store._file is not None and not tables:
            with closing(sqlite3.connect(self._store._file)) as live:
                self._copy.backup(live)
            return
        wanted = [table for table in metadata.sorted_tables if not tables or table.name in tables]
        with self._store.write() as connection:
            for table in reversed(wanted):
                if tables:
                    continue
                connection.execute(table.delete())
            for table in wanted:
                for row in self._rows[table] if not self._store.is_sqlite else self._rows_of(table.name):
                    values = dict(row._mapping)
                    if tables:
                        key = [column.name for column in table.primary_key]
                        same = [table.c[name] == values[name] for name in key]
                        connection.execute(table.update().where(*same).values(values))
                    else:
                        connection.execute(table.insert(), values)

    def _rows_of(self, table: str) -> list[Any]:
        found = self._copy.execute(f"SELECT * FROM {table}")
        names = [column[0] for column in found.description]
        return [_Row(dict(zip(names, row, strict=True))) for row in found]


class _Row:
    def __init__(self, values: dict[str, Any]) -> None:
        self._mapping = values


CopyOf = Callable[[Store], Copy]


@pytest.fixture
def copy_of() -> Iterator[CopyOf]:
    """Return what copies a store; the copies are closed after the test."""
    with ExitStack() as copies:
        yield lambda store: copies.enter_context(closing(Copy(store)))


def created(url: str, learner: Any = None, **others: Any) -> Study:
    learner = learner or cb.MCEmpirical(n_options=3, risk_aversion=0.1)
    return Study.create("funds", OPTIONS, learner, "per_unit", url, **others)


def play(study: Study, rounds: int, best: int) -> None:
    """Tell rounds in which one option is by far the best."""
    for k in range(rounds):
        outcome = [0.01 * k, -0.02 * k, 0.03 * (k % 2)]
        outcome[best] += 10.0
        study.tell(study.ask().id, outcome)


def require_as_new(live: Study, url: str) -> None:
    """Require that a study in memory proposes, and goes on to store, what a fresh process would."""
    fresh = Study.open("funds", url)
    assert live.explain().to_dict() == fresh.explain().to_dict()
    assert live.history().to_dict() == fresh.history().to_dict()
    assert live.ask("live").weights == dict(zip(OPTIONS, fresh.learner.ask(0).tolist(), strict=True))
    live.tell(live.ask("live").id, [1.0, 2.0, 3.0])
    verified = fresh.verify()
    assert verified.exact, verified.message
    assert live.explain().to_dict() == fresh.explain().to_dict()
    assert live.history().to_dict() == fresh.history().to_dict()
    fresh.close()


# Each brings the study's counters to where they were before the restore, by another way.
WAYS: dict[str, Callable[[Study], Any]] = {
    "the same number of other rounds": lambda study: play(study, 5, best=0),
    "rounds from outside, and asked ones": lambda study: [
        *(study.tell_outside([0.5, 0.5, 0.0], [9.0, 0.0, 0.0]) for _ in range(4)),
        *(study.ask() for _ in range(4)),
        study.tell(6, [9.0, 0.0, 0.0]),
        study.tell(7, [9.0, 0.0, 0.0]),
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_learner_in_memory_is_not_trusted_by_a_counter(store_url: str, copy_of: CopyOf, way: str) -> None:
    live = created(store_url, lease=None)
    play(live, 5, best=1)
    copy = copy_of(live.store)
    play(live, 5, best=2)
    before = live.revision, live.summary().told
    live.history()
    copy.restore()
    other = Study.open("funds", store_url)
    WAYS[way](other)
    if way == "the same number of other rounds":
        assert (other.revision, other.summary().told) == before  # counters cannot tell the two apart
    for found in other.rounds(status="open"):
        other.tell(found.id, [9.0, 0.0, 0.0])
    require_as_new(live, store_url)
    live.close()
    other.close()


def test_a_study_that_is_only_restored_is_read_anew(store_url: str, copy_of: CopyOf) -> None:
    live = created(store_url)
    play(live, 5, best=1)
    copy = copy_of(live.store)
    play(live, 5, best=2)
    live.history()
    copy.restore()
    require_as_new(live, store_url)
    live.close()


def test_corrections_before_and_after_a_restore_are_told_apart(store_url: str, copy_of: CopyOf) -> None:
    live = created(store_url)
    play(live, 5, best=1)
    copy = copy_of(live.store)
    live.amend(3, [50.0, 0.0, 0.0])
    live.history()
    copy.restore()
    other = Study.open("funds", store_url)
    other.amend(4, [0.0, 0.0, 50.0])
    assert live.revision == other.revision
    require_as_new(live, store_url)
    live.close()
    other.close()


def test_changes_before_and_after_a_restore_are_told_apart(store_url: str, copy_of: CopyOf) -> None:
    live = created(store_url)
    play(live, 5, best=1)
    copy = copy_of(live.store)
    live.retire("b")
    play(live, 2, best=0)
    live.restore("b")
    live.explain()
    copy.restore()
    other = Study.open("funds", store_url)
    other.set_risk_aversion(7.0)
    play(other, 2, best=2)
    other.set_risk_aversion(0.1)
    assert (live.revision, live.options) == (other.revision, tuple(OPTIONS))
    require_as_new(live, store_url)
    assert [change.kind for change in live.changes()] == ["created", "risk_aversion", "risk_aversion"]
    live.close()
    other.close()


def test_statistics_of_another_moment_are_refused(store_url: str, copy_of: CopyOf) -> None:
    """A restore table by table, or of some tables only: the statistics are not those that the study's row means."""
    live = created(store_url)
    play(live, 5, best=1)
    copy = copy_of(live.store)
    play(live, 5, best=2)
    copy.restore("studies")
    for study in (live, Study.open("funds", store_url)):
        for call in (study.explain, lambda study=study: study.tell_outside([1.0, 0.0, 0.0], [1.0, 1.0, 1.0])):
            with pytest.raises(StoreUnavailable, match=r"statistics of 'funds' are of another moment.* whole copy"):
                call()
    verified = live.verify()
    assert not verified.ok
    copy.restore()
    require_as_new(live, store_url)
    live.close()


def test_only_the_statistics_restored_are_noticed_by_verify(store_url: str, copy_of: CopyOf) -> None:
    live = created(store_url)
    live.ask("open")
    copy = copy_of(live.store)
    live.retire("b")
    live.restore("b")
    assert live.verify().exact
    copy.restore("states")  # the same numbers, but not those of this moment: who knows what else was restored
    verified = Study.open("funds", store_url).verify()
    assert not verified.ok
    assert "another moment" in verified.message
    live.close()


def test_a_service_serves_what_was_restored(store_url: str, copy_of: CopyOf) -> None:
    """The service keeps studies in memory by name; the one of that name may be another one now."""
    with Store(store_url, create=True) as store:
        empty = copy_of(store)
        play(created(store_url), 3, best=1)
        with calling(store) as http:
            assert http.get("/api/v1/studies/funds").json()["told"] == 3
            assert http.post("/api/v1/studies/funds/ask", json={"key": "k"}).status_code == 200
            assert len(http.get("/api/v1/studies/funds/history").json()["round"]) == 3
            empty.restore()
            assert http.get("/api/v1/studies").json() == {"studies": []}
            for found in (
                http.get("/api/v1/studies/funds"),
                http.post("/api/v1/studies/funds/ask", json={"key": "k"}),
                http.get("/api/v1/studies/funds/explain"),
            ):
                assert (found.status_code, found.json()["error"]) == (404, "not_found")
            again = Study.create("funds", ["x", "y"], cb.MCEmpirical(n_options=2, risk_aversion=1.0), "amount", store)
            asked = http.post("/api/v1/studies/funds/ask", json={"key": "k"})
            assert asked.json()["weights"] == {"x": 0.5, "y": 0.5}, asked.text
            told = http.post("/api/v1/studies/funds/rounds/1/tell", json={"outcome": {"x": 1.0, "y": 3.0}})
            assert told.json()["rewards"] == {"x": 2.0, "y": 6.0}, told.text
            assert len(http.get("/api/v1/studies/funds/history").json()["round"]) == 1
            assert http.get("/api/v1/studies/funds/rounds/9").status_code == 404
        assert again.verify().exact


def test_a_study_object_does_not_become_another_study_of_its_name(store_url: str, copy_of: CopyOf) -> None:
    with Store(store_url, create=True) as store:
        empty = copy_of(store)
        live = created(store_url)
        play(live, 2, best=0)
        empty.restore()
        Study.create("funds", OPTIONS, cb.LinearFI(n_options=3), "per_unit", store)
        for call in (live.ask, live.summary, lambda: live.tell(1, [1.0, 1.0, 1.0])):
            with pytest.raises(NotFound, match="is no longer in"):
                call()
        assert Study.open("funds", store).summary().rounds == 0
        live.close()


def test_a_copy_of_an_older_schema_restored_under_a_live_process(store_url: str) -> None:
    live = created(store_url)
    play(live, 2, best=0)
    with live.store.write() as connection:  # as the older version left it
        connection.execute(text("ALTER TABLE studies DROP COLUMN state_id"))
        connection.execute(text("ALTER TABLE states DROP COLUMN state_id"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    for call in (live.ask, live.summary, live.explain, lambda: list_studies(live.store)):
        with pytest.raises(
            StoreSchemaError, match=rf"older covbandit \(schema 0002, this one uses {SCHEMA}\).*upgrade"
        ):
            call()
    with Store.of_any_schema(store_url) as store:
        assert store.upgrade() == ("0002", SCHEMA)
    play(live, 2, best=1)
    assert live.verify().exact
    live.close()


def test_a_store_that_an_older_process_goes_on_writing_is_followed(store_url: str) -> None:
    """A process that was not stopped for an upgrade moves the statistics and raises the counter, but knows no ids."""
    live = created(store_url)
    play(live, 3, best=1)
    live.explain()
    with live.store.read() as connection:
        ids = connection.execute(text("SELECT state_id FROM studies")).scalar_one()
    other = Study.open("funds", store_url)
    play(other, 3, best=2)
    with live.store.write() as connection:
        connection.execute(text("UPDATE studies SET state_id = :old"), {"old": ids})
        connection.execute(text("UPDATE states SET state_id = :old"), {"old": ids})
    require_as_new(live, store_url)
    live.close()
    other.close()


def test_every_state_has_an_id_of_its_own(tmp_path: Path) -> None:
    study = created(str(tmp_path / "s.db"))
    seen = []

    def note() -> None:
        with study.store.read() as connection:
            both = connection.execute(
                text("SELECT studies.state_id, states.state_id FROM studies JOIN states ON study_id = studies.id")
            ).one()
        assert both[0] == both[1]
        assert len(both[0]) == 32
        seen.append(both[0])

    note()
    study.ask("me")
    note()
    assert len(set(seen)) == 1  # asking moves no statistics
    seen.pop()
    for step in (
        lambda: study.tell(1, [1.0, 2.0, 3.0]),
        lambda: study.tell_outside([1.0, 0.0, 0.0], [1.0, 2.0, 4.0]),
        lambda: study.amend(1, [1.0, 2.0, 5.0]),
        lambda: study.set_risk_aversion(2.0),
        lambda: study.retire("a"),
        lambda: study.restore("a"),
        lambda: study.add_option("d"),
    ):
        step()
        note()
    assert len(set(seen)) == len(seen) == 8
    study.close()
