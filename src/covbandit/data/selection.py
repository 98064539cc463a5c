"""What is used of a table: the names that a user gives, found among those it has, and the rows without gaps.

Rounds with a missing value are dropped or refused as a whole. Nothing missing is ever taken as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from difflib import get_close_matches
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from covbandit.core import validation
from covbandit.errors import InvalidInput

Missing = Literal["drop", "raise"]

_SHOWN = 12


def as_known(asked: object, known: Sequence[str], what: str, where: str) -> tuple[str, ...]:
    """Return distinct names that are all known, as they are known; refuse others, with those that resemble them.

    Parameters
    ----------
    asked
        What a user handed in: a list of names.
    known : sequence of str
        The names there are.
    what, where : str
        What the names are of and where they were looked for, for messages.
    """
    if isinstance(asked, str):
        raise InvalidInput(f"{what}s must be a list of names, got the single string {asked!r}")
    names = validation.as_options(asked, None) or ()  # type: ignore[arg-type]
    if not names:
        raise InvalidInput(f"no {what} is named; {where} has {listed(known)}")
    there = set(known)
    found = [name if name in there else validation.known_name(name, known) for name in names]
    for name, known_as in zip(names, found, strict=True):
        if known_as is None:
            alike = get_close_matches(name, known, n=3, cutoff=0.5) or get_close_matches(name.upper(), known, n=3)
            hint = f"did you mean {listed(alike)}?" if alike else f"there are {listed(known)}"
            raise InvalidInput(f"{what} {name!r} is not in {where}; {hint}")
    return validation.as_options(found, None) or ()  # type: ignore[arg-type]


def is_among(value: object, known: Container[str]) -> bool:
    """Return True if a value of whatever kind is one of the names."""
    return isinstance(value, str) and value in known


def listed(names: Sequence[str]) -> str:
    """Return names as a message shows them: the first few, and how many more."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"


def keep_complete(
    values: NDArray[np.float64],
    missing: Missing,
    describe: Callable[[int, int], str],
    labels: Sequence[str],
    what: str,
    way_out: str,
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return which rows have every value, and a note if some do not.

    Parameters
    ----------
    values : array, n × d
        NaN where a value is missing.
    missing : {"drop", "raise"}
        Whether rows with a missing value are dropped or refused.
    describe : callable
        Says which value is missing, given its row and column.
    labels : sequence of str
        Names of the columns.
    what, way_out : str
        What rows are called, and what the user may do, for messages.
    """
    if not is_among(missing, ("drop", "raise")):
        raise InvalidInput(f'missing must be "drop" or "raise", got {missing!r}')
    gaps = np.isnan(values)
    complete = np.asarray(~gaps.any(axis=1))
    if complete.all():
        return complete, ()
    row, column = (int(k) for k in np.argwhere(gaps)[0])
    if missing == "raise":
        raise InvalidInput(f"{describe(row, column)}; {way_out}")
    worst = int(gaps.sum(axis=0).argmax())
    note = (
        f"{int((~complete).sum()):,} of {len(values):,} {what} dropped, because a value is missing: first, "
        f"{describe(row, column)}; most often of {labels[worst]!r} ({int(gaps[:, worst].sum()):,})"
    )
    return complete, (note,)
