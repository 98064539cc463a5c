"""From rows of the tables to what users see, and to rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from covbandit.studies.outcomes import per_unit, realised
from covbandit.studies.records import NEVER, Change, Round, moment


class FreshRow:
    """A row that was just written, read like one from the store."""

    played = outcome = told_at = first_tell = last_tell = None

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)


def found_played(found: Any) -> list[float]:
    """Return the weights that were played in a told round, as far as they were known then."""
    return [float(w) for w in json.loads(found.played)]


def outside_round(
    study: int, number: int, tell_number: int, key: str | None, now: float, played: Sequence[float], revision: int
) -> dict[str, Any]:
    """Return the row of a round that was told from outside."""
    return {
        "study_id": study,
        "number": number,
        "source": "outside",
        "status": "told",
        "client": None,
        "key": key,
        "asked_at": now,
        "expires_at": NEVER,
        "outstanding": 0,
        "weights": json.dumps(list(played)),
        "revision": revision,
        "first_tell": tell_number,
        "last_tell": tell_number,
        "amendments": 0,
        "late": 0,
    }


def as_round(found: Any, study: str, kind: str, options: Sequence[str]) -> Round:
    """Return a round from its row, joined with what was told of it last."""
    weights = json.loads(found.weights)
    expired = found.status == "open" and found.expires_at <= time.time()
    played = outcome = rewards = reward = None
    if found.played is not None:
        weights_played = [float(w) for w in json.loads(found.played)]
        told = json.loads(found.outcome)
        seen = per_unit(told, kind, weights_played)
        reward = realised(seen, np.array(weights_played))
        played = dict(zip(options, weights_played, strict=False))
        outcome, rewards = told, None
        if isinstance(seen, np.ndarray):
            outcome = {name: value for name, value in zip(options, told, strict=False) if value is not None}
            rewards = {name: float(value) for name, value in zip(options, seen, strict=False) if not np.isnan(value)}
    return Round(
        id=int(found.number),
        study=study,
        weights={name: w or 0.0 for name, w in zip(options, weights, strict=False)},
        status="expired" if expired else found.status,
        expires=moment(found.expires_at),
        client=found.client,
        key=found.key,
        source=found.source,
        asked_at=moment(found.asked_at),  # type: ignore[arg-type]
        told_at=moment(found.told_at),
        played=played,
        outcome=outcome,
        rewards=rewards,
        reward=reward,
        outstanding=int(found.outstanding),
        late=bool(found.late),
        amendments=int(found.amendments),
        revision=int(found.revision),
    )


def change_row(
    study: int, revision: int, now: float, kind: str, n_tells: int, detail: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a change."""
    return {
        "study_id": study,
        "revision": revision,
        "changed_at": now,
        "kind": kind,
        "n_tells": n_tells,
        "detail": json.dumps(detail),
    }


def as_change(found: Any) -> Change:
    """Return a change from its row."""
    return Change(moment(found.changed_at), found.kind, json.loads(found.detail), int(found.revision))  # type: ignore[arg-type]
