"""The books of one study: each ask, tell and change is one transaction that moves log and statistics together.

The learner stays in memory between calls. It is used again as long as the store says that nobody else has moved its
statistics; else it is read anew. So a call costs the same whether ten rounds were told or a million.

The store says so by an id: random, written with each state, and never the same twice. Counters alone would not do: they
come to the same value again when the store was restored from a copy and went on from there.

Nothing is compiled within a transaction that writes: other studies of the store would wait for it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from covbandit.errors import Conflict, InvalidInput, NotFound, StateFileError, StoreUnavailable
from covbandit.kernels.jit.compilation import CompilationNeeded, nothing_compiles, ready
from covbandit.learners import Learner
from covbandit.studies.configuration import Configuration
from covbandit.studies.log import padded, replay, tell
from covbandit.studies.outcomes import Listed, as_played, as_told, per_unit
from covbandit.studies.reading import IS_OPEN, WITH_TELL
from covbandit.studies.records import NEVER, Change, Round, moment
from covbandit.studies.rows import FreshRow, as_change, as_round, change_row, found_played, outside_round
from covbandit.studies.schema import changes, rounds, states, studies, tells
from covbandit.studies.state import new_id, pack, unpack, versions
from covbandit.studies.store import Store
from covbandit.studies.troubles import damaged, of_another_moment
from covbandit.studies.writes import Writes

P = ParamSpec("P")
T = TypeVar("T")

Entry = tuple[int, Any, Any]
"""A round's number, its outcome, and the weights really played or None."""

OWN_LEASE = object()
"""Stands for a lease that is not given: the study's own holds."""

_STUDY = select(studies).where(studies.c.id == bindparam("study"))
_STUDY_LOCKED = _STUDY.with_for_update()
_STATE = select(states.c.state, states.c.versions, states.c.state_id).where(states.c.study_id == bindparam("study"))
_ROUND = WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.number == bindparam("number"))
_BY_KEY = WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.key == bindparam("key"))
_OPEN_OF_CLIENT = (
    WITH_TELL.where(
        rounds.c.study_id == bindparam("study"),
        IS_OPEN,
        rounds.c.client == bindparam("client"),
        rounds.c.key.is_(None),
        rounds.c.expires_at > bindparam("now"),
    )
    .order_by(rounds.c.number.desc())
    .limit(1)
)
_EXPIRE = (
    update(rounds)
    .where(rounds.c.study_id == bindparam("study"), rounds.c.number == bindparam("round_number"))
    .values(status="expired", revision=bindparam("its_revision"))
)
_TELL = select(tells.c.played, tells.c.outcome).where(
    tells.c.study_id == bindparam("study"), tells.c.number == bindparam("number")
)


@dataclass
class _Books:
    """A study's row while a transaction changes it."""

    row: Row[Any]
    now: float
    values: dict[str, Any] = field(default_factory=dict)
    learner: Learner | None = None  # once its statistics have moved
    writes: Writes = field(default_factory=Writes)

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else getattr(self.row, name)

    def add(self, name: str, by: int = 1) -> int:
        """Raise a counter; return its new value."""
        self.values[name] = self[name] + by
        return int(self.values[name])


class StudyGone(NotFound):
    """A study that was opened is no longer in the store; there may be another one of its name."""


def compiled_before(write: Callable[Concatenate[Ledger, P], T]) -> Callable[Concatenate[Ledger, P], T]:
    """Make what the learner needs ready before a transaction; should it need more, undo that one and begin again."""

    @wraps(write)
    def call(ledger: Ledger, /, *args: P.args, **kwargs: P.kwargs) -> T:
        ledger.compile()
        while True:
            try:
                return write(ledger, *args, **kwargs)
            except CompilationNeeded as needed:
                ready(needed.kernel)

    return call


class Ledger:
    """The books of one study in a store.

    Parameters
    ----------
    store : Store
        Where it lives.
    row : Row
        Its row of the table ``studies``.
    """

    def __init__(self, store: Store, row: Row[Any]) -> None:
        self.store = store
        self.study = int(row.id)
        self.name = str(row.name)
        self.kind = str(row.outcome)
        self._created_at = row.created_at
        self._lock = threading.RLock()
        self._text: str | None = None
        self._configuration: Configuration
        self._learner: Learner
        self._compiled: Learner | None = None  # the learner whose kernels are ready
        # Id and revision of the state that the learner has, None if that is not known. The revision is for processes of
        # an older version that were not stopped for an upgrade: they raise it, but write no ids.
        self._state_in_memory: tuple[str, int] | None = None
        self._versions: list[dict[str, str]] = []
        self._unsaved = False  # whether the statistics in memory were rebuilt, and the store's cannot be read
        self._configure(row.configuration)

    # Reading ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, Row[Any]]]:
        """Open a transaction that reads, with the study's row as it is now."""
        with self.store.read() as connection:
            yield connection, self._row(connection)

    @contextmanager
    def changing(self) -> Iterator[tuple[Connection, Row[Any]]]:
        """Open a transaction that writes, with the study's row as it is and stays until the end."""
        with self.store.write() as connection, nothing_compiles():
            yield connection, self._row(connection, lock=True)

    @contextmanager
    def learner_now(self) -> Iterator[tuple[Learner, Configuration]]:
        """Give the learner, up to date; it must not be changed."""
        self.compile()
        with self._lock, self.reading() as (connection, row):
            self._configure(row.configuration)
            yield self._synchronised(connection, row), self._configuration

    @property
    def state_in_memory(self) -> tuple[str, int] | None:
        """Return the id and the revision of the state that the learner has, None if that is not known."""
        return self._state_in_memory

    def find(self, round_id: object) -> Round:
        """Return one round."""
        with self.reading() as (connection, row):
            return self._round(self._found(connection, round_id), Configuration.from_text(row.configuration))

    def compile(self) -> None:
        """Compile, or load, the kernels by which the learner is asked and told."""
        learner = self._learner
        if self._compiled is not learner:
            for kernel in learner._kernels():
                ready(kernel)
            self._compiled = learner

    # Ask -------------------------------------------------------------------------------------------------------------

    @compiled_before
    def ask(self, client: str | None, key: str | None, lease: float | object | None = OWN_LEASE) -> Round:
        """Return the client's open round or the key's round, or a new one."""
        with self._writing() as (connection, books):
            found = self._asked_before(connection, client, key, books.now)
            if found is not None:
                if client is not None and found.client is None:  # its first client: from now on it is nobody else's
                    found = self._taken_over(books, found, client)
                    self._keep(connection, books)
                return self._round(found, self._configuration)
            self._end_leases(connection, books)
            learner = self._synchronised(connection, books.row)
            if self._unsaved:  # rebuilt from the log: once is enough
                books.learner = learner
            outstanding = int(books["n_open"])
            weights = learner.ask(outstanding).tolist()
            options, retired = self._configuration.options, set(self._configuration.retired)
            seconds: Any = books["lease"] if lease is OWN_LEASE else lease
            values = {
                "study_id": self.study,
                "number": books.add("n_rounds"),
                "source": "asked",
                "status": "open",
                "client": client,
                "key": key,
                "asked_at": books.now,
                "expires_at": NEVER if seconds is None else min(books.now + seconds, NEVER),
                "outstanding": outstanding,
                "weights": json.dumps(
                    [None if name in retired else w for name, w in zip(options, weights, strict=True)]
                ),
                "revision": books.add("revision"),
                "amendments": 0,
                "late": 0,
            }
            books.add("n_open")
            books.values["next_expiry"] = min(books["next_expiry"], values["expires_at"])
            books.writes.add(rounds, values)
            self._keep(connection, books)
            return self._round(FreshRow(values), self._configuration)

    def _asked_before(self, connection: Connection, client: str | None, key: str | None, now: float) -> Any:
        if key is not None:
            found = connection.execute(_BY_KEY, {"study": self.study, "key": key}).one_or_none()
            if found is not None and found.source != "asked":
                raise Conflict(f"key {key!r} belongs to round {found.number}, told from outside; take another key")
            if found is not None and client is not None and found.client is not None and found.client != client:
                raise Conflict(
                    f"key {key!r} belongs to round {found.number} of client {found.client!r}, and clients do not share "
                    "rounds; take another key"
                )
            return found
        if client is not None:
            return connection.execute(
                _OPEN_OF_CLIENT, {"study": self.study, "client": client, "now": now}
            ).one_or_none()
        return None

    def _taken_over(self, books: _Books, found: Any, client: str) -> FreshRow:
        taken = {"client": client, "revision": books.add("revision")}
        books.writes.change(rounds, {"study_id": self.study, "number": found.number}, taken)
        return FreshRow({**found._mapping, **taken})

    def _end_leases(self, connection: Connection, books: _Books) -> None:
        """Mark the open rounds whose lease has ended: they are no longer outstanding."""
        if books.now < books["next_expiry"]:
            return
        still = (rounds.c.study_id == self.study, IS_OPEN)
        ended = connection.execute(select(rounds.c.number).where(*still, rounds.c.expires_at <= books.now)).scalars()
        # Each has a revision of its own: whoever reads changes in pieces goes on after the last revision seen.
        marked = [{"round_number": number, "its_revision": books.add("revision")} for number in sorted(ended)]
        if marked:
            connection.execute(_EXPIRE, [{"study": self.study, **each} for each in marked])
        books.add("n_open", -len(marked))
        earliest = connection.execute(select(func.min(rounds.c.expires_at)).where(*still)).scalar()
        books.values["next_expiry"] = NEVER if earliest is None else earliest

    # Tell ------------------------------------------------------------------------------------------------------------

    @compiled_before
    def tell(self, entries: Sequence[Entry]) -> list[Round]:
        """Take in the outcomes of rounds, all of them or none; one told before in the same words changes nothing."""
        answers: list[Any] = []
        with self._writing() as (connection, books):
            for round_id, outcome, weights in entries:
                books.writes.send(connection)  # the same round may be told twice
                found = self._found(connection, round_id)
                with _named(found.number, len(entries) > 1):
                    played, told = self._payload(found, outcome, weights)
                if found.first_tell is not None:
                    self._require_same(connection, found, played, told)
                    answers.append(found)
                    continue
                tell_row = self._absorb(connection, books, "told", found.number, played, told)
                books.add("n_open", -(found.status == "open"))
                told_now = {
                    "status": "told",
                    "first_tell": books["n_tells"],
                    "last_tell": books["n_tells"],
                    "revision": books["revision"],
                    "late": int(found.status == "expired" or books.now >= found.expires_at),
                }
                books.writes.change(rounds, {"study_id": self.study, "number": found.number}, told_now)
                answers.append(FreshRow({**found._mapping, **told_now, **tell_row}))
            self._keep(connection, books)
            return [self._round(each, self._configuration) for each in answers]

    @compiled_before
    def tell_outside(self, weights: object, outcome: object, key: str | None) -> Round:
        """Take in a round that was not asked for."""
        with self._writing() as (connection, books):
            if key is not None:
                found = connection.execute(_BY_KEY, {"study": self.study, "key": key}).one_or_none()
                if found is not None:
                    if found.source != "outside":
                        raise Conflict(f"key {key!r} belongs to round {found.number}, which was asked for; tell that")
                    self._require_same(connection, found, *self._payload(found, outcome, weights))
                    return self._round(found, self._configuration)
            options = self._configuration.options
            played = as_played(weights, options)
            needed = self._needed([0.0] * len(options))
            told = as_told(outcome, self._learner.feedback, self.kind, played, options, needed, may_be_unknown=True)
            number = books.add("n_rounds")
            tell_row = self._absorb(connection, books, "outside", number, played, told)
            row = outside_round(self.study, number, books["n_tells"], key, books.now, played, books["revision"])
            books.writes.add(rounds, row)
            self._keep(connection, books)
            return self._round(FreshRow({**row, **tell_row}), self._configuration)

    @compiled_before
    def amend(self, round_id: object, outcome: object, weights: object) -> Round:
        """Append a correction, and let the statistics follow as if it had been told so at once."""
        with self._writing() as (connection, books):
            found = self._found(connection, round_id)
            if found.first_tell is None:
                raise Conflict(f"round {found.number} of {self.name!r} has not been told yet; tell it")
            played, told = self._payload(found, outcome, weights, correcting=True)
            if self._same(found, played, told):
                return self._round(found, self._configuration)
            # A refused value is told on its own, rather than somewhere in the log.
            tell(self._configuration.build(), np.array(played), per_unit(told, self.kind, played))
            tell_row = self._append(books, "amended", found.number, played, told)
            amended = {
                "last_tell": books["n_tells"],
                "amendments": found.amendments + 1,
                "revision": books["revision"],
            }
            books.writes.change(rounds, {"study_id": self.study, "number": found.number}, amended)
            books.writes.send(connection)  # for whoever reads the log
            books.add("n_amended", int(found.amendments == 0))
            books.learner = self._rebuilt(connection)
            self._keep(connection, books)
            return self._round(FreshRow({**found._mapping, **amended, **tell_row}), self._configuration)

    def _payload(
        self, found: Any, outcome: object, weights: object, correcting: bool = False
    ) -> tuple[list[float], Listed | float]:
        """Return the weights played and the outcome of a round as they are kept.

        What is told again fits if it fitted at first, whatever was changed since.
        """
        configuration = self._configuration
        options = configuration.options
        size, then = len(options), json.loads(found.weights)
        asked = padded(then, size, None)
        if weights is not None:
            played = as_played(_stretched(weights, len(then), size, 0.0), options)
        elif correcting:
            played = [w or 0.0 for w in padded(found_played(found), size, 0.0)]
        else:
            played = [w or 0.0 for w in asked]
        needed = self._needed(asked)
        before = None if found.outcome is None else json.loads(found.outcome)
        if isinstance(before, list):  # what was unknown may stay so; whether a repetition is one is seen later
            known = [value is not None for value in padded(before, size, None)]
            needed = [must and correcting and had for must, had in zip(needed, known, strict=True)]
        outcome = _stretched(outcome, len(then), size, None)
        told = as_told(
            outcome,
            self._learner.feedback,
            self.kind,
            played,
            options,
            needed,
            may_be_unknown=found.source == "outside",
        )
        return played, told

    def _needed(self, asked: Sequence[float | None]) -> list[bool]:
        """Return which options must have an outcome under full information: those in use, then and now.

        Told in amounts, an option without weight has none that could be divided; it is not seen in that round.
        """
        retired = self._configuration.retired
        return [
            self.kind != "amount" and w is not None and name not in retired
            for w, name in zip(asked, self._configuration.options, strict=True)
        ]

    def _absorb(
        self, connection: Connection, books: _Books, kind: str, number: int, played: list[float], told: Listed | float
    ) -> dict[str, Any]:
        """Let the learner learn from a round, and write it into the log; return what was written of the outcome."""
        if books.learner is None:
            books.learner = self._synchronised(connection, books.row)
            self._state_in_memory = None  # until this is committed, memory and store may differ
        tell(books.learner, np.array(played), per_unit(told, self.kind, played))
        books.add("n_told")
        books.values["last_told_at"] = books.now
        return self._append(books, kind, number, played, told)

    def _append(
        self, books: _Books, kind: str, number: int, played: list[float], told: Listed | float
    ) -> dict[str, Any]:
        books.values["state_revision"] = books.add("revision")
        outcome = {"told_at": books.now, "played": json.dumps(played), "outcome": json.dumps(told)}
        line = {"study_id": self.study, "number": books.add("n_tells"), "round": number, "kind": kind}
        books.writes.add(tells, {**line, **outcome})
        return outcome

    def _same(self, found: Any, played: list[float], told: Listed | float) -> bool:
        size = len(played)
        before = json.loads(found.outcome)
        if isinstance(before, list):
            before = padded(before, size, None)
        return padded(json.loads(found.played), size, 0.0) == played and before == told

    def _require_same(self, connection: Connection, found: Any, played: list[float], told: Listed | float) -> None:
        """Refuse an outcome other than what was told first, or corrected to."""
        if self._same(found, played, told):
            return
        first = connection.execute(_TELL, {"study": self.study, "number": found.first_tell}).one()
        if found.amendments and self._same(first, played, told):
            return
        when = f"{moment(found.told_at):%Y-%m-%d %H:%M:%S} UTC"
        raise Conflict(
            f"round {found.number} of {self.name!r} was told otherwise at {when}; "
            "if that was wrong, correct it with amend; nothing was changed"
        )

    # Change ----------------------------------------------------------------------------------------------------------

    @compiled_before
    def reconfigure(
        self, kind: str, detail: Mapping[str, Any], how: Callable[[Configuration], Configuration]
    ) -> Change:
        """Log a change of ρ or a new option; the learner is as if it had been so from the beginning."""
        with self._writing() as (connection, books):
            configuration = how(self._configuration)
            if kind == "risk_aversion":
                detail = {**detail, "before": self._configuration.arguments.get("risk_aversion")}
            books.learner = self._rebuilt(connection, configuration)
            return self._changed(connection, books, kind, detail, configuration)

    @compiled_before
    def retire(self, kind: str, option: str, how: Callable[[Configuration], Configuration]) -> Change:
        """Log that an option is retired or restored; the learner goes on from here without it, or with it."""
        with self._writing() as (connection, books):
            configuration = how(self._configuration)
            option = configuration.known(option)  # the log has it as the study spells it, or it would not be replayed
            books.learner = self._synchronised(connection, books.row)
            self._state_in_memory = None
            books.learner.set_retired(configuration.retired)
            return self._changed(connection, books, kind, {"option": option}, configuration)

    def _changed(
        self, connection: Connection, books: _Books, kind: str, detail: Mapping[str, Any], configuration: Configuration
    ) -> Change:
        books.values["state_revision"] = books.add("revision")
        books.values["configuration"] = configuration.to_text()
        row = change_row(self.study, books["revision"], books.now, kind, books["n_tells"], detail)
        connection.execute(insert(changes), row)
        self._keep(connection, books)
        self._text = None  # the configuration must be read anew
        return as_change(FreshRow(row))

    # Inside ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, _Books]]:
        with self._lock:
            try:
                with self.store.write() as connection, nothing_compiles():
                    row = self._row(connection, lock=True)
                    self._configure(row.configuration)
                    books = _Books(row, time.time())
                    yield connection, books
            except StoreUnavailable:  # whatever comes back may be another state of the store, restored from a copy
                self._state_in_memory = None
                raise
            if books.learner is not None:  # committed: what is in memory is what the store holds
                self._learner = books.learner
                self._state_in_memory = (books["state_id"], books["state_revision"])
                self._unsaved = False

    def _row(self, connection: Connection, lock: bool = False) -> Row[Any]:
        wanted = _STUDY_LOCKED if lock else _STUDY  # SQLite has no such lock: its writers take turns anyway
        row = connection.execute(wanted, {"study": self.study}).one_or_none()
        if row is None or (row.name, row.created_at) != (self.name, self._created_at):  # another store in its place
            raise StudyGone(f"study {self.name!r} is no longer in {self.store.url}; if another has its name, open that")
        return row

    def _found(self, connection: Connection, round_id: object) -> Any:
        number = _as_number(round_id)
        found = connection.execute(_ROUND, {"study": self.study, "number": number}).one_or_none()
        if found is None:
            raise NotFound(f"study {self.name!r} has no round {number}; its rounds are those that ask returned")
        if found.last_tell is not None and found.outcome is None:
            raise damaged(self.store.url, f"round {number} of {self.name!r} was told, but its outcome is missing")
        return found

    def _configure(self, text: str) -> None:
        if text != self._text:
            self._configuration = Configuration.from_text(text)
            self._learner = self._configuration.build()
            self._state_in_memory = None
            self._text = text

    def _synchronised(self, connection: Connection, row: Row[Any]) -> Learner:
        """Return the learner with the statistics that the store holds."""
        state = (row.state_id, row.state_revision)
        if self._state_in_memory != state:
            stored = connection.execute(_STATE, {"study": self.study}).one()
            if stored.state_id != row.state_id:
                raise damaged(self.store.url, f"{of_another_moment(self.name)}; restore the whole copy, not a part")
            learner = self._configuration.build()
            self._unsaved = False
            try:
                unpack(stored.state, learner)
                self._versions = json.loads(stored.versions)
            except StateFileError:  # of another version, whose statistics were others: the log has everything
                learner = self._rebuilt(connection)
                self._unsaved = True
            self._learner, self._state_in_memory = learner, state
        return self._learner

    def _rebuilt(self, connection: Connection, configuration: Configuration | None = None) -> Learner:
        self._state_in_memory = None  # until this is committed, what is known of the store's state does not hold
        self._versions = [versions()]
        return replay(connection, self.study, configuration or self._configuration, self.kind)

    def _keep(self, connection: Connection, books: _Books) -> None:
        """Write the study's row and, if the learner learned something, its statistics."""
        if books.learner is not None:
            if versions() not in self._versions:
                self._versions.append(versions())
            books.values["state_id"] = new_id()
            state = {
                "state": pack(books.learner),
                "versions": json.dumps(self._versions),
                "state_id": books["state_id"],
            }
            books.writes.change(states, {"study_id": self.study}, state)
        if books.values:
            books.writes.change(studies, {"id": self.study}, books.values)
        books.writes.send(connection)

    def _round(self, found: Any, configuration: Configuration) -> Round:
        return as_round(found, self.name, self.kind, configuration.options)


@contextmanager
def _named(number: int, among_others: bool) -> Iterator[None]:
    """Say which of several rounds was refused."""
    try:
        yield
    except InvalidInput as error:
        if not among_others:
            raise
        raise type(error)(f"round {number}: {error}; nothing was told") from None


def _stretched(values: object, then: int, size: int, fill: float | None) -> object:
    """Return a list that was made for the options of then as one for those of now; all else as it is."""
    if then < size and isinstance(values, list | tuple | np.ndarray) and len(values) == then:
        return padded(list(values), size, fill)
    return values


def _as_number(round_id: object) -> int:
    if isinstance(round_id, bool) or not isinstance(round_id, int | np.integer):
        raise InvalidInput(f"round_id must be the whole number that ask returned, got {round_id!r}")
    return min(max(int(round_id), -1), 2**62)  # beyond what databases count to, there is no such round either
