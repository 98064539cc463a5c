"""What a study hands out: rounds, changes, summaries. Plain, frozen, and the same over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Self

import numpy as np

from covbandit.studies.amounts import Amount, allocate
from covbandit.studies.outcomes import Observation
from covbandit.studies.risk_aversion import RiskAversionCheck
from covbandit.studies.rows import NEVER, ChangeRow, RoundRow, Status


def moment(seconds: float | None) -> datetime | None:
    """Return a time from seconds since 1970."""
    return None if seconds is None or seconds >= NEVER else datetime.fromtimestamp(seconds, UTC)


def as_iso(value: datetime | None) -> str | None:
    """Return a time as ISO 8601 text, in UTC."""
    return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class _Record:
    """Dataclasses that turn into JSON and back."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; times as ISO 8601 text."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: _to_plain(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`; entries of newer versions are left out."""
        known = {field.name: str(field.type) for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: _from_plain(value, known[name]) for name, value in data.items() if name in known})


def _to_plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return as_iso(value)
    if isinstance(value, RiskAversionCheck):
        return value.to_dict()
    return list(value) if isinstance(value, tuple) else value


def _from_plain(value: Any, kind: str) -> Any:
    if kind.startswith("datetime") and isinstance(value, str):
        return datetime.fromisoformat(value)
    if kind.startswith("RiskAversionCheck") and isinstance(value, Mapping):
        return RiskAversionCheck.from_dict(value)
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Round(_Record):
    """One round of a study.

    Attributes
    ----------
    id : int
        Its number in the study, from 1.
    study : str
        The study's name.
    weights : dict
        What was proposed, by option name; retired options have weight 0.
    status : {"open", "told", "expired"}
        An expired round's lease has ended; it may still be told.
    expires : datetime or None
        When its lease ends.
    client, key : str or None
        Who asked, and under which key.
    source : {"asked", "outside"}
        Whether the study proposed it, or it was told from elsewhere.
    asked_at, told_at : datetime
        When; None if not told yet. After a correction, when that was told.
    played : dict or None
        The weights really played.
    outcome : dict, float or None
        As it was told, the latest correction if there is one. Options that were not seen are not in it.
    rewards : dict or None
        The outcome per unit of weight; None under total feedback.
    reward : float or None
        What the weights earned together, per unit.
    outstanding : int
        Other rounds that were open when it was asked.
    late : bool
        Whether it was told after its lease had ended.
    amendments : int
        How often it was corrected.
    revision : int
        The study's revision when the round last changed.
    """

    id: int
    study: str
    weights: dict[str, float]
    status: Status
    expires: datetime | None
    client: str | None
    key: str | None
    source: str
    asked_at: datetime
    told_at: datetime | None
    played: dict[str, float] | None
    outcome: dict[str, float] | float | None
    rewards: dict[str, float] | None
    reward: float | None
    outstanding: int
    late: bool
    amendments: int
    revision: int

    @classmethod
    def of(
        cls, row: RoundRow, study: str, kind: str, options: Sequence[str], observation: Observation | None = None
    ) -> Self:
        """Return a round from its row.

        Parameters
        ----------
        row : RoundRow
            The row.
        study : str
            The study's name.
        kind : {"per_unit", "amount"}
            How its outcomes are told.
        options : sequence of str
            All its options; a round may be older than the last of them.
        observation : Observation, optional
            What was told just now. By default, what the row says was told last, if anything was.
        """
        weights = json.loads(row.weights)
        expired = row.status == "open" and row.expires_at <= time.time()
        if observation is None and row.told is not None:
            observation = Observation.of(*row.told.read(), kind)
        played = rewards = reward = None
        outcome: dict[str, float] | float | None = None
        if observation is not None:
            told, seen, reward = observation.told, observation.rewards, observation.realised
            played = dict(zip(options, observation.played, strict=False))
            if not isinstance(told, list):
                outcome = told
            elif isinstance(seen, np.ndarray):
                outcome = {name: value for name, value in zip(options, told, strict=False) if value is not None}
                rewards = {
                    name: float(value) for name, value in zip(options, seen, strict=False) if not np.isnan(value)
                }
        return cls(
            id=int(row.number),
            study=study,
            weights={name: w or 0.0 for name, w in zip(options, weights, strict=False)},
            status="expired" if expired else row.status,
            expires=moment(row.expires_at),
            client=row.client,
            key=row.key,
            source=row.source,
            asked_at=moment(row.asked_at),  # type: ignore[arg-type]
            told_at=moment(row.told_at),
            played=played,
            outcome=outcome,
            rewards=rewards,
            reward=reward,
            outstanding=int(row.outstanding),
            late=bool(row.late),
            amendments=int(row.amendments),
            revision=int(row.revision),
        )

    def allocate(self, total: int | float | Decimal, step: int | float | Decimal = 1) -> dict[str, Amount]:
        """Turn the weights into amounts that sum exactly to a total.

        Parameters
        ----------
        total : number
            What is to be split; a multiple of the step.
        step : number
            The smallest amount that can be moved: 1, 0.01, 100, ...

        Returns
        -------
        dict
            By option name; whole numbers if the step is one, else decimals. Every amount is within one step of its
            share.

        Examples
        --------
        >>> from covbandit.studies import allocate
        >>> allocate({"search": 1 / 3, "social": 1 / 3, "video": 1 / 3}, 100, 1)
        {'search': 34, 'social': 33, 'video': 33}
        """
        return allocate(self.weights, total, step)


@dataclass(frozen=True)
class Change(_Record):
    """A change of a study's configuration, or its creation.

    Attributes
    ----------
    at : datetime
        When.
    kind : str
        ``"created"``, ``"risk_aversion"``, ``"retired"``, ``"restored"`` or ``"added"``.
    detail : dict
        What exactly.
    revision : int
        The study's revision from then on.
    """

    at: datetime
    kind: str
    detail: dict[str, Any]
    revision: int

    @classmethod
    def of(cls, row: ChangeRow) -> Self:
        """Return a change from its row."""
        return cls(moment(row.changed_at), row.kind, json.loads(row.detail), int(row.revision))  # type: ignore[arg-type]


@dataclass(frozen=True)
class StudySummary(_Record):
    """A study at a glance.

    Attributes
    ----------
    name : str
        Its name.
    options, retired : tuple of str
        Those in use, and the others.
    feedback : {"all", "chosen", "total", "unknown"}
        What its learner sees; unknown if its class is not imported here.
    outcome : {"per_unit", "amount"}
        How outcomes are told.
    learner, learner_class : str
        The learner with its arguments, and its class alone.
    risk_aversion, min_weight : float or None
        ρ and c, where the learner has them.
    lease_seconds : float or None
        How long a round stays open; None for ever.
    created_at, last_told_at : datetime
        When.
    revision : int
        Raised by every ask, tell and change.
    rounds, told, open, expired, amended : int
        How many rounds there are, and of which kind; amended ones are told ones that were corrected.
    remarks : tuple of str
        What follows from the learner's arguments and may not be meant, in words.
    risk_aversion_check : RiskAversionCheck or None
        Whether ρ lies in the range in which it matters; None in lists of studies, where it is not computed.
    """

    name: str
    options: tuple[str, ...]
    retired: tuple[str, ...]
    feedback: str
    outcome: str
    learner: str
    learner_class: str
    risk_aversion: float | None
    min_weight: float | None
    lease_seconds: float | None
    created_at: datetime
    revision: int
    rounds: int
    told: int
    open: int
    expired: int
    amended: int
    last_told_at: datetime | None
    remarks: tuple[str, ...] = ()
    risk_aversion_check: RiskAversionCheck | None = None


@dataclass(frozen=True)
class Verification(_Record):
    """Whether telling the whole log to a fresh learner gives the stored state.

    Attributes
    ----------
    ok : bool
        Whether it does: bit for bit if the same versions computed both, else within 1e-9, and counters fit the log.
    exact : bool
        Whether every bit is the same.
    difference : float
        The largest relative difference found.
    rounds : int
        Rounds told again.
    message : str
        The finding in words.
    """

    ok: bool
    exact: bool
    difference: float
    rounds: int
    message: str
