"""From what a user tells to what a learner sees: names, amounts, what is missing and why that is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput

Listed = list[float | None]
"""One number per option, None where there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """What was played in a round, and what came of it.

    Attributes
    ----------
    played : list of float
        The weights played, in option order.
    told : list of float and None, or float
        The outcome as it is kept: one total, or a number per option and None where nothing was seen.
    rewards : array or float
        What a learner sees: rewards per unit of weight, NaN where nothing was seen; or the total.
    realised : float
        What the weights earned together, per unit.
    """

    played: list[float]
    told: Listed | float
    rewards: F64 | float
    realised: float

    @classmethod
    def of(cls, played: list[float], told: Listed | float, kind: str) -> Self:
        """Return the observation of weights and an outcome that were checked before, told per unit or in amounts."""
        rewards = per_unit(told, kind, played)
        with np.errstate(invalid="ignore"):  # of infinite rewards, which the learner will refuse
            return cls(played, told, rewards, realised(rewards, np.array(played)))


def as_outcome_kind(value: object) -> str:
    """Return how outcomes are told."""
    if value not in ("per_unit", "amount"):
        raise InvalidInput(
            'outcome must be "per_unit" (reward per unit of weight, as returns are) or "amount" (what each option '
            f"earned at its weight; it is divided by the weight), got {value!r}"
        )
    return str(value)


def as_played(weights: object, options: Sequence[str]) -> list[float]:
    """Return the weights that were played, in option order; options that a mapping does not name have weight zero."""
    if isinstance(weights, Mapping) or hasattr(weights, "items"):
        weights = validation.in_option_order(weights, options, "weight", default=0.0)
    checked: list[float] = validation.as_weights(weights, len(options), options).tolist()  # type: ignore[arg-type]
    return checked


def as_told(
    outcome: object,
    feedback: str,
    kind: str,
    played: list[float],
    options: Sequence[str],
    needed: Sequence[bool],
    may_be_unknown: bool = False,
) -> Observation:
    """Return what was played and what a user told of it, checked, as it is kept and as a learner sees it.

    Parameters
    ----------
    outcome
        What a user told: a mapping by option name, a sequence in option order, or one number.
    feedback : {"all", "chosen", "total"}
        What the learner sees.
    kind : {"per_unit", "amount"}
        What the numbers are.
    played : list of float
        The weights played.
    options : sequence of str
        All options.
    needed : sequence of bool
        With feedback ``"all"``: which options must have an outcome whatever their weight.
    may_be_unknown : bool
        Whether None stands for an outcome of an option without weight that nobody knows.

    Raises
    ------
    InvalidInput
        If an outcome is missing, superfluous, of an unknown option, or not a finite number.
    """
    if feedback == "total":
        if isinstance(outcome, Mapping | list | tuple) or hasattr(outcome, "items") or np.ndim(outcome) != 0:  # type: ignore[arg-type]
            raise InvalidInput(
                f"outcome must be one number, what the weights earned together, got {type(outcome).__name__}: this "
                "study sees totals only"
            )
        return Observation.of(played, validation.as_float(outcome, "outcome"), kind)
    told = _by_option(outcome, options)
    for i, name in enumerate(options):
        given = name in told
        if given and told[name] is None and may_be_unknown and played[i] == 0:
            continue
        if given:
            told[name] = validation.as_float(told[name], f"outcome of option {name!r}")
        if given and played[i] == 0 and (feedback == "chosen" or kind == "amount"):
            cause = (
                "so it earned no amount to divide"
                if kind == "amount"
                else f"so its outcome {told[name]} cannot have been seen"
            )
            raise InvalidInput(f"option {name!r} had weight 0, {cause}; leave it out")
        if not given and (played[i] > 0 or (feedback == "all" and needed[i])):
            because = f"its weight was {played[i]:g}" if played[i] > 0 else "this study sees every option's"
            raise InvalidInput(
                f"outcome is missing for option {name!r} ({because}); what is not known is not zero: tell the round "
                "when it is known"
            )
    return Observation.of(played, [told.get(name) for name in options], kind)


def _by_option(outcome: Any, options: Sequence[str]) -> dict[str, Any]:
    if hasattr(outcome, "items"):
        return validation.by_known_name(list(outcome.items()), options, "outcome")
    if isinstance(outcome, str) or np.ndim(outcome) != 1:
        raise InvalidInput(
            f"outcome must be given by option name, such as {{{options[0]!r}: 0.1}}, or as a list of {len(options)} "
            f"numbers, got {outcome!r}"
        )
    entries = list(outcome)
    if len(entries) != len(options):
        raise InvalidInput(f"outcome must have {len(options)} entries, one per option, got {len(entries)}")
    unseen = [entry is None or (isinstance(entry, float | np.floating) and np.isnan(entry)) for entry in entries]
    return {name: entry for name, entry, nothing in zip(options, entries, unseen, strict=True) if not nothing}


def per_unit(told: Listed | float, kind: str, played: Sequence[float] | F64) -> F64 | float:
    """Return what a learner sees: rewards per unit of weight, NaN where nothing was seen; or the total."""
    if not isinstance(told, list):
        return told
    rewards = np.array([np.nan if value is None else value for value in told], dtype=np.float64)
    if kind == "amount":
        weights = np.asarray(played)
        seen = ~np.isnan(rewards)
        rewards[seen] /= weights[seen]
    return rewards


def padded(values: Sequence[float | None], size: int, fill: float | None) -> Listed:
    """Return a list for all options: those that were added after it was made have the given value."""
    return [*values, *[fill] * (size - len(values))]


def realised(rewards: F64 | float, played: F64) -> float:
    """Return what the weights earned together, per unit."""
    if not isinstance(rewards, np.ndarray):
        return float(rewards)
    held = played > 0
    return float(rewards[held] @ played[held])
