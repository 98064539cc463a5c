"""The short way in: weights by name, and a learner chosen by what you get to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from covbandit.core import validation
from covbandit.errors import InvalidInput, Unsupported
from covbandit.learners import (
    MCETE,
    Explanation,
    GradientTS,
    Learner,
    MCEmpirical,
    PairUCB,
    ShrunkEmpirical,
    load_learner,
)
from covbandit.learners.full_bandit.gradient_ts.learner import MOST_OPTIONS

ByName = Mapping[str, float] | ArrayLike
"""One number per option: a mapping by option name, or a sequence in option order."""


class Allocator:
    """A learner that speaks in option names. Usually made by `allocator`.

    Parameters
    ----------
    learner : Learner
        Any learner with ``options``.

    Examples
    --------
    >>> import covbandit as cb
    >>> a = cb.allocator(["SPY", "TLT"], risk_aversion=0.05)
    >>> a.ask()
    {'SPY': 0.5, 'TLT': 0.5}
    >>> a.tell({"SPY": 0.6, "TLT": 0.4}, {"SPY": 1.2, "TLT": -0.3})
    >>> a.rounds_told
    1
    """

    def __init__(self, learner: Learner) -> None:
        if learner.options is None:
            raise InvalidInput(
                f"an Allocator speaks in option names, but this {type(learner).__name__} has none: "
                "build it with options=[...], or use the learner itself"
            )
        self._learner = learner
        self._options = learner.options

    @property
    def learner(self) -> Learner:
        """The learner behind the names."""
        return self._learner

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options, in the learner's order."""
        return self._options

    @property
    def rounds_told(self) -> int:
        """The number of rounds told so far."""
        return self._learner.rounds_told

    def __repr__(self) -> str:
        return f"Allocator({list(self._options)}, {self._learner!r}, rounds_told={self.rounds_told})"

    def ask(self, outstanding: int = 0) -> dict[str, float]:
        """Propose weights for the next round, by option name.

        Asking again gives the same answer, until something is told.

        Parameters
        ----------
        outstanding : int
            Rounds already asked for whose outcome is not yet known.
        """
        return dict(zip(self._options, self._learner.ask(outstanding).tolist(), strict=True))

    def tell(self, weights: ByName, outcome: ByName | float) -> None:
        """Learn from one round.

        Parameters
        ----------
        weights : mapping or sequence
            What was played, which need not be what was asked; it must sum to one. Options that a mapping does not name
            have weight zero.
        outcome : mapping, sequence or float
            The reward of every option per unit of weight, whether it was played or not; with feedback ``"chosen"``,
            of exactly those options that have weight (in a sequence, NaN stands for the others). None of these may be
            missing: a reward that is not known is not a reward of zero. With feedback ``"total"``, one number: what
            the weights earned together.

        Raises
        ------
        InvalidInput
            If anything cannot be used; nothing has changed then.
        """
        played = validation.in_option_order(weights, self._options, "weight", default=0.0)
        if self._learner.feedback == "total":
            self._learner.tell(played, _one_total(outcome))
            return
        unnamed = nan if self._learner.feedback == "chosen" else None
        self._learner.tell(played, validation.in_option_order(outcome, self._options, "outcome", default=unnamed))

    def explain(self) -> Explanation:
        """Say why: what each option contributes to the mean and the risk of the weights proposed now.

        See `Learner.explain`.
        """
        return self._learner.explain()

    def save(self, path: str | Path) -> None:
        """Write everything as versioned text; `Allocator.load` gives one whose next ask is bit-identical."""
        self._learner.save(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an allocator written by `save`, or any saved learner with option names.

        Raises
        ------
        StateFileError
            If the file cannot be used; the message says why.
        InvalidInput
            If the saved learner has no option names.
        """
        return cls(load_learner(path))


def allocator(
    options: Sequence[str],
    feedback: str = "all",
    *,
    risk_aversion: float,
    min_weight: float | None = None,
    max_weight: ByName | None = None,
    hold: tuple[ByName, int] | None = None,
    seed: int | None = None,
) -> Allocator:
    """Return an allocator with the default learner for what you get to see.

    A default was shown to have less regret than the paper's learners in simulations with Gaussian rewards, not to be
    the best on every problem. With few rounds, from totals above all, equal weights often cost less than learning:
    ``docs/concepts.md``, "What the defaults rest on".

    Parameters
    ----------
    options : sequence of str
        The options' names.
    feedback : {"all", "chosen", "total"}
        What is seen of each round: with ``"all"``, every option's reward, played or not; the learner is then
        `ShrunkEmpirical`, or `MCEmpirical` if weights are capped. With ``"chosen"``, the rewards of the options that
        have weight; the learner is then `PairUCB`. With ``"total"``, only what the weights earned together, one number;
        the learner is then `GradientTS`, or `MCETE` if there are more than 64 options.
    risk_aversion : float
        ρ ≥ 0: mean given up per unit of variance, in 1 / (unit of reward). `choose_risk_aversion` helps to find it.
    min_weight : float, optional
        c: every weight is zero or at least c. With feedback ``"chosen"`` it is what makes a choice: without it a speck
        of weight on every option shows everything; above one half no two options are ever seen together, so that risk
        is that of single options. Not with feedback ``"total"``.
    max_weight : float, mapping or sequence, optional
        Caps on the weights: one for all, or by option. Options that a mapping does not name are not capped. Neither
        together with `min_weight` nor with feedback ``"chosen"`` or ``"total"``.
    hold : (weights, rounds), optional
        Play these weights in the first rounds, and learn from them. Options that a mapping does not name have weight
        zero.
    seed : int, optional
        For randomised learners. Of the defaults, `GradientTS` is one: its weights vary at random from round to
        round, since that is how it learns; the same seed gives the same draws. Without one, the seed is 0.

    Returns
    -------
    Allocator

    Examples
    --------
    >>> import covbandit as cb
    >>> a = cb.allocator(["search", "social", "video"], risk_aversion=0.4, max_weight={"video": 0.2})
    >>> a.ask()
    {'search': 0.4, 'social': 0.4, 'video': 0.2}
    >>> a.tell(a.ask(), {"search": 1.1, "social": 0.7})
    Traceback (most recent call last):
    covbandit.errors.InvalidInput: outcome is missing for option 'video'; every option needs one

    Where only the total is seen, one number is told:

    >>> b = cb.allocator(["search", "social", "video"], "total", risk_aversion=0.4, seed=1)
    >>> b.tell(b.ask(), 0.9)
    >>> b.tell({"search": 0.5, "video": 0.5}, 1.23)
    >>> b.rounds_told
    2
    """
    names = validation.as_options(options, None)
    if not names:
        raise InvalidInput(f"options must name at least one option, got {options!r}")
    validation.require_distinct(names)
    if feedback not in ("all", "chosen", "total"):
        raise InvalidInput(f'feedback must be "all", "chosen" or "total", got {feedback!r}')
    least = validation.as_min_weight(min_weight, max_weight)
    caps = validation.as_caps(
        validation.in_option_order(max_weight, names, "max_weight", default=1.0), len(names), names
    )
    shared: dict[str, Any] = {
        "n_options": len(names),
        "risk_aversion": risk_aversion,
        "options": names,
        "seed": seed,
        "hold": _hold_in_order(hold, names),
    }
    if feedback == "total":
        if least is not None or caps is not None:
            given = f"max_weight={max_weight!r}" if least is None else f"min_weight={min_weight!r}"
            raise Unsupported(
                f'{given} is not supported with feedback="total"; leave it out, or find out what each option earns '
                'and use feedback="all"'
            )
        default = GradientTS if len(names) <= MOST_OPTIONS else MCETE
        return Allocator(default(**shared))
    if feedback == "chosen":
        if caps is not None:
            raise Unsupported(f'max_weight={max_weight!r} is not supported with feedback="chosen"; leave it out')
        return Allocator(PairUCB(min_weight=least, **shared))
    # ShrunkEmpirical had less regret than MCEmpirical on most instances tried, but knows no caps.
    if caps is None:
        return Allocator(ShrunkEmpirical(min_weight=least, **shared))
    return Allocator(MCEmpirical(max_weight=caps, **shared))


def _one_total(outcome: Any) -> Any:
    """Refuse what cannot be one number; whether it is one, the learner checks."""
    if hasattr(outcome, "items") or isinstance(outcome, list | tuple) or np.ndim(outcome) != 0:
        raise InvalidInput(
            f"outcome must be one total, not a number per option (got {type(outcome).__name__}): tell what the weights "
            "earned together"
        )
    return outcome


def _hold_in_order(hold: Any, names: tuple[str, ...]) -> Any:
    try:
        weights, rounds = hold
    except (TypeError, ValueError):
        return hold  # None, or not a pair: the learner says so
    return validation.in_option_order(weights, names, "held weight", default=0.0), rounds
