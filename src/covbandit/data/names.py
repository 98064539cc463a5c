"""Names that a user gives, found among those that a file has."""

from __future__ import annotations

from collections.abc import Container, Sequence
from difflib import get_close_matches

from covbandit.core import validation
from covbandit.errors import InvalidInput

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
    """Tell whether a value of whatever kind is one of the names."""
    return isinstance(value, str) and value in known


def listed(names: Sequence[str]) -> str:
    """Return names as a message shows them: the first few, and how many more."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN:,} more"
