"""What a transaction writes, kept back until it is complete.

PostgreSQL then gets it as one statement, so that the study's row is locked for one answer of the server, not for four.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from sqlalchemy import BindParameter, Connection, Insert, Table, Update, bindparam, insert, make_url, update

from covbandit.studies.rows import RoundRow, TellRow, Value
from covbandit.studies.schema import rounds, states, studies, tells

_DRIVERS = {"sqlite": "sqlite+pysqlite://", "postgresql": "postgresql+psycopg://"}  # those that stores use

_Shape = tuple[Table, tuple[str, ...], tuple[str, ...]]
"""A table, the columns written, and those by which the row is found; none for a new row."""


class Batch:
    """Rows to be added and changed, in order."""

    def __init__(self) -> None:
        self._shapes: list[_Shape] = []
        self._values: list[tuple[Value, ...]] = []

    def add_round(self, row: RoundRow) -> None:
        """Write a new round."""
        self._add(rounds, row.values())

    def add_tell(self, row: TellRow) -> None:
        """Write a new line of the log."""
        self._add(tells, row.values())

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
