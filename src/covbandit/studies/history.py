"""The course of a study: what was played and earned, round by round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.studies.configuration import Configuration
from covbandit.studies.outcomes import realised
from covbandit.studies.records import as_iso, moment
from covbandit.studies.repository import Told
from covbandit.studies.store import until_stopped

MOST_IMAGINED = 5_000
"""Rounds from outside that are played again at most, to see what the study would have earned."""


@dataclass(frozen=True)
class History:
    """Told rounds in the order in which they were told, thinned to so many points; sums count every round.

    Attributes
    ----------
    round : tuple of int
        The rounds' numbers.
    place : tuple of int
        Where each stands in the order of telling, from 1.
    source : tuple of {"asked", "outside"}
        Whether the study had proposed the round or it was told from outside.
    told_at : tuple of datetime
        When each was told.
    weights : dict
        By option, the weights played.
    reward, cumulative_reward : tuple of float
        What the weights earned, per unit, and its sum so far.
    risk : tuple of float or None
        The standard deviation of the rewards so far; None before the second.
    equal_weights_cumulative_reward, equal_weights_risk : tuple or None
        The same had the options seen had equal weights. That can be known under full information only.
    asked_cumulative_reward, asked_risk, asked_equal_weights_cumulative_reward, asked_equal_weights_risk : tuple or None
        The same four over the asked rounds alone: what the study has to answer for.
    told : int
        All told rounds.
    asked : int
        Those of them that the study had proposed.
    points : int
        How many are shown.
    would_have_weights, would_have_cumulative_reward, would_have_risk : dict, tuple or None
        As long as every told round came from outside: what the study would have proposed in each, knowing the rounds
        before it, and what that would have earned. Known under full information only, told per unit, with the
        outcome of every option that would have had weight, for up to 5,000 rounds, while no option was ever retired.
    """

    round: tuple[int, ...]
    place: tuple[int, ...]
    source: tuple[str, ...]
    told_at: tuple[datetime, ...]
    weights: dict[str, tuple[float, ...]]
    reward: tuple[float, ...]
    cumulative_reward: tuple[float, ...]
    risk: tuple[float | None, ...]
    equal_weights_cumulative_reward: tuple[float, ...] | None
    equal_weights_risk: tuple[float | None, ...] | None
    asked_cumulative_reward: tuple[float, ...]
    asked_risk: tuple[float | None, ...]
    asked_equal_weights_cumulative_reward: tuple[float, ...] | None
    asked_equal_weights_risk: tuple[float | None, ...] | None
    told: int
    asked: int
    points: int
    would_have_weights: dict[str, tuple[float, ...]] | None = None
    would_have_cumulative_reward: tuple[float, ...] | None = None
    would_have_risk: tuple[float | None, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, text, None and lists."""
        plain: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            plain[each.name] = list(value) if isinstance(value, tuple) else value
        plain["told_at"] = [as_iso(value) for value in self.told_at]
        for name in ("weights", "would_have_weights"):
            if plain[name] is not None:
                plain[name] = {option: list(values) for option, values in plain[name].items()}
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Undo `to_dict`."""
        values: dict[str, Any] = {
            each.name: tuple(data[each.name]) if isinstance(data[each.name], list) else data[each.name]
            for each in fields(cls)
            if each.name in data  # older services do not know all
        }
        values["told_at"] = tuple(datetime.fromisoformat(value) for value in data["told_at"])
        for name in ("weights", "would_have_weights"):
            if values.get(name) is not None:
                values[name] = {option: tuple(column) for option, column in data[name].items()}
        return cls(**values)


class Course:
    """The told rounds of a study, kept in memory so that only new ones are read."""

    def __init__(self) -> None:
        self.last = 0  # number of the last tell taken in
        self._rounds: list[int] = []
        self._sources: list[str] = []
        self._times: list[float] = []
        self._weights: list[F64] = []
        self._rewards: list[float] = []
        self._equal: list[float] = []
        self._seen: list[F64] = []  # rewards of all options, as long as somebody may want to play them again
        self._imagined: _Imagined | None = None

    def imagine(self, configuration: Configuration) -> None:
        """Work out what the study would have proposed in the rounds told from outside, and what that would have earned.

        Each round is worked out once: a learner goes along with what is told.
        """
        if self._imagined is None or self._imagined.configuration != configuration:
            self._imagined = _Imagined(configuration)
        self._imagined.follow(self._weights, self._seen)

    def extend(self, told: Iterable[Told], kind: str) -> None:
        """Take in further rounds."""
        for each in told:
            rewards = each.rewards(kind)
            self.last = each.number
            self._rounds.append(each.round)
            self._sources.append(each.source)
            self._times.append(each.told_at)
            self._weights.append(each.played)
            self._rewards.append(realised(rewards, each.played))
            self._equal.append(float(np.nanmean(rewards)) if isinstance(rewards, np.ndarray) else np.nan)
            outside = each.source == "outside" and isinstance(rewards, np.ndarray)
            if outside and len(self._seen) == len(self._rounds) - 1 < MOST_IMAGINED:
                self._seen.append(rewards)  # type: ignore[arg-type]
            else:
                self._seen, self._imagined = [], None

    @property
    def only_from_outside(self) -> bool:
        """Whether all told rounds came from outside, and are few enough to be played again."""
        return 0 < len(self._rounds) == len(self._seen)

    def history(self, options: tuple[str, ...], full_information: bool, points: int) -> History:
        """Return the course, thinned evenly; the first and the last round are always there, of asked ones too."""
        points = validation.as_count(points, "points", 2)
        n = len(self._rounds)
        rewards, equal = np.array(self._rewards), np.array(self._equal)
        asked = np.array(self._sources, dtype=object) == "asked"
        shown = _thinned(asked, points)
        counted = np.cumsum(asked)[shown]
        weights = np.zeros((shown.size, len(options)))
        for row, k in enumerate(shown):
            weights[row, : self._weights[k].size] = self._weights[k]
        total, risk = _sums(rewards, shown + 1)
        equal_total, equal_risk = _sums(equal, shown + 1) if full_information else (None, None)
        asked_total, asked_risk = _sums(rewards[asked], counted)
        imagined = self._imagined
        would: dict[str, Any] = {}
        if imagined is not None and imagined.possible and len(imagined.rewards) == n:
            held = np.array(imagined.weights)[shown]
            would_total, would_risk = _sums(np.array(imagined.rewards), shown + 1)
            would = {
                "would_have_weights": {name: tuple(held[:, i].tolist()) for i, name in enumerate(options)},
                "would_have_cumulative_reward": would_total,
                "would_have_risk": would_risk,
            }
        asked_equal_total, asked_equal_risk = _sums(equal[asked], counted) if full_information else (None, None)
        return History(
            round=tuple(self._rounds[k] for k in shown),
            place=tuple((shown + 1).tolist()),
            source=tuple(self._sources[k] for k in shown),
            told_at=tuple(moment(self._times[k]) for k in shown),  # type: ignore[misc]
            weights={name: tuple(weights[:, i].tolist()) for i, name in enumerate(options)},
            reward=tuple(rewards[shown].tolist()),
            cumulative_reward=total,
            risk=risk,
            equal_weights_cumulative_reward=equal_total,
            equal_weights_risk=equal_risk,
            asked_cumulative_reward=asked_total,
            asked_risk=asked_risk,
            asked_equal_weights_cumulative_reward=asked_equal_total,
            asked_equal_weights_risk=asked_equal_risk,
            told=n,
            asked=int(asked.sum()),
            points=int(shown.size),
            **would,
        )


class _Imagined:
    """A learner that is asked before each round of a history and then told it."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.possible = True
        self.weights: list[F64] = []
        self.rewards: list[float] = []
        self._learner = configuration.build()

    def follow(self, played: Sequence[F64], seen: Sequence[F64]) -> None:
        """Go on to the end of the history, or to the first round whose outcome of what it holds is not known."""
        for k in until_stopped(range(len(self.rewards), len(seen))):
            weights = self._learner.ask()
            earned = realised(seen[k], weights)
            if not np.isfinite(earned):
                self.possible = False
            if not self.possible:
                return
            self.weights.append(weights)
            self.rewards.append(earned)
            self._learner._tell_seen(played[k], seen[k])


def _thinned(asked: NDArray[np.bool_], points: int) -> NDArray[np.intp]:
    """Return places to show, evenly; a few asked rounds are not lost among many from outside, nor the reverse."""
    every = np.arange(asked.size)
    one, other = every[asked], every[~asked]
    if points < 4 or not one.size or not other.size:
        return _evenly(every, points)
    share = min(one.size, max(points // 2, points - other.size))
    return np.sort(np.concatenate([_evenly(one, share), _evenly(other, points - share)]))


def _evenly(places: NDArray[np.intp], points: int) -> NDArray[np.intp]:
    if places.size <= points:
        return places
    kept: NDArray[np.intp] = places[np.unique(np.linspace(0, places.size - 1, points).round().astype(int))]
    return kept


def _sums(rewards: F64, counted: NDArray[np.intp]) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    """Return sums and standard deviations of the first n rewards, for each n given."""
    if not rewards.size:
        return (0.0,) * counted.size, (None,) * counted.size
    total = np.cumsum(rewards)
    n = np.arange(1, rewards.size + 1)
    centred = rewards - rewards[0]  # so that large means do not cancel the variance away
    mean = np.cumsum(centred) / n
    scatter = np.maximum(np.cumsum(centred**2) - n * mean**2, 0.0)
    risk = np.sqrt(scatter / np.maximum(n - 1, 1))
    return (
        tuple(float(total[k - 1]) if k > 0 else 0.0 for k in counted),
        tuple(float(risk[k - 1]) if k > 1 else None for k in counted),
    )
