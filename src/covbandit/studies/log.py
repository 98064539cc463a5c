"""The log of a study: what was told, in order, with corrections in the place of what they correct."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from sqlalchemy import Connection, and_, bindparam, select

from covbandit.core.typing import F64
from covbandit.learners import Learner
from covbandit.studies.configuration import Configuration
from covbandit.studies.outcomes import Listed, per_unit
from covbandit.studies.schema import changes, rounds, tells
from covbandit.studies.stopping import until_stopped

Progress = Callable[[int], None]
"""Called now and then with the number of rounds done."""

_AT_ONCE = 1_000  # rounds told to a learner in one call
_END = 2**62  # beyond the last line of any log

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

_RETIRED = (
    select(changes.c.kind, changes.c.n_tells, changes.c.detail)
    .where(changes.c.study_id == bindparam("study"), changes.c.kind.in_(("retired", "restored")))
    .order_by(changes.c.revision)
)


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
        return per_unit(self.outcome, kind, self.played)  # type: ignore[arg-type]


def padded(values: Sequence[float | None], size: int, fill: float | None) -> list[float | None]:
    """Return a list for all options: those that came later have the given value."""
    return [*values, *[fill] * (size - len(values))]


def told_rounds(connection: Connection, study: int, size: int, after: int = 0, until: int = _END) -> Iterator[Told]:
    """Return the told rounds in the order of their first tells, for so many options; some of the lines, if need be."""
    bounds = {"study": study, "after": after, "until": until}
    with connection.execute(_TOLD, bounds, execution_options={"yield_per": _AT_ONCE}) as found:
        for number, round_, told_at, kind, played, outcome in until_stopped(found):
            weights = padded(json.loads(played), size, 0.0)
            result = json.loads(outcome)
            if isinstance(result, list):
                result = padded(result, size, None)
            source = "outside" if kind == "outside" else "asked"
            yield Told(number, round_, told_at, source, np.array(weights, dtype=np.float64), result)


def tell(learner: Learner, weights: F64, rewards: F64 | float) -> None:
    """Tell one round to a learner; with full information, options that were not in use may be unseen."""
    if learner.feedback == "all" and np.isnan(rewards).any():
        learner.tell_partly(weights, rewards)
    else:
        learner.tell(weights, rewards)


def replay(
    connection: Connection, study: int, configuration: Configuration, kind: str, progress: Progress | None = None
) -> Learner:
    """Return a fresh learner that was told the whole log, with options retired and restored where that happened."""
    learner = configuration.build()
    size = len(configuration.options)
    events = connection.execute(_RETIRED, {"study": study}).all()
    retired: list[str] = []
    after = 0
    for event in [*events, None]:
        until = _END if event is None else event.n_tells
        told = told_rounds(connection, study, size, after, until)
        tell_all(learner, ((each.played, each.rewards(kind)) for each in told), progress)
        if event is not None:
            option = json.loads(event.detail)["option"]
            retired = [*retired, option] if event.kind == "retired" else [name for name in retired if name != option]
            learner.set_retired(retired)
        after = until
    return learner


def tell_all(learner: Learner, history: Iterator[tuple[F64, F64 | float]], progress: Progress | None = None) -> int:
    """Tell rounds in order, complete ones many at a time; return how many there were."""
    begun = learner.rounds_told
    while batch := list(islice(history, _AT_ONCE)):
        if learner.feedback == "all" and any(np.isnan(rewards).any() for _, rewards in batch):
            for weights, rewards in batch:
                tell(learner, weights, rewards)
        else:
            learner.tell_many(np.array([weights for weights, _ in batch]), [rewards for _, rewards in batch])  # type: ignore[arg-type]
        if progress is not None:
            progress(learner.rounds_told)
    return learner.rounds_told - begun
