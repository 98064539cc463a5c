"""Forks: what another learner would propose now if it had been told the same history."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection

from covbandit.core.typing import F64
from covbandit.errors import Unsupported
from covbandit.learners import Explanation
from covbandit.studies.configuration import Configuration
from covbandit.studies.outcomes import Listed, realised
from covbandit.studies.packed_state import pack
from covbandit.studies.replay import tell_all
from covbandit.studies.repository import (
    Told,
    add_change,
    add_round,
    add_tell,
    change_state,
    change_study,
    create_study,
    told_rounds,
)
from covbandit.studies.rows import ChangeRow, RoundRow, StudyRow, TellRow
from covbandit.studies.store import until_stopped

NOTE = (
    "What this learner would advise now, after the same history. Not how it would have performed: the rounds are those "
    "that another learner chose."
)

_SHOWS = {"all": ("all", "chosen", "total"), "chosen": ("chosen", "total"), "total": ("total",)}


@dataclass(frozen=True)
class Fork:
    """What another learner advises after the same history.

    Attributes
    ----------
    learner : str
        The learner with its arguments.
    study : str or None
        The name of the study it was made into.
    rounds_replayed : int
        Rounds it was told.
    weights : dict
        What it proposes now, by option name.
    explanation : Explanation
        Why.
    note : str
        What this does not say.
    """

    learner: str
    study: str | None
    rounds_replayed: int
    weights: dict[str, float]
    explanation: Explanation
    note: str = NOTE

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text, None and lists."""
        return {
            "learner": self.learner,
            "study": self.study,
            "rounds_replayed": self.rounds_replayed,
            "weights": self.weights,
            "explanation": self.explanation.to_dict(),
            "note": self.note,
        }


@dataclass(frozen=True, eq=False)
class PreparedFork:
    """A fork with what it takes to make a study of it."""

    fork: Fork
    configuration: Configuration
    retired: tuple[str, ...]
    feedback: str

    def as_study(self, name: str) -> Fork:
        """Return the fork, now that it is a study."""
        return replace(self.fork, study=name)


def prepare_fork(
    connection: Connection,
    study: int,
    configuration: Configuration,
    kind: str,
    learner: object,
) -> PreparedFork:
    """Tell a study's log to another learner.

    Raises
    ------
    Unsupported
        If that learner needs more than this study's feedback shows.
    """
    other = Configuration.of(configuration.options, learner)
    made = other.build()
    has = configuration.learner_class.feedback
    if made.feedback not in _SHOWS[has]:
        raise Unsupported(
            f"{type(made).__name__} needs feedback {made.feedback!r}, but this study sees {has!r} only; fork with a "
            f"learner for feedback {' or '.join(map(repr, _SHOWS[has]))}"
        )
    history = (
        (told.played, _seen(told.played, told.rewards(kind), made.feedback))
        for told in told_rounds(connection, study, len(configuration.options))
    )
    n = tell_all(made, history)
    made.set_retired(configuration.retired)
    weights = dict(zip(configuration.options, made.ask().tolist(), strict=True))
    return PreparedFork(Fork(repr(made), None, n, weights, made.explain()), other, configuration.retired, made.feedback)


def _seen(played: F64, rewards: F64 | float, feedback: str) -> F64 | float:
    """Return what a learner of the given feedback would have seen."""
    if feedback == "total":
        return realised(rewards, played)
    return rewards if feedback == "all" else np.where(played > 0, rewards, np.nan)


def _kept(told: Told, kind: str, feedback: str) -> Listed | float:
    """Return the outcome of a round as a study of the given feedback keeps it."""
    if feedback == "total":
        return realised(told.rewards(kind), told.played)
    if feedback == "chosen" and isinstance(told.outcome, list):
        return [value if weight > 0 else None for value, weight in zip(told.outcome, told.played.tolist(), strict=True)]
    return told.outcome


def write_fork(connection: Connection, name: str, made: PreparedFork, origin: StudyRow) -> None:
    """Write a fork as a study of its own, with the history as rounds told from outside."""
    configuration = made.configuration
    kind = origin.outcome
    number = create_study(connection, name, configuration, kind, origin.lease, {"forked_from": origin.name})
    now = time.time()
    n = 0
    learner = configuration.build()

    def history() -> Iterator[tuple[F64, F64 | float]]:
        nonlocal n
        for told in until_stopped(list(told_rounds(connection, origin.id, len(configuration.options)))):
            n += 1
            played = told.played.tolist()
            kept = json.dumps(_kept(told, kind, made.feedback))
            add_round(connection, RoundRow.from_outside(number, n, n, None, told.told_at, played, n + 1))
            add_tell(connection, TellRow(number, n, n, "outside", told.told_at, json.dumps(played), kept))
            yield told.played, _seen(told.played, told.rewards(kind), made.feedback)

    tell_all(learner, history())
    revision = n + 1
    for option in made.retired:
        revision += 1
        add_change(connection, ChangeRow(number, revision, now, "retired", n, json.dumps({"option": option})))
    learner.set_retired(made.retired)
    change_state(connection, number, pack(learner))
    change_study(
        connection,
        number,
        {
            "n_rounds": n,
            "n_tells": n,
            "n_told": n,
            "revision": revision,
            "state_revision": revision,
            "last_told_at": now if n else None,
            "configuration": replace(configuration, retired=made.retired).to_text(),
        },
    )
