"""Summaries of studies: one, or all of a store; and the learners of a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from covbandit.errors import CovbanditError, StateFileError
from covbandit.learners import Learner
from covbandit.studies.configuration import Configuration
from covbandit.studies.records import StudySummary, moment
from covbandit.studies.repository import all_configurations, all_studies, count_ended_leases
from covbandit.studies.rows import StudyRow
from covbandit.studies.store import DEFAULT_STORE, Store, opened


def summary_of(connection: Connection, row: StudyRow) -> StudySummary:
    """Return the summary of a study, from its row."""
    now = time.time()
    # Rounds whose lease has ended since the last ask are still written as open.
    ended = 0 if now < row.next_expiry else count_ended_leases(connection, row.id, now)
    still_open = int(row.n_open) - ended
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


def list_studies(store: str | Path | Store = DEFAULT_STORE) -> list[StudySummary]:
    """Return the summaries of all studies of a store, by name."""
    place, ours = opened(store)
    try:
        with place.read() as connection:
            return [summary_of(connection, row) for row in all_studies(connection)]
    finally:
        if ours:
            place.close()


def learners_in(store: Store) -> Iterator[Learner]:
    """Yield a fresh learner for each configuration in a store; without those that cannot be built here.

    One at a time: learners with many options take much memory.
    """
    with store.read() as connection:
        texts = all_configurations(connection)
    for text in texts:
        with suppress(CovbanditError):  # such as a class that is not imported
            yield Configuration.from_text(text).build()
