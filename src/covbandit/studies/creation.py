"""The first rows of a study."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from covbandit.errors import Conflict
from covbandit.studies.configuration import Configuration, as_name
from covbandit.studies.records import NEVER
from covbandit.studies.rows import change_row
from covbandit.studies.schema import changes, states, studies
from covbandit.studies.state import new_id, pack, versions


def new_study(
    connection: Connection,
    name: str,
    configuration: Configuration,
    kind: str,
    lease: float | None,
    note: Mapping[str, Any],
) -> int:
    """Write a study without rounds; return its number in the store."""
    name = as_name(name, "study name", in_address=True)
    taken = f"there is a study {name!r} already; open it, or take another name"
    if connection.execute(select(studies.c.id).where(studies.c.name == name)).first() is not None:
        raise Conflict(taken)
    now = time.time()
    state_id = new_id()
    values = {
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
    state = {"state": pack(configuration.build()), "versions": json.dumps([versions()]), "state_id": state_id}
    connection.execute(insert(states), {"study_id": study, **state})
    detail = {"learner": repr(configuration.build()), "options": list(configuration.options), "outcome": kind, **note}
    connection.execute(insert(changes), change_row(study, 1, now, "created", 0, detail))
    return study
