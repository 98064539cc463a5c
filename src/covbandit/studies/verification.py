"""Whether a study's stored state is what its log gives."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, func, select

from covbandit.errors import StateFileError
from covbandit.learners import Learner
from covbandit.learners.protocol.serialization import plain
from covbandit.studies.configuration import Configuration
from covbandit.studies.log import Progress, replay
from covbandit.studies.records import Verification
from covbandit.studies.schema import rounds, states, tells
from covbandit.studies.state import read, versions
from covbandit.studies.troubles import of_another_moment

TOLERANCE = 1e-9
"""What states computed by different versions or machines may differ by, relative to the largest entry of an array."""


def verify(connection: Connection, row: Row[Any], progress: Progress | None = None) -> Verification:
    """Compare a study's state with its log, and its counters with its rows."""
    configuration = Configuration.from_text(row.configuration)
    learner = replay(connection, row.id, configuration, row.outcome, progress)
    n = learner.rounds_told
    wrong = _wrong_counters(connection, row)
    if wrong:
        return Verification(False, False, float("nan"), n, f"counters do not fit the log: {'; '.join(wrong)}")
    stored = connection.execute(select(states).where(states.c.study_id == row.id)).one()
    if stored.state_id != row.state_id:
        return Verification(False, False, float("nan"), n, f"{of_another_moment(row.name)}; restore the whole copy")
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
    worst, exact = _apart(plain(statistics), plain(mine_statistics))
    for name, array in arrays.items():
        exact &= array.tobytes() == mine[name].tobytes()
        size = float(np.abs(mine[name]).max(initial=0.0))
        apart = float(np.abs(array - mine[name]).max(initial=0.0))
        worst = max(worst, apart / size if size > 0 else apart)
    return worst, exact


def _apart(one: Any, other: Any) -> tuple[float, bool]:
    """Return how far plain data is apart: numbers by relative difference, all else is the same or not."""
    if isinstance(one, float) and isinstance(other, float):
        size = max(abs(one), abs(other))
        return (abs(one - other) / size if size > 0 else 0.0), repr(one) == repr(other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = [_apart(a, b) for a, b in zip(one, other, strict=True)]
        return max((f for f, _ in found), default=0.0), all(e for _, e in found)
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return _apart(list(one.values()), [other[key] for key in one])
    return (0.0, True) if one == other else (float("inf"), False)


def _wrong_counters(connection: Connection, row: Row[Any]) -> list[str]:
    """Return which of a study's counters contradict its rows."""
    mine = rounds.c.study_id == row.id

    def count(table: Any, *conditions: Any) -> int:
        return int(connection.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())

    orphans = (
        select(func.count())
        .select_from(rounds)
        .outerjoin(tells, (tells.c.study_id == rounds.c.study_id) & (tells.c.number == rounds.c.last_tell))
        .where(mine, rounds.c.status == "told", tells.c.number.is_(None))
    )
    counted = {
        "n_rounds": count(rounds, mine),
        "n_told": count(rounds, mine, rounds.c.status == "told"),
        "n_open": count(rounds, mine, rounds.c.status == "open"),
        "n_amended": count(rounds, mine, rounds.c.amendments > 0),
        "n_tells": count(tells, tells.c.study_id == row.id),
    }
    wrong = [f"{name} is {getattr(row, name)}, counted {n}" for name, n in counted.items() if getattr(row, name) != n]
    if lost := int(connection.execute(orphans).scalar_one()):
        wrong.append(f"{lost} told rounds lack their outcome")
    return wrong
