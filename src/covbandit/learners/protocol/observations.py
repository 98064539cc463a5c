"""Checks of what a learner is told: an observation that cannot be used is refused before anything changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.core.typing import F64
from covbandit.errors import InvalidInput

if TYPE_CHECKING:
    from covbandit.learners.protocol.base import Learner


def check_rounds(learner: Learner, w_all: F64, y_all: list[Any]) -> Sequence[tuple[F64, F64]]:
    """Check all rounds, at once where that is possible; a round that is refused is named."""
    if learner.feedback == "all" and w_all.shape == (len(y_all), learner.n_options):
        with suppress(InvalidInput):
            rewards = validation.as_array(y_all, "reward", 2)
            if (
                rewards.shape == w_all.shape
                and (w_all >= 0).all()
                and np.abs(w_all.sum(axis=1) - 1).max(initial=0) <= validation.SUM_TOLERANCE
                and np.abs(rewards).max(initial=0) <= validation.LARGEST
            ):
                return list(zip(w_all, rewards, strict=True))
    checked = []
    for k, (w_row, y_row) in enumerate(zip(w_all, y_all, strict=True)):
        try:
            w = validation.as_weights(w_row, learner.n_options, learner.options)
            checked.append((w, check_observation(learner, w, y_row)))
        except InvalidInput as error:
            raise InvalidInput(f"row {k}: {error}; nothing was told") from None
    return checked


def check_observation(learner: Learner, weights: F64, observation: ArrayLike) -> F64:
    """Return what was seen in a round as the array that the learner absorbs, according to its feedback."""
    d = learner.n_options
    if learner.feedback == "total":
        if np.ndim(observation) != 0:
            raise InvalidInput(
                f"{type(learner).__name__} sees totals only: tell one number, not an array of shape "
                f"{np.shape(observation)}"
            )
        total = validation.as_float(observation, "observation")
        return validation.as_rewards([total], 1, ("total",))
    if np.ndim(observation) != 1:
        raise InvalidInput(
            f"observation must be {d} rewards, one per option, got an array of shape {np.shape(observation)}"
        )
    if learner.feedback == "all":
        return validation.as_rewards(observation, d, learner.options)
    return _check_chosen(learner, weights, validation.as_array(observation, "reward", 1))


def _check_chosen(learner: Learner, weights: F64, rewards: F64) -> F64:
    if rewards.size != learner.n_options:
        raise InvalidInput(f"reward must have {learner.n_options} entries, one per option, got {rewards.size}")
    for i in range(learner.n_options):
        who = validation.label(i, learner.options)
        if weights[i] > 0 and np.isnan(rewards[i]):
            raise InvalidInput(f"{who}: reward is missing although its weight is {weights[i]}")
        if weights[i] == 0 and not np.isnan(rewards[i]):
            raise InvalidInput(
                f"{who}: reward {rewards[i]} given although its weight is 0; use NaN for options not seen"
            )
    validation.as_rewards(np.where(np.isnan(rewards), 0.0, rewards), learner.n_options, learner.options)
    return rewards


def check_partial(learner: Learner, weights: F64, rewards: ArrayLike) -> F64:
    """Return the rewards of a round of which some may be missing."""
    if np.ndim(rewards) != 1:
        raise InvalidInput(
            f"rewards must be {learner.n_options} numbers, one per option, got an array of shape {np.shape(rewards)}"
        )
    y = validation.as_array(rewards, "reward", 1)
    missing = np.isnan(y)
    validation.as_rewards(np.where(missing, 0.0, y), learner.n_options, learner.options)
    if missing.all():
        raise InvalidInput("no option has a reward: there is nothing to learn from this round; leave it out")
    played = missing & (weights > 0)
    if played.any():
        i = int(np.argmax(played))
        raise InvalidInput(
            f"{validation.label(i, learner.options)}: reward is missing although its weight is {weights[i]}"
        )
    return y
