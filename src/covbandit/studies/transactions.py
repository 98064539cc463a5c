"""The transactions of one study, what each of them writes, and its learner in memory.

The learner stays in memory between calls. It is used again as long as the store says that nobody else has moved its
statistics; else these are read anew. So a call costs the same whether ten rounds were told or a million.

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
from dataclasses import asdict, dataclass, field
from functools import cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import BindParameter, Connection, Insert, Table, Update, bindparam, insert, make_url, update

from covbandit.errors import NotFound, StateFileError, StoreUnavailable
from covbandit.kernels.jit.compilation import CompilationNeeded, compiled, nothing_compiles
from covbandit.learners import Learner
from covbandit.studies.configuration import Configuration
from covbandit.studies.database_errors import damaged, of_another_moment
from covbandit.studies.packed_state import new_id, pack, unpack, versions
from covbandit.studies.replay import replay
from covbandit.studies.repository import find_study, read_state
from covbandit.studies.rows import RoundRow, StudyDraft, StudyRow, TellRow, Value
from covbandit.studies.schema import rounds, states, studies, tells
from covbandit.studies.store import Store

P = ParamSpec("P")
T = TypeVar("T")

_DRIVERS = {"sqlite": "sqlite+pysqlite://", "postgresql": "postgresql+psycopg://"}  # those that stores use

_Shape = tuple[Table, tuple[str, ...], tuple[str, ...]]
"""A table, the columns written, and those by which the row is found; none for a new row."""


class StudyGone(NotFound):
    """A study that was opened is no longer in the store; there may be another one of its name."""


class Batch:
    """What a transaction writes: rows to be added and changed, in order, kept back until it is complete.

    PostgreSQL then gets it as one statement, so that the study's row is locked for one answer of the server, not for
    four.
    """

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []
        self._values: list[tuple[Value, ...]] = []

    def add_round(self, row: RoundRow) -> None:
        """Write a new round."""
        self._add(rounds, row.values())

    def add_tell(self, row: TellRow) -> None:
        """Write a new line of the log."""
        self._add(tells, asdict(row))

    def change_round(self, row: RoundRow, *columns: str) -> None:
        """Write some columns of a round anew."""
        values = {name: getattr(row, name) for name in columns}
        self._change(rounds, {"study_id": row.study_id, "number": row.number}, values)

    def change_state(self, study: int, state: bytes, versions: str, state_id: str) -> None:
        """Write the statistics of a study's learner."""
        self._change(states, {"study_id": study}, {"state": state, "versions": versions, "state_id": state_id})

    def change_study(self, study: int, values: Mapping[str, Value]) -> None:
        """Write some columns of a study's row anew."""
        self._change(studies, {"id": study}, values)

    def send(self, connection: Connection) -> None:
        """Write what was kept back, if anything."""
        if not self._shapes:
            return
        shapes = tuple(self._shapes)
        # The parts of one statement do not see each other, so each must be about another table.
        together = connection.dialect.name == "postgresql" and len({table for table, _, _ in shapes}) == len(shapes)
        if together:
            _execute(connection, shapes, [value for values in self._values for value in values])
        else:
            for shape, values in zip(shapes, self._values, strict=True):
                _execute(connection, (shape,), values)
        self._shapes.clear()
        self._values.clear()

    def _add(self, table: Table, values: Mapping[str, Value]) -> None:
        self._shapes.append((table, tuple(values), ()))
        self._values.append(tuple(values.values()))

    def _change(self, table: Table, where: Mapping[str, Value], values: Mapping[str, Value]) -> None:
        self._shapes.append((table, tuple(values), tuple(where)))
        self._values.append((*values.values(), *where.values()))


@dataclass(slots=True)
class Transaction:
    """A transaction that changes a study, until it is committed.

    Attributes
    ----------
    connection : Connection
        Where it runs.
    row : StudyRow
        The study's row as it was at the beginning.
    study : StudyDraft
        The same row as it will be.
    now : float
        When it began.
    batch : Batch
        What will be written.
    learner : Learner or None
        The learner, once its statistics have moved.
    """

    connection: Connection
    row: StudyRow
    study: StudyDraft
    now: float
    batch: Batch = field(default_factory=Batch)
    learner: Learner | None = None


class StudyTransactions:
    """The transactions of one study in a store, and its learner in memory.

    Parameters
    ----------
    store : Store
        Where the study is kept.
    row : StudyRow
        Its row.
    """

    def __init__(self, store: Store, row: StudyRow) -> None:
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

    @contextmanager
    def reading(self) -> Iterator[tuple[Connection, StudyRow]]:
        """Open a transaction that reads, with the study's row as it is now."""
        with self.store.read() as connection:
            yield connection, self._row(connection)

    @contextmanager
    def changing(self) -> Iterator[tuple[Connection, StudyRow]]:
        """Open a transaction that writes another study; it yields this study's row, which nobody else changes now."""
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
        """The id and the revision of the state that the learner has, None if that is not known."""
        return self._state_in_memory

    def compile(self) -> None:
        """Compile, or load, the kernels by which the learner is asked and told."""
        learner = self._learner
        if self._compiled is not learner:
            for kernel in learner._kernels():
                compiled(kernel)
            self._compiled = learner

    @contextmanager
    def _writing(self) -> Iterator[Transaction]:
        """Open a transaction that changes the study; memory follows once it is committed."""
        with self._lock:
            try:
                with self.store.write() as connection, nothing_compiles():
                    row = self._row(connection, lock=True)
                    self._configure(row.configuration)
                    transaction = Transaction(connection, row, StudyDraft(row), time.time())
                    yield transaction
            except StoreUnavailable:  # whatever comes back may be another state of the store, restored from a copy
                self._state_in_memory = None
                raise
            if transaction.learner is not None:  # committed: what is in memory is what the store holds
                self._learner = transaction.learner
                self._state_in_memory = (transaction.study.state_id, transaction.study.state_revision)
                self._unsaved = False

    def _row(self, connection: Connection, lock: bool = False) -> StudyRow:
        row = find_study(connection, self.study, lock)
        if row is None or (row.name, row.created_at) != (self.name, self._created_at):  # another store in its place
            raise StudyGone(f"study {self.name!r} is no longer in {self.store.url}; if another has its name, open that")
        return row

    def _configure(self, text: str) -> None:
        """Make a fresh learner if the configuration is another than before."""
        if text != self._text:
            self._configuration = Configuration.from_text(text)
            self._learner = self._configuration.build()
            self._state_in_memory = None
            self._text = text

    def _synchronised(self, connection: Connection, row: StudyRow) -> Learner:
        """Return the learner with the statistics that the store holds."""
        state = (row.state_id, row.state_revision)
        if self._state_in_memory != state:
            stored = read_state(connection, self.study)
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
        """Return a fresh learner that was told the whole log."""
        self._state_in_memory = None  # until this is committed, what is known of the store's state does not hold
        self._versions = [versions()]
        return replay(connection, self.study, configuration or self._configuration, self.kind)

    def _keep(self, transaction: Transaction) -> None:
        """Write the study's row and, if the learner learned something, its statistics."""
        study, batch = transaction.study, transaction.batch
        if transaction.learner is not None:
            if versions() not in self._versions:
                self._versions.append(versions())
            study.state_id = new_id()
            batch.change_state(self.study, pack(transaction.learner), json.dumps(self._versions), study.state_id)
        if study.assigned:
            batch.change_study(self.study, study.assigned)
        batch.send(transaction.connection)


S = TypeVar("S", bound=StudyTransactions)


def compiled_before(write: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make what the learner needs ready before a transaction; should it need more, undo that one and begin again."""

    @wraps(write)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self.compile()
        while True:
            try:
                return write(self, *args, **kwargs)
            except CompilationNeeded as needed:
                compiled(needed.kernel)

    return call


# The statements of a batch --------------------------------------------------------------------------------------------


def _execute(connection: Connection, shapes: tuple[_Shape, ...], values: Sequence[Value]) -> None:
    """Send one statement. Its text is made once per combination of shapes, of which there are few."""
    text, names, positions = _statement(shapes, connection.dialect.name)
    if positions is None:
        connection.exec_driver_sql(text, dict(zip(names, values, strict=True)))
    else:
        connection.exec_driver_sql(text, tuple([values[k] for k in positions]))


@cache
def _statement(shapes: tuple[_Shape, ...], database: str) -> tuple[str, tuple[str, ...], tuple[int, ...] | None]:
    """Return a statement's text, the names of its values in order, and their positions if it wants them by position."""
    names: list[str] = []
    parts = [_part(shape, k, names) for k, shape in enumerate(shapes)]
    *others, last = parts
    whole = last.add_cte(*(other.cte(f"part_{k}") for k, other in enumerate(others)))
    compiled = whole.compile(dialect=make_url(_DRIVERS[database]).get_dialect()())
    wanted = compiled.positiontup
    return str(compiled), tuple(names), None if wanted is None else tuple(names.index(name) for name in wanted)


def _part(shape: _Shape, k: int, names: list[str]) -> Insert | Update:
    table, columns, where = shape

    def value(name: str) -> BindParameter[Value]:
        names.append(f"value_{k}_{name}")
        return bindparam(names[-1], type_=table.c[name].type)

    values = {name: value(name) for name in columns}
    if not where:
        return insert(table).values(values)
    return update(table).where(*(table.c[name] == value(name) for name in where)).values(values)
