"""Rows of the tables as frozen dataclasses: what the repository reads and writes.

A class has the columns of its table in the same order, so a row that was read is taken over position by position.
Times are seconds since 1970; weights and outcomes are JSON in option order. What users see instead is in ``records``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from covbandit.studies.outcomes import Listed

Value = int | float | str | bytes | None
"""What a column can hold."""

Status = Literal["open", "told", "expired"]
"""What a round can be."""

NEVER = 253_402_214_400.0
"""When a lease without an end ends: in the year 9999."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A row of ``studies``."""

    id: int
    name: str
    created_at: float
    outcome: str
    configuration: str
    lease: float | None
    revision: int
    state_revision: int
    n_rounds: int
    n_tells: int
    n_told: int
    n_open: int
    n_amended: int
    next_expiry: float
    last_told_at: float | None
    state_id: str


_CHANGEABLE = (
    "configuration", "revision", "state_revision", "n_rounds", "n_tells", "n_told", "n_open", "n_amended",
    "next_expiry", "last_told_at", "state_id",
)  # fmt: skip


class StudyDraft:
    """The row of a study while a transaction changes it.

    Every column that is assigned is written at the end, also if it was assigned the value that it had.
    """

    __slots__ = (*_CHANGEABLE, "assigned")

    assigned: dict[str, Value]
    """The columns that were assigned, with their latest values."""

    configuration: str
    revision: int
    state_revision: int
    n_rounds: int
    n_tells: int
    n_told: int
    n_open: int
    n_amended: int
    next_expiry: float
    last_told_at: float | None
    state_id: str

    def __init__(self, row: StudyRow) -> None:
        for name in _CHANGEABLE:
            object.__setattr__(self, name, getattr(row, name))
        object.__setattr__(self, "assigned", {})

    def __setattr__(self, name: str, value: Value) -> None:
        object.__setattr__(self, name, value)
        self.assigned[name] = value


@dataclass(frozen=True, slots=True)
class StateRow:
    """A row of ``states``, without the study's number."""

    state: bytes
    versions: str
    state_id: str


@dataclass(frozen=True, slots=True)
class Payload:
    """What was told of a round: the weights played and the outcome, as JSON."""

    played: str
    outcome: str

    def read(self) -> tuple[list[float], Listed | float]:
        """Return the weights played and the outcome, for the options that there were then."""
        return [float(weight) for weight in json.loads(self.played)], json.loads(self.outcome)


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A row of ``rounds``, joined with what was told last and when."""

    study_id: int
    number: int
    source: str
    status: Status
    client: str | None
    key: str | None
    asked_at: float
    expires_at: float
    outstanding: int
    weights: str
    revision: int
    first_tell: int | None
    last_tell: int | None
    amendments: int
    late: int
    played: str | None = None
    outcome: str | None = None
    told_at: float | None = None

    @property
    def told(self) -> Payload | None:
        """What was told last, None if nothing was told yet."""
        return None if self.played is None or self.outcome is None else Payload(self.played, self.outcome)

    @classmethod
    def from_outside(
        cls,
        study: int,
        number: int,
        tell_number: int,
        key: str | None,
        now: float,
        played: Sequence[float],
        revision: int,
    ) -> Self:
        """Return the row of a round that was told from outside."""
        return cls(
            study_id=study,
            number=number,
            source="outside",
            status="told",
            client=None,
            key=key,
            asked_at=now,
            expires_at=NEVER,
            outstanding=0,
            weights=json.dumps(list(played)),
            revision=revision,
            first_tell=tell_number,
            last_tell=tell_number,
            amendments=0,
            late=0,
            told_at=now,
        )

    def values(self) -> dict[str, Value]:
        """Return the columns that a new round is written with; one that is not told yet points to no tells."""
        values: dict[str, Value] = {
            "study_id": self.study_id,
            "number": self.number,
            "source": self.source,
            "status": self.status,
            "client": self.client,
            "key": self.key,
            "asked_at": self.asked_at,
            "expires_at": self.expires_at,
            "outstanding": self.outstanding,
            "weights": self.weights,
            "revision": self.revision,
            "amendments": self.amendments,
            "late": self.late,
        }
        if self.first_tell is not None:
            values["first_tell"], values["last_tell"] = self.first_tell, self.last_tell
        return values


@dataclass(frozen=True, slots=True)
class TellRow:
    """A row of ``tells``: a line of the log."""

    study_id: int
    number: int
    round: int
    kind: str
    told_at: float
    played: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A row of ``tokens``."""

    id: str
    label: str
    scope: str
    hash: str
    created_at: float
    revoked_at: float | None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A row of ``changes``."""

    study_id: int
    revision: int
    changed_at: float
    kind: str
    n_tells: int
    detail: str
