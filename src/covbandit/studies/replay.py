"""A study's log told to a learner: to rebuild the learner's statistics, and to verify those in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from sqlalchemy import Connection

from covbandit.core.typing import F64
from covbandit.errors import StateFileError
from covbandit.learners import Learner
from covbandit.learners.protocol.serialization import to_plain
from covbandit.studies.configuration import Configuration
from covbandit.studies.database_errors import of_another_moment
from covbandit.studies.packed_state import read, versions
from covbandit.studies.records import Verification
from covbandit.studies.repository import END_OF_LOG, read_state_row, retirements_in, told_rounds, wrong_counters
from covbandit.studies.rows import StudyRow

Progress = Callable[[int], None]
"""Called now and then with the number of rounds done."""

TOLERANCE = 1e-9
"""What states computed by different versions or machines may differ by, relative to the largest entry of an array."""

_AT_ONCE = 1_000  # rounds told to a learner in one call


def tell_all(learner: Learner, history: Iterator[tuple[F64, F64 | float]], progress: Progress | None = None) -> int:
    """Tell rounds in order, complete ones many at a time; return how many there were."""
    begun = learner.rounds_told
    while batch := list(islice(history, _AT_ONCE)):
        if learner.feedback == "all" and any(np.isnan(rewards).any() for _, rewards in batch):
            for weights, rewards in batch:
                learner._tell_seen(weights, rewards)
        else:
            learner.tell_many(np.array([weights for weights, _ in batch]), [rewards for _, rewards in batch])  # type: ignore[arg-type]
        if progress is not None:
            progress(learner.rounds_told)
    return learner.rounds_told - begun


def replay(
    connection: Connection, study: int, configuration: Configuration, kind: str, progress: Progress | None = None
) -> Learner:
    """Return a fresh learner that was told the whole log, with options retired and restored where that happened."""
    learner = configuration.build()
    size = len(configuration.options)
    retired: list[str] = []
    after = 0
    for event in [*retirements_in(connection, study), None]:
        until = END_OF_LOG if event is None else event.n_tells
        told = told_rounds(connection, study, size, after, until)
        tell_all(learner, ((each.played, each.rewards(kind)) for each in told), progress)
        if event is not None:
            others = [name for name in retired if name != event.option]
            retired = [*retired, event.option] if event.kind == "retired" else others
            learner.set_retired(retired)
        after = until
    return learner


# Verification ---------------------------------------------------------------------------------------------------------


def verify(connection: Connection, study: StudyRow, progress: Progress | None = None) -> Verification:
    """Compare a study's state with its log, and its counters with its rows."""
    configuration = Configuration.from_text(study.configuration)
    learner = replay(connection, study.id, configuration, study.outcome, progress)
    n = learner.rounds_told
    wrong = wrong_counters(connection, study)
    if wrong:
        return Verification(False, False, float("nan"), n, f"counters do not fit the log: {'; '.join(wrong)}")
    stored = read_state_row(connection, study.id)
    if stored.state_id != study.state_id:
        return Verification(False, False, float("nan"), n, f"{of_another_moment(study.name)}; restore the whole copy")
    try:
        difference, exact = _difference(stored.state, learner)
    except StateFileError as error:
        return Verification(False, False, float("nan"), n, str(error))
    same_versions = json.loads(stored.versions) == [versions()]
    ok = exact or (not same_versions and difference <= TOLERANCE)
    if exact:
        message = f"{_rounds(n)} told again give the stored state bit for bit"
    elif ok:
        message = f"{_rounds(n)} told again give the stored state within {difference:.1e}; other versions computed it"
    else:
        allowed = "0, since the same versions computed both" if same_versions else f"{TOLERANCE:g}"
        message = f"the stored state differs from the log by {difference:.1e}, allowed is {allowed}"
    return Verification(ok, exact, difference, n, message)


def _rounds(n: int) -> str:
    return f"{n:,} round{'' if n == 1 else 's'}"


def _difference(state: bytes, learner: Learner) -> tuple[float, bool]:
    """Return the largest relative difference of the statistics, and whether every bit is the same."""
    told, arrays, statistics = read(state)
    mine_told, mine, mine_statistics = learner._snapshot()
    if told != mine_told:
        raise StateFileError(f"the stored state has taken in {told} rounds, the log has {mine_told}")
    if {name: a.shape for name, a in arrays.items()} != {name: a.shape for name, a in mine.items()}:
        raise StateFileError("the stored state has other statistics than this version of the learner")
    worst, exact = _apart(to_plain(statistics), to_plain(mine_statistics))
    for name, array in arrays.items():
        exact &= array.tobytes() == mine[name].tobytes()
        size = float(np.abs(mine[name]).max(initial=0.0))
        apart = float(np.abs(array - mine[name]).max(initial=0.0))
        worst = max(worst, apart / size if size > 0 else apart)
    return worst, exact


def _apart(one: Any, other: Any) -> tuple[float, bool]:
    """Return how far plain data is apart, numbers by their relative difference, and whether it is all the same."""
    if isinstance(one, float) and isinstance(other, float):
        size = max(abs(one), abs(other))
        return (abs(one - other) / size if size > 0 else 0.0), repr(one) == repr(other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = [_apart(a, b) for a, b in zip(one, other, strict=True)]
        return max((f for f, _ in found), default=0.0), all(e for _, e in found)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return _apart(list(one.values()), [other[key] for key in one])
    return (0.0, True) if one == other else (float("inf"), False)
