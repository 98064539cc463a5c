"""Studies at a glance."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, func, select

from covbandit.errors import StateFileError
from covbandit.studies.configuration import Configuration
from covbandit.studies.reading import IS_OPEN
from covbandit.studies.records import StudySummary, moment
from covbandit.studies.schema import rounds, studies
from covbandit.studies.store import DEFAULT_STORE, Store, opened


def summary_of(connection: Connection, row: Row[Any]) -> StudySummary:
    """Return a study at a glance, from its row."""
    still_open = int(row.n_open) - _ended(connection, row)
    configuration = Configuration.from_text(row.configuration)
    feedback: str
    remarks: tuple[str, ...] = ()
    try:
        learner = configuration.build()
        feedback, shown, remarks = learner.feedback, repr(learner), learner._remarks()
    except StateFileError:  # a class of the user's own, not imported here: the other studies are listed all the same
        feedback, shown = "unknown", f"{configuration.learner}, not known here"
    return StudySummary(
        name=row.name,
        options=configuration.in_use,
        retired=configuration.retired,
        feedback=feedback,
        outcome=row.outcome,
        learner=shown,
        learner_class=configuration.learner,
        risk_aversion=configuration.arguments.get("risk_aversion"),
        min_weight=configuration.arguments.get("min_weight"),
        lease_seconds=row.lease,
        created_at=moment(row.created_at),  # type: ignore[arg-type]
        revision=int(row.revision),
        rounds=int(row.n_rounds),
        told=int(row.n_told),
        open=still_open,
        expired=int(row.n_rounds - row.n_told) - still_open,
        amended=int(row.n_amended),
        last_told_at=moment(row.last_told_at),
        remarks=remarks,
    )


def _ended(connection: Connection, row: Row[Any]) -> int:
    """Count the rounds whose lease has ended since the last ask, which are still written as open."""
    now = time.time()
    if now < row.next_expiry:
        return 0
    ended = (rounds.c.study_id == row.id, IS_OPEN, rounds.c.expires_at <= now)
    return int(connection.execute(select(func.count()).select_from(rounds).where(*ended)).scalar_one())


def list_studies(store: str | Path | Store = DEFAULT_STORE) -> list[StudySummary]:
    """Return all studies of a store at a glance, by name."""
    place, ours = opened(store)
    try:
        with place.read() as connection:
            found = connection.execute(select(studies).order_by(studies.c.name)).all()
            return [summary_of(connection, row) for row in found]
    finally:
        if ours:
            place.close()
