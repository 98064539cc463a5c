"""How large problems and simulations made from a few numbers may be: larger ones are slips, told before they run."""

from __future__ import annotations

from math import log10

from covbandit import validation
from covbandit.errors import InvalidInput

MOST_OPTIONS = 10_000
"""A covariance then takes 0.8 GB."""

MOST_ROUNDS = 10**15
"""What a float counts exactly, and no machine plays."""


def as_n_options(value: object, least: int) -> int:
    """Return d, not below `least` and not above `MOST_OPTIONS`."""
    return _as_limited(value, "n_options", least, MOST_OPTIONS)


def as_rounds(value: object) -> int:
    """Return T, from 1 to `MOST_ROUNDS`."""
    return _as_limited(value, "horizon", 1, MOST_ROUNDS)


def _as_limited(value: object, name: str, least: int, most: int) -> int:
    count = validation.as_count(value, name, least)
    if count > most:
        # Python refuses to write out very long numbers.
        written = f"{count:,}" if count < 10**20 else f"about 10^{log10(count):.0f}"
        raise InvalidInput(f"{name} must be at most {most:,}, got {written}")
    return count
