"""The repository: queries on studies, their rounds, tells, changes and states, and most statements that write them.

The functions take a connection that is in a transaction (`Store.read`, `Store.write`) and give typed rows. What an ask
or a tell writes is collected in a `Batch` instead, and sent together: see ``transactions``. The queries on tokens are
in ``tokens``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Select,
    and_,
    bindparam,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from covbandit.core.typing import F64
from covbandit.core.validation import in_one_spelling
from covbandit.errors import Conflict
from covbandit.studies.configuration import Configuration, as_name
from covbandit.studies.outcomes import Listed, padded, per_unit
from covbandit.studies.packed_state import new_id, pack, versions
from covbandit.studies.records import Change, Round, as_iso, moment
from covbandit.studies.rows import NEVER, ChangeRow, Payload, RoundRow, StateRow, StudyRow, TellRow, Value
from covbandit.studies.schema import changes, rounds, states, studies, tells
from covbandit.studies.store import until_stopped

END_OF_LOG = 2**62
"""Beyond the last line of any log."""

_ROWS_AT_ONCE = 1_000  # fetched from the database in one piece

_IS_OPEN = rounds.c.status == literal_column("'open'")  # not a parameter: see the indices in the schema

_STUDY = select(studies).where(studies.c.id == bindparam("study"))
_STUDY_LOCKED = _STUDY.with_for_update()
_STATE = select(states.c.state, states.c.versions, states.c.state_id).where(states.c.study_id == bindparam("study"))

_WITH_TELL = select(rounds, tells.c.played, tells.c.outcome, tells.c.told_at).join_from(
    rounds, tells, and_(tells.c.study_id == rounds.c.study_id, tells.c.number == rounds.c.last_tell), isouter=True
)
_ROUND = _WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.number == bindparam("number"))
_BY_KEY = _WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.key == bindparam("key"))
_OPEN_OF_CLIENT = (
    _WITH_TELL.where(
        rounds.c.study_id == bindparam("study"),
        _IS_OPEN,
        rounds.c.client == bindparam("client"),
        rounds.c.key.is_(None),
        rounds.c.expires_at > bindparam("now"),
    )
    .order_by(rounds.c.number.desc())
    .limit(1)
)
_CHANGED = _WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.revision > bindparam("after")).order_by(
    rounds.c.revision, rounds.c.number
)
_OPEN = _WITH_TELL.where(rounds.c.study_id == bindparam("study"), _IS_OPEN, rounds.c.expires_at > bindparam("now"))
_EXPIRE = (
    update(rounds)
    .where(rounds.c.study_id == bindparam("study"), rounds.c.number == bindparam("round_number"))
    .values(status="expired", revision=bindparam("its_revision"))
)
_TELL = select(tells.c.played, tells.c.outcome).where(
    tells.c.study_id == bindparam("study"), tells.c.number == bindparam("number")
)

_FIRST = tells.alias("first")
_LATEST = tells.alias("latest")
_TOLD = (
    select(_FIRST.c.number, _FIRST.c.round, _FIRST.c.told_at, _FIRST.c.kind, _LATEST.c.played, _LATEST.c.outcome)
    .join_from(_FIRST, rounds, and_(rounds.c.study_id == _FIRST.c.study_id, rounds.c.number == _FIRST.c.round))
    .join(_LATEST, and_(_LATEST.c.study_id == rounds.c.study_id, _LATEST.c.number == rounds.c.last_tell))
    .where(
        _FIRST.c.study_id == bindparam("study"),
        _FIRST.c.kind != "amended",
        _FIRST.c.number > bindparam("after"),
        _FIRST.c.number <= bindparam("until"),
    )
    .order_by(_FIRST.c.number)
)
_RETIREMENTS = (
    select(changes.c.kind, changes.c.n_tells, changes.c.detail)
    .where(changes.c.study_id == bindparam("study"), changes.c.kind.in_(("retired", "restored")))
    .order_by(changes.c.revision)
)

# Studies --------------------------------------------------------------------------------------------------------------


def find_study(connection: Connection, study: int, lock: bool = False) -> StudyRow | None:
    """Return a study's row by its number, None if there is none.

    With `lock` it stays as it is until the end of the transaction. SQLite has no such lock: its writers take turns
    anyway.
    """
    row = connection.execute(_STUDY_LOCKED if lock else _STUDY, {"study": study}).one_or_none()
    return None if row is None else StudyRow(*row)


def find_study_by_name(connection: Connection, name: str) -> StudyRow | None:
    """Return a study's row by its name, in whatever Unicode spelling; None if there is none."""
    spellings = (name, in_one_spelling(name))
    found = connection.execute(select(studies).where(studies.c.name.in_(spellings))).all()
    # Older versions let two names differ in their spelling only: then the one spelled exactly as given is returned.
    return next((StudyRow(*row) for row in sorted(found, key=lambda row: row.name != name)), None)


def study_names(connection: Connection, limit: int) -> list[str]:
    """Return the first names of studies in alphabetical order."""
    return list(connection.execute(select(studies.c.name).order_by(studies.c.name).limit(limit)).scalars().all())


def all_studies(connection: Connection) -> list[StudyRow]:
    """Return the rows of all studies, by name."""
    return [StudyRow(*row) for row in connection.execute(select(studies).order_by(studies.c.name)).all()]


def any_study(connection: Connection) -> bool:
    """Return True if there is a study: a short question, to see whether the store answers."""
    return connection.execute(select(studies.c.id).limit(1)).first() is not None


def all_configurations(connection: Connection) -> list[str]:
    """Return the distinct configurations of all studies, as JSON."""
    return list(connection.execute(select(studies.c.configuration).distinct()).scalars().all())


def create_study(
    connection: Connection,
    name: str,
    configuration: Configuration,
    kind: str,
    lease: float | None,
    note: Mapping[str, str],
) -> int:
    """Write the first rows of a study, which has no rounds yet; return its number in the store.

    Raises
    ------
    Conflict
        If there is a study of that name.
    """
    name = as_name(name, "study name", in_address=True)
    taken = f"there is a study {name!r} already; open it, or take another name"
    if connection.execute(select(studies.c.id).where(studies.c.name == name)).first() is not None:
        raise Conflict(taken)
    now = time.time()
    state_id = new_id()
    values: dict[str, Value] = {
        "name": name,
        "created_at": now,
        "outcome": kind,
        "configuration": configuration.to_text(),
        "lease": lease,
        "revision": 1,
        "state_revision": 1,
        "state_id": state_id,
        "next_expiry": NEVER,
        **dict.fromkeys(("n_rounds", "n_tells", "n_told", "n_open", "n_amended"), 0),
    }
    try:
        with connection.begin_nested():
            inserted = connection.execute(insert(studies), values).inserted_primary_key
    except IntegrityError:  # another process was faster
        raise Conflict(taken) from None
    assert inserted is not None
    study = int(inserted[0])
    learner = configuration.build()
    state = {"state": pack(learner), "versions": json.dumps([versions()]), "state_id": state_id}
    connection.execute(insert(states), {"study_id": study, **state})
    detail = {"learner": repr(learner), "options": list(configuration.options), "outcome": kind, **note}
    add_change(connection, ChangeRow(study, 1, now, "created", 0, json.dumps(detail)))
    return study


def change_study(connection: Connection, study: int, values: Mapping[str, Value]) -> None:
    """Write some columns of a study's row at once."""
    connection.execute(update(studies).where(studies.c.id == study).values(values))


# States of learners ---------------------------------------------------------------------------------------------------


def read_state(connection: Connection, study: int) -> StateRow:
    """Return the stored statistics of a study's learner."""
    return StateRow(*connection.execute(_STATE, {"study": study}).one())


def read_state_row(connection: Connection, study: int) -> StateRow:
    """Return the stored statistics like `read_state`, but by a query of the whole row."""
    _, *columns = connection.execute(select(states).where(states.c.study_id == study)).one()
    return StateRow(*columns)


def change_state(connection: Connection, study: int, state: bytes) -> None:
    """Write the statistics of a study's learner at once."""
    connection.execute(update(states).where(states.c.study_id == study).values(state=state))


# Rounds ---------------------------------------------------------------------------------------------------------------


def find_round(connection: Connection, study: int, number: int) -> RoundRow | None:
    """Return a round by its number, None if there is none."""
    return _one_round(connection, _ROUND, {"study": study, "number": number})


def find_round_by_key(connection: Connection, study: int, key: str) -> RoundRow | None:
    """Return a round by its key, None if there is none."""
    return _one_round(connection, _BY_KEY, {"study": study, "key": key})


def find_open_round(connection: Connection, study: int, client: str, now: float) -> RoundRow | None:
    """Return the latest open round that a client asked for without a key, None if there is none."""
    return _one_round(connection, _OPEN_OF_CLIENT, {"study": study, "client": client, "now": now})


def _one_round(connection: Connection, query: Select[Any], values: Mapping[str, Value]) -> RoundRow | None:
    row = connection.execute(query, values).one_or_none()
    return None if row is None else RoundRow(*row)


def rounds_in(
    connection: Connection, study: StudyRow, after: int = 0, limit: int | None = None, status: str | None = None
) -> list[Round]:
    """Return the rounds of a study that changed since a revision, in order of revision."""
    now = time.time()
    wanted = _CHANGED if limit is None else _CHANGED.limit(limit)
    if status == "told":
        wanted = wanted.where(rounds.c.status == "told")
    elif status == "open":
        return _open_rounds(connection, study, after, now)[:limit]
    elif status == "expired":
        ended = and_(_IS_OPEN, rounds.c.expires_at <= now)
        wanted = wanted.where(or_(rounds.c.status == "expired", ended))
    found = connection.execute(wanted, {"study": study.id, "after": after}).all()
    options = Configuration.from_text(study.configuration).options
    return [Round.of(RoundRow(*row), study.name, study.outcome, options) for row in until_stopped(found)]


def _open_rounds(connection: Connection, study: StudyRow, after: int, now: float) -> list[Round]:
    """Return the open rounds, which an index finds without looking at the others, and put them in order here."""
    found = connection.execute(_OPEN, {"study": study.id, "now": now}).all()
    options = Configuration.from_text(study.configuration).options
    listed = [Round.of(RoundRow(*row), study.name, study.outcome, options) for row in found if row.revision > after]
    return sorted(listed, key=lambda each: each.revision)


def add_round(connection: Connection, row: RoundRow) -> None:
    """Write a new round at once."""
    connection.execute(insert(rounds), row.values())


def ended_leases(connection: Connection, study: int, now: float) -> list[int]:
    """Return the numbers of the rounds that are written as open although their lease has ended, in order."""
    ended = select(rounds.c.number).where(rounds.c.study_id == study, _IS_OPEN, rounds.c.expires_at <= now)
    return sorted(connection.execute(ended).scalars())


def count_ended_leases(connection: Connection, study: int, now: float) -> int:
    """Count the rounds that are written as open although their lease has ended."""
    return _count(connection, rounds, rounds.c.study_id == study, _IS_OPEN, rounds.c.expires_at <= now)


def earliest_expiry(connection: Connection, study: int) -> float:
    """Return when the next lease of an open round ends."""
    found = select(func.min(rounds.c.expires_at)).where(rounds.c.study_id == study, _IS_OPEN)
    earliest: float | None = connection.execute(found).scalar()
    return NEVER if earliest is None else earliest


def mark_expired(connection: Connection, study: int, revisions: Mapping[int, int]) -> None:
    """Mark rounds as expired, each with a revision of its own."""
    marked = [
        {"study": study, "round_number": number, "its_revision": revision} for number, revision in revisions.items()
    ]
    connection.execute(_EXPIRE, marked)


# The log --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Told:
    """A told round: where in the order it stands, what was played, and the outcome as it was told last."""

    number: int
    round: int
    told_at: float
    source: str
    played: F64
    outcome: Listed | float

    def rewards(self, kind: str) -> F64 | float:
        """Return what a learner sees of it."""
        return per_unit(self.outcome, kind, self.played)


def told_rounds(
    connection: Connection, study: int, size: int, after: int = 0, until: int = END_OF_LOG
) -> Iterator[Told]:
    """Return the told rounds in the order of their first tells, with corrections in the place of what they correct.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    study : int
        The study's number.
    size : int
        How many options there are now; a round that is older than some has weight 0 and no outcome for these.
    after, until : int
        Only lines of the log after the one, up to the other.
    """
    bounds = {"study": study, "after": after, "until": until}
    with connection.execute(_TOLD, bounds, execution_options={"yield_per": _ROWS_AT_ONCE}) as found:
        for number, round_, told_at, kind, played, outcome in until_stopped(found):
            weights = padded(json.loads(played), size, 0.0)
            result = json.loads(outcome)
            if isinstance(result, list):
                result = padded(result, size, None)
            source = "outside" if kind == "outside" else "asked"
            yield Told(number, round_, told_at, source, np.array(weights, dtype=np.float64), result)


def find_payload(connection: Connection, study: int, number: int | None) -> Payload:
    """Return what was told in one line of the log."""
    return Payload(*connection.execute(_TELL, {"study": study, "number": number}).one())


def lines_of_log(connection: Connection, study: int, numbers: Sequence[int | None]) -> list[TellRow]:
    """Return lines of a study's log by their numbers, as far as they are there."""
    found = connection.execute(select(tells).where(tells.c.study_id == study, tells.c.number.in_(numbers))).all()
    return [TellRow(*row) for row in found]


def tells_in(connection: Connection, study: int) -> list[dict[str, object]]:
    """Return everything ever told to a study, in order, as plain data."""
    found = connection.execute(select(tells).where(tells.c.study_id == study).order_by(tells.c.number)).all()
    return [
        {
            "number": each.number,
            "round": each.round,
            "kind": each.kind,
            "told_at": as_iso(moment(each.told_at)),
            "played": json.loads(each.played),
            "outcome": json.loads(each.outcome),
        }
        for each in until_stopped(TellRow(*row) for row in found)
    ]


def add_tell(connection: Connection, row: TellRow) -> None:
    """Write a new line of the log at once."""
    connection.execute(insert(tells), asdict(row))


# Changes of configuration ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Retirement:
    """An option that was retired or restored after so many lines of the log."""

    kind: str
    n_tells: int
    option: str


def changes_in(connection: Connection, study: int) -> list[Change]:
    """Return the changes of a study, oldest first."""
    found = connection.execute(select(changes).where(changes.c.study_id == study).order_by(changes.c.revision)).all()
    return [Change.of(ChangeRow(*row)) for row in found]


def retirements_in(connection: Connection, study: int) -> list[Retirement]:
    """Return which options were retired and restored, and when, in order."""
    found = connection.execute(_RETIREMENTS, {"study": study}).all()
    return [Retirement(kind, n_tells, json.loads(detail)["option"]) for kind, n_tells, detail in found]


def add_change(connection: Connection, row: ChangeRow) -> None:
    """Write a change at once."""
    connection.execute(insert(changes), asdict(row))


# Checks ---------------------------------------------------------------------------------------------------------------


def wrong_counters(connection: Connection, study: StudyRow) -> list[str]:
    """Return which of a study's counters contradict its rows, in words."""
    mine = rounds.c.study_id == study.id
    orphans = (
        select(func.count())
        .select_from(rounds)
        .outerjoin(tells, (tells.c.study_id == rounds.c.study_id) & (tells.c.number == rounds.c.last_tell))
        .where(mine, rounds.c.status == "told", tells.c.number.is_(None))
    )
    counted = {
        "n_rounds": (study.n_rounds, _count(connection, rounds, mine)),
        "n_told": (study.n_told, _count(connection, rounds, mine, rounds.c.status == "told")),
        "n_open": (study.n_open, _count(connection, rounds, mine, rounds.c.status == "open")),
        "n_amended": (study.n_amended, _count(connection, rounds, mine, rounds.c.amendments > 0)),
        "n_tells": (study.n_tells, _count(connection, tells, tells.c.study_id == study.id)),
    }
    wrong = [f"{name} is {stored}, counted {n}" for name, (stored, n) in counted.items() if stored != n]
    if lost := int(connection.execute(orphans).scalar_one()):
        wrong.append(f"{lost} told rounds lack their outcome")
    return wrong


def _count(connection: Connection, table: FromClause, *conditions: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())
