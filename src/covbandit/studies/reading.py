"""What is read of a study's rows, all within one transaction where it must fit together."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Row, and_, bindparam, literal_column, or_, select

from covbandit.errors import CovbanditError
from covbandit.learners import Learner
from covbandit.studies.configuration import Configuration
from covbandit.studies.records import Change, Round, as_iso, moment
from covbandit.studies.rows import as_change, as_round
from covbandit.studies.schema import changes, rounds, studies, tells
from covbandit.studies.stopping import until_stopped
from covbandit.studies.store import Store

IS_OPEN = rounds.c.status == literal_column("'open'")  # not a parameter: see the indices in the schema

WITH_TELL = select(rounds, tells.c.played, tells.c.outcome, tells.c.told_at).join_from(
    rounds, tells, and_(tells.c.study_id == rounds.c.study_id, tells.c.number == rounds.c.last_tell), isouter=True
)
_CHANGED = WITH_TELL.where(rounds.c.study_id == bindparam("study"), rounds.c.revision > bindparam("after")).order_by(
    rounds.c.revision, rounds.c.number
)

_OPEN = WITH_TELL.where(rounds.c.study_id == bindparam("study"), IS_OPEN, rounds.c.expires_at > bindparam("now"))


def learners_in(store: Store) -> Iterator[Learner]:
    """Yield a fresh learner for each configuration in a store; without those that cannot be built here.

    One at a time: learners with many options take much memory.
    """
    with store.read() as connection:
        texts = connection.execute(select(studies.c.configuration).distinct()).scalars().all()
    for text in texts:
        with suppress(CovbanditError):  # such as a class that is not imported
            yield Configuration.from_text(text).build()


def rounds_in(
    connection: Connection, row: Row[Any], after: int = 0, limit: int | None = None, status: str | None = None
) -> list[Round]:
    """Return the rounds of a study that changed since a revision, in order of revision."""
    now = time.time()
    wanted = _CHANGED if limit is None else _CHANGED.limit(limit)
    if status == "told":
        wanted = wanted.where(rounds.c.status == "told")
    elif status == "open":
        return _open_rounds(connection, row, after, now)[:limit]
    elif status == "expired":
        ended = and_(IS_OPEN, rounds.c.expires_at <= now)
        wanted = wanted.where(or_(rounds.c.status == "expired", ended))
    found = connection.execute(wanted, {"study": row.id, "after": after}).all()
    options = Configuration.from_text(row.configuration).options
    return [as_round(each, row.name, row.outcome, options) for each in until_stopped(found)]


def _open_rounds(connection: Connection, row: Row[Any], after: int, now: float) -> list[Round]:
    """Return the open rounds by the index of these few, and put them in order here."""
    found = connection.execute(_OPEN, {"study": row.id, "now": now}).all()
    options = Configuration.from_text(row.configuration).options
    listed = [as_round(each, row.name, row.outcome, options) for each in found if each.revision > after]
    return sorted(listed, key=lambda each: each.revision)


def changes_in(connection: Connection, row: Row[Any]) -> list[Change]:
    """Return the changes of a study, oldest first."""
    found = connection.execute(select(changes).where(changes.c.study_id == row.id).order_by(changes.c.revision)).all()
    return [as_change(each) for each in found]


def lines_of_log(connection: Connection, study: int, numbers: Sequence[int | None]) -> list[Row[Any]]:
    """Return lines of a study's log by their numbers, as far as they are there."""
    return list(connection.execute(select(tells).where(tells.c.study_id == study, tells.c.number.in_(numbers))).all())


def tells_in(connection: Connection, row: Row[Any]) -> list[dict[str, Any]]:
    """Return everything ever told to a study, in order."""
    found = connection.execute(select(tells).where(tells.c.study_id == row.id).order_by(tells.c.number)).all()
    return [
        {
            "number": each.number,
            "round": each.round,
            "kind": each.kind,
            "told_at": as_iso(moment(each.told_at)),
            "played": json.loads(each.played),
            "outcome": json.loads(each.outcome),
        }
        for each in until_stopped(found)
    ]
